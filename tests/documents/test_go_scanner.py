"""Where go-yaml reads a text in another way than libyaml, we read it as go-yaml does."""

from typing import Any

import pytest

from jobspec.documents.reader import read

TAKEN: dict[str, Any] = {
    "{k: a:}": {"k": "a:"},
    "{a:, b: c}": {"a:": None, "b": "c"},
    "{k: a:,b: c}": {"k": "a:", "b": "c"},
    "{k: 'a:', l: b::}": {"k": "a:", "l": "b::"},
    "[a:]": ["a:"],
    "[\ue000a:, b:]": ["\ue000a:", "b:"],
    "[a: , b]": [{"a": None}, "b"],
    '{"a":[b], "c":{d: e}}': {"a": ["b"], "c": {"d": "e"}},
    "{? a: b}": {"a": "b"},
    "{?a: b}": {"a": "b"},
    "[?a]": [{"a": None}],
    "['a?', \"b?\"]": ["a?", "b?"],
    "a? ?b": "a? ?b",
    "- a?\n- [b]\n- c?": ["a?", ["b"], "c?"],
    "[!own , a]": ["", "a"],
    r"""a: "it\'s \\'quoted\\\'" """: {"a": "it's \\'quoted\\'"},
    r"""["\'", b:, "\'\"\'"]""": ["'", "b:", "'\"'"],
    r"""a: "b\\/c" """: {"a": "b\\/c"},
    r"a: b\/c": {"a": r"b\/c"},
    "\ufeffa: b": {"a": "b"},
    "a: \ufeffb": {"a": "\ufeffb"},
    "a: b\n\ufeffc: d": {"a": "b", "\ufeffc": "d"},
    "---\n\ufeffa: b": {"\ufeffa": "b"},
}
REFUSED = {
    "{k: a?}": (1, 5),
    "[a, http://x?y=z]": (1, 5),
    "[[a]\n, b\n  c ?d]": (2, 3),
    "{a?: b}": (1, 2),
    "[a:{]": (1, 3),
    "{k: !own, l: m}": (1, 5),
    "a:\t[b?]": (1, 5),
    "a: &b  [c?]": (1, 9),
    "? !!seq [a?]\n": (1, 10),
    "- # [\n  [a?]": (2, 4),
    r"""a: "b\/c" """: (1, 4),
    r"""a: "b\q" """: (1, 6),
    "a: |\n  b\n\ufeff": (3, 1),
}


@pytest.mark.parametrize("text", TAKEN)
def test_a_text_is_read(text: str) -> None:
    documents, problems = read(text, file="x.yaml")
    assert ([each.data for each in documents], problems) == ([TAKEN[text]], [])


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_is_refused(text: str) -> None:
    documents, (problem,) = read(text, file="x.yaml")
    assert documents == []
    assert (problem.rule, problem.mark.line, problem.mark.column) == ("yaml-syntax", *REFUSED[text])


@pytest.mark.parametrize("text", ["a: b [c?]", "a: 'b: [c?]'", "a: b[c?]", "a: |\n  ? [] {} b"])
def test_brackets_inside_of_a_text_begin_no_value(text: str) -> None:
    (document,), problems = read(text, file="x.yaml")
    assert (list(document.data), problems) == (["a"], [])


@pytest.mark.parametrize(
    "text", ["a: '" + "[? " * 100_000, "a? " + " [" * 100_000, "a?" + " " * 100_000 + "[ " * 10_000, "a? " + "![b" * 100_000]
)
def test_very_many_brackets_take_no_time(text: str) -> None:
    documents, problems = read(f"{text}'", file="x.yaml")
    assert (len(documents), problems) == (1, [])


def test_what_stands_around_keeps_its_place() -> None:
    (first, second), (problem,) = read("a: [b:, c]\nd: {e: f:}\n---\n[a?]\n---\n{k: a:}", file="x.yaml")
    assert (first.data, second.data) == ({"a": ["b:", "c"], "d": {"e": "f:"}}, {"k": "a:"})
    assert first.problem("unknown-field", "", ("d", "e")).mark.line == 2
    assert second.problem("unknown-field", "", ("k",)).mark.column == 5
    assert (problem.mark.line, problem.document) == (4, 1)


def test_a_document_further_down_may_begin_with_a_byte_order_mark() -> None:
    documents, problems = read("a: b\n---\n\ufeffc: d\n", file="x.yaml")
    assert ([each.data for each in documents], problems) == ([{"a": "b"}, {"c": "d"}], [])


def test_very_many_colons_take_no_time() -> None:
    documents, (problem,) = read(f"[{'a:,' * 10_000}]", file="x.yaml")
    assert (documents, problem.rule) == ([], "yaml-syntax")


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_what_only_yaml_takes_for_the_end_of_a_line_does_not_move_places(end: str) -> None:
    (document,), _ = read(f"a: 'b{end}c'\nd: e # {end}# f\ng: [{end}{{h: i}}]\nj: k", file="x.yaml")
    places = {field: document.problem("unknown-field", "", path).mark for field, path in _PATHS.items()}
    assert {field: (mark.line, mark.column) for field, mark in places.items()} == {"d": (2, 4), "h": (3, 10), "j": (4, 4)}
    _, (problem,) = read(f"a: '{end}'\nb: @", file="x.yaml")
    assert (problem.mark.line, problem.mark.column) == (2, 4)


_PATHS: dict[str, tuple[str | int, ...]] = {"d": ("d",), "h": ("g", 0, "h"), "j": ("j",)}
