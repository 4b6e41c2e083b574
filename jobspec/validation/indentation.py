"""Recognise manifests whose indentation was lost, as happens when they are copied from a page.

They have a key without a value, followed by a key of the same depth that belongs inside it. If the YAML can be read, that is an unknown
field or a wrong type (`lost_parent`); if not, the YAML error is far from the cause, and the lines show it (`lost_indentation`).
"""

from __future__ import annotations

import itertools

from jobspec import shapes
from jobspec.diagnostics import Diagnostic, Mark
from jobspec.validation.problem import Problem, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.shapes import Shape
    from jobspec.targets import Target

_HINT = "indent it, and what follows it, below that key; the indentation of the file seems to be lost"


def lost_parent(found: Sequence[Problem], data: Any, root: Shape) -> Problem | None:
    """The first problem that lost indentation explains, as `wrong-indentation`; None if it explains none."""
    empty: dict[int, list[str]] = {}  # the keys without a value, by the mapping around them
    for problem in found:
        if problem.rule in ("unknown-field", "wrong-type") and problem.path and isinstance(problem.path[-1], str):
            name, around = str(problem.path[-1]), value_at(data, problem.path[:-1])
            if id(around) not in empty:
                empty[id(around)] = [key for key, value in around.items() if value is None]
            parent = empty[id(around)] and _parent_above(name, around, empty[id(around)], root.at(problem.path[:-1]), problem.rule)
            if parent:
                return Problem("wrong-indentation", problem.path, _message(name, parent), _HINT, at_key=True)
    return None


def _parent_above(name: str, data: dict[str, Any], empty: list[str], shape: Shape | None, rule: str) -> str:
    """The last empty key before *name* that has a field *name* in the schema; empty if there is none."""
    if shape is None or (rule == "wrong-type") != (shape.fields is None):
        return ""
    children = {key: shape.values if shape.fields is None else shape.fields.get(key) for key in empty}
    parents = [key for key, child in children.items() if child and child.fields and name in child.fields]
    order = list(data) if parents else []
    return next((key for key in reversed(parents) if order.index(key) < order.index(name)), "")


def _message(name: str, parent: str) -> str:
    return f"`{name}` stands beside `{parent}:`, which is empty, and belongs inside it"


class _Line:
    """A line of YAML: its indentation, its key and the value after the key."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        bare = text.rstrip().lstrip(" ")
        self.text = bare
        self.indent = len(text.rstrip()) - len(bare)
        self.item = bare.startswith("- ")
        key, colon, value = bare.removeprefix("- ").partition(":")
        self.key = key.strip("\"' ") if colon else ""
        self.value = value.partition(" #")[0].strip().strip("\"'")


def lost_indentation(text: str, problem: Diagnostic, target: Target) -> Diagnostic | None:
    """The first key beside its parent, in the document of a YAML *problem*; None if the indentation was not lost."""
    lines = [line for line in _lines_around(text, problem.mark.line) if line.text and not line.text.startswith("#")]
    top = {line.key: line.value for line in reversed(lines) if line.indent == 0}
    shape = shapes.load(top.get("apiVersion", ""), top.get("kind", ""), target)
    return _first_lost(lines, shape, problem) if shape else None


def _lines_around(text: str, number: int) -> list[_Line]:
    """The lines of the document that contains line *number*."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("---")]
    start = max((at for at in starts if at < number), default=-1) + 1
    end = min((at for at in starts if at >= number), default=len(lines))
    return [_Line(start + offset + 1, line) for offset, line in enumerate(lines[start:end])]


def _first_lost(lines: list[_Line], root: Shape, problem: Diagnostic) -> Diagnostic | None:
    open_keys: list[tuple[int, Shape | None]] = [(-1, root)]
    for line, below in itertools.pairwise(lines):
        while open_keys[-1][0] >= line.indent:
            open_keys.pop()
        around = open_keys[-1][1]
        if around and around.items:
            around = around.items
        inner = _child(around, line.key)
        open_keys.append((line.indent, inner))
        if line.value or not line.key or below.indent != line.indent or below.item or not inner or not inner.fields:
            continue
        if below.key in inner.fields and not _child(around, below.key, fields_only=True):
            start = below.indent + 1
            mark = Mark(problem.mark.file, below.number, start, below.number, start + len(below.key), problem.mark.layer)
            message = _message(below.key, line.key)
            return Diagnostic("wrong-indentation", message, mark, field=below.key, document=problem.document, hint=_HINT)
    return None


def _child(shape: Shape | None, key: str, *, fields_only: bool = False) -> Shape | None:
    if shape is None:
        return None
    if shape.fields is not None:
        return shape.fields.get(key)
    return None if fields_only else shape.values
