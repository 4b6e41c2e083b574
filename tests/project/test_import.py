"""Existing manifests to a project: the render equals them, comments stay, and nothing is written where anything is wrong."""

import json
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.releases import Target, choose
from jobspec.documents.comments import comments_of, lost
from jobspec.documents.reader import read
from jobspec.journey.rendering import as_stored
from jobspec.project.import_overlays import difference
from tests.support import manifests, quick_yaml
from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, RUNTIME, files_in, placed, write
from tests.support.processes import program, run_here
from tests.support.reference import folder

HEAD = f"{PROJECT_HEAD}  variants:\n"
NAMING = "    # `naming: fixed` keeps a job's name as it was; without it, a hash follows the name, and each change is a new run\n"
COMMENTED = """\
# the nightly run
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
  namespace: ml  # of the team
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        metadata:
          annotations: {sidecar.istio.io/inject: "false", owner: 'ann'}
          labels:
              sidecar.istio.io/inject: "false"
        spec:
          containers:
          # the one that trains
          - name: pytorch
            image:   example.com/train:v1   # pinned
            args: [--epochs, "3", --backend, nccl]
            resources:
              limits:
                memory: 8Gi
                nvidia.com/gpu: 2  # two of them
            env:

            # kept apart
            - {name: SEED, value: "1"}
"""
BASE = """\
# the nightly run
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        metadata:
          annotations: {owner: 'ann'}
        spec:
          containers:
          # the one that trains
          - name: pytorch
            image:   example.com/train:v1   # pinned
            args: [--epochs, "3"]
            resources:
              limits:
                memory: 8Gi
            env:

            # kept apart
            - {name: SEED, value: "1"}
"""
VARIANT = """\
    # comments of mnist.yaml on what is here now:
    # of the team
    # two of them
    - name: mnist
      base: base/mnist.yaml
      namespace: ml
      naming: fixed
      overlays:
        - gpu-nccl: {gpus: 2, backend: nccl}
        - istio-off
"""


def _place(place: Path, files: dict[str, str | bytes]) -> Path:
    """A repository with these files."""
    (place / ".git").mkdir(parents=True, exist_ok=True)
    write(place, files)
    return place


def _imported(place: Path, *arguments: str) -> dict[str, str]:
    """The new and changed files of an import that has to go well, and whose render gives the manifests again."""
    before = files_in(place)
    done = run_here("import", *arguments, cwd=place)
    assert done.returncode == 0, done.stderr + done.stdout
    after = files_in(place)
    assert before.keys() <= after.keys()
    return {path: content.decode() for path, content in after.items() if before.get(path) != content}


def _refused(place: Path, *arguments: str, code: int = 1) -> str:
    """What an import says that changes nothing."""
    before = files_in(place)
    done = run_here("import", *arguments, cwd=place)
    assert (done.returncode, files_in(place)) == (code, before), done.stderr + done.stdout
    return done.stderr


def _objects(texts: list[str], target: "Target | None" = None) -> list[Any]:
    """The objects in texts, the items of lists among them, ordered by their data alone; for a target, as a server stores them."""
    found = [(as_stored(each, target) if target else each).data for text in texts for each in read(text, file="")[0]]
    items = [item for each in found for item in (each["items"] if each.get("kind") == "List" else [each])]
    return sorted(items, key=lambda each: json.dumps(each, sort_keys=True))


def _render_equals(place: Path, originals: list[str], *targets: str) -> None:
    """That the project renders to the originals, `1` and `"1"` being two values but for amounts of a TrainJob."""
    done = run_here("render", cwd=place)
    assert done.returncode == 0, done.stderr
    rendered = [path.read_text() for path in (place / "rendered").rglob("*.yaml") if path.name != "kustomization.yaml"]
    assert difference(_objects(originals, choose(targets)), _objects(rendered)) is None


def test_a_job_becomes_a_base_a_variant_and_the_overlays_that_explain_the_rest(tmp_path: Path) -> None:
    _place(tmp_path, {"mnist.yaml": COMMENTED})
    assert _imported(tmp_path, "mnist.yaml") == {"base/mnist.yaml": BASE, "jobspec.yaml": HEAD + NAMING + VARIANT}
    _render_equals(tmp_path, [COMMENTED])


