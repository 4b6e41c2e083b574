"""Where every check has to run, a skip is a failure; and what is made at random is made from one seed."""

import gc
import os
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.core
import pytest

from tests.support import seeds
from tests.support.reference import ROOT

_NOT_COVERED = ("agreement", "live", "trainer")


def pytest_configure() -> None:
    """Hypothesis makes of each test what it always does, or what follows from the seed that is asked for."""
    asked = seeds.NAME in os.environ
    hypothesis.settings.register_profile("one seed", derandomize=not asked, database=None, deadline=None)
    hypothesis.settings.load_profile("one seed")
    hypothesis.core.global_force_seed = seeds.seed() if asked else None
    gc.set_threshold(50_000, 20, 100)  # each full collection walks over all that the tests have imported
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # some images set it, and every process would compile everything that it imports
    sys.dont_write_bytecode = False


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each process of a run of all tests begins with other modules: what it compiles of them, the others find when they come there."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        modules = sorted(Path(__file__).parent.rglob("test_*.py"))
        for path in modules[int(worker.removeprefix("gw")) :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
            with suppress(ImportError):  # the trainer's libraries are an extra
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    gc.freeze()  # what is imported stays


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # libraries complain about what is still there at the very end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage more than doubles a test's time, and is left to tests that look at parts: others go the same ways thousands of times."""
    for item in items:
        if item.get_closest_marker("slow") or item.path.parent.name in _NOT_COVERED:
            item.add_marker("no_cover")


def pytest_report_header() -> str:
    return f"{seeds.NAME}={seeds.seed()}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `JOBSPEC_NO_SKIP` set, as `.ci/run` sets it beside the reference data, no test may be skipped."""
    report = yield
    if report.skipped and os.environ.get("JOBSPEC_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"
    return report


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are checked in this process, by name."""
    from jobspec.journey import journey

    found: list[str] = []
    check = journey._check

    def recorded(own: journey.Journey, file: Any, world: Any, **given: Any) -> Any:
        found.append(file.found.path)
        return check(own, file, world, **given)

    monkeypatch.setattr(journey, "_check", recorded)
    return found


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are linted in this process, by name."""
    from jobspec.lint import linting

    found: list[str] = []
    of_document = linting._of_document

    def recorded(document: Any, *rest: Any) -> Any:
        found.append(document.file)
        return of_document(document, *rest)

    monkeypatch.setattr(linting, "_of_document", recorded)
    return found
