"""What lint fixes: the fixed files of cases, in `tests/cases/lint-fixed`, in which nothing is left to fix, and all that was valid is."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.journey.checking import checked
from jobspec.journey.references import resolve
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint, seen
from jobspec.lint.pages import sections
from jobspec.lint.topics import every_rule
from jobspec.operators.expansion import expand
from jobspec.operators.workloads import takes_overlays
from jobspec.session.fixes import FixedText, fix_texts
from jobspec.world.world import Cluster
from tests.lint.test_lint import files_of
from tests.support import quick_yaml
from tests.support.cases import target_of
from tests.support.checking import fix
from tests.support.reference import ROOT, folder

CASES = sorted((ROOT / "tests" / "cases" / "lint").glob("*.yaml"))
FIXED = ROOT / "tests" / "cases" / "lint-fixed"


def fix_all(text: str, cluster: Cluster, *, name: str) -> tuple[FixedText, Sequence[Diagnostic]]:
    """A text with its fixes, and all that is said of it then."""

    def judge(new: str) -> Sequence[Diagnostic]:
        return lint([checked(Source(name, new, skip_unknown=True), (), cluster)], cluster)[0].diagnostics

    fixed = fix(text, judge, file=name)
    return fixed, judge(fixed.text)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_is_fixed_to_its_fixed_file(case: Path) -> None:
    text = case.read_text()
    fixed, left = fix_all(text, Cluster(target_of(text)), name=case.name)
    expected = FIXED / case.name
    assert fixed.text == (expected.read_text() if expected.exists() else text)
    assert [each for each in left if each.severity == "error" and each.stage != "lint"] == []
    assert [each for each in left if each.changes] == []


def test_every_fixed_file_belongs_to_a_case() -> None:
    assert {path.name for path in FIXED.iterdir()} <= {path.name for path in CASES}


#: Path of a value in an expanded object, behind its job and the object's kind and name.
Values = dict[tuple[str, ...], Any]


def expanded(texts: Mapping[str, str], cluster: Cluster) -> Values:
    """Every value of the objects that operators make of the jobs in files, with items of lists by name where they have one."""
    files = [checked(Source(path, text, skip_unknown=True), (), cluster) for path, text in texts.items()]
    documents = [document for file in files for document in seen(file)]
    found: Values = {}
    for number, document in enumerate(documents):
        for each in _objects(document, documents, cluster):
            data = each.data()
            found |= {(str(number), data["kind"], str(data["metadata"].get("name")), *path): value for path, value in _values(data)}
    return found


def _objects(job: Document, context: Sequence[Document], cluster: Cluster) -> Sequence[MarkedTree]:
    try:
        return expand(job, context, cluster.target).objects if takes_overlays(job) else ()
    except JobspecError:  # too many pods
        return ()


def _values(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if path[-2:] == ("data", "runtime"):  # a snapshot of the runtime, as text
        data = quick_yaml.load(data)
    if isinstance(data, list) and all(isinstance(each, dict) and "name" in each for each in data):
        data = {each["name"]: each for each in data}
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, child in inside:
        yield from _values(child, (*path, str(step)))
    if not inside:
        yield path, data


def changed_by_fixes(texts: Mapping[str, str], cluster: Cluster) -> dict[str, set[tuple[str, ...]]]:
    """Each rule that fixes files, with the paths of the values of expanded objects that are other ones then."""

    def judge(now: Mapping[str, str], about: Collection[str]) -> dict[str, Sequence[Diagnostic]]:
        files = [checked(Source(path, text, skip_unknown=True), (), cluster) for path, text in now.items()]
        return {each.path: each.diagnostics for each in lint(resolve(files, cluster), cluster, lambda _: True) if each.path in about}

    first = [each for found in judge(texts, texts).values() for each in found]
    changed = {}
    for rule in {each.rule for each in first if each.changes and each.severity != "error"}:
        fixed = fix_texts(texts, judge, lambda _path, _text, found, rule=rule: [each for each in found if each.rule == rule])
        before, after = (expanded(each, cluster) for each in (texts, {path: each.text for path, each in fixed.items()}))
        changed[rule] = {path for path in before.keys() | after.keys() if before.get(path, ...) != after.get(path, ...)}
    return changed


_DECLARED = {rule.name: sections(rule.check).get("Fix") for rule in every_rule()}


def _undeclared(changed: Mapping[str, set[tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """What rules change in expanded objects, and do not say in their pages."""
    fields = {rule: set(re.findall("`([^`]+)`", _DECLARED.get(rule) or "")) for rule in changed}
    return [(rule, path) for rule, paths in changed.items() for path in paths if not fields[rule] & {*path}]


@pytest.mark.slow
def test_the_objects_of_a_job_differ_after_a_fix_only_where_its_rule_says_so() -> None:
    fixing, effective = set(), set()
    for case in sorted((ROOT / "tests" / "cases" / "lint").iterdir()):
        texts = {str(path): path.read_text() for path in files_of(case)}
        changed = changed_by_fixes(texts, Cluster(target_of(next(iter(texts.values())))))
        assert _undeclared(changed) == [], case
        fixing |= {*changed}
        effective |= {rule for rule, paths in changed.items() if paths}
    assert sorted(fixing) == sorted(rule for rule, said in _DECLARED.items() if said)
    assert sorted(effective) == sorted(rule for rule in fixing if "`" in (_DECLARED[rule] or ""))


def test_the_objects_of_public_jobs_differ_after_a_fix_only_where_its_rule_says_so() -> None:
    fixing = set()
    for path in sorted(each for name in ("manifests", "companions") for each in folder("corpus", name).rglob("*.y*ml")):
        changed = changed_by_fixes({str(path): path.read_text()}, Cluster())
        assert _undeclared(changed) == [], path
        fixing |= {*changed}
    assert len(fixing) >= 3


def test_public_manifests_stay_as_valid_as_they_were() -> None:
    cluster = Cluster()
    fixed = 0
    for path in sorted(folder("corpus", "manifests").rglob("*.y*ml")):
        text = path.read_text()
        before = lint([checked(Source(path.name, text), (), cluster)], cluster)[0]
        if before.valid and any(each.changes for each in before.diagnostics):
            done, left = fix_all(text, cluster, name=path.name)
            fixed += len(done.done)
            assert [each for each in left if each.severity == "error"] == []
            assert done.refused == []
    assert fixed > 5