def test_what_is_written_is_reported(tmp_path: Path) -> None:
    _place(tmp_path, {"mnist.yaml": COMMENTED})
    reported = "base/mnist.yaml\njobspec.yaml\n  mnist: mnist.yaml, with the overlays gpu-nccl gpus=2 backend=nccl, istio-off\n"
    assert run_here("import", "mnist.yaml", cwd=tmp_path).stdout == reported


def test_a_preview_is_a_diff_that_git_applies_to_the_same_files(tmp_path: Path) -> None:
    existing = HEAD + "    - {name: old, base: base/old.yaml}\n"
    files: dict[str, str | bytes] = {"mnist.yaml": COMMENTED, "base/old.yaml": JOB, "jobspec.yaml": existing}
    here, there = _place(tmp_path / "here", files), _place(tmp_path / "there", files)
    before = files_in(there)
    done = run_here("import", "mnist.yaml", "--preview", cwd=there)
    assert (done.returncode, done.stderr, files_in(there)) == (0, "", before)
    shutil.rmtree(there / ".git")
    program("git", "apply", cwd=there, stdin=done.stdout, check=True)
    _imported(here, "mnist.yaml")
    assert files_in(there) == files_in(here)


@pytest.mark.parametrize(
    ("before", "added_to"),
    [
        (HEAD + "    - {name: old, base: base/old.yaml} # mine\n\n# the end\n", "    - {name: old, base: base/old.yaml} # mine\n"),
        (HEAD.replace("  variants", "  variants") + "  - name: old\n    base: base/old.yaml\n  output: out\n", "    base: base/old.yaml\n"),
        (HEAD + "    - name: old\n      base: base/old.yaml", "      base: base/old.yaml"),
    ],
    ids=["comments", "indentation", "no end of line"],
)
def test_variants_are_added_behind_those_that_are_there(tmp_path: Path, before: str, added_to: str) -> None:
    _place(tmp_path, {"job.yaml": JOB, "base/old.yaml": JOB.replace("name: train", "name: old"), "jobspec.yaml": before})
    indent = "  " if "  output" in before else "    "
    lines = "".join(f"{indent}{line}\n" for line in ("- name: train", "  base: base/train.yaml", "  naming: fixed"))
    after = _imported(tmp_path, "job.yaml")
    first, _, rest = before.partition(added_to)
    assert after["jobspec.yaml"] == first + added_to.rstrip("\n") + "\n" + lines + rest


@pytest.mark.parametrize(
    "before",
    [
        "{apiVersion: jobspec.dev/v1alpha1, kind: Project, spec: {variants: [{name: old, base: base/old.yaml}]}}",
        HEAD.replace("variants:\n", "variants: [\n    {name: old, base: base/old.yaml}, # mine\n  ]\n"),
        '{"apiVersion": "jobspec.dev/v1alpha1", "kind": "Project", "spec": {"variants": [{"name": "old", "base": "base/old.yaml"}]}}\n',
        HEAD.replace("\n", "\r\n") + "    - {name: old, base: base/old.yaml}\r\n",
        "\ufeff" + HEAD + "    - {name: old, base: base/old.yaml}\n",
    ],
    ids=["flow", "flow in lines", "json", "crlf", "bom"],
)
def test_variants_are_added_however_the_project_is_written(tmp_path: Path, before: str) -> None:
    old = JOB.replace("name: train", "name: old")
    _place(tmp_path, {"mnist.yaml": COMMENTED, "base/old.yaml": old, "jobspec.yaml": before.encode()})
    _imported(tmp_path, "mnist.yaml")
    after = (tmp_path / "jobspec.yaml").read_bytes().decode()
    assert [each["name"] for each in quick_yaml.load(after)["spec"]["variants"]] == ["old", "mnist"]
    assert lost(before + COMMENTED, after, BASE) == []
    assert after.count("\r\n") == (after.count("\n") if "\r" in before else 0)
    assert after.startswith("\ufeff") == before.startswith("\ufeff")
    _imported_and_old = run_here("render", "--only", "mnist", cwd=tmp_path)
    assert _imported_and_old.returncode == 0, _imported_and_old.stderr


