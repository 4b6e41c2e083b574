"""Lint: the lines that a rule is written beside are the lines that it is reported for, and no others."""

from pathlib import Path

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.journey.references import resolve
from jobspec.lint.linting import lint
from jobspec.lint.topics import every_rule
from jobspec.world.world import Cluster
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.checking import checked
from tests.support.reference import ROOT

FOLDER = ROOT / "tests" / "cases" / "lint"
#: A case is a file, or a folder of files that are linted together.
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir() or path.suffix == ".yaml")

OF_EVERY_PYTORCHJOB = "legacy-operator"


def files_of(case: Path) -> list[Path]:
    return sorted(case.rglob("*.yaml")) if case.is_dir() else [case]


def linted(case: Path) -> dict[Path, list[Diagnostic]]:
    """What is reported of each file of a case, by the usual rules, and the one that a case is named after."""
    files = files_of(case)
    cluster = Cluster(target_of(files[0].read_text()))
    read = resolve([checked(each, cluster) for each in files], cluster)
    found = lint(read, cluster, lambda rule: rule.name == case.stem or (rule.by_default and rule.name != OF_EVERY_PYTORCHJOB))
    return {Path(each.path): [said for said in each.diagnostics if said.stage == "lint"] for each in found}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_each_rule_is_reported_where_it_is_expected_and_nowhere_else(case: Path) -> None:
    for path, found in linted(case).items():
        assert_reported(expectations(path.read_text()), found)


def test_every_rule_has_a_case_that_trips_it() -> None:
    tripped = {each.rule for case in CASES for path in files_of(case) for each in expectations(path.read_text())}
    assert {rule.name for rule in every_rule()} - tripped == set()
