"""What a change of a project does, as text, Markdown and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from json import dumps
from typing import Any

from jobspec.diagnostics.grouping import gathered, grouped
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.wording import counted, shortened
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.writer import is_plain
from jobspec.operators.workloads import REPLICA_SPECS
from jobspec.project.capacity import Capacity, Cost, PriceList, cost_of
from jobspec.project.comparison import Comparison, VariantChange
from jobspec.project.effects import MEANINGS, Meaning, ObjectChange
from jobspec.project.fields import FieldChange, spelling_of
from jobspec.reports.places import layer_of
from jobspec.reports.printable import clean, visible
from jobspec.reports.terminal import BOLD, DIM, paint, wrapped

#: Colours a text by a code of the terminal, or leaves it.
Paint = Callable[[str, str], str]


# A comparison as text for a terminal: a table of variants, then the changed fields of those that change alike.
_RED, _GREEN = "31", "32"
_COLOURS: dict[Meaning, str] = {
    "refused": "1;31",
    "ignored": "1;33",
    "replaced": "1;33",
    "new-run": "1;34",
    "removed": "1;31",
    "created": "1;32",
    "in-place": "1;32",
}


def text_report(view: ComparisonView, *, colour: bool = False, width: int = 100) -> str:
    """Write the whole report as text."""
    painted: Paint = partial(paint, colour=colour)
    lines = [painted(each, BOLD) for each in wrapped(headline(view), max(width, 40))]
    changed = view.comparison.variants
    if found := table(view):
        lines += ["", *_text_table([header(view), *([shortened(names), *cells] for names, cells in found), totals(view)], painted, width)]
    for note in notes(view):
        lines += wrapped(note, max(width, 40), "      ", first="note: ")
    above = ""
    for group in alike(changed):
        heading = shortened([each.name for each in group])
        lines += ["", painted(heading, BOLD)] if heading != above else []
        above = heading
        for number in range(len(group[0].objects)):
            lines += _text_object([each.objects[number] for each in group], painted, width)
    return "\n".join([*lines, "", painted(by_rules_of(view.releases), DIM), ""])


def _text_table(lines: Sequence[list[str]], painted: Paint, width: int) -> Iterator[str]:
    """Rows in columns, the first one their heads; an empty row is left out.

    If the columns are wider than *width*, each row is its first cell with the others below, each behind its head.
    """
    filled = [row for row in lines if row]
    widths = [max(len(row[number]) for row in filled) for number in range(len(filled[0]))]
    if sum(widths) + 2 * (len(widths) - 1) > width:
        for first, effect, *numbers in filled[1:]:
            said = [effect, *(f"{head} {cell}" for head, cell in zip(filled[0][2:], numbers, strict=True) if cell)]
            yield from wrapped(first, max(width, 40))
            yield from wrapped(", ".join(filter(None, said)), max(width, 40), "    ", first="  ")
        return
    for number, row in enumerate(filled):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield painted(line, DIM) if number == 0 else line


def _text_object(changes: Sequence[ObjectChange], painted: Paint, width: int) -> Iterator[str]:
    first = changes[0]
    yield from wrapped(names_of(changes), max(width, 40), "    ", first=f"  {painted(WORDS[first.meaning], _COLOURS[first.meaning])}: ")
    for note in first.notes:
        yield from wrapped(note, max(width, 40), "    ")
    before = ""
    for row in rows(first, width=max(width // 2 - 8, 20)):
        around, name = _split(row.field)
        if around and around != before:
            yield f"    {painted(around, DIM)}"
        before = around
        yield from _text_row(row, name, "      " if around else "    ", first.meaning, painted, width)


def _split(field: str) -> tuple[str, str]:
    """Split a field into its container or pod template and the rest of the path.

    Other fields have only a rest.
    """
    from re import match

    found = match(r"(spec\.trainer|.*?\.(?:initC|c)ontainers\[[^]]*\]|.*\.template)\.(.*)", field)
    return (found[1], found[2]) if found else ("", field)


def _text_row(row: FieldRow, name: str, indent: str, shown_above: Meaning, painted: Paint, width: int) -> Iterator[str]:
    sign, code = ("~", DIM) if None not in (row.before, row.after) else ("+", _GREEN) if row.before is None else ("-", _RED)
    differing = f" ({painted(WORDS[row.meaning], _COLOURS[row.meaning])})" if row.meaning != shown_above else ""
    values = [(text, colour) for text, colour in ((row.before, _RED), (row.after, _GREEN)) if text is not None]
    shown = " → ".join(painted(text, colour) for text, colour in values)
    head = f"{indent}{painted(sign, code)} {name}{differing}"
    tail = painted(row.place, DIM)
    length = len(indent) + len(name) + sum(len(text) + 3 for text, _ in values) + len(row.place) + 4
    if length + (len(WORDS[row.meaning]) + 3) * bool(differing) <= width:
        yield f"{head}  {shown}  {tail}"
    else:
        yield head
        yield f"{indent}    {shown}"
        yield f"{indent}    {tail}"


# A comparison as Markdown for the comment of a pull request, cut where GitHub would not take it.
LIMIT = 65_536  # characters of a comment
MARKER = "<!-- jobspec diff -->"  # by which a workflow finds the comment that it wrote before
_RESERVE = 400  # characters for words about what is left out
_WIDEST = 48  # characters of a value, of which a comment has two beside a field
_LONGEST_PIECE = 40  # characters of a field in one line of a table


def markdown_report(view: ComparisonView) -> str:
    """Write the whole report as Markdown, short enough for a comment."""
    changed = view.comparison.variants
    text = f"{MARKER}\n### {_escaped(headline(view))}\n\n"
    if table(view):
        text += _markdown_table(view, LIMIT // 2) + "\n"
    text += "".join(f"- {_escaped(note)}\n" for note in _cut(notes(view), LIMIT // 8))
    groups = alike(changed)
    details = _details_that_fit(groups, LIMIT - _RESERVE - len(text))
    text += "".join(details[number] for number in sorted(details))
    if left := sum(len(group) for number, group in enumerate(groups) if number not in details):
        which = counted(left, "variant" if view.comparison.noun == "variant" else "group")
        text += f"\nThe fields of {which} are left out here; `jobspec diff {view.ref}` shows them.\n"
    return f"{text}\n<sub>{_escaped(by_rules_of(view.releases))}</sub>\n"


def _cut(lines: Sequence[str], room: int) -> Iterator[str]:
    """As many lines as there is room for, and the number of the others."""
    for number, line in enumerate(lines):
        room -= len(_escaped(line)) + 3
        if room < 0:
            yield f"and {len(lines) - number} more notes"
            return
        yield line


def _markdown_table(view: ComparisonView, room: int) -> str:
    """Write the table of variants, with as many rows as there is room for.

    The number of the other rows is added.
    """
    names = header(view)
    text = _line(names) + _line(["---", "---", *["---:" for _ in names[2:]]])
    last = totals(view)
    end = _line([f"**{each}**" if each else "" for each in last]) if last else ""
    left, noun = len(_rows_of(view)), view.comparison.noun if view.comparison.noun == "variant" else "job"
    for variants, cells in table(view):
        line = _line([shortened([_code(each) for each in variants]), *cells])
        if len(text) + len(line) + len(end) > room:
            return f"{text}{end}\n{counted(left, noun)} more {'is' if left == 1 else 'are'} left out.\n"
        text += line
        left -= len(variants)
    return text + end


def _details_that_fit(groups: Sequence[Sequence[VariantChange]], room: int) -> dict[int, str]:
    """Write the changes of as many groups as there is room for, by their numbers, the gravest ones first."""
    found: dict[int, str] = {}
    for number in sorted(range(len(groups)), key=lambda each: MEANINGS.index(groups[each][0].meaning)):
        text = _details(groups[number], room)
        if not text:
            break
        found[number] = text
        room -= len(text)
    return found


def _details(group: Sequence[VariantChange], room: int) -> str:
    """Write the changes of variants that change alike, with as many fields as fit.

    If there is no room for any field, return an empty string.
    """
    names = shortened([each.name for each in group])
    count = sum(len(rows(each)) for each in group[0].objects)
    fields = f", {counted(count, 'field')}" if count else ""
    title = f"\n<details><summary><b>{names}</b>: {WORDS[group[0].meaning]}{fields}</summary>\n"
    text, end = title, "\n</details>\n"
    written = 0
    for number in range(len(group[0].objects)):
        changes = [each.objects[number] for each in group]
        text += _markdown_object(changes)
        if len(text) + len(end) > room:
            return ""
        found = rows(changes[0], width=_WIDEST)
        text += "\n" + _line(["field", "before", "after", "file and line"]) + _line(["---"] * 4) if found else ""
        for row in found:
            line = _markdown_row(row, changes[0])
            if len(text) + len(line) + len(end) + _RESERVE > room:
                return f"{text}\n{counted(count - written, 'more field')}.\n{end}" if written else ""
            text += line
            written += 1
    return text + end


def _markdown_object(changes: Sequence[ObjectChange]) -> str:
    first = changes[0]
    text = f"\n**{WORDS[first.meaning]}**: {_escaped(names_of(changes))}\n"
    return text + "".join(f"- {_escaped(note)}\n" for note in first.notes)


def _markdown_row(row: FieldRow, change: ObjectChange) -> str:
    differing = f" ({WORDS[row.meaning]})" if row.meaning != change.meaning else ""
    values = [_code(each) if each is not None else NONE for each in (row.before, row.after)]
    return _line(["<br>".join(map(_code, _pieces(row.field))) + differing, *values, _code(row.place)])


def _pieces(field: str) -> list[str]:
    """Cut a long field between its steps, so that the columns beside it are seen."""
    pieces = [""]
    for step in re.split(r"(?=[.[])", field):
        if pieces[-1] and len(pieces[-1]) + len(step) > _LONGEST_PIECE:
            pieces.append("")
        pieces[-1] += step
    return pieces


def _line(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |\n"


def _code(text: str) -> str:
    """Write a text as code in a table, with more backticks around it than inside."""
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
    """Escape a sentence that may quote users: no HTML, and no mentions on GitHub."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")


