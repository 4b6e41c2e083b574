"""The lines of a chart's template that write the fields of what helm renders.

A template is read as an outline of keys and list items by their indentation, in which an action `{{ }}` may stand for any text. A field of
a rendered object is looked for along its path. Where several lines have its key, such as in the branches of an `if`, those are taken whose
text fits what is rendered.
"""

from __future__ import annotations

import re
from typing import Any

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics.places import Path

_ACTION = re.compile(r"\{\{.*?\}\}")
_REFERENCE = re.compile(r"\.Values((?:\.\w+)+)")
_KEY = re.compile(r"""(?P<quote>["']?)(?P<key>[^\s"':#{}\[\],&*!|>%@`-][^"':]*?|-[^\s"':][^"':]*?)(?P=quote)\s*:(?:\s+(?P<text>.*))?$""")
_COMMENT = re.compile(r"""\s+#[^"']*$""")
_SEPARATOR = "---"


class TemplateLine(Record):
    """A key or list item of a template."""

    number: int
    """Counts from 1."""
    column: int
    """Where the key or item begins, from 1."""
    end: int
    """The column behind the line."""
    text: str
    """What stands behind the key, or in the item."""

    @property
    def is_literal(self) -> bool:
        """True if the chart writes the value whatever its values are."""
        return bool(self.text) and "{{" not in self.text

    @property
    def references(self) -> list[Path]:
        """Return the paths of the values that the line names, such as `image.tag`."""
        return [tuple(each.strip(".").split(".")) for each in _REFERENCE.findall(self.text)]

    def fits(self, value: Any) -> bool:
        """True if helm may have rendered a value from the line."""
        if isinstance(value, (dict, list)):
            return not self.is_literal or self.text[0] in "{[&"
        if not self.text or self.text[0] in "|>":
            return value is None or not self.is_literal
        said = ("true" if value else "false") if isinstance(value, bool) else "null" if value is None else str(value)
        text = self.text.strip()
        bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
        return re.fullmatch(".*".join(map(re.escape, _ACTION.split(bare))), said, re.DOTALL) is not None


class _Node:
    """A key or item with what stands inside."""

    __slots__ = ("items", "keys", "line")

    def __init__(self, line: TemplateLine | None) -> None:
        self.line = line
        self.keys: dict[str, list[_Node]] = {}
        self.items: list[_Node] = []

    def fits(self, value: Any) -> bool:
        """True if helm may have rendered a value from the lines."""
        if self.line and not (self.keys or self.items) and not self.line.fits(value):
            return False
        if not isinstance(value, dict):
            return not self.keys or not isinstance(value, (str, int, float, bool))
        return all(line.fits(each) for each, line in self._written(value))

    def written(self, value: Any) -> int:
        """Return how many values of a mapping that helm may have rendered from the lines these write themselves."""
        return sum(1 for _ in self._written(value)) if isinstance(value, dict) else 0

    def _written(self, value: dict[str, Any]) -> Iterator[tuple[Any, TemplateLine]]:
        for key, nodes in self.keys.items():
            line = nodes[0].line if len(nodes) == 1 and key in value else None
            if line and line.is_literal:
                yield value[key], line


def outline(lines: Sequence[str]) -> list[_Node]:
    """Return the outline of each document in the lines of a template."""
    documents = [_Node(None)]
    stack: list[tuple[int, bool, _Node]] = []
    for number, line in _of_yaml(lines):
        if line.rstrip() == _SEPARATOR:
            documents.append(_Node(None))
            stack = []
            continue
        indent = len(line) - len(line.lstrip())
        rest = line[indent:]
        while rest == "-" or rest.startswith("- "):
            while stack and (stack[-1][0] > indent or (stack[-1][0] == indent and stack[-1][1])):
                stack.pop()
            node = _Node(TemplateLine(number, indent + 1, len(line) + 1, _COMMENT.sub("", rest[2:].strip())))
            (stack[-1][2] if stack else documents[-1]).items.append(node)
            stack.append((indent, True, node))
            indent += len(rest) - len(rest[1:].lstrip())
            rest = line[indent:]
        if found := _KEY.match(rest):
            while stack and stack[-1][0] >= indent:
                stack.pop()
            node = _Node(TemplateLine(number, indent + 1, len(line) + 1, _COMMENT.sub("", found["text"] or "")))
            (stack[-1][2] if stack else documents[-1]).keys.setdefault(found["key"], []).append(node)
            stack.append((indent, False, node))
    return documents


def _of_yaml(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that write YAML, with their numbers: no comments, and no lines of actions alone."""
    in_action = False
    for number, line in enumerate(lines, 1):
        bare = _ACTION.sub("", line).strip()
        if in_action:
            in_action = "}}" not in line
        elif "{{" in bare:  # an action of several lines
            in_action = True
        elif bare and not bare.startswith("#"):
            yield number, line


class Located(Record):
    """Where a template writes a field."""

    line: TemplateLine | None
    """The line of the field, or of the innermost field around it that one line alone writes."""
    is_exact: bool
    """Whether that is the line of the field itself."""


def locate(documents: Sequence[_Node], data: Any, path: Path) -> Located:
    """Find the line of a field at a *path* of a rendered object, which has this *data*."""
    here = [each for each in documents if each.fits(data)] or list(documents)
    line, reached = None, 0
    for depth, step in enumerate(path, 1):
        inside = data[step]
        if isinstance(step, str):
            below = [each for node in here for each in node.keys.get(str(step), ())]
        else:
            below = [each for node in here for each in node.items]
        fitting = [each for each in below if each.fits(inside)]
        if isinstance(step, int) and len(fitting) > 1 and len(below) == len(data):
            fitting = [below[step]]
        most = max((each.written(inside) for each in fitting), default=0)
        fitting = [each for each in fitting if each.written(inside) == most]
        here, data = fitting or below, inside
        if not here:
            break
        if len(here) == 1 and here[0].line:
            line, reached = here[0].line, depth
    return Located(line, is_exact=reached == len(path))