def test_a_second_import_adds_to_the_first(tmp_path: Path) -> None:
    other = JOB.replace("name: train", "name: other").replace("train:v1", "other:v1")
    _place(tmp_path, {"a.yaml": JOB, "b.yaml": other})
    _imported(tmp_path, "a.yaml")
    _imported(tmp_path, "b.yaml")
    _render_equals(tmp_path, [JOB, other])


ODD = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: odd
  annotations: {a: "1", b: "yes", c: "1e3", d: 'null', e: "0x10", "on": "off"}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
            args: ["1", "1.0", '012', "${HOME}", "$${x}", $(N), |-
              a # no comment
            ]
            resources:
              limits: {nvidia.com/gpu: "2", cpu: 4, memory: 1.5Gi}
"""


@pytest.mark.parametrize(
    "text",
    [
        ODD.replace("|-\n              a # no comment\n            ]", '"a # no comment"]'),
        JOB.replace("\n", "\r\n"),
        "\ufeff" + JOB,
        JOB.rstrip("\n"),
        "--- # first\n" + JOB,
        json.dumps(quick_yaml.load(JOB)),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [quick_yaml.load(JOB), quick_yaml.load(CONFIG)]}),
        "%YAML 1.1\n---\n" + JOB,
        JOB + "...\n",
        placed(JOB, "a") + "---\n" + placed(CONFIG, "a"),
        placed(JOB, "a") + "---\n" + placed(CONFIG, "b"),
        placed(JOB, "a") + "---\n" + CONFIG + "# the end",
        CONFIG + "---\n# nothing\n---\n" + JOB,
        "apiVersion: v1\nkind: List\nitems:\n# first\n- " + placed(JOB, "ml").replace("\n", "\n  "),
        JOB.replace("  name: train\n", "  ? name\n  : train\n"),
        JOB.replace("metadata:", "metadata: &m").replace("            image:", "            env: []\n            image:"),
    ],
)
def test_however_a_manifest_is_written_its_render_equals_it(tmp_path: Path, text: str) -> None:
    _place(tmp_path, {"job.yaml": text.encode()})
    written = _imported(tmp_path, "job.yaml")
    _render_equals(tmp_path, [text.removeprefix("\ufeff")])
    assert lost(text.removeprefix("\ufeff"), *written.values()) == []
    assert not any("\r" in each or "\ufeff" in each for each in written.values())


ANCHORED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: ml}
spec:
  pytorchReplicaSpecs:
    Master: &pods
      replicas: 1
      template:
        metadata: {annotations: {sidecar.istio.io/inject: "false"}}
        spec:
          containers: [{name: pytorch, image: example.com/train:v1}]
    Worker:
      <<: *pods
      replicas: 2
"""


def test_a_manifest_with_aliases_stays_as_it_is(tmp_path: Path) -> None:
    _place(tmp_path, {"job.yaml": ANCHORED})
    written = _imported(tmp_path, "job.yaml")
    assert written["base/train.yaml"] == ANCHORED
    assert "overlays" not in written["jobspec.yaml"]
    _render_equals(tmp_path, [ANCHORED])


def test_an_amount_that_is_rendered_in_its_canonical_form_is_the_same(tmp_path: Path) -> None:
    text = manifests.TRAINJOB.replace("ours, kind: TrainingRuntime", "torch-distributed")
    text += "  trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1, memory: 1024Mi}}}\n"
    _place(tmp_path, {"job.yaml": text})
    assert "memory: 1024Mi" in _imported(tmp_path, "job.yaml")["base/train.yaml"]
    assert run_here("render", cwd=tmp_path).returncode == 0
    (job,) = (tmp_path / "rendered").rglob("trainjob-*.yaml")
    assert quick_yaml.load(job.read_text())["spec"]["trainer"]["resourcesPerNode"] == {"limits": {"nvidia.com/gpu": "1", "memory": "1Gi"}}


def test_json_becomes_yaml(tmp_path: Path) -> None:
    _place(tmp_path, {"job.json": json.dumps(quick_yaml.load(JOB))})
    assert _imported(tmp_path, "job.json")["base/train.yaml"] == JOB


