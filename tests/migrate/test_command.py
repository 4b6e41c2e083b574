"""`jobspec migrate`: where the result goes, what is reported of it, and when nothing is written."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.migrate.jobs import pytorchjob, text_of
from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import command, program, run_here
from tests.support.reference import ROOT

GUIDES = ROOT / "tests" / "cases" / "guides"
ELASTIC = (ROOT / "tests" / "cases" / "migrate" / "elastic" / "job.yaml").read_text()
JOB = text_of(pytorchjob({"command": ["torchrun", "a.py"]}, workers=0, nprocPerNode="1"))


def _migrate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_here("migrate", *options, cwd=folder)


def test_in_place_writes_what_changes_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB)
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata:   {name: x}  # mine\n"
    (tmp_path / "jobs" / "b.yaml").write_text(other)
    done = _migrate(tmp_path, "jobs", "--to", "TrainJob", "--in-place")
    assert (done.returncode, done.stderr) == (0, "")
    assert "migration-change" in done.stdout
    assert quick_yaml.load((tmp_path / "jobs" / "a.yaml").read_text())["kind"] == "TrainJob"
    assert (tmp_path / "jobs" / "b.yaml").read_text() == other


def test_to_dir_leaves_the_sources_and_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB)
    done = _migrate(tmp_path, "jobs", "--to", "TrainJob", "--to-dir", "new", "-o", "markdown")
    assert done.returncode == 0
    assert done.stdout.startswith("| where | what | rule |\n|---|---|---|\n| jobs/a.yaml:")
    assert (tmp_path / "jobs" / "a.yaml").read_text() == JOB
    assert quick_yaml.load((tmp_path / "new" / "jobs" / "a.yaml").read_text())["kind"] == "TrainJob"
    again = _migrate(tmp_path, "jobs", "--to", "TrainJob", "--to-dir", "new")
    assert again.returncode == 2


def test_a_diff_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--diff", "-o", "json")
    assert done.stdout.startswith("--- a/a.yaml\n+++ b/a.yaml\n")
    assert {each["rule"] for each in json.loads(done.stderr)["files"][0]["diagnostics"]} == {"migration-change"}
    assert (tmp_path / "a.yaml").read_text() == JOB


@pytest.mark.parametrize("writing", ["--in-place", "--diff"])
def test_strict_writes_nothing_where_anything_is_lost(writing: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ELASTIC)
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--strict", writing)
    assert done.returncode == 1
    assert "migration-loss" in done.stdout + done.stderr
    assert (tmp_path / "a.yaml").read_text() == ELASTIC
    assert _migrate(tmp_path, "a.yaml", "--to", "TrainJob", writing).returncode == 0


def test_what_a_server_refuses_is_not_migrated(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB.replace("replicas: 1", "replicas: 2"))
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--in-place")
    assert done.returncode == 1
    assert "master-replicas" in done.stderr
    assert "kind: PyTorchJob" in (tmp_path / "a.yaml").read_text()


LIST = f"""\
apiVersion: v1
kind: List
items:
- {JOB.replace(chr(10), chr(10) + "  ").strip()}
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            LIST.replace("replicas: 1", "replicas: &one 1") + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, generation: *one}}",
            "an alias elsewhere",
        ),
        (
            LIST.replace("- apiVersion: kube", "- &job\n  apiVersion: kube").replace("items:", "jobs:") + "items: [*job]\n",
            "an alias in its place",
        ),
    ],
)
def test_a_job_without_a_text_of_its_own_stays(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--in-place")
    assert done.returncode == 1
    assert says in done.stdout
    assert "not-migrated" in done.stdout
    assert (tmp_path / "a.yaml").read_text() == text


def test_items_that_share_a_value_are_migrated_together(tmp_path: Path) -> None:
    other = JOB.replace("replicas: 1", "replicas: *one").replace("name: train", "name: other").replace("\n", "\n  ").strip()
    (tmp_path / "a.yaml").write_text(f"{LIST.replace('replicas: 1', 'replicas: &one 1')}- {other}\n")
    assert _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    found = quick_yaml.load((tmp_path / "a.yaml").read_text())
    assert [each["kind"] for each in found["items"]] == ["TrainJob", "TrainJob"]


def test_lines_end_as_before_and_a_byte_order_mark_stays(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"# one\n{LIST}---\n# two\n{ELASTIC}")
    assert _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--to-dir", "new").returncode == 0
    expected = (tmp_path / "new" / "a.yaml").read_text()
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "a.yaml").read_bytes().replace(b"\n", b"\r\n"))
    assert _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    assert (tmp_path / "a.yaml").read_bytes() == b"\xef\xbb\xbf" + expected.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
