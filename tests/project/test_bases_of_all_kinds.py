"""A base may be a job of any kind.

Overlays, names, imports, comparisons and reports treat it as they do a PyTorchJob."""

import json
import re
from pathlib import Path

import pytest

from jobspec.project.matrix import max_name_length
from tests.support.checking import documents
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed

_EXAMPLES = (ROOT / "tests" / "cases" / "examples" / "jobs.yaml").read_text().partition("\n")[2].split("---\n")
JOBS = {re.search(r"^kind: (\w+)", text, re.MULTILINE)[1]: text for text in _EXAMPLES}  # type: ignore[index]
#: The kinds whose objects are updated under their name.
_UPDATED = ("CronJob", "LeaderWorkerSet", "RayCluster")
_PREPARE = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: prepare}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: data, image: "data:1.4"}]}}}
"""


def _rendered(folder: Path) -> dict[str, str]:
    done = run_here("render", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name: path.read_text() for path in sorted((folder / "rendered" / "a").glob("*-*.yaml"))}


def _project(folder: Path, base: str, variant: str = "{name: a, base: base.yaml}") -> Path:
    write(folder, {"base.yaml": base, "jobspec.yaml": f"{PROJECT_HEAD}  variants:\n  - {variant}\n"})
    return folder


@pytest.mark.parametrize("kind", JOBS)
def test_a_variant(kind: str, tmp_path: Path) -> None:
    (file,) = _rendered(_project(tmp_path, JOBS[kind], "{name: a, base: base.yaml, queue: team, namespace: nlp, overlays: [istio-off]}"))
    assert re.fullmatch(rf"{kind.lower()}-a.yaml" if kind in _UPDATED else rf"{kind.lower()}-a-[0-9a-f]{{8}}.yaml", file)
    text = (tmp_path / "rendered" / "a" / file).read_text()
    assert "namespace: nlp" in text
    assert "kueue.x-k8s.io/queue-name: team" in text
    assert "sidecar.istio.io/inject" in text


@pytest.mark.parametrize("kind", JOBS)
def test_an_import_renders_to_the_job(kind: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOBS[kind]})
    done = run_here("import", "job.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run_here("render", cwd=tmp_path).returncode == 0
    (made,) = sorted((tmp_path / "rendered").glob("*/*-*.yaml"))
    (before,), (after,) = documents(tmp_path / "job.yaml", {}), documents(made, {})
    assert before.data == after.data


def test_a_folder_is_imported_without_jobs_that_show_no_sign_of_training(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/train.yaml": JOBS["JobSet"], "jobs/backup.yaml": _PREPARE.removeprefix("---\n")})
    done = run_here("import", "jobs", cwd=tmp_path)
    assert "skipped jobs/backup.yaml: no training job" in done.stdout
    assert sorted(path.name for path in (tmp_path / "base").iterdir()) == ["steps.yaml"]


def test_a_job_of_another_kind_beside_the_base_keeps_its_name(tmp_path: Path) -> None:
    files = _rendered(_project(tmp_path, JOBS["JobSet"] + _PREPARE))
    assert [re.sub(r"-[0-9a-f]{8}\.", ".", name) for name in files] == ["job-prepare.yaml", "jobset-a.yaml"]


@pytest.mark.parametrize(
    ("base", "held"),
    [
        (JOBS["JobSet"] + "---\n" + JOBS["JobSet"].replace("steps", "others"), "2: JobSet `steps`, JobSet `others`"),
        (JOBS["Job"] + _PREPARE, "2: Job `indexed`, Job `prepare`"),
        (_PREPARE.replace("batch/v1", "v1").replace("kind: Job", "kind: ConfigMap").partition("spec:")[0], "none"),
    ],
    ids=["two JobSets", "a Job that prepares", "no job"],
)
def test_a_base_of_several_jobs(base: str, held: str, tmp_path: Path) -> None:
    done = run_here("render", "-o", "json", cwd=_project(tmp_path, base))
    (found,) = json.loads(done.stdout)["files"][0]["diagnostics"]
    assert (found["rule"], found["message"].partition("this file holds ")[2]) == ("wrong-base", held)


def test_runs_of_a_jobset_and_an_update_of_a_cluster(tmp_path: Path) -> None:
    project = f"{PROJECT_HEAD}  variants:\n  - {{name: a, base: set.yaml, history: 2}}\n  - {{name: b, base: cluster.yaml}}\n"
    folder = committed(tmp_path, {"set.yaml": JOBS["JobSet"], "cluster.yaml": JOBS["RayCluster"], "jobspec.yaml": project})
    assert run_here("render", cwd=folder).returncode == 0
    committed(folder, {})
    for path in ("set.yaml", "cluster.yaml"):
        file = folder / path
        file.write_text(
            file.read_text()
            .replace("train:1.4", "train:1.5")
            .replace("replicas: 1,", "replicas: 2,")
            .replace("replicas: 1\n", "replicas: 2\n")
        )
    done = run_here("diff", "-o", "json", cwd=folder)
    changes = {each["name"]: [one["meaning"] for one in each["objects"]] for each in json.loads(done.stdout)["variants"]}
    assert changes == {"a": ["new-run"], "b": ["in-place"]}
    assert run_here("render", cwd=folder).returncode == 0
    assert len(list((folder / "rendered" / "a").glob("jobset-*.yaml"))) == 2


def test_jobs_of_the_kind_of_the_base_alone_are_its_runs(tmp_path: Path) -> None:
    folder = _project(tmp_path, JOB + _PREPARE, "{name: a, base: base.yaml, history: 3}")
    _rendered(folder)
    (folder / "base.yaml").write_text((folder / "base.yaml").read_text().replace("name: prepare", "name: other"))
    assert "job-prepare.yaml" not in _rendered(folder)


@pytest.mark.parametrize(
    ("kind", "longest"),
    [("Job", 61), ("CronJob", 52), ("JobSet", 45), ("MPIJob", 52), ("LeaderWorkerSet", 50), ("RayCluster", 53), ("TFJob", 54)],
)
def test_the_longest_name(kind: str, longest: int, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOBS[kind]})
    (job,) = documents(tmp_path / "job.yaml", {})
    assert max_name_length(job, None) == longest