def _rendered(*arguments: str, tmp_path: Path, job: str = JOB) -> str:
    (tmp_path / "from.yaml").write_text(job)
    return run_here("render", "from.yaml", *arguments, cwd=tmp_path).stdout


def test_an_overlay_is_found_with_its_parameters_and_the_claim_that_it_adds(tmp_path: Path) -> None:
    given = ("claim=results", "create=true", "size=20Gi", "class=fast", "access=ReadWriteMany")
    sets = [word for each in given for word in ("--set", f"pvc-output.{each}")]
    text = _rendered("--overlay", "gpu-nccl", "--set", "gpu-nccl.gpus=4", "--overlay", "pvc-output", *sets, tmp_path=tmp_path)
    _place(tmp_path / "there", {"job.yaml": text})
    written = _imported(tmp_path / "there", "job.yaml")
    assert written["base/train.yaml"] == JOB
    (variant,) = quick_yaml.load(written["jobspec.yaml"])["spec"]["variants"]
    claim = {"claim": "results", "create": True, "size": "20Gi", "class": "fast", "access": "ReadWriteMany"}
    assert variant["overlays"] == [{"gpu-nccl": {"gpus": 4}}, {"pvc-output": claim}]
    _render_equals(tmp_path / "there", [text])


@pytest.mark.parametrize("gpus", ['"2"', "2.0"])
def test_what_an_overlay_would_write_in_another_way_stays_in_the_base(tmp_path: Path, gpus: str) -> None:
    text = COMMENTED.replace("nvidia.com/gpu: 2", f"nvidia.com/gpu: {gpus}")
    _place(tmp_path, {"mnist.yaml": text})
    written = _imported(tmp_path, "mnist.yaml")
    if gpus == '"2"':
        assert "gpu-nccl" not in written["jobspec.yaml"]
        assert f"nvidia.com/gpu: {gpus}  # two of them" in written["base/mnist.yaml"]
    _render_equals(tmp_path, [text])


def test_a_job_with_gpus_is_not_taken_for_one_on_cpus(tmp_path: Path) -> None:
    limits = "{cpu: 4, memory: 8Gi%s}"
    container = "            resources: {{limits: {0}, requests: {0}}}\n"
    for gpu in ("", ", nvidia.com/gpu: 1"):
        place = _place(tmp_path / f"with{len(gpu)}", {"job.yaml": JOB + container.format(limits % gpu)})
        assert ("cpu: {cpus: 4, memory: 8Gi}" in _imported(place, "job.yaml")["jobspec.yaml"]) == (not gpu)


def test_jobs_that_differ_in_what_variants_say_share_a_base(tmp_path: Path) -> None:
    one = COMMENTED.replace("  namespace: ml  # of the team\n", "  labels: {team: vision, size: small}\n")
    two = one.replace("mnist", "mnist-big").replace("small", "big").replace('"3"', '"30"').replace("nightly", "weekly")
    three = JOB.replace("name: train", "name: other")
    _place(tmp_path, {"one.yaml": one, "two.yaml": two, "three.yaml": three})
    written = _imported(tmp_path, "one.yaml", "two.yaml", "three.yaml")
    assert sorted(written) == ["base/mnist.yaml", "base/other.yaml", "jobspec.yaml"]
    assert "labels: {team: vision}\n" in written["base/mnist.yaml"]
    variants = {each["name"]: each for each in quick_yaml.load(written["jobspec.yaml"])["spec"]["variants"]}
    assert [each["base"] for each in variants.values()] == ["base/mnist.yaml", "base/mnist.yaml", "base/other.yaml"]
    assert (variants["mnist"].get("flags"), variants["mnist"]["labels"]) == (None, {"size": "small"})
    assert (variants["mnist-big"]["flags"], variants["mnist-big"]["labels"]) == ({"--epochs": 30}, {"size": "big"})
    assert "# the weekly run" in written["jobspec.yaml"]
    assert set(comments_of(one + two + three)) <= set(comments_of("".join(written.values())))
    _render_equals(tmp_path, [one, two, three])


