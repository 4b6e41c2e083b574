"""Where values come from, as text for people and as JSON for programs."""

from __future__ import annotations

import json

from jobspec.gitops.blame import RUNTIME
from jobspec.reports.text import paint
from jobspec.reports.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from jobspec.diagnostics import Mark
    from jobspec.gitops.blame import Blamed, Origin
    from jobspec.gitops.causes import Cause

    State = Literal["same", "stale", "edited", "missing"]

#: What is told of a file on disk that is not the rendered one.
STATES = {
    "stale": "is stale: this is what it would be now; `jobspec render` writes it",
    "edited": "was edited by hand: this is what is rendered; put the change into a base, an overlay or the project, then `jobspec render`",
    "missing": "is not there: this is what it would be; `jobspec render` writes it",
}
_BOLD, _DIM = "1", "2"
_COLOURS = ("36", "33", "35", "32", "34")  # of layers, one after the other; a base has none
_LONGEST = 60  # characters of a value
_BASE = "base"


def field_lines(blamed: Sequence[Blamed], *, colour: bool) -> Iterator[str]:
    """Each field with what it is and what it was, the newest first."""
    colours = _colours_of(blamed)
    for number, each in enumerate(blamed):
        if number:
            yield ""
        yield paint(visible(each.field), _BOLD, colour=colour)
        rows = [(_value(origin), _layer(origin)) for origin in each.history]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for (value, layer), origin in zip(rows, each.history, strict=True):
            is_now = origin is each.history[0]
            place = f"{layer:{widths[1]}}  {visible(str(origin.mark))}"
            value = f"{value:{widths[0]}}"
            shown = f"{value if is_now else paint(value, _DIM, colour=colour)}  {paint(place, colours[layer], colour=colour)}"
            yield f"    {'is' if is_now else 'was':3}  {shown}{_as_whole(origin)}"
            for cause in origin.causes:
                yield f"    {'':3}  {'':{widths[0]}}  {paint(_cause(cause), _DIM, colour=colour)}"


def file_lines(blamed: Sequence[Blamed], text: str, *, colour: bool, width: int | None) -> Iterator[str]:
    """The lines of a rendered file, each with the layer and the place of its value, and with what that was before.

    Lines are cut to *width* columns; where they would be, the layers are left out.
    """
    by_line = {each.line: each for each in blamed}
    colours = _colours_of(blamed)
    lines = [visible(line) for line in text.splitlines()]
    places = {number: f"{visible(each.origin.mark.file)}:{each.origin.mark.line}" for number, each in by_line.items()}
    layers = {number: _layer(each.origin) for number, each in by_line.items()}
    of_places, of_layers = max(map(len, places.values())), max(map(len, layers.values()))
    if width is not None and of_layers + 2 + of_places + 2 + max(map(len, lines)) > width:
        of_layers = 0
    for number, line in enumerate(lines, 1):
        layer = layers.get(number, "")
        origin = f"{layer:{of_layers}}  " * bool(of_layers) + f"{places.get(number, ''):{of_places}}  "
        was = _was(by_line[number]) if number in by_line else ""
        room = None if width is None else max(width - len(origin), 0)
        shown, rest = _cut(line, room), _cut(was, None if room is None else max(room - len(line), 0))
        yield f"{paint(origin, colours.get(layer, ''), colour=colour)}{shown}{paint(rest, _DIM, colour=colour)}".rstrip()


def as_json(blamed: Sequence[Blamed], *, file: str, project: str, variant: str, state: State) -> str:
    """The fields of a file as one JSON object."""
    fields = [{**_told(each.origin), "renderedLine": each.line, "overrode": list(map(_told, each.history[1:]))} for each in blamed]
    told = {"file": file, "project": project, "variant": variant, "state": state, "fields": fields}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _told(origin: Origin) -> dict[str, Any]:
    value = {"field": origin.field, "removed": origin.removed, "value": origin.value}
    causes = [{"kind": each.kind, "name": each.name, "value": each.value, **_place(each.mark)} for each in origin.causes]
    return {**value, **_place(origin.mark), "layer": origin.layer, "causes": causes}


def _place(mark: Mark) -> dict[str, Any]:
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


def _value(origin: Origin) -> str:
    """A value as JSON, which tells the text "1" from the number."""
    if origin.removed:
        return "(removed)"
    return _cut(visible(json.dumps(origin.value, ensure_ascii=False)), _LONGEST)


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: max(width - 1, 0)] + "…" * bool(width)


def _as_whole(origin: Origin) -> str:
    """A note on a value that is not the field's own, but that of the list around it."""
    return f"  the whole {visible(origin.field)}" if isinstance(origin.value, list) and origin.value else ""


def _cause(cause: Cause) -> str:
    name = f"hash of {cause.name}" if cause.kind == "hash" else f"${{{visible(cause.name)}}}"
    return f"{name} = {visible(json.dumps(cause.value, ensure_ascii=False))}  {visible(str(cause.mark))}"


def _was(blamed: Blamed) -> str:
    """What a field was before, as a comment behind it."""
    before = [f"{_value(each)} ({_of_runtime(each)}{visible(each.mark.file)}:{each.mark.line})" for each in blamed.history[1:]]
    return f"  # was {', '.join(before)}" if before else ""


def _of_runtime(origin: Origin) -> str:
    return "runtime, " if origin.layer == RUNTIME else ""