# What the text and the Markdown report share: their words, and one entry for variants that change alike.
WORDS: dict[Meaning, str] = {
    "refused": "refused",
    "ignored": "silently ignored",
    "replaced": "replaced",
    "new-run": "new run",
    "removed": "removed",
    "created": "created",
    "in-place": "in place",
}
NONE = "-"
_MANY = 8  # variants of one row each


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A comparison with all facts of its reports: the compared ref, prices, releases."""

    comparison: Comparison
    _: KW_ONLY
    ref: str
    commit: str
    releases: dict[str, str]
    prices: PriceList | None

    def cost(self, capacity: Capacity | None) -> Cost | None:
        """Return the highest cost of a job. If there is no job or no price list, return None."""
        return cost_of(capacity, self.prices) if capacity and self.prices else None


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A changed field, in words."""

    field: str
    before: str | None
    after: str | None
    place: str
    meaning: Meaning


def headline(view: ComparisonView) -> str:
    """Write the first sentence of a report."""
    comparison, noun = view.comparison, view.comparison.noun
    meanings = comparison.meanings
    changed, total = len(meanings), len(meanings) + comparison.unchanged
    against = f"{visible(view.ref)} ({view.commit[:8]})"
    if not changed:
        return f"no {noun} of {total} changes against {against}" if total else f"no {noun} changes against {against}"
    counts = [meanings.count(meaning) for meaning in MEANINGS]
    parts = [
        f"{count} {WORDS[meaning]}{'s' * (meaning == 'new-run' and count > 1)}"
        for meaning, count in zip(MEANINGS, counts, strict=True)
        if count
    ]
    return f"{changed} of {counted(total, noun)} change{'s' if changed == 1 else ''} against {against}: {', '.join(parts)}"


