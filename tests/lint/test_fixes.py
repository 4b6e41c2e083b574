"""What lint mends: the fixed files of cases, in `tests/cases/lint-fixed`, in which nothing is left to mend, and all that was valid is."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.diagnostics import Diagnostic
from jobspec.fixes.rounds import Mended, mend
from jobspec.lint.linting import lint
from jobspec.pipeline import Source
from tests.support.cases import target_of
from tests.support.reference import ROOT, folder

CASES = sorted((ROOT / "tests" / "cases" / "lint").glob("*.yaml"))
FIXED = ROOT / "tests" / "cases" / "lint-fixed"


def mended(text: str, cluster: Cluster, *, name: str) -> tuple[Mended, Sequence[Diagnostic]]:
    """A text with its fixes, and all that is said of it then."""

    def judge(new: str) -> Sequence[Diagnostic]:
        return lint([pipeline.checked(Source(name, new), (), cluster)], cluster.target)[0].diagnostics

    fixed = mend(text, judge, file=name)
    return fixed, judge(fixed.text)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_is_mended_to_its_fixed_file(case: Path) -> None:
    text = case.read_text()
    fixed, left = mended(text, Cluster(target_of(text)), name=case.name)
    expected = FIXED / case.name
    assert fixed.text == (expected.read_text() if expected.exists() else text)
    assert [each for each in left if each.severity == "error" and each.stage != "lint"] == []
    assert [each for each in left if each.changes] == []


def test_every_fixed_file_belongs_to_a_case() -> None:
    assert {path.name for path in FIXED.iterdir()} <= {path.name for path in CASES}


def test_public_manifests_stay_as_valid_as_they_were() -> None:
    cluster = Cluster()
    fixed = 0
    for path in sorted(folder("corpus", "manifests").rglob("*.y*ml")):
        text = path.read_text()
        before = lint([pipeline.checked(Source(path.name, text), (), cluster)], cluster.target)[0]
        if before.valid and any(each.changes for each in before.diagnostics):
            done, left = mended(text, cluster, name=path.name)
            fixed += len(done.done)
            assert [each for each in left if each.severity == "error"] == []
            assert done.refused == []
    assert fixed > 10
