"""What rules read: one that is not called, since nothing of that is there, would have found nothing."""

from pathlib import Path

import pytest

from jobspec.journey.checking import checked
from jobspec.journey.references import resolve
from jobspec.journey.steps import Source
from jobspec.lint.documents import Documents
from jobspec.lint.linting import can_find, linted_in, looks_at, seen
from jobspec.lint.topics import every_rule
from jobspec.world.world import Cluster
from tests.support.cases import target_of
from tests.support.reference import ROOT, folder

CASES = ROOT / "tests" / "cases"


def _not_called(files: list[Path]) -> tuple[int, list[str]]:
    """How many rules are not called for files that are linted together, and what they would have found."""
    cluster = Cluster(target_of(files[0].read_text()))
    sources = [Source(str(each), each.read_bytes(), skip_unknown=True) for each in files]
    read = resolve([checked(each, (), cluster) for each in sources], cluster)
    documents = Documents([each for file in read for each in seen(file)], cluster)
    contexts = [each for file in read for document in seen(file) for each in linted_in(document, documents)]
    left_out = [(each, rule) for each in contexts for rule in every_rule() if looks_at(rule, each) and not can_find(rule, each)]
    return len(left_out), [f"{rule.name}: {found.message}" for context, rule in left_out for found in rule.check(context)]


@pytest.mark.parametrize("name", ["lint", "lint-fixed", "guides", "outcome", "ordinary"])
def test_what_is_not_called_finds_nothing_in_cases(name: str) -> None:
    cases = [path for path in sorted((CASES / name).iterdir()) if path.is_dir() or path.suffix == ".yaml"]
    number = 0
    for case in cases:
        left_out, found = _not_called(sorted(case.rglob("*.yaml")) if case.is_dir() else [case])
        assert found == [], case
        number += left_out
    assert number > len(cases)


def test_what_is_not_called_finds_nothing_in_public_manifests() -> None:
    files = sorted(folder("corpus", "manifests").rglob("*.yaml"))
    left_out, found = _not_called(files)
    assert found == []
    assert left_out > len(files)
