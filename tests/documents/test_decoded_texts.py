"""A text that differs from an earlier one by the name alone is not parsed again, and gives the same documents as if it were."""

import re
from typing import Any

import pytest

from jobspec.documents import decoded_texts
from jobspec.documents.reader import _parsed as parse
from jobspec.documents.reader import read
from tests.support.reference import ROOT

BLOCK = "kind: Job\nmetadata:\n  name: NAME\n  labels: {a: b}\n"


def _data(text: str) -> list[Any]:
    return [each.data for each in read(text, file="a.yaml")[0]]


def _parsed(text: str) -> list[Any]:
    decoded_texts._kept.clear()
    return _data(text)


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        "kind: Job\nmetadata: {name: NAME, labels: {a: b}}\n",
        "kind: Job\nmetadata: {name: NAME}\n",
        "kind: Job\nmetadata:\n  name: NAME # name: a\n",
        "# name: NAME\nkind: Job\nmetadata:\n  name: a\n",
        "kind: Job\nmetadata:\n  name: NAME\n   more\n",
        "kind: Job\nmetadata: &m\n  name: NAME\nspec: *m\n",
        "kind: Job\nmetadata:\n  name: NAME\n---\nkind: Job\nmetadata: {name: b}\n",
        "kind: Job\nmetadata:\n  name: NAME,b\n",
        "kind: Job\nmetadata:\n  <<: {name: NAME}\n",
        "kind: Job\nspec:\n  name: NAME\nmetadata: {name: NAME}\n",
        "name: NAME\n",
        "- metadata: {name: NAME}\n",
        "kind: Job\nmetadata:\n  name: NAME\n  name: b\n",
    ],
)
@pytest.mark.parametrize("name", ["b", "a-2", "b.c", "null", "true", "y", "1", "1e3", "b c", "b: c", "b]", "- b", "*b", "", "é"])
def test_another_name_gives_what_a_parser_reads(text: str, name: str) -> None:
    first, second = text.replace("NAME", "a"), text.replace("NAME", name)
    expected = _parsed(second)
    assert _parsed(first) == _data(first)
    assert _data(second) == expected
    assert _parsed(first) == _data(first)


def test_a_text_with_another_name_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = _parsed(BLOCK.replace("NAME", "a"))
    monkeypatch.setattr("jobspec.documents.reader._parsed", None)
    assert _data(BLOCK.replace("NAME", "b-2")) == [{**first, "metadata": {"name": "b-2", "labels": {"a": "b"}}}]


def test_places_are_those_of_the_own_text() -> None:
    _parsed("kind: Job\nmetadata: {name: a, labels: {a: b}}\n")
    ((document,), _) = read("kind: Job\nmetadata: {name: abc, labels: {a: b}}\n", file="b.yaml")
    assert str(document.nearest(("metadata", "labels", "a")).mark) == "b.yaml:2:35"


@pytest.mark.parametrize("folder", ["guides", "validate", "lint"])
def test_our_cases_with_other_names(folder: str) -> None:
    for path in sorted((ROOT / "tests" / "cases" / folder).glob("*.yaml")):
        first = path.read_text()
        second = re.sub(r"(?m)(?<=name: )([a-z][a-z0-9-]*)", r"\g<1>-x", first, count=1)
        expected = _parsed(second)
        _parsed(first)
        assert _data(second) == expected, path


def test_an_object_that_is_too_large_is_reported_each_time() -> None:
    text = f"kind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: '{'x' * 3_300_000}'}}\n"
    for _ in range(2):
        assert [each.rule for each in read(text, file="a.yaml")[1]] == ["too-large"]


def test_long_texts_are_parsed_again_when_too_many_others_came_between(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr("jobspec.documents.reader._parsed", lambda piece: (parsed.append(piece.text[:4]), parse(piece))[1])
    monkeypatch.setattr(decoded_texts, "_MOST_LONG", 100_000)
    decoded_texts._long.clear()
    texts = [f"{number}: {'x' * 40_000}\n" for number in range(100, 104)]
    for at in (0, 1, 0, 2, 0, 1, 3, 3):
        (document,) = read(texts[at], file="a.yaml")[0]
        assert list(document.data) == [texts[at][:3]]
    assert parsed == ["100:", "101:", "102:", "101:", "103:"]
    assert read(f"a: {'x' * 200_000}", file="a.yaml")[0] and len(decoded_texts._long) == 2
