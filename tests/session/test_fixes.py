"""Fixes: cases beside what becomes of them, and the laws that hold for any text."""

import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.problems import Change, move, quote, remove, rename, set_to
from jobspec.documents.comments import comments_of, lost
from jobspec.documents.reader import read
from jobspec.documents.streams import cut
from jobspec.documents.text_edits import Unfit, applied
from jobspec.journey import checking
from jobspec.journey.outcomes import foresee
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.session.fixes import FixedText, fix_texts, with_remedies
from jobspec.world.world import Cluster
from tests.support.any_data import MAPPINGS
from tests.support.checking import fix
from tests.support.manifests import paths_in
from tests.support.reference import ROOT, folder
from tests.support.rewriting import restyled
from tests.support.seeds import seed

_CASES = sorted(each for each in (ROOT / "tests" / "cases" / "fixes").iterdir() if ".fixed" not in each.suffixes)
_CLUSTER = Cluster()


def _judge(text: str) -> Sequence[Diagnostic]:
    return foresee(checking.checked(Source("a.yaml", text), (), _CLUSTER), _CLUSTER).result.diagnostics


def _fix(text: str) -> FixedText:
    return fix(text, _judge, file="a.yaml")


def _data(text: str) -> list[Any]:
    documents, problems = read(text, file="a.yaml")
    assert not problems
    return [each.data for each in documents]


def _errors(text: str) -> list[Diagnostic]:
    return [each for each in _judge(text) if each.severity == "error"]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("change", ["as it is", "CRLF", "no last line end", "byte order mark", "in a list of documents"])
def test_a_case_becomes_what_stands_beside_it(case: Path, change: str) -> None:
    def changed(text: str) -> str:
        return {
            "CRLF": lambda: text.replace("\n", "\r\n"),
            "no last line end": lambda: text.rstrip("\n"),
            "byte order mark": lambda: f"\ufeff{text}",
            "in a list of documents": lambda: f"--- # first\na: b\n---\n{text}" if case.suffix == ".yaml" else text,
        }.get(change, lambda: text)()

    expected = changed(case.with_suffix(f".fixed{case.suffix}").read_text())
    assert _fix(changed(case.read_text())).text == expected
    assert _fix(expected).text == expected


def test_what_cannot_be_fixed_is_reported() -> None:
    found = _fix((ROOT / "tests" / "cases" / "fixes" / "by_hand.yaml").read_text())
    assert [(each.rule, each.mark.line) for each in found.refused] == [("unknown-field", 9)]


