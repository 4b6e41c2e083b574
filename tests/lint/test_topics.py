"""Topics of lint: one that is left out of a view would have found nothing in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.lint.linting import seen, views_of
from jobspec.lint.topics import TOPICS
from jobspec.lint.views import Documents
from jobspec.pipeline import Checked, Source
from tests.support.cases import target_of
from tests.support.reference import ROOT, folder

CASES = ROOT / "tests" / "cases"


def _left_out(files: list[Path]) -> tuple[int, list[str]]:
    """How many topics are left out of views of files that are linted together, and what they would have found."""
    cluster = Cluster(target_of(files[0].read_text()))
    sources = [Source(str(each), each.read_bytes(), skip_unknown=True) for each in files]
    read = pipeline.resolve([pipeline.checked(each, (), cluster) for each in sources], cluster)
    documents = Documents((each for file in read for each in seen(file)), cluster.target)
    found = [each for file in read for each in _of_topics_left_out(file, documents)]
    return len(found), [each for each in found if each]


def _of_topics_left_out(file: Checked, documents: Documents) -> Iterator[str]:
    for view, sees, topics in views_of(file, documents):
        for topic in (each for each in TOPICS.values() if each not in topics):
            rules = [rule for rule in topic.rules if rule.sees in sees]
            yield " ".join(f"{rule.name}: {each.message}" for rule in rules for each in rule.check(view))


@pytest.mark.parametrize("name", ["lint", "lint-fixed", "guides", "outcome", "ordinary"])
def test_what_is_left_out_finds_nothing_in_cases(name: str) -> None:
    cases = [path for path in sorted((CASES / name).iterdir()) if path.is_dir() or path.suffix == ".yaml"]
    number = 0
    for case in cases:
        left_out, found = _left_out(sorted(case.rglob("*.yaml")) if case.is_dir() else [case])
        assert found == [], case
        number += left_out
    assert number > len(cases)


def test_what_is_left_out_finds_nothing_in_public_manifests() -> None:
    files = sorted(folder("corpus", "manifests").rglob("*.yaml"))
    left_out, found = _left_out(files)
    assert found == []
    assert left_out > len(files)
