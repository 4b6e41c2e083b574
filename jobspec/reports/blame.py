"""Where values come from, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec.diagnostics.places import Mark
from jobspec.project.blame import RUNTIME, Blamed, Cause, Origin
from jobspec.reports.printable import visible
from jobspec.reports.terminal import BOLD, DIM, columns, cut, paint

#: The note about a file on disk that differs from what is rendered now, by how it differs.
STATES = {
    "stale": "is stale: this is what it would be now; `jobspec render` writes it",
    "edited": "was edited by hand: this is what is rendered; put the change into a base, an overlay or the project, then `jobspec render`",
    "missing": "does not exist: this is what it would be; `jobspec render` writes it",
}
_COLOURS = ("36", "33", "35", "32", "34")  # of layers, one after the other; a base has none
_LONGEST = 60  # characters of a value
_BASE = "base"


def field_lines(blamed: Sequence[Blamed], *, colour: bool) -> Iterator[str]:
    """Yield the lines of each field, with its value and its history, the newest first."""
    colours = _colours_of(blamed)
    for number, each in enumerate(blamed):
        if number:
            yield ""
        yield paint(visible(each.field), BOLD, colour=colour)
        rows = [(_value_of_origin(origin), _layer(origin)) for origin in each.history]
        of_values, of_layers = (max(columns(row[column]) for row in rows) for column in (0, 1))
        for when, (value, layer), origin in zip(("is ", *["was"] * len(rows)), rows, each.history, strict=False):
            shown = paint(_padded(value, of_values), DIM if when == "was" else "", colour=colour)
            place = paint(_padded(layer, of_layers) + visible(str(origin.mark)), colours[layer], colour=colour)
            whole = f"  the whole {visible(origin.field)}" if isinstance(origin.value, list) and origin.value else ""  # a list around it
            yield f"    {when}  {shown}{place}{whole}"
            for cause in origin.causes:
                yield f"         {_padded('', of_values)}{paint(_cause(cause), DIM, colour=colour)}"


def file_lines(blamed: Sequence[Blamed], text: str, *, colour: bool, width: int | None) -> Iterator[str]:
    """Yield the lines of a rendered file, each with its value's layer, place and old values.

    Lines are cut to *width* columns. If they would be, the layers are left out.
    """
    rows = _rows(blamed, text)
    colours = _colours_of(blamed)
    sizes = [max(columns(row[column]) for row in rows) for column in range(3)]
    with_layers = width is None or sum(sizes) + 4 <= width
    for layer, place, line, was in rows:
        origin = _padded(layer, sizes[0]) * with_layers + _padded(place, sizes[1])
        room = None if width is None else width - columns(origin)
        rest = cut(was, None if room is None else room - columns(line))
        yield f"{paint(origin, colours.get(layer, ''), colour=colour)}{cut(line, room)}{paint(rest, DIM, colour=colour)}".rstrip()


def _rows(blamed: Iterable[Blamed], text: str) -> list[tuple[str, str, str, str]]:
    """Return the layer, place, text and former value of each line of a file."""
    by_line = {each.line: each for each in blamed}
    rows = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        each = by_line.get(number)
        mark = each and each.origin.mark
        place = f"{visible(mark.file)}:{mark.line}" if mark else ""
        rows.append((_layer(each.origin) if each else "", place, visible(line), _was(each) if each else ""))
    return rows


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text) + 2)


def as_json(blamed: Sequence[Blamed], *, file: str, project: str, variant: str, state: str) -> str:
    """Write the fields of a file as one JSON object."""
    fields = [
        {
            **_origin_as_json(each.origin),
            "field": each.field,
            "renderedLine": each.line,
            "overrode": list(map(_origin_as_json, each.history[1:])),
        }
        for each in blamed
    ]
    report = {"file": file, "project": project, "variant": variant, "state": state, "fields": fields}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _origin_as_json(origin: Origin) -> dict[str, Any]:
    value = {"field": origin.field, "removed": origin.removed, "value": origin.value}
    causes = [{"kind": each.kind, "name": each.name, "value": each.value, **_mark_fields(each.mark)} for each in origin.causes]
    return {**value, **_mark_fields(origin.mark), "layer": origin.layer, "causes": causes}


def _mark_fields(mark: Mark) -> dict[str, Any]:
    """A place as other JSON reports have it."""
    return {
        "layer": mark.layer,
        "file": mark.file,
        "line": mark.line,
        "column": mark.column,
        "endLine": mark.end_line,
        "endColumn": mark.end_column,
    }


def _layer(origin: Origin) -> str:
    return visible(origin.layer) or _BASE


def _colours_of(blamed: Iterable[Blamed]) -> Mapping[str, str]:
    """A colour for each layer."""
    layers = dict.fromkeys(_layer(origin) for each in blamed for origin in each.history)
    named = [each for each in layers if each != _BASE]
    return {_BASE: "", **{each: _COLOURS[number % len(_COLOURS)] for number, each in enumerate(named)}}


def _value_of_origin(origin: Origin) -> str:
    """A value as JSON, which distinguishes the text "1" from the number."""
    if origin.removed:
        return "(removed)"
    return cut(visible(json.dumps(origin.value, ensure_ascii=False)), _LONGEST)


def _cause(cause: Cause) -> str:
    return f"{visible(cause.label)} = {visible(json.dumps(cause.value, ensure_ascii=False))}  {visible(str(cause.mark))}"


def _was(blamed: Blamed) -> str:
    """Write the former values of a field, as a comment behind it."""
    before = [f"{_value_of_origin(each)} ({visible(line_of(each))})" for each in blamed.history[1:]]
    return f"  # was {', '.join(before)}" if before else ""


def line_of(origin: Origin) -> str:
    """Return the file and the line of a former value."""
    return f"{'runtime, ' if origin.layer == RUNTIME else ''}{origin.mark.file}:{origin.mark.line}"