def test_jobs_that_no_variant_can_make_of_one_base_have_one_each(tmp_path: Path) -> None:
    """Flags in another order, and a flag for one of the roles alone."""
    args = "            args: [{}]\n"
    some = [JOB.replace("train", f"t{number}", 1) + args.format(said) for number, said in enumerate(("--a, '1', --b", "--b, --a, '1'"))]
    _place(tmp_path, {f"{number}.yaml": text for number, text in enumerate(some)})
    written = _imported(tmp_path, "0.yaml", "1.yaml")
    assert sorted(written) == ["base/t0.yaml", "base/t1.yaml", "jobspec.yaml"]
    _render_equals(tmp_path, some)


def test_one_name_in_several_namespaces_is_several_variants(tmp_path: Path) -> None:
    texts = [placed(JOB, each) for each in ("a", "b")]
    _place(tmp_path, {"a.yaml": texts[0], "b.yaml": texts[1]})
    written = _imported(tmp_path, "a.yaml", "b.yaml")
    assert sorted(written) == ["base/train.yaml", "jobspec.yaml"]
    variants = quick_yaml.load(written["jobspec.yaml"])["spec"]["variants"]
    assert [(each["name"], each.get("jobName")) for each in variants] == [("train", None), ("train-b", "train")]
    _render_equals(tmp_path, texts)


TRAINJOB = """\
# %s
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: %s}
spec:
  runtimeRef: {kind: TrainingRuntime, name: ours}
  trainer: {args: [%s]}
"""


def test_jobs_of_one_file_are_several_bases_with_the_runtime_beside_each(tmp_path: Path) -> None:
    text = f"{RUNTIME}---\n{TRAINJOB % ('first', 'one', 'a')}---\n{TRAINJOB % ('second', 'two', 'b')}---\n{CONFIG}"
    _place(tmp_path, {"jobs.yaml": text})
    written = _imported(tmp_path, "jobs.yaml")
    assert written["base/one.yaml"] == f"{RUNTIME}---\n{TRAINJOB % ('first', 'one', 'a')}---\n{CONFIG}"
    assert written["base/two.yaml"] == f"{RUNTIME}---\n{TRAINJOB % ('second', 'two', 'b')}"
    done = run_here("render", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "5 documents: 5 valid (training-operator 1.9.4, trainer 2.3.0)\n")
    rendered = [path.read_text() for path in (tmp_path / "rendered").rglob("*.yaml") if path.name != "kustomization.yaml"]
    assert _objects(rendered) == _objects([text])


def test_a_list_of_jobs_is_taken_apart_and_its_comments_go_to_the_first(tmp_path: Path) -> None:
    jobs = [JOB, JOB.replace("train", "eval")]
    items = "".join(f"# number {number}\n- " + each.replace("\n", "\n  ").rstrip(" ") for number, each in enumerate(jobs))
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    _place(tmp_path, {"jobs.yaml": text})
    written = _imported(tmp_path, "jobs.yaml")
    assert lost(text, *written.values()) == []
    _render_equals(tmp_path, [text])


def test_a_file_without_a_job_is_an_error_where_it_is_named_and_reported_where_it_is_met(tmp_path: Path) -> None:
    _place(tmp_path, {"k8s/job.yaml": JOB, "k8s/config.yaml": CONFIG})
    assert "k8s/config.yaml: error: no training job in the file to import [no-workload]" in _refused(tmp_path, "k8s/config.yaml")
    assert "skipped k8s/config.yaml: no training job\n" in run_here("import", "k8s", cwd=tmp_path).stdout
    shutil.rmtree(tmp_path / "base")
    (tmp_path / "jobspec.yaml").unlink()
    (tmp_path / "k8s" / "job.yaml").unlink()
    assert _refused(tmp_path, "k8s", code=2) == "jobspec: nothing to import: no file holds a training job\n"


