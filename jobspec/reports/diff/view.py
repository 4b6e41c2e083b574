"""What the text and the Markdown of a comparison share: its words, and variants that change alike told once."""

from __future__ import annotations

from json import dumps

from jobspec.documents.scalars import is_plain
from jobspec.gitops.diff.fields import spelling_of
from jobspec.gitops.diff.meaning import MEANINGS
from jobspec.gitops.diff.prices import cost_of
from jobspec.reports.places import layer_of
from jobspec.reports.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.diff.capacity import Capacity
    from jobspec.gitops.diff.changes import FieldChange
    from jobspec.gitops.diff.comparison import Comparison, VariantChange
    from jobspec.gitops.diff.meaning import Meaning, ObjectChange
    from jobspec.gitops.diff.prices import Cost, Prices

WORDS: dict[Meaning, str] = {
    "refused": "refused as immutable",
    "ignored": "silently ignored",
    "replaced": "replaced",
    "new-run": "new run",
    "removed": "removed",
    "created": "created",
    "in-place": "in place",
}
NONE = "-"
_MANY = 8  # variants of one row each
_ROLES = ("spec", "pytorchReplicaSpecs")


class View:
    """A comparison with all that its reports say: the ref that it is with, prices, releases."""

    __slots__ = ("commit", "comparison", "prices", "ref", "releases")

    def __init__(self, comparison: Comparison, *, ref: str, commit: str, releases: dict[str, str], prices: Prices | None) -> None:
        self.comparison = comparison
        self.ref = ref
        self.commit = commit
        self.releases = releases
        self.prices = prices

    def cost(self, capacity: Capacity | None) -> Cost | None:
        """What a job costs at most; None without a job or a price list."""
        return cost_of(capacity, self.prices) if capacity and self.prices else None


class Row:
    """A changed field, in words."""

    __slots__ = ("after", "before", "field", "meaning", "place")

    def __init__(self, field: str, before: str | None, after: str | None, place: str, meaning: Meaning) -> None:
        self.field = field
        self.before = before
        self.after = after
        self.place = place
        self.meaning = meaning


def headline(view: View) -> str:
    """The first sentence of a report."""
    comparison = view.comparison
    changed, total = len(comparison.variants), len(comparison.variants) + comparison.unchanged
    against = f"{visible(view.ref)} ({view.commit[:8]})"
    if not changed:
        return f"no variant of {total} changes against {against}"
    counts = [sum(each.meaning == meaning for each in comparison.variants) for meaning in MEANINGS]
    parts = [
        f"{count} {WORDS[meaning]}{'s' * (meaning == 'new-run' and count > 1)}"
        for meaning, count in zip(MEANINGS, counts, strict=True)
        if count
    ]
    return f"{changed} of {counted(total, 'variant')} change{'s' if changed == 1 else ''} against {against}: {', '.join(parts)}"


def judged_by(view: View) -> str:
    """The last line of a report: the releases whose rules it goes by."""
    return f"by the rules of {', '.join(' '.join(each) for each in view.releases.items())}"


def header(view: View) -> list[str]:
    """The columns of the table of variants."""
    cost = [f"cost at most, {visible(view.prices.currency)}"] if view.prices else []
    return ["variant", "in the cluster", "pods", "GPUs", "deadline", *cost]


class Line:
    """A row of that table: the variants that it is for, mostly one, and the cells behind their names."""

    __slots__ = ("cells", "names")

    def __init__(self, names: Sequence[str], cells: Sequence[str]) -> None:
        self.names = names
        self.cells = cells


