"""A rule about an accepted job: a generator over what its operator makes of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Diagnostic, Mark, Path, Severity
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree


class Outcome:
    """What a rule finds: the sentence, and the line that causes it."""

    __slots__ = ("hint", "message", "place", "rule", "severity")

    def __init__(self, rule: str, message: str, place: Mark | None, hint: str = "", *, severity: Severity = "error") -> None:
        self.rule = rule
        self.message = message
        self.place = place
        """None where no line of a file is the cause, but the job as a whole."""
        self.hint = hint
        self.severity = severity
        """An error where a record of the operators proves the end, a warning where a cluster or the program may differ."""

    def diagnostic(self, job: Document) -> Diagnostic:
        """The finding about a job, at its name where no line is the cause."""
        from jobspec.diagnostics import Diagnostic

        place = self.place or job.marks.nearest(("metadata", "name")).place()
        return Diagnostic(self.rule, self.message, place, document=job.index, severity=self.severity, hint=self.hint)


def place_of(tree: MarkedTree | None) -> Mark | None:
    """The line of a value; None where an operator sets it."""
    place = tree.place() if tree else None
    return place if place and place.line else None


def place_in(tree: MarkedTree, path: Path) -> Mark | None:
    """The line of the value at a path, or else of the innermost value around it that has one; None where an operator set all of them."""
    here, found = tree, place_of(tree)
    for step in path:
        inside = here.value
        known = step in inside if isinstance(inside, dict) else isinstance(inside, list) and isinstance(step, int) and step < len(inside)
        if not known:
            break
        here = inside[step]
        found = place_of(here) or found
    return found