def test_what_is_wrong_is_reported_and_the_other_files_are_imported(tmp_path: Path) -> None:
    _place(tmp_path, {"good.yaml": JOB, "bad.yaml": JOB.replace("replicas: 1", 'replicas: "1"'), "worse.yaml": "a: [\n"})
    assert "2 invalid" in _refused(tmp_path, "bad.yaml", "worse.yaml")
    done = run_here("import", "good.yaml", "bad.yaml", "worse.yaml", cwd=tmp_path)
    said = done.stderr
    assert (done.returncode, (tmp_path / "base" / "train.yaml").read_text()) == (1, JOB)
    assert "jobspec: not imported because of errors: bad.yaml, worse.yaml\n" in said
    assert "skipped" not in done.stdout
    assert "jobspec: remove the originals, or each job exists twice: git rm good.yaml\n" in said
    assert 'bad.yaml:8:17: error: `replicas`: expected an integer, got the string "1" [wrong-type]' in said
    assert "worse.yaml:2:1: error:" in said
    assert "3 documents: 1 valid, 2 invalid" in said


def test_a_name_that_the_server_makes_is_an_error(tmp_path: Path) -> None:
    _place(tmp_path, {"job.yaml": JOB.replace("name: train\n", "generateName: train-\n")})
    assert "job.yaml:4:3: error: what is imported needs `metadata.name` [missing-name]" in _refused(tmp_path, "job.yaml")


def test_defaults_that_would_change_the_job_are_an_error_with_the_field(tmp_path: Path) -> None:
    project = HEAD.replace("  variants", "  defaults: {labels: {team: vision}}\n  variants") + "    - {name: old, base: base/old.yaml}\n"
    _place(tmp_path, {"job.yaml": JOB, "base/old.yaml": JOB.replace("train", "old"), "jobspec.yaml": project})
    said = _refused(tmp_path, "job.yaml")
    assert "error: the variant `train` would render another `metadata.labels` [import-differs]" in said
    assert "`defaults`" in said


ENGINES = "  engines:\n    argocd: {repoURL: https://git.example/jobs.git, project: training}\n"


