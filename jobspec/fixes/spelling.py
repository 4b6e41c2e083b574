"""Values as text to be put into a file: YAML in lines or in braces, or JSON."""

from __future__ import annotations

from jobspec.documents.scalars import is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OF_FLOW = frozenset(",[]{}?:#&*!|>'\"%@`")


def in_flow(value: Any, *, json: bool) -> str:
    """A value in one line, as it can stand between braces, too."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{in_flow(str(key), json=json)}: {in_flow(inner, json=json)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(in_flow(each, json=json) for each in value) + "]"
    if isinstance(value, str) and not json and is_plain(value) and not _OF_FLOW & set(value):
        return value
    return _dumped(value)


def scalar(value: Any, before: str, *, json: bool) -> str:
    """A scalar as it can stand anywhere, with the quotes of the scalar *before* it where those do."""
    if isinstance(value, str) and before[:1] == "'" and "'" not in value and value.isprintable():
        return f"'{value}'"
    return _dumped(value) if isinstance(value, str) and before[:1] == '"' else in_flow(value, json=json)


def in_lines(name: str, value: Any, *, indent: str, newline: str) -> str:
    """A field of a block mapping, its first line without the indentation, the last one without an end."""
    lines = list(_lines(name, value))
    return f"{newline}{indent}".join(lines)


def _lines(name: str, value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        return [f"{name}:", *(f"  {line}" for key, inner in value.items() for line in _lines(in_flow(str(key), json=False), inner))]
    if isinstance(value, list) and value:
        return [f"{name}:", *(line for each in value for line in item_lines(each))]
    return [f"{name}: {in_flow(value, json=False)}"]


def item_lines(value: Any) -> list[str]:
    """The lines of an item of a block list."""
    if isinstance(value, dict) and value:
        lines = [line for key, inner in value.items() for line in _lines(in_flow(str(key), json=False), inner)]
        return [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]
    return [f"- {in_flow(value, json=False)}"]


def _dumped(value: Any) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())
