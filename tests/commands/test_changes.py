"""Reports on what changed since a Git ref, and on what depends on it: builds, projects and references."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.manifests import JOB, PROJECT_HEAD
from tests.support.processes import run_here
from tests.support.repositories import committed, git

Change = Callable[[Path], object]
_BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: -}\n"
_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch-own, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: train}]}}}
"""
_TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: own}
spec: {runtimeRef: {kind: TrainingRuntime, name: torch-own}}
"""
_FILES = {
    "broken.yaml": _BROKEN,
    "jobs/own.yaml": _TRAINJOB,
    "runtimes/own.yaml": _RUNTIME,
    "base/kustomization.yaml": "resources: [job.yaml]\n",
    "base/job.yaml": JOB.replace("name: mnist", "name: Base"),
    "prod/kustomization.yaml": "namespace: prod\nresources: [../base]\n",
    "project/jobspec.yaml": PROJECT_HEAD + "  output: rendered\n  variants: [{name: a, base: job.yaml}]\n",
    "project/job.yaml": JOB,
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit on `main`, and a branch of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = committed(tmp_path / "repository", _FILES)
    git(folder, "checkout", "--quiet", "-b", "change")
    return folder


def _reported(folder: Path, *arguments: str) -> tuple[int, set[str]]:
    done = run_here("lint", ".", "--changed-since", "main", *arguments, "-o", "json", cwd=folder)
    return done.returncode, {each["path"].removeprefix("./") for each in json.loads(done.stdout)["files"]}


def _appended(name: str) -> Change:
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write("# changed\n")

    return change


builder = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")


def test_nothing_changed(repository: Path) -> None:
    assert _reported(repository) == (0, set())


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (_appended("broken.yaml"), {"broken.yaml"}),
        (_appended("jobs/own.yaml"), {"jobs/own.yaml"}),
        (_appended("runtimes/own.yaml"), {"runtimes/own.yaml", "jobs/own.yaml"}),
        (_appended("project/job.yaml"), {"project/job.yaml", "project/jobspec.yaml"}),
        pytest.param(
            *(_appended("base/job.yaml"), {"base/job.yaml", "prod/kustomization.yaml"}), marks=builder, id="base",
        ),
        pytest.param(
            *(_appended("prod/kustomization.yaml"), {"base/job.yaml", "prod/kustomization.yaml"}), marks=builder, id="overlay",
        ),
        (lambda folder: (folder / "base/job.yaml").unlink(), {"base/kustomization.yaml"}),
        (lambda folder: (folder / "new.yaml").write_text(_BROKEN), {"new.yaml"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_committed", [True, False])
def test_what_depends_on_a_change_is_reported(change: Change, reported: set[str], repository: Path, *, is_committed: bool) -> None:
    change(repository)
    if is_committed:
        committed(repository, {})
    assert _reported(repository)[1] == reported


def test_what_came_to_the_ref_later_is_no_change(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "main")
    _appended("broken.yaml")(repository)
    committed(repository, {})
    git(repository, "checkout", "--quiet", "change")
    assert _reported(repository) == (0, set())


def test_the_whole_repository_is_seen(repository: Path) -> None:
    _appended("jobs/own.yaml")(repository)
    done = run_here("validate", ".", "--changed-since", "main", "--closed-world", cwd=repository)
    assert (done.returncode, done.stdout.splitlines()[-1].split(":")[0]) == (0, "1 document")


def test_a_ref_that_there_is_not(repository: Path) -> None:
    done = run_here("lint", ".", "--changed-since", "nowhere", cwd=repository)
    assert (done.returncode, done.stderr) == (2, "jobspec: --changed-since nowhere: no commit of the repository around .\n")


def test_a_baseline_is_of_all_files(repository: Path) -> None:
    done = run_here("lint", ".", "--changed-since", "main", "--write-baseline", "known.json", cwd=repository)
    assert done.returncode == 2
    assert "leave --changed-since out" in done.stderr
    assert not (repository / "known.json").exists()


# Files that are given, seen within the repository: what hooks are started with.


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (["broken.yaml"], {"broken.yaml"}),
        (["runtimes/own.yaml"], {"runtimes/own.yaml", "jobs/own.yaml"}),
        (["jobs/own.yaml", "broken.yaml"], {"jobs/own.yaml", "broken.yaml"}),
        (["project/job.yaml"], {"project/job.yaml", "project/jobspec.yaml"}),
        (["project"], {"project/job.yaml", "project/jobspec.yaml"}),
        (["jobs/", "broken.yaml"], {"jobs/own.yaml", "broken.yaml"}),
        ([], set(_FILES)),
    ],
)
def test_given_files_are_judged_with_all_of_a_folder(given: list[str], reported: set[str], repository: Path) -> None:
    files = json.loads(run_here("lint", *given, "--within", ".", "-o", "json", cwd=repository).stdout)["files"]
    assert {each["path"].removeprefix("./") for each in files} == reported


def test_a_given_file_that_there_is_not(repository: Path) -> None:
    done = run_here("lint", "jobs/own.yaml", "none.yaml", "--within", ".", cwd=repository)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "jobspec: none.yaml: no such file or folder\n")


def test_a_hook_sees_quotas_of_other_files_within_the_repository(repository: Path) -> None:
    quota = 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none, namespace: ml}\nspec: {hard: {pods: "0"}}\n'
    (repository / "quota.yaml").write_text(quota)
    (repository / "jobs" / "job.yaml").write_text(JOB.replace("metadata:\n", "metadata:\n  namespace: ml\n", 1))
    alone = run_here("validate", "--skip-unknown", "jobs/job.yaml", cwd=repository)
    assert (alone.returncode, "never-fits" in alone.stdout) == (0, False)
    within = run_here("validate", "--skip-unknown", "--within", ".", "jobs/job.yaml", cwd=repository)
    assert (within.returncode, "never-fits" in within.stdout, "broken.yaml" in within.stdout) == (1, True, False)


def test_a_part_of_a_folder_is_no_baseline(repository: Path) -> None:
    done = run_here("lint", "broken.yaml", "--within", ".", "--write-baseline", "known.json", cwd=repository)
    assert (done.returncode, "leave --within out" in done.stderr) == (2, True)
