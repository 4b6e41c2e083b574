"""Each folder of `tests/cases/upgrade` holds a manifest or a project with its command in the first line, and what is reported.

With JOBSPEC_WRITE_CASES set, the expectations are written anew.
"""

import json
import os
from pathlib import Path

import pytest

from tests.support.manifests import write
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
        (["--to", "trainer"], "--to trainer: write OPERATOR=RELEASE with one of training-operator, trainer, jobset, kueue, kubernetes"),
        (["--to", "trainer=2.0", "--from", "trainer=2.3"], "--to trainer=2.0.0 is older than 2.3.0, the release to upgrade from"),
    ],
)
def test_what_is_no_upgrade_is_refused(options: list[str], error: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": _JOB.format("a")})
    done = run_here("upgrade", "job.yaml", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"jobspec: {error}\n"
