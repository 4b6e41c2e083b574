"""What is read without the parser is what the parser would have read."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.documents import reader
from jobspec.documents.alike import _TEXT, Alike
from jobspec.documents.document import Marks
from jobspec.documents.reader import chunks, read
from tests.support.reference import ROOT, folder

_TEXTS = ["a", "job-12", "--epochs=10", "_1", "/data", "a=b", "--x", "e3"]
_ODD = ["no", "y", "null", "nan", "registry.example/team/train:v1", "a:b"]  # nothing, and what has a colon


@pytest.fixture(autouse=True)
def from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_alike", [Alike(reader._content)])


def _plainly(text: str) -> tuple[list[Any], list[Any]]:
    """As a process reads its first texts."""
    known, reader._alike[0] = reader._alike[0], 0
    try:
        return _content(text)
    finally:
        reader._alike[0] = known


def _content(text: str) -> tuple[list[Any], list[Any]]:
    documents, problems = read(text, file="f")
    return [(each.index, each.data, _told(each.marks)) for each in documents], [vars_of(each) for each in problems]


def vars_of(problem: Any) -> Any:
    return problem.rule, problem.message, str(problem.mark), problem.document


def _told(marks: Marks) -> Any:
    children = marks.children
    if isinstance(children, dict):
        children = {name: _told(child) for name, child in children.items()}  # type: ignore[assignment]
    elif children is not None:
        children = [_told(child) for child in children]  # type: ignore[assignment]
    return str(marks.mark), str(marks.key), children


def _others(text: str, random: Random) -> Iterator[str]:
    """The same text with other texts at the ends of its lines."""
    for _ in range(2):
        yield _TEXT.sub(lambda match: match[1] + random.choice([match[2], *(_ODD if random.random() < 0.02 else _TEXTS)]), text)


def _agree(text: str, random: Random) -> int:
    """How many of the texts that are like this one are read without the parser."""
    known = reader._alike[0]
    assert isinstance(known, Alike)
    plainly = _plainly(text)
    for _ in range(3):
        assert _content(text) == plainly
    found = 0
    for other in _others(text, random):
        found += all(known.data(chunk) is not None for chunk, _ in chunks(other))
        assert _content(other) == _plainly(other), other
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a: b\nc:\n- d\n- e: f\n",
        "a: b\r\nc: d\r\n",
        "a: |\n  b: c\n  d\ne: f\n",
        "a: >-\n  - b\ne: f\n",
        "a: b\n  c: d\n",
        "a: b\n  c\nd: e\n",
        'a: "b: c\n  d: e"\nf: g\n',
        "a: 'b: c\n  d'\nf: g\n",
        "# a: b\nc: d # e: f\ng: h\n",
        "a: &x b\nc: *x\nd: e\n",
        "a: &x\n  b: c\nd: *x\ne: f\n",
        "a: !!str b\nc: d\n",
        "a: {b: c,\n  d: e\n  }\nf: g\n",
        "a: [b, c: d\n  ]\nf: g\n",
        "a: [b, --c=d, \"e\", 'f']\ng: {h: i, j: k}\n",
        'a: [b:c, d, "e:f"]\n',
        "a: b, c, d\ne: f\n",
        "a: b [c, d]\n",
        "a: 'b, \"c\", d'\n",
        "[a, b]: c\n",
        "{a: b}\n",
        "a: {b, c}\n",
        "\"a\": \"b\"\n'c': 'd'\n",
        "a: b'c'\nd: 'e''f'\n",
        "- - a\n  - b\n- - c\n",
        "? a: b\n: c\nd: e\n",
        "? - a\n: - b\n",
        "a: b\na: c\n",
        "a: b\n---\nc: d\n",
        "a: b\n...\nc: d\n",
        "%YAML 1.1\n---\na: b\n",
        "- a\n- b\n",
        "a\n",
        "a: b",
        "a:\n  <<: {b: c}\n  d: e\n",
        "a: b\x85c: d\n",
        "a: b\x00\n",
        "text0: text1\ntextx: b\n",
        "a: b\n\tc: d\n",
    ],
)
def test_odd_texts(text: str) -> None:
    _agree(text, Random(1))


def test_files_of_ours() -> None:
    paths = [path for part in ("guides", "validate", "overlays") for path in sorted((ROOT / "tests" / "cases" / part).rglob("*.yaml"))]
    assert sum(_agree(path.read_text(), Random(0)) for path in paths) > len(paths) / 2


def test_files_of_real_projects() -> None:
    paths: list[Path] = sorted(folder("corpus", "manifests").rglob("*.y*ml"))
    assert sum(_agree(path.read_text(), Random(0)) for path in paths) > len(paths) / 2


def test_texts_that_only_look_alike() -> None:
    first, second, other = "a: b # c: d\n", "a: x # c: d\n", "a: x # c: e\n"
    for text in (first, second, other, "a: b # c: no\n", "a: no # c: d\n"):
        assert _content(text) == _plainly(text)
    assert _content("a: no # c: d\n")[0][0][1] == {"a": False}
