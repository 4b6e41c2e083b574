"""Parameters of overlays: values of each type, and how `${name}` is read."""

from typing import Any

import pytest

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree
from jobspec.overlays.load import ParameterValue, parameter_values, pieces

MARK = Mark("a.yaml", 1, 1, layer="a")


def tree(data: Any) -> MarkedTree:
    if isinstance(data, dict):
        return MarkedTree({key: tree(value) for key, value in data.items()}, MARK)
    return MarkedTree([tree(value) for value in data] if isinstance(data, list) else data, MARK)


def given_values(**texts: str) -> dict[str, ParameterValue]:
    return {name: ParameterValue("a", name, text, f"--set a.{name}={text}") for name, text in texts.items()}


def value_of(declaration: dict[str, Any], given: str | None = None) -> Any:
    """The value, or the rule that it breaks."""
    found, problems = parameter_values("a", tree({"x": declaration}), {} if given is None else given_values(x=given))
    return problems[0].rule if problems else found["x"]


@pytest.mark.parametrize(
    ("declaration", "given", "expected"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, "-3", -3),
        ({"type": "integer"}, "3.0", "wrong-parameter"),
        ({"type": "integer"}, "", "wrong-parameter"),
        ({"type": "integer"}, "-", "wrong-parameter"),
        ({"type": "integer"}, "--3", "wrong-parameter"),
        ({"type": "integer"}, "٣", "wrong-parameter"),
        ({"type": "integer"}, "1" * 20, "wrong-parameter"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, "True", "wrong-parameter"),
        ({"type": "quantity"}, "2", 2),
        ({"type": "quantity"}, "8Gi", "8Gi"),
        ({"type": "quantity"}, "1e3", "1e3"),
        ({"type": "quantity"}, "8GB", "wrong-parameter"),
        ({"type": "string"}, "true", "true"),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, "a=b", "a=b"),
        ({"type": "string", "enum": ["a"]}, "a", "a"),
        ({"type": "string", "enum": ["a"]}, "b", "wrong-parameter"),
        ({"type": "integer", "enum": ["1", "2"]}, "2", 2),
        ({"type": "quantity", "enum": ["1", "2Gi"]}, "1", 1),
        ({"type": "quantity", "enum": ["1", "2Gi"]}, "2", "wrong-parameter"),
        ({"type": "integer", "minimum": 2, "maximum": 3}, "1", "wrong-parameter"),
        ({"type": "integer", "minimum": 2, "maximum": 3}, "2", 2),
        ({"type": "integer", "minimum": 2, "maximum": 3}, "3", 3),
        ({"type": "integer", "minimum": 2, "maximum": 3}, "4", "wrong-parameter"),
        ({"type": "integer"}, None, "missing-parameter"),
        ({"type": "integer", "optional": True}, None, None),
        ({"type": "integer", "optional": False}, None, "missing-parameter"),
        ({"type": "integer", "default": 0}, None, 0),
        ({"type": "integer", "default": 0, "optional": True}, None, 0),
        ({"type": "boolean", "default": False}, None, False),
        ({"type": "integer", "default": True}, None, "invalid-overlay"),
        ({"type": "boolean", "default": 1}, None, "invalid-overlay"),
        ({"type": "string", "default": 1}, None, "invalid-overlay"),
        ({"type": "quantity", "default": 1}, None, 1),
        ({"type": "quantity", "default": "1Gb"}, None, "invalid-overlay"),
        ({"type": "integer", "default": 1, "minimum": 2}, None, "invalid-overlay"),
        ({"type": "string", "default": "b", "enum": ["a"]}, None, "invalid-overlay"),
    ],
)
def test_value(declaration: dict[str, Any], given: str | None, expected: Any) -> None:
    value = value_of(declaration, given)
    assert (value, type(value)) == (expected, type(expected))


def test_unknown_parameters_are_reported_in_the_order_given() -> None:
    _, problems = parameter_values("a", tree({"claim": {"type": "string", "default": "x"}}), given_values(zzz="1", clam="2"))
    assert [(each.message, each.hint) for each in problems] == [
        ("the overlay has no parameter `zzz`", "it has `claim`"),
        ("the overlay has no parameter `clam`", "did you mean `claim`?"),
    ]


def test_a_missing_parameter_says_how_to_give_it() -> None:
    _, (problem,) = parameter_values("a", tree({"size": {"type": "quantity"}}), {})
    assert problem.hint == "give one with `--set a.size=...`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("", False)]),
        ("plain", [("plain", False)]),
        ("${a}", [("a", True)]),
        ("${a}${b}", [("a", True), ("b", True)]),
        ("x-${a}-y", [("x-", False), ("a", True), ("-y", False)]),
        ("$${a}", [("${a}", False)]),
        ("$${a} ${b}", [("${a} ", False), ("b", True)]),
        ("$(A) $B $5 {c}", [("$(A) $B $5 {c}", False)]),
        ("${a", [("a", True)]),
        ("${}", [("", True)]),
    ],
)
def test_pieces(text: str, expected: list[tuple[str, bool]]) -> None:
    assert pieces(text) == expected
