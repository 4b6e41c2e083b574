"""A comparison as Markdown for the comment of a pull request, cut where GitHub would not take it."""

from __future__ import annotations

from jobspec.reports.diff.view import (
    NONE,
    WORDS,
    alike,
    counted,
    fields_in,
    header,
    headline,
    judged_by,
    listed,
    names_of,
    notes,
    rows,
    table,
    totals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.gitops.diff.comparison import VariantChange
    from jobspec.gitops.diff.meaning import ObjectChange
    from jobspec.reports.diff.view import Row, View

LIMIT = 65_536  # characters of a comment
MARKER = "<!-- jobspec diff -->"  # by which a workflow finds the comment that it wrote before
_RESERVE = 400  # characters for words about what is left out
_WIDEST = 120  # characters of a value


def report(view: View) -> str:
    """The whole report, of at most as many characters as a comment has."""
    changed = view.comparison.variants
    text = f"{MARKER}\n### {_escaped(headline(view))}\n\n"
    if changed:
        text += _table(view, LIMIT // 2) + "\n"
    text += "".join(f"- {_escaped(note)}\n" for note in _cut(notes(view), LIMIT // 8))
    left = 0
    for group in alike(changed):
        room = LIMIT - _RESERVE - len(text)
        details = "" if left else _details(group, room)
        text += details
        left += 0 if details else len(group)
    if left:
        text += f"\nThe fields of {counted(left, 'variant')} are left out here; `jobspec diff {view.ref}` tells them.\n"
    return f"{text}\n<sub>{_escaped(judged_by(view))}</sub>\n"


def _cut(lines: Sequence[str], room: int) -> Iterator[str]:
    """As many lines as there is room for, and the number of the others."""
    for number, line in enumerate(lines):
        room -= len(_escaped(line)) + 3
        if room < 0:
            yield f"and {len(lines) - number} more notes"
            return
        yield line


def _table(view: View, room: int) -> str:
    """The table of variants, with as many rows as there is room for, and the number of the others."""
    names = header(view)
    text = _line(names) + _line(["---", "---", *["---:" for _ in names[2:]]])
    last = totals(view)
    end = _line([f"**{each}**" if each else "" for each in last]) if last else ""
    left = len(view.comparison.variants)
    for row in table(view):
        line = _line([listed([_code(each) for each in row.names]), *row.cells])
        if len(text) + len(line) + len(end) > room:
            return f"{text}{end}\n{counted(left, 'variant')} more {'is' if left == 1 else 'are'} left out.\n"
        text += line
        left -= len(row.names)
    return text + end


def _details(group: Sequence[VariantChange], room: int) -> str:
    """The changes of variants that change alike, with as many fields as there is room for; empty where there is none for any."""
    names = listed([each.name for each in group])
    count = fields_in(group[0].objects)
    fields = f", {counted(count, 'field')}" if count else ""
    title = f"\n<details><summary><b>{names}</b>: {WORDS[group[0].meaning]}{fields}</summary>\n"
    text, end = title, "\n</details>\n"
    told = 0
    for number in range(len(group[0].objects)):
        changes = [each.objects[number] for each in group]
        text += _object(changes)
        if len(text) + len(end) > room:
            return ""
        found = rows(changes[0], width=_WIDEST)
        text += "\n" + _line(["field", "before", "after", "changed in"]) + _line(["---"] * 4) if found else ""
        for row in found:
            line = _row(row, changes[0])
            if len(text) + len(line) + len(end) + _RESERVE > room:
                return f"{text}\n{counted(count - told, 'more field')}.\n{end}" if told else ""
            text += line
            told += 1
    return text + end


def _object(changes: Sequence[ObjectChange]) -> str:
    first = changes[0]
    text = f"\n**{WORDS[first.meaning]}**: {_escaped(names_of(changes))}\n"
    return text + "".join(f"- {_escaped(note)}\n" for note in first.notes)


def _row(row: Row, change: ObjectChange) -> str:
    differing = f" ({WORDS[row.meaning]})" if row.meaning != change.meaning else ""
    values = [_code(each) if each is not None else NONE for each in (row.before, row.after)]
    return _line([_code(row.field) + differing, *values, _code(row.place)])


def _line(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |\n"


def _code(text: str) -> str:
    """A text as code in a table, whatever is in it: with more backticks around it than it has itself."""
    if not text:
        return ""
    longest, run = 0, 0
    for each in text:
        run = run + 1 if each == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    blank = " " if longest or text[0] == " " or text[-1] == " " else ""
    return f"{fence}{blank}{text}{blank}{fence}".replace("|", "\\|")


def _escaped(text: str) -> str:
    """A sentence that may quote what users write: no HTML in it, and nobody is mentioned."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")