#: Text, a remedy, and the text after it; empty where the text cannot take it.
_EDITS = [
    ("a: 1\n", set_to(("b",), True), "a: 1\nb: true\n"),
    ("a: 1", set_to(("b",), "yes"), 'a: 1\nb: "yes"'),
    (
        "a:\n  b: 1 # c\n# d\n",
        set_to(("a", "x", "z"), [1, {"k": "v", "l": 2}]),
        "a:\n  b: 1 # c\n  x:\n    z:\n    - 1\n    - k: v\n      l: 2\n# d\n",
    ),
    ("a: {}\n", set_to(("a", "x"), "v"), "a: {x: v}\n"),
    ("a: { b: 1 }\n", set_to(("a", "x"), "a, b"), 'a: { b: 1, x: "a, b" }\n'),
    ("a: {\n  b: 1\n}\n", set_to(("a", "x"), 2), "a: {\n  b: 1,\n  x: 2\n}\n"),
    ('{"a": {\n\t"b": 1\n}}', set_to(("a", "x"), "é"), '{"a": {\n\t"b": 1,\n\t"x": "é"\n}}'),
    ("a:\nb: 1\n", set_to(("a", "x"), 2), "a: {x: 2}\nb: 1\n"),
    ("a: null # c\n", set_to(("a",), "x"), "a: x # c\n"),
    ("a:\n  - 1 # c\n  - 2\nb: 1\n", set_to(("a", 2), 3), "a:\n  - 1 # c\n  - 2\n  - 3\nb: 1\n"),
    ("a: [1]\n", set_to(("a", 1), 2), "a: [1, 2]\n"),
    ("a: x\n", set_to(("l", 0), "v"), "a: x\nl:\n- v\n"),
    ("- a: 1\n  b: 2\n- c: 3\n", set_to((0, "m"), None), "- a: 1\n  b: 2\n  m: null\n- c: 3\n"),
    ("a: 'x' # c\n", set_to(("a",), "y"), "a: 'y' # c\n"),
    ('a: "x"\n', set_to(("a",), "y"), 'a: "y"\n'),
    ("a: 'x'\n", set_to(("a",), "it's"), 'a: "it\'s"\n'),
    ("a:\n  b: 1\n  # in between\n  c: 2\nd: 3\n", set_to(("a",), {"x": 1}), "a: {x: 1}\nd: 3\n"),
    ("a: &x 1\nb: *x\n", set_to(("a",), 2), ""),
    ("a: |\n  text\n", set_to(("a",), "x"), ""),
    ("a: 1\nb: 2\n", rename(("a",), "c"), "c: 1\nb: 2\n"),
    ("'a': 1\n", rename(("a",), "c"), "'c': 1\n"),
    ("a: 1\nb: 2\n", rename(("a",), "b"), ""),
    ("? a\n: 1\n", rename(("a",), "c"), "? c\n: 1\n"),
    ("a: 1 # c\nb: 2\n", move(("a",), ("m",)), "m:\n  a: 1 # c\nb: 2\n"),
    (
        "l:\n- a:\n  - 1\n\n  # c\n  - 2\n",
        move(("l", 0, "a"), ("m", "k")),
        "l:\n- m:\n    k:\n      a:\n      - 1\n\n      # c\n      - 2\n",
    ),
    ("a: 1 # c\nm:\n    b: 2 # d\n# e\n", move(("a",), ("m",)), "m:\n    b: 2 # d\n    a: 1 # c\n# e\n"),
    ("m:\n  b: 2\na: 1", move(("a",), ("m", "k")), "m:\n  b: 2\n  k:\n    a: 1"),
    ("a: [1,\n 2] # c\nm: {}\n", move(("a",), ("m",)), ""),
    ("a: x # c\nm: {b: 1}\n", move(("a",), ("m", "k")), "# c\nm: {b: 1, k: {a: x}}\n"),
    ("{a: x, m: {b: 1}, 'c': 2}", move(("a",), ("m",)), "{m: {b: 1, a: x}, 'c': 2}"),
    ("{a: x, 'c': 2}", move(("c",), ("m",)), "{a: x, m: {'c': 2}}"),
    ('{"a": [1,\n2], "c": 2}', move(("a",), ("m", "n")), '{"m": {"n": {"a": [1,\n2]}}, "c": 2}'),
    ("a: |\n  t\n\n  u\nm:\n  b: 1\n", move(("a",), ("m",)), "m:\n  b: 1\n  a: |\n    t\n\n    u\n"),
    ("a: 1\nm: {a: 2}\n", move(("a",), ("m",)), ""),
    ("a: 1\nm:\n", move(("a",), ("m",)), ""),
    ("a: 1\nb: 2", remove(("b",)), "a: 1"),
    ("a: 1\r\nb: 2", remove(("b",)), "a: 1"),
    ("a:\n  b: 1 # c\nd: 2\n", remove(("a", "b")), "d: 2\n"),
    ("a: {b: 1, c: 2}\n", remove(("a", "b")), "a: {c: 2}\n"),
    ("a: 0x1F # c\n", quote(("a",)), 'a: "0x1F" # c\n'),
    ("a: &x 1.0\nb: [*x]\n", quote(("a",)), ""),
    ("a: 1\nb: \u2028 c\n", set_to(("a",), 2), "a: 2\nb: \u2028 c\n"),
]


@pytest.mark.parametrize(("text", "remedy", "expected"), _EDITS)
def test_a_remedy_touches_its_place_alone(text: str, remedy: Change, expected: str) -> None:
    after, made = with_remedies(text, [(0, [remedy])], file="a")
    assert (after, bool(made)) == (expected or text, bool(expected))


def test_changes_that_belong_together_are_made_together_or_not_at_all() -> None:
    text = "a:\n  b: 1 # c\nl: [1]\n"
    both = [set_to(("a", "x"), 1), set_to(("a", "z"), [2]), set_to(("l", 1), "v"), set_to(("m",), None)]
    expected = "a:\n  b: 1 # c\n  x: 1\n  z:\n  - 2\nl: [1, v]\nm: null\n"
    assert with_remedies(text, [(0, both)], file="a") == (expected, [(0, both)])
    assert with_remedies(text, [(0, [*both, set_to(("a", "b", "c"), 1)])], file="a") == (text, [])