def test_json_is_set_in_as_before(indent: int | str | None, tmp_path: Path) -> None:
    job = quick_yaml.load(JOB)
    (tmp_path / "a.json").write_text(json.dumps(job, indent=indent) + "\n")
    assert _migrate(tmp_path, "a.json", "--to", "TrainJob", "--in-place").returncode == 0
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text)["kind"] == "TrainJob"
    assert text == json.dumps(json.loads(text), indent=indent) + "\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--to", "Job"], "write TrainJob, MPIJob, or the release"),
        (["--to", "trainer=1.0"], "the known releases of trainer"),
        (["--to", "trainer=2.3"], "no TrainJob and no runtime"),
        (["--to", "TrainJob", "--diff", "--in-place"], "are mutually exclusive"),
    ],
)
def test_what_cannot_be_done_as_asked(options: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    done = _migrate(tmp_path, "a.yaml", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_kinds_are_taken_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    done = _migrate(tmp_path, "a.yaml", "--to", "trainjob")
    assert (done.returncode, done.stdout) == (0, _migrate(tmp_path, "a.yaml", "--to", "TrainJob").stdout)
    assert "no MPIJob of training-operator" in _migrate(tmp_path, "a.yaml", "--to", "mpijob").stderr


_SPEC = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": []}}}}}]}}}
_META = {"name": "train", "namespace": "ml"}
_TRAINER = "trainer.kubeflow.org/v1alpha1"
TAKEN = {
    "TrainingRuntime": {"apiVersion": _TRAINER, "kind": "TrainingRuntime", "metadata": _META, "spec": _SPEC},
    "TrainJob": {"apiVersion": _TRAINER, "kind": "TrainJob", "metadata": _META, "spec": {"runtimeRef": {"name": "torch-distributed"}}},
}


@pytest.mark.parametrize("kind", TAKEN)
def test_an_object_of_the_same_name_is_not_doubled(kind: str, tmp_path: Path) -> None:
    job = pytorchjob({"command": ["torchrun", "a.py"], "workingDir": "/x"}, workers=0, nprocPerNode="1")
    (tmp_path / "a.yaml").write_text(text_of(TAKEN[kind], job))
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob")
    assert done.returncode == 1
    assert f"the {kind} `train`, and its file has one already" in done.stderr


def test_jobs_whose_names_the_server_makes_have_runtimes_of_one_name(tmp_path: Path) -> None:
    first = pytorchjob({"command": ["torchrun", "a.py"], "workingDir": "/x"}, workers=0, nprocPerNode="1")
    first["metadata"] = {"generateName": "train-", "namespace": "ml"}
    other = pytorchjob({"command": ["torchrun", "a.py"], "workingDir": "/y"}, workers=0, nprocPerNode="1")
    other["metadata"] = {"generateName": "train-", "namespace": "ml"}
    (tmp_path / "a.yaml").write_text(text_of(first, other))
    done = _migrate(tmp_path, "a.yaml", "--to", "TrainJob")
    assert done.returncode == 1
    assert "its file has one already" in done.stderr
    assert [each["kind"] for each in quick_yaml.load_all(done.stdout)] == ["TrainingRuntime", "TrainJob", "PyTorchJob"]


PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  target: {trainer: "2.2"}  # the cluster's
  defaults: {base: base/job.yaml, namespace: ml}
  variants:
    - name: small
      overlays: [cpu]
    - name: large
      overlays: [gpu-nccl]
      flags: {--epochs: "4"}
"""


def _project(folder: Path) -> Path:
    (folder / "base").mkdir()
    (folder / ".git").mkdir()
    (folder / "jobspec.yaml").write_text(PROJECT)
    (folder / "base" / "job.yaml").write_text((GUIDES / "simple.yaml").read_text())
    return folder


def test_a_project_migrates_as_a_whole(tmp_path: Path) -> None:
    folder = _project(tmp_path)
    done = _migrate(folder, "jobspec.yaml", "--to", "TrainJob", "--in-place")
    assert (done.returncode, done.stderr) == (0, "")
    assert "migration-loss" not in done.stdout
    assert "(in `small`)" in done.stdout
    assert (folder / "jobspec.yaml").read_text() == PROJECT
    assert run_here("render", cwd=folder).returncode == 0
    (job,) = (folder / "rendered" / "large").glob("trainjob-*.yaml")
    trainer = quick_yaml.load(job.read_text())["spec"]["trainer"]
    assert trainer["resourcesPerNode"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert "--epochs=4" in trainer["command"]


def test_a_project_goes_to_another_release(tmp_path: Path) -> None:
    folder = _project(tmp_path)
    assert _migrate(folder, "jobspec.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    done = _migrate(folder, "jobspec.yaml", "--to", "trainer=2.3", "--in-place")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "jobspec.yaml").read_text() == PROJECT.replace('"2.2"', '"2.3.0"')
    assert run_here("render", "--check", cwd=folder).returncode == 1
    assert run_here("validate", "base", "--target", "trainer=2.3", cwd=folder).returncode == 0


def test_a_project_whose_gangs_are_scheduled_keeps_them(tmp_path: Path) -> None:
    folder = _project(tmp_path)
    done = _migrate(folder, "jobspec.yaml", "--to", "TrainJob", "--in-place", "--gang-scheduler", "scheduler-plugins")
    assert (done.returncode, done.stderr) == (0, "")
    assert "migration-loss" not in done.stdout
    assert "group" not in done.stdout
    runtime = next(quick_yaml.load_all((folder / "base" / "job.yaml").read_text()))
    assert runtime["spec"]["podGroupPolicy"] == {"coscheduling": {}}


@pytest.mark.parametrize("to", ["TrainJob", "trainer=2.3"])
def test_what_jobspec_has_rendered_is_left_to_render(to: str, tmp_path: Path) -> None:
    folder = _project(tmp_path)
    if to != "TrainJob":
        assert _migrate(folder, "jobspec.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    assert run_here("render", cwd=folder).returncode == 0
    before = {path: path.read_text() for path in (folder / "rendered").rglob("*.yaml")}
    done = _migrate(folder, "rendered", "base", "--to", to, "--in-place", "--strict")
    assert done.returncode == 0, done.stderr
    assert "is not migrated: rendered by jobspec" in done.stdout
    assert {path: path.read_text() for path in (folder / "rendered").rglob("*.yaml")} == before


PAGE = """\
# How to train

```yaml
# the job
{}```

```yaml
replicas: 2   # no manifest
```

---
the end
"""


def test_patches_of_migrated_jobs_are_left_and_named(tmp_path: Path) -> None:
    patch = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train, namespace: ml}\nspec: {runPolicy: {backoffLimit: 3}}\n"
    kustomization = "resources: [job.yaml]\npatches: [{path: patch.yaml}]\n"
    write(tmp_path, {"job.yaml": JOB, "patch.yaml": patch, "kustomization.yaml": kustomization})
    done = run_here("migrate", ".", "--to", "TrainJob", "-o", "concise", "--in-place", cwd=tmp_path)
    said = "patch.yaml:2:7: warning: this kustomize patch of the PyTorchJob `train` stays as it is, and no longer applies [not-migrated]\n"
    assert said in done.stdout
    assert (tmp_path / "patch.yaml").read_text() == patch


def test_a_page_keeps_all_but_its_manifests(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"# the job\n{JOB}")
    (tmp_path / "README.md").write_text(PAGE.format(JOB))
    assert _migrate(tmp_path, "README.md", "a.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    expected = (tmp_path / "a.yaml").read_text().removeprefix("# the job\n")
    assert "kind: TrainJob" in expected
    assert (tmp_path / "README.md").read_text() == PAGE.format(expected)


def test_a_manifest_that_is_set_in_on_a_page_stays(tmp_path: Path) -> None:
    page = "- first\n\n  ```yaml\n  " + JOB.replace("\n", "\n  ") + "```\n"
    (tmp_path / "README.md").write_text(page)
    done = _migrate(tmp_path, "README.md", "--to", "TrainJob", "--in-place")
    assert done.returncode == 1
    assert "its fence is indented" in done.stdout
    assert (tmp_path / "README.md").read_text() == page


def test_git_applies_a_diff(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_bytes(JOB.replace("\n", "\r\n").encode())
    (tmp_path / "b.json").write_text(json.dumps(quick_yaml.load(JOB.replace("train", "other"))))
    program("git", "init", "-q", ".", cwd=tmp_path)
    with (tmp_path / "x.patch").open("wb") as patch:
        program(*command("migrate", ".", "--to", "TrainJob", "--diff"), cwd=tmp_path, stdout=patch)
    assert _migrate(tmp_path, ".", "--to", "TrainJob", "--to-dir", str(tmp_path.parent / f"{tmp_path.name}-new")).returncode == 0
    applied = program("git", "apply", "x.patch", cwd=tmp_path)
    assert applied.returncode == 0, applied.stderr
    for name in ("jobs/a.yaml", "b.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path.parent / f"{tmp_path.name}-new" / name).read_bytes()


def test_a_document_on_the_line_of_its_start_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"--- {json.dumps(quick_yaml.load(JOB))} # one\n")
    assert _migrate(tmp_path, "a.yaml", "--to", "TrainJob", "--in-place").returncode == 0
    assert [each["kind"] for each in quick_yaml.load_all((tmp_path / "a.yaml").read_text())] == ["TrainJob"]
    assert "# one" in (tmp_path / "a.yaml").read_text()
