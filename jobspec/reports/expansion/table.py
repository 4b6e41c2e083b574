"""A table of what operators make, for people: each pod with its rank, then what is in the containers of equal pods, then the rest."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.operators.expansion import pods_among
from jobspec.reports.expansion.details import groups, rows
from jobspec.reports.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.expansion import ExpandedJob, Pod
    from jobspec.reports.expansion.details import Row

_BOLD, _DIM = "1", "2"
_TITLES = ("RANK", "POD", "HOST NAME", "CONTAINERS")
_WITH_HOST = 3
"""How many columns there are with the host name."""
_LABELS = 10
"""The columns of a label."""
_INDENT = "  "
_GAP = "  "
_LEAST = 30
"""The columns that a text gets, however narrow the terminal is."""


def table(jobs: Sequence[ExpandedJob], *, width: int, colour: bool) -> str:
    """The table of all jobs, for a terminal of *width* columns."""
    lines: list[str] = []
    for each in jobs:
        lines += [*([""] if lines else []), *_of_job(each, width=width, colour=colour)]
    return "".join(f"{line}\n" for line in lines)


def _of_job(expanded: ExpandedJob, *, width: int, colour: bool) -> Iterator[str]:
    job = expanded.job
    name = job.name or f"{job.data['metadata']['generateName']}<random>"
    yield _painted(visible(f"{job.kind} {name}"), _BOLD, colour=colour) + visible(f", made by {expanded.operator} ({job.file})")
    pods = pods_among(expanded.objects)
    cells, sizes = _cells(pods)
    fitting = max((count for count in (2, 3, 4) if len(_INDENT) + sum(sizes[:count]) + len(_GAP) * (count - 1) <= width), default=2)
    if pods:
        yield from ["", *_grid([row[:fitting] for row in cells], sizes, colour=colour)]
    for group in groups(pods):
        yield from ["", *_of_group(group, width=width, colour=colour, with_host=fitting < _WITH_HOST)]
    others = list(_others(expanded.objects))
    if others:
        yield from ["", *(line for row in others for line in _row(row, _INDENT, width=width, colour=colour))]
    if not expanded.objects:
        yield f"{_INDENT}nothing"


def _cells(pods: Sequence[Pod]) -> tuple[list[list[str]], list[int]]:
    """Rank, name, host name and containers of each pod below their titles, and the widths of the columns."""
    rows = [[each.rank or "-", each.name, each.host_name, ", ".join(text(one, "name") for one, _ in each.containers())] for each in pods]
    cells = [[visible(cell) for cell in row] for row in (_TITLES, *rows)]
    return cells, [max(len(row[at]) for row in cells) for at in range(len(_TITLES))]


def _grid(cells: list[list[str]], sizes: list[int], *, colour: bool) -> Iterator[str]:
    for number, row in enumerate(cells):
        line = _GAP.join(f"{cell:{size}}" for cell, size in zip(row, sizes, strict=False)).rstrip()
        yield _INDENT + (_painted(line, _DIM, colour=colour) if number == 0 else line)


def _of_group(group: Sequence[Pod], *, width: int, colour: bool, with_host: bool) -> Iterator[str]:
    """What is in the containers of equal pods; *with_host*: by which names others reach them, too."""
    first, last = group[0], group[-1]
    which = first.name if first is last else f"{first.name} to {last.name}"
    for at, (container, is_init) in enumerate(first.containers()):
        kind = "init container" if is_init else "container"
        yield _INDENT + _painted(visible(f"{which}: {kind} {text(container, 'name')}"), _BOLD, colour=colour)
        for row in rows(group, at):
            if row[1]:
                yield from _row(row, _INDENT * 2, width=width, colour=colour)
    names = [each.host_name for each in group]
    if with_host:
        row = ("host name", [names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"])
        yield from _row(row, _INDENT * 2, width=width, colour=colour)


def _others(objects: Sequence[MarkedTree]) -> Iterator[Row]:
    """The objects besides pods, by kind."""
    by_kind: dict[str, list[str]] = {}
    for each in objects:
        if text(each, "kind") != "Pod":
            by_kind.setdefault(text(each, "kind"), []).append(text(each, "metadata", "name") + _more(each))
    yield from by_kind.items()


def _more(made: MarkedTree) -> str:
    """What is told of an object beside its name: a service's ports, how many pods an autoscaler or a group wants."""
    spec = made.get("spec")
    if text(made, "kind") == "Service":
        return "".join(f":{text(each, 'port')}" for each in items(spec.get("ports") if spec else None))
    if text(made, "kind") == "HorizontalPodAutoscaler":
        return f" ({text(spec, 'minReplicas') or 1} to {text(spec, 'maxReplicas')} replicas)"
    return f" (at least {text(spec, 'minMember') or 0} pods)" if text(made, "kind") == "PodGroup" else ""


def _row(row: Row, indent: str, *, width: int, colour: bool) -> Iterator[str]:
    """A label and a text behind it, which goes on below itself."""
    label, words = row
    size = max(_LABELS, len(label))
    room = max(width - len(indent) - size - len(_GAP), _LEAST)
    lines = [line for part in " ".join(words).rstrip("\n").split("\n") for line in _wrapped(visible(part), room)]
    for number, line in enumerate(lines):
        head = _painted(label, _DIM, colour=colour) + " " * (size - len(label)) if number == 0 else " " * size
        yield f"{indent}{head}{_GAP}{line}".rstrip()


def _wrapped(text: str, room: int) -> Iterator[str]:
    """The lines of a text, broken at blanks alone, so that it can be copied; a longer word sticks out."""
    line = ""
    for number, word in enumerate(text.split(" ")):
        if number and len(line) + 1 + len(word) > room and line.strip():
            yield line
            line = word
        else:
            line = f"{line} {word}" if number else word
    yield line


def _painted(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