def _remedies(data: Any, chance: random.Random) -> list[Change]:
    paths = paths_in(data)
    values = [1, "yes", "a b", 'a "b"\\', True, None, {"k": ["v", {"w": 1}]}, [], {}]

    def one(path: tuple[str | int, ...]) -> Change:
        return chance.choice(
            [
                set_to(path, chance.choice(values)),
                set_to((*path, "added"), chance.choice(values)),
                remove(path),
                rename(path, chance.choice(["renamed", "x: y"])),
                move(path, (chance.choice([*(each[len(path) - 1] for each in paths if len(each) == len(path)), "m", "x: y"]), "n")),
                quote(path),
            ]
        )

    return [one(chance.choice(paths)) for _ in range(chance.randrange(1, 5))] if paths else []


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(MAPPINGS, st.integers(0, 10**9))
def test_remedies_of_any_text_change_its_data_as_they_say_and_keep_comments(data: dict[str, Any], number: int) -> None:
    from jobspec.documents.writer import write

    chance = random.Random(seed() + number)
    text = restyled(write([data]), chance)
    before = _data(text)
    wishes = [(0, [each]) for each in _remedies(before[0], chance)]
    after, made = with_remedies(text, wishes, file="a")
    assert all(wish in wishes for wish in made)
    assert (after == text) or made
    if len(made) == 1 and made[0][1][0].action != "quote":
        assert _data(after) == [applied(before[0], made[0][1][0])]
    if not any(each.action in ("remove", "set") for _, (each,) in made):
        assert comments_of(after) == comments_of(text)
    assert "\r\n" not in after or "\r\n" in text
    assert after.endswith("\n") == text.endswith("\n") or any(each.action == "remove" for _, (each,) in made)


def test_most_remedies_of_ordinary_text_can_be_made() -> None:
    from jobspec.documents.writer import write

    chance, done, wished = random.Random(seed()), 0, 0
    for each in _CASES:
        for data in _data(each.read_text()):
            text = write([data])
            for remedy in [found for _ in range(30) for found in _remedies(data, chance)]:
                try:
                    if remedy.action != "quote":
                        applied(data, remedy)
                    done += bool(with_remedies(text, [(0, [remedy])], file="a")[1])
                    wished += 1
                except Unfit:
                    pass
    assert done / wished > 0.8


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_case_in_any_style_is_fixed_as_far_as_in_its_own(case: Path) -> None:
    chance = random.Random(seed())
    for _ in range(40):
        text = restyled(chance.choice([piece for piece, _ in cut(case.read_text())]), chance)
        found = _fix(text)
        before = {(each.rule, each.field) for each in _errors(text)}
        shown = [each for each in _errors(found.text) if (each.rule, each.field) not in before]
        assert all(each.changes for each in shown)  # by a fix of what hid it, and in a form that cannot be edited
        assert _fix(found.text).text == found.text
        actions = {change.action for each in found.done for change in each.changes}
        if "remove" not in actions:  # the comment behind a value goes with it
            assert sorted(comments_of(found.text)) == sorted(comments_of(text))
        if not actions & {"set", "move"}:
            assert found.text.count("\n") <= text.count("\n")  # a fixed text of several lines has one


def test_fixing_public_manifests_leaves_valid_what_was() -> None:
    fixed_files = 0
    for path in sorted(folder("corpus", "manifests").rglob("*.yaml")):
        text = path.read_text()
        found = _fix(text)
        assert not _errors(found.text) or _errors(text), path
        assert _fix(found.text).text == found.text, path
        fixed_files += found.text != text
    assert fixed_files


def _advise(text: str) -> Sequence[Diagnostic]:
    """What `lint` says of a text, the verdict of `validate` included."""
    checked = checking.checked(Source("a.yaml", text, skip_unknown=True), (), _CLUSTER)
    (result,) = lint([foresee(checked, _CLUSTER)], _CLUSTER)
    return result.diagnostics


def _texts_with_advice() -> list[Path]:
    return sorted((ROOT / "tests" / "cases" / "lint").rglob("*.yaml"))


@pytest.mark.slow
def test_fixing_what_lint_finds_leaves_valid_what_was_and_nothing_to_fix() -> None:
    done = set()
    for path in _texts_with_advice():
        text = path.read_text()
        found = fix(text, _advise, file="a.yaml")
        before, after = _advise(text), _advise(found.text)
        assert found.refused == [], path
        assert not any(each.severity == "error" for each in after) or any(each.severity == "error" for each in before), path
        assert [each for each in after if each.changes] == [], path
        assert lost(text, found.text) == [] or any(change.action == "remove" for each in found.done for change in each.changes), path
        done |= {each.rule for each in found.done}
    assert len(done) >= 3


def test_fixing_public_manifests_by_lint_leaves_valid_what_was() -> None:
    fixed_files = 0
    for path in sorted(folder("corpus", "manifests").rglob("*.yaml")):
        text = path.read_text()
        found = fix(text, _advise, file="a.yaml")
        assert found.refused == [], path
        if found.text != text:
            fixed_files += 1
            assert not any(each.severity == "error" for each in _advise(found.text)) or any(
                each.severity == "error" for each in _advise(text)
            )
            assert fix(found.text, _advise, file="a.yaml").text == found.text, path
    assert fixed_files > 5