def by_rules_of(releases: Mapping[str, str]) -> str:
    """Write the last line of a report: the releases whose rules apply."""
    return f"by the rules of {', '.join(' '.join(each) for each in releases.items())}"


def header(view: ComparisonView) -> list[str]:
    """Return the column headings of the table of variants."""
    cost = [f"cost at most, {visible(view.prices.currency)}"] if view.prices else []
    return ["variant" if view.comparison.noun == "variant" else "job", "in the cluster", "pods", "GPUs", "deadline", *cost]


def table(view: ComparisonView) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the rows of the table of variants: names of variants, mostly one, and cells.

    If many variants have equal rows, the rows are merged.
    """
    rows = gathered((tuple(_cells(each, view)), each.label) for each in _rows_of(view))
    lines = [(part, cells) for cells, names in rows.items() for part in ([names] if len(names) > _MANY else [[name] for name in names])]
    return sorted(lines, key=lambda line: line[0][0])


def _rows_of(view: ComparisonView) -> list[VariantChange]:
    """Return what has a row in the table: the variants, or the jobs among the objects of a repository."""
    return [each for each in view.comparison.variants if each.job or view.comparison.noun == "variant"]


def _cells(change: VariantChange, view: ComparisonView) -> list[str]:
    before, after = change.before, change.after
    presence = ", new variant" if change.presence == "new" else ""
    needs = [(number_of_pods(each), number_of_gpus(each), duration(each.deadline)) if each else (None,) * 3 for each in (before, after)]
    found = [WORDS[change.meaning] + presence, *map(_both, *needs)]
    if view.prices:
        found += [_both(*(_cost_amount(view.cost(each)) for each in (before, after)))]
    return found


def number_of_pods(capacity: Capacity) -> str:
    """Write the number of a job's pods. If an autoscaler may make more, add the most."""
    return _range(capacity.number, capacity.most)


