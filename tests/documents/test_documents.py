"""Decoding: YAML text to data and places, as sigs.k8s.io/yaml and go-yaml do it for an API server."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Marks, marks_at
from jobspec.documents.document import Document, items_of
from jobspec.documents.reader import MAX_DEPTH, read
from jobspec.documents.scalars import resolve
from tests.support import kubectl
from tests.support.processes import python
from tests.support.reference import ROOT

_INF = float("inf")


def _read(text: str) -> tuple[list[Any], list[tuple[int, int, str]]]:
    documents, problems = read(text, file="x.yaml")
    return [each.data for each in documents], [(each.mark.line, each.mark.column, each.rule) for each in problems]


def _one(text: str) -> Document:
    (document,), problems = read(text, file="x.yaml")
    assert problems == []
    return document


def _problem(text: str) -> Diagnostic:
    _, (problem,) = read(text, file="x.yaml")
    return problem


PLAIN: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{
        text: text
        for text in ("yEs", "oN", "tRUE", "nULL", "~~", "none", "None", "nil", "t", "f", "=", "<", "v1", "Infinity", "inf", "nan")
    },
    "0": 0,
    "-0": 0,
    "+1": 1,
    "-1": -1,
    "0x1F": 31,
    "0X1f": 31,
    "-0x1": -1,
    "010": 8,
    "0o10": 8,
    "0O10": 8,
    "00": 0,
    "0b11": 3,
    "0B11": 3,
    "-0b11": -3,
    "0b-1": -1,
    "0b+1": 1,
    "1_000": 1000,
    "1__0_": 10,
    "0_1": 1,
    "0x_1": 1,
    "9223372036854775807": 9223372036854775807,
    "-9223372036854775808": -9223372036854775808,
    "9223372036854775808": 9223372036854775808.0,
    "18446744073709551615": 18446744073709551615.0,
    "18446744073709551616": 18446744073709551616.0,
    "-9223372036854775809": -9223372036854775809.0,
    "1.0": 1,
    "1.": 1,
    "5.": 5,
    ".5": 0.5,
    "-.5": -0.5,
    "+.5": 0.5,
    ".5_0": 0.5,
    "1.5": 1.5,
    "-0.0": 0,
    "1e3": 1000,
    "1E+3": 1000,
    "1e-1": 0.1,
    "1.e1": 10,
    "08": 8,
    "08.5": 8.5,
    "09": 9,
    "1e18": 10**18,
    "1e19": 1e19,
    "1e20": 1e20,
    "1e21": 1e21,
    "1e-400": 0,
    "9223372036854774784.0": 9223372036854775000,
    ".inf": _INF,
    "+.Inf": _INF,
    "-.INF": -_INF,
    **{
        text: text
        for text in (
            *("1e400", "-1e400", ".5e400", "0x", "0b", "0o", "0b2", "0o8", "0xg", "0x0x1", "0b0b1", "00x1", "0x1p4", "0b1e1", "_1", "+_"),
            *("-", "+", ".", "..", "-.", "1e", "1e+", "1.2.3", "1-2", "--1", "+-1", "1,000", "1:30", "190:20:30", "1d", "1f", "._5", ".5_"),
            *("2001-01-01", "2001-12-14t21:59:43.10-05:00", "0-1", "\u0661", "1\u0661", "0b-0b1", "-0b-1"),
        )
    },
}


def test_what_a_plain_scalar_is() -> None:
    found = {text: resolve(text) for text in PLAIN}
    assert {text: (type(each), each) for text, each in found.items()} == {text: (type(each), each) for text, each in PLAIN.items()}


def test_not_a_number_is_a_float() -> None:
    assert [str(resolve(text)) for text in (".nan", ".NaN", ".NAN")] == ["nan"] * 3


TAGGED: dict[str, Any] = {
    "!!str 1": "1",
    "!!str": "",
    "!!str ~": "~",
    "! 1": "1",
    "! y": "y",
    "!own 1": "1",
    "!own text": "text",
    "!<tag:example.com,2000:x> 1": "1",
    "!!int '0x1F'": 31,
    "!!float 1": 1,
    "!!float '1.5'": 1.5,
    "!!bool 'yes'": True,
    "!!null ''": None,
    "!!timestamp 2001-1-1": "2001-1-1",
    "!!timestamp 0000-02-29 1:2:3.4": "0000-02-29 1:2:3.4",
    "!!binary aGk=": "hi",
    '!!binary "aG\\nk="': "hi",
    "!!map {}": {},
    "!!seq []": [],
    "!own {a: 1}": {"a": 1},
    "'y'": "y",
    '"1"': "1",
    '"\\u00e4\\x41\\n"': "\u00e4A\n",
    "|\n  1\n": "1\n",
    ">-\n  1\n  2\n": "1 2",
}


@pytest.mark.parametrize(("text", "value"), TAGGED.items())
def test_what_a_scalar_is_with_a_tag_or_in_quotes(text: str, value: Any) -> None:
    found = _one(f"a: {text}").data["a"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "text",
    [
        *("!!int x", "!!int 1.0", "!!int ''", "!!float x", "!!float 18446744073709551615", "!!bool 1", "!!bool x", "!!null x"),
        *(
            "!!timestamp x",
            "!!timestamp 2001-02-29",
            "!!timestamp 1",
            "!!binary a",
            "!!binary '*'",
            "!!set {a}",
            "!!omap [a: 1]",
            "!!python/none x",
        ),
    ],
)
def test_tags_that_no_value_can_be_given_for(text: str) -> None:
    assert _read(f"a: {text}") == ([], [(1, 4, "unknown-tag")])


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan"])
def test_json_has_no_such_number(text: str) -> None:
    assert _read(f"\u00e4: {text}") == ([], [(1, 4, "unsupported-value")])


KEYS = {
    "a": "a",
    "'1'": "1",
    "1": "1",
    "0x10": "16",
    "-1": "-1",
    "y": "true",
    "Off": "false",
    "1.5": "1.5",
    "1.0": "1",
    "1e3": "1000",
    "1e6": "1e+06",
    "123456.789": "123456.79",
    "0.00001": "1e-05",
    "-0.0": "-0",
    ".inf": ".inf",
    "-.inf": "-.inf",
    ".nan": ".nan",
    "1e39": ".inf",
    "-1e39": "-.inf",
    "2001-01-01": "2001-01-01",
    "!!str 1": "1",
    "!own 1": "1",
    "&k k": "k",
    "''": "",
    "'<<'": "<<",
}


@pytest.mark.parametrize(("text", "key"), KEYS.items())
def test_what_json_calls_a_key(text: str, key: str) -> None:
    assert _one(f"{text}: v").data == {key: "v"}


@pytest.mark.parametrize("key", ["~", "null", "? [a]\n", "? {a: b}\n", "18446744073709551615", "{{ x }}"])
def test_keys_that_json_has_no_text_for(key: str) -> None:
    ((_, _, rule),) = _read(f"{key}: v")[1]
    assert rule == "unsupported-value"


MERGES: dict[str, Any] = {
    "{<<: {a: 1}, b: 2}": {"a": 1, "b": 2},
    "{b: 2, <<: {a: 1}}": {"b": 2, "a": 1},
    "{<<: {a: 1, b: 1}, a: 2}": {"a": 2, "b": 1},
    "{<<: {a: {b: 1}}, a: {c: 2}}": {"a": {"c": 2}},
    "{<<: {a: 1}, a: null}": {"a": None},
    "{a: 1, <<: {a: 1}}": {"a": 1},
    "{<<: [{a: 1}, {b: 2}]}": {"a": 1, "b": 2},
    "{<<: [{a: 1}, {a: 2, b: 2}]}": {"a": 1, "b": 2},
    "{<<: [{a: 1}, {a: 2}], a: 3}": {"a": 3},
    "{<<: {<<: {a: 1, b: 1}, a: 2}, b: 2}": {"a": 2, "b": 2},
    "{<<: {a: 1}, <<: {b: 2}}": {"a": 1, "b": 2},
    "{<<: {1: a, on: a}, 0x1: b, yes: b}": {"1": "b", "true": "b"},
    "{x: &x {a: 1}, z: {<<: *x}}": {"x": {"a": 1}, "z": {"a": 1}},
    "{x: &x {a: 1}, z: {<<: [*x, *x], a: 2}}": {"x": {"a": 1}, "z": {"a": 2}},
    "{x: &x a, <<: {a: 1}, *x : 2}": {"x": "a", "a": 2},
    "{<<: []}": {},
    "{'<<': {a: 1}}": {"<<": {"a": 1}},
    "{'<<': {a: 1}, <<: {a: 1}}": {"<<": {"a": 1}, "a": 1},
    "{!!str <<: {a: 1}}": {"<<": {"a": 1}},
    "{!!merge <<: {a: 1}, !!str a: 2}": {"a": 2},
}


@pytest.mark.parametrize(("text", "data"), MERGES.items())
def test_merge_keys(text: str, data: Any) -> None:
    document = _one(text)
    assert (document.data, document.has_merges) == (data, "<<: " in text and "!!str <<" not in text)


def test_merge_keys_mean_the_same_to_kubectl() -> None:
    assert [known["data"] for known in kubectl.decoded("---\n".join(map(_manifest, MERGES)))] == list(MERGES.values())


def _manifest(data: str) -> str:
    return f"apiVersion: example.dev/v1\nkind: Probe\nmetadata: {{name: probe}}\ndata: {data}\n"


@pytest.mark.parametrize(
    "text",
    [
        "{<<: {a: 1}, a: 2, a: 3}",
        "{<<: {1: a}, '1': b}",
        "{<<: {1: a}, 1.0: b}",
        "{<<: [{1: a}, {'1': b}]}",
        "{'1': a, <<: {1: a}}",
        "{a: 1, a: 2}",
        "{1: a, 0x1: b}",
        "{y: a, on: b}",
        "{b: 1, c: &x b, *x : 2}",
    ],
)
def test_a_key_can_be_set_once(text: str) -> None:
    assert [rule for _, _, rule in _read(text)[1]] == ["duplicate-key"]


AMBIGUOUS = {
    "{a: 2, <<: {a: 1}}": "this `<<` sets `a` after line 1 did: kubectl takes `1` from the merge, kustomize and Flux take `2` from line 1",
    "{a: {b: 1},\n <<: {a: {b: true}}}": (
        "this `<<` sets `a` after line 1 did: kubectl takes the value from the merge, kustomize and Flux take the value from line 1"
    ),
    "{<<: {a: 1}, <<: {a: x}}": 'this second `<<` sets `a` again: kubectl takes `"x"` from it, kustomize and Flux refuse a second `<<`',
    "{a: 1, <<: [{a: 2}, {a: 3}]}": (
        "this `<<` sets `a` after line 1 did: kubectl takes `2` from the merge, kustomize and Flux take `1` from line 1"
    ),
    "{x: {a: 1, <<: {a: 2}}, <<: {b: 1}, b: 2}": (
        "this `<<` sets `a` after line 1 did: kubectl takes `2` from the merge, kustomize and Flux take `1` from line 1"
    ),
}


@pytest.mark.parametrize(("text", "message"), AMBIGUOUS.items())
def test_a_merge_that_overrides_a_key_before_it_is_an_error_that_says_who_takes_what(text: str, message: str) -> None:
    problem = _problem(text)
    assert (problem.rule, problem.message) == ("ambiguous-merge", message)


KEYS_AND_VALUES = st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "true", "null", "{a: 1}", "{b: 2}", "[1]"])).map(": ".join)
MAPPINGS = st.recursive(
    st.lists(KEYS_AND_VALUES, max_size=3).map(lambda entries: f"{{{', '.join(entries)}}}") | st.sampled_from(["*x", "*y"]),
    lambda inner: st.lists(
        KEYS_AND_VALUES | inner.map("<<: {}".format) | st.lists(inner, max_size=3).map(lambda each: f"<<: [{', '.join(each)}]"),
        min_size=1,
        max_size=4,
    ).map(lambda entries: f"{{{', '.join(entries)}}}"),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.lists(MAPPINGS, min_size=20, max_size=20))
@settings(max_examples=25, deadline=None)
def test_merges_that_we_accept_mean_the_same_to_kubectl_and_to_readers_for_which_written_keys_win(mappings: list[str]) -> None:
    texts = [_manifest(f"[&x {{a: 3, b: 3}}, &y {{b: 4, c: {{a: 4}}}}, {mapping}]") for mapping in mappings]
    accepted = [text for text in texts if not read(text, file="x.yaml")[1]]
    found = kubectl.decoded("---\n".join(accepted)) if accepted else []
    for text, known in zip(accepted, found, strict=True):
        ours = _one(text).data["data"]
        assert json.dumps(ours, sort_keys=True) == json.dumps(known["data"], sort_keys=True), text
        assert json.dumps(ours, sort_keys=True) == json.dumps(yaml.safe_load(text)["data"], sort_keys=True), text


def test_a_duplicate_key_is_pointed_at_and_says_where_the_first_is() -> None:
    problem = _problem("a:\n  \u00e4: {b: 1,\n    b: 2}\n")
    assert (problem.mark.line, problem.mark.column, problem.message) == (3, 5, "duplicate key `b`, first set in line 2")


@pytest.mark.parametrize("text", ["{<<: a}", "{<<: [a]}", "{<<: [[{a: 1}]]}", "{<<: }", "{x: &x 1, <<: *x}", "{x: &x [{a: 1}], <<: *x}"])
def test_only_mappings_merge(text: str) -> None:
    assert [rule for _, _, rule in _read(text)[1]] == ["yaml-syntax"]


def test_an_anchor_may_be_set_anew() -> None:
    assert _one("a: &x 1\nb: *x\nc: &x [2]\nd: *x\n").data == {"a": 1, "b": 1, "c": [2], "d": [2]}


def test_an_anchor_ends_with_its_document() -> None:
    assert _read("a: &x 1\n---\na: *x\n---\na: 1\n") == ([{"a": 1}, {"a": 1}], [(3, 4, "yaml-syntax")])


def test_an_alias_may_be_a_key() -> None:
    assert _one("a: &x b\n*x : c\n").data == {"a": "b", "b": "c"}


@pytest.mark.parametrize("text", ["&x [*x]", "&x {a: [1, {b: *x}]}", "a: &x\n  - b: *x\n"])
def test_a_value_cannot_hold_itself(text: str) -> None:
    assert [rule for _, _, rule in _read(text)[1]] == ["recursive-alias"]


def _bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 x"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


def test_aliases_may_stand_for_as_much_as_go_yaml_lets_them() -> None:
    assert _read("a: &a {b: c}\nd: [" + "*a, " * 1000 + "]\n")[1] == []
    assert _read(_bomb(4, 9))[1] == []


@pytest.mark.parametrize(("levels", "width"), [(9, 9), (30, 2), (100_000, 2)])
def test_a_bomb_of_aliases_is_refused_before_it_goes_off(levels: int, width: int) -> None:
    assert [rule for _, _, rule in _read(_bomb(levels, width))[1]] == ["excessive-aliasing"]


FILES: dict[str, tuple[str, list[Any], list[tuple[int, int, str]]]] = {
    "documents": ("a: 1\n---\nb: 2\n--- \nc: 3\n---\t# d\nd: 4\n", [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}], []),
    "content beside the start": ("--- a\n--- [b]\n--- {c: d}\n--- !!str 1\n--- |\n  x\n", ["a", ["b"], {"c": "d"}, "1", "x\n"], []),
    "no start": ("---a: 1\nb---: 2\n", [{"---a": 1, "b---": 2}], []),
    "a start inside a block": ("a: |\n  x\n  ---\n  y\n", [{"a": "x\n---\ny\n"}], []),
    "ends": ("a: 1\n...\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}], []),
    "empty ones": ("---\n---\n# c\n---\na: 1\n---\n~\n---\n", [{"a": 1}], []),
    "comments": ("# a\n\n   # b\n", [], []),
    "nothing": ("", [], []),
    "a broken one": ("a: 1\n---\nb: [x\n---\nc: 3\n", [{"a": 1}, {"c": 3}], [(3, 4, "yaml-syntax")]),
    "two broken ones": (
        "a: 1\n---\nb: *b\n---\n&c [*c]\n---\nd: 4\n",
        [{"a": 1}, {"d": 4}],
        [(3, 4, "yaml-syntax"), (5, 5, "recursive-alias")],
    ),
    "broken after its end": ("a: 1\n...\nb: 2\n---\nc: 3\n", [{"a": 1}, {"c": 3}], [(3, 1, "yaml-syntax")]),
    "Windows": ("a: 1\r\n---\r\nb: [x\r\n---\r\nc: 3\r\n", [{"a": 1}, {"c": 3}], [(3, 4, "yaml-syntax")]),
    "a byte order mark": ("\ufeffa: 1\n---\nb: [x\n", [{"a": 1}], [(3, 4, "yaml-syntax")]),
    "directives": ("%YAML 1.1\n---\na: 1\n...\n# x\n%TAG !e! tag:x,2000:\n---\nb: !e!x 1\n", [{"a": 1}, {"b": "1"}], []),
    "another version": ("%YAML 1.2\n---\na: 1\n---\nb: 2\n", [{"b": 2}], [(1, 1, "yaml-syntax")]),
    "JSON": ('{"a": [1, 1.0, 1e2, true, null, "\\u00e4"],\n\t"b": {}}', [{"a": [1, 1, 100, True, None, "\u00e4"], "b": {}}], []),
    "a tab": ("a:\n\tb: 1\n", [], [(2, 1, "yaml-syntax")]),
    "after wide characters": ("a: \U0001f600\u00e4 # \u00e4\n\u00e4\U0001f600: [\u00e4, *x]\n", [], [(2, 9, "yaml-syntax")]),
}


@pytest.mark.parametrize(("text", "data", "problems"), FILES.values(), ids=FILES)
def test_a_file(text: str, data: list[Any], problems: list[tuple[int, int, str]]) -> None:
    assert _read(text) == (data, problems)


def test_documents_are_counted_from_zero_the_broken_ones_too_and_the_empty_ones_not() -> None:
    documents, problems = read("a: 1\n---\n---\nb: [\n---\nc: 1\nc: 2\n---\nd: 4\n", file="x.yaml")
    assert [each.index for each in documents] == [0, 2, 3]
    assert [(each.rule, each.document) for each in problems] == [("yaml-syntax", 1), ("duplicate-key", 2)]


def test_every_value_and_key_knows_its_place_in_code_points() -> None:
    marks = _one("\u00e4: {b: \U0001f600, 'c': [1,\n  yes]}\n").marks
    places = {
        (): (1, 1, None),
        ("\u00e4",): (1, 4, (1, 1)),
        ("\u00e4", "b"): (1, 8, (1, 5)),
        ("\u00e4", "c"): (1, 16, (1, 11)),
        ("\u00e4", "c", 0): (1, 17, None),
        ("\u00e4", "c", 1): (2, 3, None),
    }
    for path, (line, column, key) in places.items():
        found = marks.nearest(path)
        assert (found.mark.line, found.mark.column) == (line, column), path
        assert (found.key and (found.key.line, found.key.column)) == key, path
    assert (marks.nearest(("\u00e4", "c", 1)).mark.end_line, marks.nearest(("\u00e4", "c", 1)).mark.end_column) == (2, 6)


def test_what_an_alias_or_a_merge_brings_is_placed_where_it_was_written() -> None:
    marks = _one("a: &x\n  b: 1\nc: *x\nd:\n  <<: *x\n").marks
    assert [marks.nearest(path).mark.line for path in (("c", "b"), ("d", "b"))] == [2, 2]
    key = marks.nearest(("d", "b")).key
    assert key
    assert key.line == 5


def _reported(marks: Marks) -> Any:
    """All places of a tree of marks."""
    children = marks.children
    inside: Any = children
    if isinstance(children, dict):
        inside = {name: _reported(child) for name, child in children.items()}
    elif children is not None:
        inside = [_reported(child) for child in children]
    return [
        (place.file, place.layer, place.line, place.column, place.end_line, place.end_column) if place else None
        for place in (marks.mark, marks.key)
    ], inside


ALL_CASES = [*sorted((ROOT / "tests" / "cases").rglob("*.yaml")), *sorted((ROOT / "tests" / "cases").rglob("*.json"))]


@pytest.mark.parametrize("path", ALL_CASES, ids=lambda path: path.stem)
def test_a_pickled_document_has_the_same_data_and_marks(path: Path) -> None:
    documents, _ = read(path.read_text(errors="replace"), file=path.name, layer="ours")
    for document in [part for each in documents for part in (each, *items_of(each))]:
        before = pickle.dumps(document)
        places = _reported(document.marks)
        for pickled in {before, pickle.dumps(document)}:  # mostly the same bytes, whoever has asked for places in between
            copy = pickle.loads(pickled)
            assert (copy.data, copy.file, copy.index, copy.has_merges) == (
                document.data,
                document.file,
                document.index,
                document.has_merges,
            )
            assert _reported(copy.marks) == places


def test_documents_of_one_text_have_one_digest_and_places_of_their_own() -> None:
    text = "kind: A\nmetadata: {name: a}\n"
    (first,), _ = read(text, file="x.yaml")
    (second,), _ = read(text, file="y.yaml", first_line=3)
    (other,), _ = read("metadata: {name: a}\nkind: A\n", file="x.yaml")
    assert first.data == second.data == other.data
    assert first.digest == second.digest == pickle.loads(pickle.dumps(first)).digest != other.digest
    assert [str(each.nearest(("metadata", "name")).mark) for each in (first, second)] == ["x.yaml:2:18", "y.yaml:5:18"]


def test_what_is_pickled_is_little_more_than_the_text() -> None:
    text = "".join(f"key{number}: value\n" for number in range(100))
    (_, document, _), _ = read(f"a: 1\n---\n{text}---\na: {'x' * 10_000}\n", file="x.yaml")
    assert len(pickle.dumps(document)) < 3 * len(text)


NESTED = {
    "lists in brackets": lambda depth: "[" * depth + "]" * depth,
    "mappings in braces": lambda depth: "{a: " * depth + "1" + "}" * depth,
    "lists of dashes": lambda depth: "- " * depth + "a",
    "open brackets": lambda depth: "[" * depth,
    "open braces": lambda depth: "{" * depth,
}


@pytest.mark.parametrize("depth", [10_000, 1_000_000])
@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting_is_refused_and_does_no_harm(kind: str, depth: int) -> None:
    assert [rule for _, _, rule in _read(NESTED[kind](depth))[1]] == ["too-deep"]


def test_deep_mappings_by_indentation() -> None:
    assert [rule for _, _, rule in _read("".join(" " * depth + "a:\n" for depth in range(2000)))[1]] == ["too-deep"]


def test_the_deepest_that_may_be() -> None:
    assert _read("[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == []
    assert _read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))[1] == [(1, MAX_DEPTH + 1, "too-deep")]


#: Each argument is run in a process of its own, forked from one that has imported our modules.
_PROGRAM = """
import os, sys
{before}
from jobspec.documents import libyaml, reader, writer
loaded = "yaml.constructor" in sys.modules