_JOB = (ROOT / "tests" / "cases" / "fixes" / "misspelt.yaml").read_text()
_BY_HAND = (ROOT / "tests" / "cases" / "fixes" / "by_hand.yaml").read_text()


def _judgements(texts: dict[str, str]) -> tuple[dict[str, FixedText], list[int]]:
    """The fixed files, and how many were judged each time."""
    numbers: list[int] = []

    def judge(now: Mapping[str, str], about: Collection[str]) -> dict[str, Sequence[Diagnostic]]:
        numbers.append(len(about))
        return {path: checking.checked(Source(path, now[path]), (), _CLUSTER).result.diagnostics for path in sorted(about)}

    return fix_texts(texts, judge), numbers


def test_files_are_fixed_together_and_only_changed_ones_are_judged_again() -> None:
    few, many = ({**{f"{number}.yaml": _JOB for number in range(size)}, "by_hand.yaml": _BY_HAND} for size in (2, 20))
    fixed_few, judged_few = _judgements(few)
    fixed_many, judged_many = _judgements(many)
    assert {each.text for path, each in fixed_many.items() if path != "by_hand.yaml"} == {fixed_few["0.yaml"].text}
    assert fixed_many["by_hand.yaml"].refused
    assert len(judged_few) == len(judged_many)
    assert [many - few for few, many in zip(judged_few, judged_many, strict=True)] == [18 if few > 1 else 0 for few in judged_few]


def test_documents_of_one_file_are_fixed_together_whatever_cannot_be_fixed_among_them() -> None:
    few, many = ("---\n".join([_JOB, _BY_HAND] * number) for number in (2, 8))
    fixed_few, judged_few = _judgements({"a.yaml": few})
    fixed_many, judged_many = _judgements({"a.yaml": many})
    assert judged_few == judged_many
    assert fixed_many["a.yaml"].text == "---\n".join([_fix(_JOB).text, _fix(_BY_HAND).text] * 8)
    assert len(fixed_many["a.yaml"].refused) == 4 * len(fixed_few["a.yaml"].refused)


def _say(rule: str, field: str, changes: Sequence[Change], *, document: int = 0, severity: Literal["error", "info"] = "info") -> Diagnostic:
    return Diagnostic(rule, rule, Mark("a.yaml", 1, 1), field=field, document=document, severity=severity, changes=changes)


def _judge_values(text: str) -> list[Diagnostic]:
    """What is said of documents of numbers: 1 wants to be 2, and 3 to be 4, which is an error beside another 4."""
    found = []
    for index, data in enumerate(_data(text)):
        for key, value in data.items():
            if value in (1, 3):
                found.append(_say("odd", key, [set_to((key,), value + 1)], document=index))
        if list(data.values()).count(4) > 1:
            found.append(_say("two-fours", "", [], document=index, severity="error"))
    return found


def test_a_remedy_that_spoils_its_document_leaves_the_others_to_be_made() -> None:
    text = "".join(f"---\na: 1\nb: 3\nc: {number}\n" for number in (4, 5, 4, 6, 4))
    found = fix(text, _judge_values, file="a.yaml")
    assert found.text == "".join(f"---\na: 2\nb: {three}\nc: {number}\n" for three, number in ((3, 4), (4, 5), (3, 4), (4, 6), (3, 4)))
    assert [each.document for each in found.refused] == [0, 2, 4]


def test_a_document_that_another_one_would_spoil_stays_and_the_others_are_fixed() -> None:
    def judge(text: str) -> list[Diagnostic]:
        fours = [value for data in _data(text) for value in data.values() if value == 4]
        spoilt = [_say("two-fours", "", [], document=0, severity="error")] if len(fours) > 1 else []
        return [*_judge_values(text), *spoilt]

    assert fix("x: 4\n---\na: 3\n---\na: 1\n", judge, file="a.yaml").text == "x: 4\n---\na: 3\n---\na: 2\n"


def test_neighbours_in_a_list_are_all_removed() -> None:
    def judge(text: str) -> list[Diagnostic]:
        return [_say("gone", f"a[{at}]", [remove(("a", at))]) for at, each in enumerate(_data(text)[0]["a"]) if each == "x"]

    assert fix("a:\n  - x\n  - x # c\n  - y\n  - x\n  - x\n  - x\n", judge, file="a.yaml").text == "a:\n  - y\n"