def number_of_gpus(capacity: Capacity) -> str:
    """Write the number of a job's GPUs. If an autoscaler may make more, add the most."""
    return _range(capacity.gpus, capacity.most_gpus)


def totals(view: ComparisonView) -> list[str]:
    """Return the last row of the table, the sums. If only one variant differs, it is empty."""
    changed = _rows_of(view)
    if len(changed) < 2:
        return []
    sides = [[each.before for each in changed if each.before], [each.after for each in changed if each.after]]
    found = ["together", ""]
    found += [_both(*(_range(sum(each.number for each in side), sum(each.most for each in side)) for side in sides))]
    found += [_both(*(_range(sum(each.gpus for each in side), sum(each.most_gpus for each in side)) for side in sides)), ""]
    if view.prices:
        costs = [[cost.amount for each in side if (cost := view.cost(each))] for side in sides]
        found += [_both(*(NONE if None in side else f"{sum(each for each in side if each is not None):.2f}" for side in costs))]
    return found


def notes(view: ComparisonView) -> list[str]:
    """Return the notes below the tables: about the project, and pods and costs of variants."""
    about = gathered((note, each.label) for each in view.comparison.variants if each.after for note in _notes_on(each.after, view))
    return [*view.comparison.notes, *(f"{shortened(names)}: {note}" for note, names in about.items())]


def _notes_on(capacity: Capacity, view: ComparisonView) -> list[str]:
    """Why a job may ask for more, and why nobody can say what it costs."""
    cost = view.cost(capacity)
    return [*capacity.notes, *([cost.why] if cost and cost.why else [])]


def alike(changes: Sequence[VariantChange]) -> list[list[VariantChange]]:
    """Group the variants whose changes read the same."""
    return list(grouped(changes, _likeness).values())


def _likeness(change: VariantChange) -> object:
    objects = tuple((each.document.kind, each.meaning, each.is_pruned, tuple(each.notes), _rows_key(each)) for each in change.objects)
    return change.presence, objects


def _rows_key(change: ObjectChange) -> object:
    return tuple((row.field, row.before, row.after, row.place.partition(" (")[0], row.meaning) for row in rows(change))


