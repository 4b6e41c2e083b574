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
        bare = text.rstrip().lstrip(" ")
        self.text = bare
        self.indent = len(text.rstrip()) - len(bare)
        self.item = bare.startswith("- ")
        key, colon, value = bare.removeprefix("- ").partition(":")
        self.key = key.strip("\"' ") if colon else ""
        self.value = value.partition(" #")[0].strip().strip("\"'")


def lost_indentation(text: str, problem: Diagnostic, target: Target) -> Diagnostic | None:
    """The first key that stands beside its parent in the document that a *problem* was found in, None where nothing was flattened."""
    lines = [line for line in _lines_around(text, problem.mark.line) if line.text and not line.text.startswith("#")]
    top = {line.key: line.value for line in reversed(lines) if line.indent == 0}
    shape = shapes.load(top.get("apiVersion", ""), top.get("kind", ""), target)
    return _first_lost(lines, shape, problem) if shape else None


def _lines_around(text: str, number: int) -> list[_Line]:
    """The lines of the document that line *number* belongs to."""
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
            message = lost_message(below.key, line.key)
            return Diagnostic("wrong-indentation", message, mark, field=below.key, document=problem.document, hint=LOST_HINT)
    return None


def _child(shape: Shape | None, key: str, *, fields_only: bool = False) -> Shape | None:
    if shape is None:
        return None
    if shape.fields is not None:
        return shape.fields.get(key)
    return None if fields_only else shape.values
