"""Each folder of `tests/cases/upgrade` holds a manifest or a project with its command in the first line, and what is reported.

With JOBSPEC_WRITE_CASES set, the expectations are written anew.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from jobspec.apis.releases import CHOSEN
from tests.support.manifests import PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "upgrade").iterdir())


@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_case(case: Path) -> None:
    file = next(each for name in ("jobspec.yaml", "job.yaml") if (each := case / name).is_file())
    options = file.read_text().partition("\n")[0].removeprefix("# jobspec upgrade ").split()
    done = run_here("upgrade", file.name, *options, cwd=case)
    report = f"{done.stdout}{done.stderr}exit {done.returncode}\n"
    if os.environ.get("JOBSPEC_WRITE_CASES"):
        (case / "report.txt").write_text(report)
    assert report == (case / "report.txt").read_text()


_JOB = (
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {}}}\nspec: {{runtimeRef: {{name: torch-distributed}}}}\n"
)


def test_what_many_jobs_share_is_one_finding(tmp_path: Path) -> None:
    write(tmp_path, {f"jobs/{number}.yaml": _JOB.format(f"job-{number}") for number in range(60)})
    done = run_here("upgrade", "jobs", "--from", "trainer=2.0", "--to", "trainer=2.3", "-o", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    messages = [each["message"] for file in report["files"] for each in file["diagnostics"] if each["rule"] == "pods-change"]
    assert len(messages) == len(set(messages))
    assert all(message.endswith("(all 60 jobs)") for message in messages)
    assert report["target"] == {"trainer": "2.3.0"}
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ([], "--to is missing: name the releases to upgrade to, such as --to trainer=2.3,kubernetes=1.37"),
        (["--to", "trainer"], f"--to trainer: write OPERATOR=RELEASE with one of {', '.join(CHOSEN)}"),
        (["--to", "trainer=2.0", "--from", "trainer=2.3"], "--to trainer=2.0.0 is older than 2.3.0, the release to upgrade from"),
    ],
)
def test_what_is_no_upgrade_is_refused(options: list[str], error: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": _JOB.format("a")})
    done = run_here("upgrade", "job.yaml", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"jobspec: {error}\n"


def test_a_project_in_a_folder_is_upgraded_from_its_own_release(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "cases" / "upgrade" / "variants", tmp_path / "nlp")
    named, inside = (run_here("upgrade", path, "--to", "trainer=2.3", cwd=tmp_path).stdout for path in ("nlp/jobspec.yaml", "nlp"))
    assert inside.splitlines()[-1].endswith("(trainer 2.0.0 → 2.3.0)")
    assert sorted(inside.splitlines()[:-1]) == sorted(named.splitlines()[:-1])


def test_projects_of_different_releases_are_upgraded_one_at_a_time(tmp_path: Path) -> None:
    for name, release in (("a", "2.0.0"), ("b", "2.1.0")):
        project = f"{PROJECT_HEAD}  target: {{trainer: {release}}}\n  variants: [{{name: job, base: job.yaml}}]\n"
        write(tmp_path / name, {"jobspec.yaml": project, "job.yaml": _JOB.format("a")})
    done = run_here("upgrade", ".", "--to", "trainer=2.3", cwd=tmp_path)
    said = "trainer 2.0.0 in a/jobspec.yaml, and 2.1.0 in b/jobspec.yaml; upgrade one at a time, or name --from"
    assert (done.returncode, done.stderr) == (2, f"jobspec: projects have different releases: {said}\n")
    assert run_here("upgrade", ".", "--to", "trainer=2.3", "--from", "trainer=2.0", cwd=tmp_path).returncode == 0
