"""`jobspec blame` for objects that kustomize builds."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import JOB, write
from tests.support.processes import run_here

pytestmark = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")
PATCH = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      restartPolicy: Never
"""
BASE = JOB.replace("      replicas: 1\n", "      replicas: 1\n      restartPolicy: OnFailure\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    overlay = "resources: [../../base]\nnamespace: {}\nimages:\n- name: {}\n  newTag: v9\npatches:\n- path: patch.yaml\n"
    image = BASE.split("image: ")[1].split("\n")[0].rpartition(":")[0]
    write(
        tmp_path,
        {
            ".git/HEAD": "",
            "base/job.yaml": BASE,
            "base/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: settings, literals: [a=b]}\n",
            **{f"overlays/{name}/kustomization.yaml": overlay.format(name, image) for name in ("dev", "prod")},
            **{f"overlays/{name}/patch.yaml": PATCH for name in ("dev", "prod")},
        },
    )
    return tmp_path


def _fields(place: Path, *arguments: str) -> dict[str, tuple[str, int, str]]:
    done = run_here("blame", *arguments, "-o", "json", cwd=place)
    assert done.returncode == 0, done.stderr
    return {each["field"]: (each["file"], each["line"], each["layer"]) for each in json.loads(done.stdout)["fields"]}


def test_each_field_of_a_built_object_has_what_wrote_it(place: Path) -> None:
    found = _fields(place, "PyTorchJob/train", "--in", "overlays/prod")
    assert found["kind"] == ("base/job.yaml", 2, "")
    assert found["metadata.namespace"] == ("overlays/prod/kustomization.yaml", 2, "namespace")
    assert found["spec.pytorchReplicaSpecs[Master].restartPolicy"] == ("overlays/prod/patch.yaml", 7, "patch")
    (image,) = [place for field, place in found.items() if field.endswith(".image")]
    assert image == ("overlays/prod/kustomization.yaml", 5, "images")


def test_a_field_shows_what_it_overrides_in_each_build(place: Path) -> None:
    done = run_here("blame", "pytorchjob/train", "restartPolicy", cwd=place)
    assert done.returncode == 0, done.stderr
    heads = ["PyTorchJob/train in overlays/dev", "PyTorchJob/train in overlays/prod"]
    assert [line for line in done.stdout.splitlines() if " in overlays/" in line] == heads
    assert '    is   "Never"      patch  overlays/dev/patch.yaml:7:22\n' in done.stdout
    assert '    was  "OnFailure"  base   base/job.yaml:' in done.stdout


def test_what_is_meant_has_to_be_one_object(place: Path) -> None:
    done = run_here("blame", "overlays/prod", cwd=place)
    assert done.returncode == 2
    assert "name one of its objects: ConfigMap/settings-" in done.stderr
    command = done.stderr.rpartition("; write `jobspec ")[2].rstrip("`\n").split()
    assert command[-2:] == ["--in", "overlays/prod"]
    assert run_here(*command, cwd=place).returncode == 0
    several = run_here("blame", "base/job.yaml", "-o", "json", cwd=place)
    assert several.returncode == 2
    assert "2 builds have it; choose one: --in overlays/dev, --in overlays/prod" in several.stderr
    assert "no field `restartPolicies`: leave FIELD out" in run_here("blame", "PyTorchJob/train", "restartPolicies", cwd=place).stderr
    assert run_here("blame", "PyTorchJob/none", cwd=place).returncode == 2


def test_of_a_wrapped_object_it_says_what_to_type(place: Path) -> None:
    experiment = "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: tune}\nspec:\n  trialTemplate:\n    trialSpec:\n"
    trial = JOB.replace("name: train", "name: trial")
    (place / "tune.yaml").write_text(experiment + "".join(f"      {line}\n" for line in trial.splitlines()))
    done = run_here("blame", "tune.yaml", "PyTorchJob/tune-trial000", cwd=place)
    names = "name one of its objects: Experiment/tune, PyTorchJob/tune-trial000"
    assert (done.returncode, done.stderr) == (
        2,
        f"jobspec: tune.yaml: {names}; write `jobspec blame PyTorchJob/tune-trial000`\n",
    )
    assert "; write `jobspec blame Experiment/tune image`\n" in run_here("blame", "tune.yaml", "image", cwd=place).stderr
    assert run_here("blame", "PyTorchJob/tune-trial000", cwd=place).returncode == 0


def test_a_build_that_fails_is_told_of_and_the_rest_is_answered(place: Path) -> None:
    (place / "overlays" / "dev" / "patch.yaml").unlink()
    done = run_here("blame", "PyTorchJob/train", "restartPolicy", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "jobspec: overlays/dev is left out, since it cannot be built: " in done.stderr
    assert '    is   "Never"      patch  overlays/prod/patch.yaml:7:22\n' in done.stdout
    for wanted, folder in (("overlays/dev", "."), (".", "overlays/dev"), ("PyTorchJob/train", "overlays/dev")):
        done = run_here("blame", wanted, cwd=place / folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert "is left out, since it cannot be built: " in done.stderr
    done = run_here("blame", ".", cwd=place)
    assert "jobspec: .: name one of its objects: ConfigMap/settings-" in done.stderr


def test_an_object_that_is_nowhere_has_a_hint(place: Path) -> None:
    done = run_here("blame", "PyTorchJob/trian", cwd=place)
    assert (done.returncode, done.stderr) == (2, "jobspec: PyTorchJob/trian: no such object below .: did you mean `PyTorchJob/train`?\n")
    done = run_here("blame", "Job/x", cwd=place)
    assert "jobspec: Job/x: no such object below .: it has ConfigMap/settings-" in done.stderr


KUSTOMIZATION = """resources: [job.yaml, board.yaml]
namePrefix: ml-
labels:
- pairs:
    team: vision  # metadata.labels[team]
commonAnnotations:
  owner: me  # metadata.annotations[owner]
images:
- name: other
  newTag: v9
- name: example.com/train
  newName: example.com/tuned
  digest: sha256:0123456789012345678901234567890123456789012345678901234567890123  # image
- name: example.com/side
  newName: example.com/other  # containers[side].image
replicas:
- name: board
  count: 3  # spec.replicas
configMapGenerator:
- name: before
  literals: [EPOCHS=3]
- name: settings
  literals:
  - WARMUP=1
  - EPOCHS=3  # data[EPOCHS]
  files:
  - a.txt=notes.txt
  envs:
  - settings.env
replacements:
- source: {kind: ConfigMap, name: settings, fieldPath: data.EPOCHS}
  targets:
  - select: {kind: PyTorchJob}
    fieldPaths:
    - spec.runPolicy.backoffLimit
    - spec.pytorchReplicaSpecs.Master.template.metadata.annotations.[example.com/epochs]  # annotations[example.com/epochs]
"""
BOARD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: board}
spec:
  selector: {matchLabels: {app: board}}
  replicas: 1
  template:
    metadata: {labels: {app: board}}
    spec:
      containers:
      - {name: main, image: example.com/board}
      - {name: side, image: "example.com/side:v1"}
"""


def test_what_a_kustomization_sets_is_found_in_the_line_of_its_entry(tmp_path: Path) -> None:
    job = JOB.replace("        spec:\n", "        metadata: {annotations: {example.com/epochs: '1'}}\n        spec:\n", 1)
    job = job.replace("spec:\n", "spec:\n  runPolicy: {backoffLimit: 1}\n", 1)
    files = {"job.yaml": job, "board.yaml": BOARD, "notes.txt": "some\nnotes\n", "settings.env": "# of all\nSEED=1\nRATE=0.1\n"}
    write(tmp_path, {".git/HEAD": "", "kustomization.yaml": KUSTOMIZATION, **files})
    names = ("PyTorchJob/ml-train", "Deployment/ml-board", f"ConfigMap/{_settings(tmp_path)}")
    found = {field: place for name in names for field, place in _fields(tmp_path, name).items()}
    wanted = {line.rpartition("# ")[2]: number for number, line in enumerate(KUSTOMIZATION.splitlines(), 1) if "  # " in line}
    for field, line in wanted.items():
        (place,) = {place[:2] for each, place in found.items() if each.endswith(field) and (field != "image" or "[pytorch]" in each)}
        assert place == ("kustomization.yaml", line), field
    assert found["data[a.txt]"][:2] == ("notes.txt", 1)
    assert found["data[RATE]"][:2] == ("settings.env", 3)
    assert found["data[WARMUP]"][:2] == ("kustomization.yaml", wanted["data[EPOCHS]"] - 1)


def _settings(place: Path) -> str:
    """The name of the generated ConfigMap, with its hash."""
    done = run_here("blame", ".", cwd=place)
    return next(word.strip(",").partition("/")[2] for word in done.stderr.split() if word.startswith("ConfigMap/ml-settings"))