def rows(change: ObjectChange, *, width: int = 200) -> list[FieldRow]:
    """Return the changed fields of an object in words.

    The same change of several roles of a PyTorchJob is one row.
    """
    found: dict[object, tuple[list[str], FieldChange, Meaning]] = {}
    for each, meaning in change.fields:
        is_of_role = each.path[:2] == REPLICA_SPECS and len(each.path) > 3
        rest = each.path[3:] if is_of_role else each.path
        key = (is_of_role, spelling_of(rest), _value_text(each.before), _value_text(each.after), _changed_at(each), meaning)
        names, _, _ = found.setdefault(key, ([], each, meaning))
        names += [str(each.path[2])] if is_of_role else []
    return sorted((_field_row(names, each, meaning, width) for names, each, meaning in found.values()), key=lambda row: row.field)


def _field_row(names: list[str], change: FieldChange, meaning: Meaning, width: int) -> FieldRow:
    field = change.field.replace(f"[{names[0]}]", f"[{', '.join(names)}]", 1) if len(names) > 1 else change.field
    before, after = _cut_where_they_differ(_value_text(change.before), _value_text(change.after), width)
    return FieldRow(visible(field), before, after, _changed_at(change), meaning)


def _changed_at(change: FieldChange) -> str:
    """The line that changed a field; of a removed one, where it was and what removed it."""
    if change.after is not None:
        return spot(change.place)
    was = f"was {spot(change.was)}"
    return f"{spot(change.place)}, {was}" if change.place else was


def spot(mark: Mark | None) -> str:
    """Write a place with its overlay."""
    return visible(f"{mark.file}:{mark.line}" if mark.line else mark.file) + visible(layer_of(mark)) if mark else ""


def _value_text(tree: MarkedTree | None) -> str | None:
    """Write a value in one line. If there is no value, return None."""
    return None if tree is None else visible(spelt(tree.data()))