def table(view: View) -> list[Line]:
    """The rows of the table; of many variants with equal ones, one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in view.comparison.variants:
        rows.setdefault(tuple(_cells(each, view)), []).append(each.name)
    lines = [Line(part, cells) for cells, names in rows.items() for part in ([names] if len(names) > _MANY else [[name] for name in names])]
    return sorted(lines, key=lambda line: line.names[0])


def _cells(change: VariantChange, view: View) -> list[str]:
    before, after = change.before, change.after
    presence = ", new variant" if change.presence == "new" else ""
    found = [WORDS[change.meaning] + presence]
    found += [_both(*(_range(each.number, each.most) if each else None for each in (before, after)))]
    found += [_both(*(_range(each.gpus, each.most_gpus) if each else None for each in (before, after)))]
    found += [_both(*(duration(each.deadline) if each else None for each in (before, after)))]
    if view.prices:
        found += [_both(*(_amount(view.cost(each)) for each in (before, after)))]
    return found


def totals(view: View) -> list[str]:
    """The last row of the table: the sums of the variants that differ, where they are several."""
    changed = view.comparison.variants
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


def notes(view: View) -> list[str]:
    """What there is to say beside the tables: of the project, and of the pods and costs of variants."""
    about: dict[str, list[str]] = {}
    for each in view.comparison.variants:
        said = [*each.after.notes] if each.after else []
        cost = view.cost(each.after)
        for note in [*said, *([cost.why] if cost and cost.why else [])]:
            about.setdefault(note, []).append(each.name)
    return [*view.comparison.notes, *(f"{listed(names)}: {note}" for note, names in about.items())]


def alike(changes: Sequence[VariantChange]) -> list[list[VariantChange]]:
    """The variants that differ, in groups of those whose changes read the same."""
    groups: dict[object, list[VariantChange]] = {}
    for each in changes:
        groups.setdefault(_likeness(each), []).append(each)
    return list(groups.values())


def _likeness(change: VariantChange) -> object:
    objects = tuple((each.kind, each.meaning, each.is_pruned, tuple(each.notes), _rows_key(each)) for each in change.objects)
    return change.presence, objects


def _rows_key(change: ObjectChange) -> object:
    return tuple((row.field, row.before, row.after, row.place.partition(" (")[0], row.meaning) for row in rows(change))


def rows(change: ObjectChange, *, width: int = 200) -> list[Row]:
    """The changed fields of an object in words; the same change of several roles of a PyTorchJob is one."""
    found: dict[object, tuple[list[str], FieldChange, Meaning]] = {}
    for each, meaning in change.fields:
        is_of_role = each.path[:2] == _ROLES and len(each.path) > 3
        rest = each.path[3:] if is_of_role else each.path
        key = (is_of_role, spelling_of(rest), _text(each.before, width), _text(each.after, width), _place(each), meaning)
        names, _, _ = found.setdefault(key, ([], each, meaning))
        names += [str(each.path[2])] if is_of_role else []
    return sorted((_row(names, each, meaning, width) for names, each, meaning in found.values()), key=lambda row: row.field)


def _row(names: list[str], change: FieldChange, meaning: Meaning, width: int) -> Row:
    field = change.field.replace(f"[{names[0]}]", f"[{', '.join(names)}]", 1) if len(names) > 1 else change.field
    return Row(visible(field), _text(change.before, width), _text(change.after, width), _place(change), meaning)


def _place(change: FieldChange) -> str:
    """The line that changed a field; of a removed one, where it was and what removed it."""
    if change.after is not None:
        return spot(change.place)
    was = f"was {spot(change.was)}"
    return f"{spot(change.place)}, {was}" if change.place else was


def spot(mark: Mark | None) -> str:
    """A place with its overlay."""
    return visible(f"{mark.file}:{mark.line}" if mark.line else mark.file) + visible(layer_of(mark)) if mark else ""


def _text(tree: MarkedTree | None, width: int) -> str | None:
    """A value as one line of at most *width* characters; None where there is none."""
    if tree is None:
        return None
    text = visible(spelt(tree.data()))
    return text if len(text) <= width else text[: width - 1] + "…"


def spelt(value: Any) -> str:
    """A value as YAML has it in one line."""
    if isinstance(value, str) and is_plain(value):
        return value
    return dumps(value, ensure_ascii=False)


def duration(seconds: int | None) -> str:
    """A number of seconds as people say it: `1d 2h`, `90s`."""
    if seconds is None:
        return "none"
    found, rest = [], seconds
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        found += [f"{number}{unit}"] if number else []
    return " ".join(found) if seconds > 0 else f"{seconds}s"


def names_of(changes: Sequence[ObjectChange]) -> str:
    """An object's kind and name, or the first of several."""
    first = changes[0]
    name = visible("/".join(part for part in (first.namespace, first.name) if part))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    fate = f"{'are' if more else 'is'} pruned" if first.is_pruned else f"{'stay' if more else 'stays'} as earlier run{'s' if more else ''}"
    return f"{first.kind} {name}{more}" + (f", and {visible(first.follows)}{more} {fate}" if first.follows else "")


def listed(names: Sequence[str]) -> str:
    """Some names, and the number of the others."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _range(number: int, most: int) -> str:
    """A number, and the most that an autoscaler makes of it where that is more."""
    return str(number) if most == number else f"{number} to {most}"


def _both(before: str | None, after: str | None) -> str:
    if before is None or after is None or before == after:
        return after or before or NONE
    return f"{before} → {after}"


def _amount(cost: Cost | None) -> str | None:
    return None if cost is None else NONE if cost.amount is None else f"{cost.amount:.2f}"


def fields_in(changes: Iterable[ObjectChange]) -> int:
    """The number of changed fields, in words."""
    return sum(len(rows(each)) for each in changes)
