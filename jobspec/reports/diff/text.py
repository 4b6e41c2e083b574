"""A comparison as text for a terminal: a table of variants, then the changed fields of those that change alike."""

from __future__ import annotations

from jobspec.reports.diff.view import WORDS, alike, header, headline, judged_by, listed, names_of, notes, rows, table, totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.gitops.diff.meaning import Meaning, ObjectChange
    from jobspec.reports.diff.view import Row, View

_BOLD, _DIM, _RED, _GREEN = "1", "2", "31", "32"
_COLOURS: dict[Meaning, str] = {
    "refused": "1;31",
    "ignored": "1;33",
    "replaced": "1;33",
    "new-run": "1;34",
    "removed": "1;31",
    "created": "1;32",
    "in-place": "1;32",
}


def report(view: View, *, colour: bool = False, width: int = 100) -> str:
    """The whole report."""
    paint = _Paint(colour=colour)
    lines = [paint(headline(view), _BOLD)]
    changed = view.comparison.variants
    if changed:
        lines += ["", *_table([header(view), *([listed(each.names), *each.cells] for each in table(view)), totals(view)], paint)]
    for note in notes(view):
        lines += _wrapped(note, width, "      ", first="note: ")
    for group in alike(changed):
        lines += ["", paint(listed([each.name for each in group]), _BOLD)]
        for number in range(len(group[0].objects)):
            lines += _object([each.objects[number] for each in group], paint, width)
    return "\n".join([*lines, "", paint(judged_by(view), _DIM), ""])


class _Paint:
    """Colours a text, or leaves it."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and text else text


def _table(lines: Sequence[list[str]], paint: _Paint) -> Iterator[str]:
    """Rows in columns, the first one their heads; an empty row is left out."""
    filled = [row for row in lines if row]
    widths = [max(len(row[number]) for row in filled) for number in range(len(filled[0]))]
    for number, row in enumerate(filled):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield paint(line, _DIM) if number == 0 else line


def _object(changes: Sequence[ObjectChange], paint: _Paint, width: int) -> Iterator[str]:
    first = changes[0]
    yield from _wrapped(names_of(changes), width, "    ", first=f"  {paint(WORDS[first.meaning], _COLOURS[first.meaning])}: ")
    for note in first.notes:
        yield from _wrapped(note, width, "    ")
    before = ""
    for row in rows(first, width=max(width // 2 - 8, 20)):
        around, name = _split(row.field)
        if around and around != before:
            yield f"    {paint(around, _DIM)}"
        before = around
        yield from _row(row, name, "      " if around else "    ", first.meaning, paint, width)


def _split(field: str) -> tuple[str, str]:
    """A field of a container, or else of a pod template, as that and the rest; any other is a rest."""
    from re import match

    for around in (r"spec\.trainer|.*?\.(?:initC|c)ontainers\[[^]]*\]", r".*\.template"):
        if found := match(rf"({around})\.(.*)", field):
            return found[1], found[2]
    return "", field


def _row(row: Row, name: str, indent: str, usual: Meaning, paint: _Paint, width: int) -> Iterator[str]:
    sign, code = ("~", _DIM) if None not in (row.before, row.after) else ("+", _GREEN) if row.before is None else ("-", _RED)
    differing = f" ({paint(WORDS[row.meaning], _COLOURS[row.meaning])})" if row.meaning != usual else ""
    values = [(text, colour) for text, colour in ((row.before, _RED), (row.after, _GREEN)) if text is not None]
    shown = " → ".join(paint(text, colour) for text, colour in values)
    head = f"{indent}{paint(sign, code)} {name}{differing}"
    tail = paint(row.place, _DIM)
    length = len(indent) + len(name) + sum(len(text) + 3 for text, _ in values) + len(row.place) + 4
    if length + (len(WORDS[row.meaning]) + 3) * bool(differing) <= width:
        yield f"{head}  {shown}  {tail}"
    else:
        yield head
        yield f"{indent}    {shown}"
        yield f"{indent}    {tail}"


def _wrapped(text: str, width: int, indent: str, *, first: str | None = None) -> list[str]:
    from textwrap import wrap

    start = indent if first is None else first
    return wrap(text, max(width, 40), initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
