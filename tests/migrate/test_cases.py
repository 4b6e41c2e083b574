"""Each folder of `tests/cases/migrate` holds a file with its command in the first line, what becomes of it, and what is reported of it.

JSON, which has no comments, goes to TrainJobs.

With JOBSPEC_WRITE_CASES set, the expectations are written anew.
"""

import os
from pathlib import Path

import pytest

from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "migrate").iterdir())


def _expect(path: Path, actual: str) -> None:
    if os.environ.get("JOBSPEC_WRITE_CASES"):
        path.write_text(actual)
    assert actual == path.read_text()


@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_case(case: Path) -> None:
    (job,) = case.glob("job.*")
    first = job.read_text().partition("\n")[0]
    options = first.removeprefix("# jobspec migrate ").split() if first.startswith("#") else ["--to", "TrainJob"]
    done = run_here("migrate", job.name, *options, cwd=case)
    _expect(case / f"migrated{job.suffix}", done.stdout)
    _expect(case / "report.txt", f"{done.stderr}exit {done.returncode}\n")
