"""A rule about an accepted job: a generator over what its operator makes of it."""

from __future__ import annotations

from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic, Mark, Path, Severity
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.remedies import Change


class Outcome:
    """What a rule finds: the sentence, and the line that causes it."""

    __slots__ = ("changes", "hint", "message", "place", "rule", "severity")

    def __init__(
        self,
        rule: str,
        message: str,
        place: Mark | None,
        hint: str = "",
        *,
        severity: Severity = "error",
        changes: Sequence[Change] = (),
    ) -> None:
        self.rule = rule
        self.message = message
        self.place = place
        """None where no line of a file is the cause, but the job as a whole."""
        self.hint = hint
        self.severity = severity
        """An error where a record of the operators proves the end, a warning where a cluster or the program may differ."""
        self.changes = changes
        """What mends it in the job's document, where the hint is certain."""

    def diagnostic(self, job: Document) -> Diagnostic:
        """The finding about a job, at its name where no line is the cause."""
        from jobspec.diagnostics import Diagnostic

        place = self.place or job.marks.nearest(("metadata", "name")).place()
        return Diagnostic(self.rule, self.message, place, document=job.index, severity=self.severity, hint=self.hint, changes=self.changes)


def changes_in(job: Document, made: MarkedTree, remedy: Change | None) -> Sequence[Change]:
    """The remedy of a made object's mistake, at each place of the job for which that part of the object was written; none elsewhere."""
    if not remedy:
        return ()
    here, rest = made, remedy.path
    while rest and (child := _child(here, rest[0])):
        here, rest = child, rest[1:]
    if rest and remedy.action != "set":
        return ()
    changed = type(remedy)(remedy.action, rest, remedy.value)
    return [changed.below((*job.inside, *path)) for path in (_around(job, here) if rest else _written(job, here))]


def _written(job: Document, made: MarkedTree) -> Iterator[Path]:
    """The paths of the job's values that became a made one."""
    if made.mark.line and made.mark.file == job.file and not made.mark.layer:
        yield from (path for path in job.marks.paths_to(made.mark) if _shape(value_at(job.data, path)) == _shape(made.data()))


def _shape(data: Any) -> Any:
    """The keys of a mapping, the text of a scalar: what an operator leaves of a value when it writes numbers as text."""
    return list(data) if isinstance(data, dict) else str(data)


def _around(job: Document, made: MarkedTree) -> Iterator[Path]:
    """The paths of the job's mappings whose fields stand in a made one, which may have a place of its own."""
    fields = made.value.items() if isinstance(made.value, dict) else ()
    found = ([path[:-1] for path in _written(job, field) if path[-1:] == (name,)] for name, field in fields)
    yield from next(filter(None, found), ())


def _child(tree: MarkedTree, step: str | int) -> MarkedTree | None:
    inside = tree.value
    known = step in inside if isinstance(inside, dict) else isinstance(inside, list) and isinstance(step, int) and step < len(inside)
    return inside[step] if known else None


def place_of(tree: MarkedTree | None) -> Mark | None:
    """The line of a value; None where an operator sets it."""
    place = tree.place() if tree else None
    return place if place and place.line else None


def place_in(tree: MarkedTree, path: Path) -> Mark | None:
    """The line of the value at a path, or else of the innermost value around it that has one; None where an operator set all of them."""
    here, found = tree, place_of(tree)
    for step in path:
        child = _child(here, step)
        if child is None:
            break
        here, found = child, place_of(child) or found
    return found