def _cut_where_they_differ(before: str | None, after: str | None, width: int) -> tuple[str | None, str | None]:
    """Cut two texts to *width* characters each. If they begin alike for longer than that, cut the beginning, too."""
    if before is None or after is None or max(len(before), len(after)) <= width:
        return _cut_end(before, width), _cut_end(after, width)
    pairs = zip(before, after, strict=False)
    alike = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))
    first = max(alike - width // 3, 0) if alike > width // 2 else 0
    before, after = (f"…{each[first + 1 :]}" if first else each for each in (before, after))
    return _cut_end(before, width), _cut_end(after, width)


def _cut_end(text: str | None, width: int) -> str | None:
    return text if text is None or len(text) <= width else text[: width - 1] + "…"


def spelt(value: Any) -> str:
    """Write a value as YAML in one line."""
    if isinstance(value, str) and is_plain(value):
        return value
    return dumps(value, ensure_ascii=False)


def duration(seconds: int | None) -> str:
    """Write a number of seconds as people do: `1d 2h`, `90s`."""
    if seconds is None:
        return "none"
    found, rest = [], seconds
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        found += [f"{number}{unit}"] if number else []
    return " ".join(found) if seconds > 0 else f"{seconds}s"


def names_of(changes: Sequence[ObjectChange]) -> str:
    """Write the kind and name of an object, or of the first of several, with their number."""
    first = changes[0]
    name = visible("/".join(part for part in (first.document.namespace, first.document.name) if part))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    if not first.follows:
        return f"{first.document.kind} {name}{more}"
    stays = (
        f"{'stay' if more else 'stays'} as earlier run{'s' if more else ''}" if first.meaning != "created" else f"stay{'s' * (not more)}"
    )
    fate = f"{'are' if more else 'is'} pruned" if first.is_pruned else stays
    return f"{first.document.kind} {name}{more}, and {visible(first.follows)}{more} {fate}"


def _range(number: int, most: int) -> str:
    """Write a number. If an autoscaler may make it larger, add the most."""
    return str(number) if most == number else f"{number} to {most}"


def _both(before: str | None, after: str | None) -> str:
    if before is None or after is None or before == after:
        return after or before or NONE
    return f"{before} → {after}"


def _cost_amount(cost: Cost | None) -> str | None:
    return None if cost is None else NONE if cost.amount is None else f"{cost.amount:.2f}"


# A comparison as one JSON object.


def json_report(view: ComparisonView) -> str:
    """Write the whole report as JSON.

    A place has a `layer`: the overlay or variant of the line, empty for a base.
    """
    comparison = view.comparison
    presences = [each.presence for each in comparison.variants]
    if comparison.noun == "object":
        return dumps(_repository_as_json(view), indent=2, ensure_ascii=False) + "\n"
    report = {
        "ref": clean(view.ref),
        "commit": view.commit,
        "differs": comparison.differs,
        "notes": list(comparison.notes),
        "currency": view.prices.currency if view.prices else None,
        "variants": [_variant(each, view) for each in comparison.variants],
        "summary": {
            "changed": presences.count("changed"),
            "new": presences.count("new"),
            "removed": presences.count("removed"),
            "unchanged": comparison.unchanged,
        },
        "target": view.releases,
    }
    return dumps(report, indent=2, ensure_ascii=False) + "\n"


def _repository_as_json(view: ComparisonView) -> dict[str, Any]:
    """Return the objects of a repository that differ, as JSON has them, each with its build or file.

    `before` and `after` are what a job asks for, null for other objects.
    """
    comparison = view.comparison
    needs = ((each, {"before": _needs(each.before, view), "after": _needs(each.after, view)}) for each in comparison.variants)
    objects = [{**_changed_object(one), "build": clean(each.name), **asked} for each, asked in needs for one in each.objects]
    return {
        "ref": clean(view.ref),
        "commit": view.commit,
        "differs": comparison.differs,
        "notes": list(comparison.notes),
        "currency": view.prices.currency if view.prices else None,
        "objects": objects,
        "summary": {**{each: comparison.meanings.count(each) for each in MEANINGS}, "unchanged": comparison.unchanged},
        "target": view.releases,
    }


def _variant(change: VariantChange, view: ComparisonView) -> dict[str, Any]:
    """Return a variant that differs, as JSON has it.

    `before` is null for a new variant, `after` for a removed one.
    """
    return {
        "name": change.name,
        "presence": change.presence,
        "meaning": change.meaning,
        "before": _needs(change.before, view),
        "after": _needs(change.after, view),
        "objects": [_changed_object(each) for each in change.objects],
    }


def _needs(capacity: Capacity | None, view: ComparisonView) -> dict[str, Any] | None:
    """Return what a job asks for, with the `most` that an autoscaler may make of it.

    `cost` is the highest cost, null if it is unknown, and missing without a price list.
    """
    if capacity is None:
        return None
    found: dict[str, Any] = {
        "pods": capacity.number,
        "mostPods": capacity.most,
        "gpus": capacity.gpus,
        "mostGpus": capacity.most_gpus,
        "deadlineSeconds": capacity.deadline,
        "notes": _notes_on(capacity, view),
    }
    cost = view.cost(capacity)
    return {**found, "cost": None if cost.amount is None else float(cost.amount)} if cost else found


def _changed_object(change: ObjectChange) -> dict[str, Any]:
    """Return an object that differs, as JSON has it.

    A new run `follows` the job of that name, which is pruned or stays. If there was none, `follows` is empty.
    """
    return {
        "kind": change.document.kind,
        "namespace": change.document.namespace,
        "name": change.document.name,
        "meaning": change.meaning,
        "follows": change.follows,
        "isPruned": change.is_pruned,
        "notes": list(change.notes),
        "fields": [_changed_field(each, meaning) for each, meaning in change.fields],
    }


def _changed_field(change: FieldChange, meaning: Meaning) -> dict[str, Any]:
    """Return a changed field, as JSON has it.

    `before` and `after` are missing if the field is. `changedIn` is null if the line is unknown.
    """
    found: dict[str, Any] = {"field": change.field, "meaning": meaning, "changedIn": _place_as_json(change.place)}
    if change.before is not None:
        found["before"] = change.before.data()
    if change.after is not None:
        found["after"] = change.after.data()
    return found if change.was is None else {**found, "was": _place_as_json(change.was)}


def _place_as_json(mark: Mark | None) -> dict[str, Any] | None:
    return {"file": clean(mark.file), "line": mark.line, "column": mark.column, "layer": mark.layer} if mark else None
