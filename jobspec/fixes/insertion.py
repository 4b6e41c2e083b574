"""Add a field or an item behind the last one, in the layout of those that are there."""

from __future__ import annotations

from jobspec.fixes.places import TextEdit, TextPlaces, Uncuttable
from jobspec.fixes.spelling import in_flow, in_lines, item_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.document import Marks


def field_added(places: TextPlaces, around: Marks, name: str, value: Any) -> TextEdit:
    """A field at the end of a mapping. Raises Uncuttable."""
    key = in_flow(name, json=places.is_json)
    siblings = list(around.children.values()) if isinstance(around.children, dict) else []
    if places.is_flow(around):
        return _in_braces(places, around, siblings, f"{key}: {in_flow(value, json=places.is_json)}")
    if not siblings:
        raise Uncuttable
    start, at = places.start(siblings[-1]), places.behind(siblings[-1])
    indent = " " * (start - places.start_of_line(start))
    lines = in_lines(key, value, indent=indent, newline=places.newline)
    return TextEdit(at, at, f"{places.newline}{indent}{lines}")


def item_added(places: TextPlaces, around: Marks, value: Any) -> TextEdit:
    """An item at the end of a list. Raises Uncuttable."""
    items = around.children if isinstance(around.children, list) else []
    if places.is_flow(around):
        return _in_braces(places, around, items, in_flow(value, json=places.is_json))
    if not items:
        raise Uncuttable
    dash = places.before_blank(places.start(items[-1])) - 1
    line = places.start_of_line(dash)
    if places.text[dash] != "-" or places.text[line:dash].strip():
        raise Uncuttable
    at = places.behind(items[-1])
    indent = f"{places.newline}{places.text[line:dash]}"
    return TextEdit(at, at, indent + indent.join(item_lines(value)))


def _in_braces(places: TextPlaces, around: Marks, siblings: list[Marks], text: str) -> TextEdit:
    """Behind the last entry, in a line of its own where that has one."""
    if not siblings:
        at = places.value_start(around) + 1
        return TextEdit(at, at, text)
    last = siblings[-1]
    start, at = places.start(last), places.end(last)
    line = places.start_of_line(start)
    before = places.text[line:start]
    return TextEdit(at, at, f",{places.newline}{before}{text}" if not before.strip() else f", {text}")