@pytest.mark.parametrize("added", [ENGINES, "  defaults: {history: 2}\n", ENGINES + "  defaults: {history: 1}\n"])
def test_a_project_with_engines_and_earlier_runs_takes_jobs(tmp_path: Path, added: str) -> None:
    """The annotations that an engine needs are no difference, and a job under a fixed name has no earlier runs."""
    project = HEAD.replace("  variants", f"{added}  variants") + "    - {name: old, base: base/old.yaml, namespace: ml}\n"
    _place(tmp_path, {"mnist.yaml": COMMENTED, "base/old.yaml": JOB.replace("train", "old"), "jobspec.yaml": project})
    program("git", "init", "--quiet", cwd=tmp_path, check=True)
    _imported(tmp_path, "mnist.yaml")
    done = run_here("render", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    job = quick_yaml.load((tmp_path / "rendered/mnist/pytorchjob-mnist.yaml").read_text())
    wanted = quick_yaml.load(COMMENTED)
    noted = set(job["metadata"].pop("annotations", {}))
    assert (job, bool(noted)) == (wanted, "engines" in added)


def test_a_job_that_is_imported_already_is_an_error_at_its_name(tmp_path: Path) -> None:
    _place(tmp_path, {"job.yaml": JOB})
    _imported(tmp_path, "job.yaml")
    said = _refused(tmp_path, "job.yaml", "--to", "other")
    assert "job.yaml:4:9: error: PyTorchJob `train` is imported already: the variant `train` of jobspec.yaml [import-differs]" in said


def test_a_broken_project_is_reported_at_its_lines(tmp_path: Path) -> None:
    _place(tmp_path, {"job.yaml": JOB, "jobspec.yaml": HEAD + "    - {name: old, base: base/none.yaml}\n"})
    assert "jobspec.yaml:5:25: error: no base at `base/none.yaml`: there is no such file [wrong-base]" in _refused(tmp_path, "job.yaml")
    (tmp_path / "jobspec.yaml").write_text(HEAD.replace("\nspec", "\nspek"))
    assert "jobspec.yaml:3:1: error:" in _refused(tmp_path, "job.yaml")


def test_a_base_of_the_same_name_is_an_error_unless_it_is_the_same(tmp_path: Path) -> None:
    _place(tmp_path, {"job.yaml": JOB, "mnist.yaml": COMMENTED, "base/train.yaml": "mine\n", "base/mnist.yaml": "mine\n"})
    said = _refused(tmp_path, "job.yaml", "mnist.yaml", code=2)
    assert said == "jobspec: base/mnist.yaml, base/train.yaml: there already; nothing is written\n"
    write(tmp_path, {"base/train.yaml": JOB, "base/mnist.yaml": BASE})
    assert sorted(_imported(tmp_path, "job.yaml", "mnist.yaml")) == ["jobspec.yaml"]


@pytest.mark.parametrize("to", ["../elsewhere", "/tmp", "", ".git/base", "rendered/base", "rendered", "link"])
def test_bases_stay_where_the_project_finds_them(tmp_path: Path, to: str) -> None:
    _place(tmp_path / "here", {"job.yaml": JOB})
    (tmp_path / "here" / "link").symlink_to("..")
    assert _refused(tmp_path / "here", "job.yaml", "--to", to, code=2).startswith(f"jobspec: --to {to}: ")


@pytest.mark.parametrize("to", ["jobs/base", ".", "./a/../b"])
def test_bases_stand_in_the_folder_that_is_asked_for(tmp_path: Path, to: str) -> None:
    _place(tmp_path, {"job.yaml": JOB})
    assert sorted(_imported(tmp_path, "job.yaml", "--to", to)) == sorted(["jobspec.yaml", os.path.normpath(f"{to}/train.yaml")])
    _render_equals(tmp_path, [JOB])


def test_another_release_is_for_a_new_project(tmp_path: Path) -> None:
    old = TRAINJOB % ("", "one", "a") + "  labels: {a: b}\n"
    _place(tmp_path, {"job.yaml": old + "---\n" + RUNTIME})
    assert "unknown-field" in _refused(tmp_path, "job.yaml")
    assert 'target: {trainer: "2.1"}' in _imported(tmp_path, "job.yaml", "--target", "trainer=2.1")["jobspec.yaml"]
    assert run_here("render", cwd=tmp_path).returncode == 0
    assert "--target is for a new project" in _refused(tmp_path, "job.yaml", "--target", "trainer=2.1", code=2)


def test_standard_input_is_imported(tmp_path: Path) -> None:
    _place(tmp_path, {})
    assert run_here("import", "-", cwd=tmp_path, stdin=JOB).returncode == 0
    _render_equals(tmp_path, [JOB])


@cache
def _corpus() -> list[Path]:
    """The manifests of the corpus that hold a job."""
    found = [path for path in sorted(folder("corpus", "manifests").rglob("*")) if path.is_file()]
    return [path for path in found if any(each.kind in ("PyTorchJob", "TrainJob") for each in read(path.read_text(), file="")[0])]


@pytest.mark.slow
@pytest.mark.parametrize("targets", [(), ("training-operator=1.7.0", "trainer=2.0.0"), ("trainer=2.1.0",)], ids=["newest", "oldest", "2.1"])
def test_import_then_render_gives_every_job_of_the_corpus_again(tmp_path: Path, targets: tuple[str, ...]) -> None:
    chosen = [word for each in targets for word in ("--target", each)]
    done = 0
    for number, path in enumerate(_corpus()):
        text = path.read_text()
        if run_here("validate", path, *chosen).returncode:
            continue
        place = _place(tmp_path / str(number), {"old/job.yaml": text})
        written = _imported(place, "old/job.yaml", *chosen)
        _render_equals(place, [text], *targets)
        assert lost(text, *written.values()) == [], path
        done += 1
    assert done > 60


@pytest.mark.slow
def test_all_jobs_of_the_corpus_fit_into_one_project(tmp_path: Path) -> None:
    seen: set[tuple[str, ...]] = set()
    texts: dict[str, str | bytes] = {}
    for number, path in enumerate(_corpus()):
        objects = {(each.api_version, each.kind, each.namespace, each.name) for each in read(path.read_text(), file="")[0]}
        if not objects & seen and not run_here("validate", path).returncode:
            seen |= objects
            texts[f"old/{number}.yaml"] = path.read_text()
    _place(tmp_path, texts)
    written = _imported(tmp_path, "old")
    assert 40 < len(written) < len(texts)
    _render_equals(tmp_path, [str(text) for text in texts.values()])
