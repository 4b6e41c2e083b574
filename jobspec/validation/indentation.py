"""Tell lost indentation from any other YAML mistake.

A manifest copied from a page often arrives with its nesting flattened. YAML then fails somewhere below, far from the
cause; the lines themselves still show it: a key without a value, and right below, as deep, a key that belongs inside.
"""

from __future__ import annotations

import itertools

from jobspec import shapes
from jobspec.diagnostics import Diagnostic, Mark
from jobspec.validation.wording import LOST_HINT, lost_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.shapes import Shape
    from jobspec.targets import Target


class _Line:
    """A line that holds a key: how deep it stands, the key, and whether a value follows."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        bare = text.lstrip(" ")
        self.indent = len(text) - len(bare)
        self.item = bare.startswith("- ")
        key, colon, value = bare.removeprefix("- ").partition(":")
        self.key = key.strip("\"' ") if colon else ""
        self.value = value.partition(" #")[0].strip().strip("\"'")


def lost_indentation(text: str, target: Target, *, file: str, layer: str = "") -> Diagnostic | None:
    """The first key of a broken document that stands beside its parent, None where nothing was flattened."""
    lines = [_Line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    top = {line.key: line.value for line in reversed(lines) if line.indent == 0}
    shape = shapes.load(top.get("apiVersion", ""), top.get("kind", ""), target)
    return _first_lost(lines, shape, file, layer) if shape else None


def _first_lost(lines: list[_Line], root: Shape, file: str, layer: str) -> Diagnostic | None:
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
            mark = Mark(file, below.number, start, below.number, start + len(below.key), layer)
            return Diagnostic("wrong-indentation", lost_message(below.key, line.key), mark, field=below.key, hint=LOST_HINT)
    return None


def _child(shape: Shape | None, key: str, *, fields_only: bool = False) -> Shape | None:
    if shape is None:
        return None
    if shape.fields is not None:
        return shape.fields.get(key)
    return None if fields_only else shape.values