def say(after):
    print(loaded)
    exec(after, {{}})
    import yaml
    found, _ = reader.read("a: [1, x]", file="f")
    text = writer.write([found[0].data])
    print(yaml.safe_load(text) == yaml.load(text, yaml.CSafeLoader) == found[0].data, hasattr(yaml, "nothing"))
    import yaml.composer, yaml.parser, yaml.reader, yaml.scanner
    for wrong, error in (
        ("a: \\x01", yaml.reader.ReaderError), ("a: '", yaml.scanner.ScannerError), ("a: [", yaml.parser.ParserError),
        ("*a", yaml.composer.ComposerError), ("a: !x b", yaml.constructor.ConstructorError),
    ):
        print([each.message for each in reader.read(wrong, file="f")[1]])
        try:
            yaml.load(wrong, yaml.CSafeLoader)
        except error as reported:
            assert isinstance(reported, yaml.YAMLError)
    print(*(type(each).__name__ for each in yaml.scan("a", yaml.CSafeLoader)), yaml.compose("a", yaml.CSafeLoader).value)

for after in sys.argv[1:]:
    child = os.fork()
    if not child:
        say(after)
        sys.exit()
    os.waitpid(child, 0)
"""
_SAID = """\
{loaded}
True False
['a control character that YAML does not allow']
['unclosed quote: the string that begins here does not end']
['missing value']
['unknown alias: no anchor `&a` before it']
[]
StreamStartToken ScalarToken StreamEndToken a
"""
_AFTER = [
    "",
    "import yaml.error, yaml.scanner",
    "from yaml.constructor import SafeConstructor",
    "from yaml import *",
    "import importlib, yaml; importlib.reload(yaml)",
    "import yaml; yaml.mine = 1",
    "import kubernetes.config",
    "import ruamel.yaml",
]


@pytest.mark.parametrize("before", ["", "import yaml", "from yaml.constructor import SafeConstructor"])
def test_pyyaml_is_whole_for_everybody_else_whoever_loads_it_first(before: str) -> None:
    done = python(_PROGRAM.format(before=before), *_AFTER)
    assert (done.stderr, done.stdout) == ("", _SAID.format(loaded=bool(before)) * len(_AFTER))


def test_pyyaml_without_libyaml_is_reported() -> None:
    code = "import sys, jobspec.cli; sys.modules['yaml._yaml'] = None; sys.exit(jobspec.cli.main(['validate', '-']))"
    done = python(code, stdin="a: 1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jobspec: PyYAML was built without libyaml here")


@pytest.mark.parametrize(
    ("text", "path", "mark"),
    [
        ("kind: A\nmetadata: {name: job-10}\nspec: 1\n", ("spec",), "y.yaml:6:7"),  # as in the other text
        ("kind: A\nmetadata: {name: job-10}\nspec: 1\n", ("metadata", "name"), "y.yaml:5:18"),  # on the line of the name
        ("kind: A\n\nmetadata: {name: job-10}\nspec: 1\n", ("spec",), None),
        ("kind: A\r\nmetadata: {name: job-10}\r\nspec: 1\r\n", ("spec",), None),
    ],
)
def test_documents_whose_texts_differ_by_the_name_alone_have_the_same_marks(text: str, path: tuple[str, ...], mark: str | None) -> None:
    (first,), _ = read("kind: A\nmetadata: {name: job-1}\nspec: 1\n", file="x.yaml")
    (second,), _ = read(text, file="y.yaml", first_line=3)
    second.forget_marks()
    same_mark = second.same_marks(first)
    found = same_mark and same_mark(first.nearest(path).mark)
    assert (found and str(found)) == mark
    if found:
        assert _reported(Marks(found)) == _reported(Marks(second.nearest(path).mark))


@pytest.mark.parametrize("name", ["job-10", "j", "another-job", "job-1", "é-1"])
def test_marks_on_lines_with_the_name_are_moved(name: str) -> None:
    text = "kind: A\nmetadata: {labels: {a: job-1}, name: job-1, x: 1}\nspec: {a: [job-1, b-job-1-c, job-1job-1, 2], ? job-1\n: [c, d]}\n"
    (first,), _ = read(text, file="x.yaml")
    (second,), _ = read(text.replace("job-1", name), file="y.yaml")
    second.forget_marks()
    same_mark = second.same_marks(first)
    assert same_mark
    key = ("spec", "job-1")
    paths = {path: (("spec", name, *path[2:]) if path[:2] == key else path) for path in first.marks.paths().values()}
    assert len(paths) > 12
    for path, there in paths.items():
        before, after = first.nearest(path), second.nearest(there)
        assert _reported(Marks(same_mark(before.mark) or Mark(""))) == _reported(Marks(after.mark)), path
        if before.key and after.key:
            assert _reported(Marks(same_mark(before.key) or Mark(""))) == _reported(Marks(after.key)), path


def test_marks_of_built_objects_are_made_again_once_they_are_forgotten() -> None:
    made = []

    def marks() -> Marks:
        made.append(marks_at({"kind": "A"}, Mark("base.yaml", 3, 1)))
        return made[-1]

    document = Document({"kind": "A"}, marks, file="kustomization.yaml")
    assert document.marks is document.marks is made[0]
    document.forget_marks()
    assert document.marks is made[1]
