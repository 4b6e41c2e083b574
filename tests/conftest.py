"""Where every check has to run, a skip is a failure; and all processes of a run share a seed."""

import os
from collections.abc import Generator

import pytest

from tests.support import seeds


def pytest_configure() -> None:
    seeds.choose()  # before any process of the run is started


def pytest_report_header() -> str:
    return seeds.choose()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `JOBSPEC_NO_SKIP` set, as `.ci/run` sets it beside the reference data, nothing may be passed by."""
    report = yield
    if report.skipped and os.environ.get("JOBSPEC_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"
    return report
