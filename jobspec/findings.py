"""What rules find: a rule is a generator over what it looks at, and its findings become diagnostics of a document."""

from __future__ import annotations

from jobspec.diagnostics import Change, Diagnostic, Mark, Path, spell
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Literal, TypeAlias

    from jobspec.diagnostics import Severity
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.kinds import GroupKind

    #: Group and kind, namespace (empty where the kind has none) and name of an object.
    Name = tuple[GroupKind, str, str]
    #: Where something is: a path in the document that a rule looks at, a value of what is made of it, a line, or no line of any file.
    Place: TypeAlias = Path | MarkedTree | Mark | None
    #: What a rule of lint is called with: the `LintedJob` of a job of either kind or of one, of a runtime that is looked at alone, or of
    #: both jobs and runtimes (`pods`); the `LintedDocument` of any document, or of a runtime.
    Sees = Literal["pods", "job", "PyTorchJob", "TrainJob", "runtime's pods", "document", "runtime"]


class Edit:
    """One change of the text behind a place: a value that is set below it, or the removal of what is there."""

    __slots__ = ("at", "removes", "steps", "value")

    def __init__(self, at: Place, steps: Path = (), value: Any = None, *, removes: bool = False) -> None:
        self.at = at
        self.steps = steps
        """From the place to the value that is changed; what is missing on the way is made."""
        self.value = value
        self.removes = removes


class Finding:
    """What a rule finds: where, a sentence, how to fix it, and the edits that do so where that is safe and there is one way alone."""

    __slots__ = ("at", "changes", "edits", "field", "hint", "message", "rule", "severity")

    def __init__(
        self,
        at: Place,
        message: str,
        hint: str = "",
        *,
        rule: str = "",
        field: str = "",
        edits: Sequence[Edit] = (),
        changes: Sequence[Change] = (),
        severity: Severity | None = None,
    ) -> None:
        self.at = at
        self.message = message
        self.hint = hint
        self.rule = rule
        """The name of the rule, where that is not its function's."""
        self.field = field
        """The field as an operator spells it; empty where that is the path's own spelling."""
        self.edits = edits
        self.changes = changes
        """What fixes it in the document, where the hint is certain; what lint finds in other documents, too, is fixed by `edits`."""
        self.severity = severity
        """Where it is another one than the rule's."""

    def diagnostic(self, document: Document, rule: str = "") -> Diagnostic:
        """The finding about a document, at its name where no line is the cause."""
        at, field = self.at, self.field
        if isinstance(at, tuple):
            field = field or spell(at)
            at = document.marks.nearest(at).place()
        elif at is not None and not isinstance(at, Mark):
            at = place_of(at)
        at = at or document.marks.nearest(("metadata", "name")).place()
        return Diagnostic(
            rule or self.rule,
            self.message,
            at,
            field=field,
            document=document.index,
            severity=self.severity or "error",
            hint=self.hint,
            changes=[each.below(document.inside) for each in self.changes],
        )


class Rule:
    """A check, how much its findings weigh, and where it is called: for what it sees and reads, at which releases."""

    __slots__ = ("by_default", "check", "kinds", "name", "reads", "sees", "severity", "since", "until")

    def __init__(
        self,
        check: Callable[..., Iterator[Finding]],
        severity: Severity = "error",
        *,
        sees: Sees = "pods",
        reads: Iterable[str] = (),
        kinds: Sequence[GroupKind] = (),
        since: str = "",
        until: str = "",
        by_default: bool = True,
    ) -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.severity: Severity = severity
        self.sees: Sees = sees
        self.reads = [each.lower() for each in reads]
        """Parts of keys and texts: it finds nothing in a job that says none of them, unless a document is of one of the `kinds`."""
        self.kinds = kinds
        self.since = since
        """The release of the operator from which on it holds, and `until` that from which on it holds no more; empty without a limit."""
        self.until = until
        self.by_default = by_default
        """Whether it is looked at where nobody chooses it by name."""


def place_of(tree: MarkedTree | None) -> Mark | None:
    """The line of a value; None where an operator sets it."""
    place = tree.place() if tree else None
    return place if place and place.line else None


def place_in(tree: MarkedTree, path: Path) -> Mark | None:
    """The line of the value at a path, or else of the innermost value around it that has one; None where an operator set all of them."""
    here, found = tree, place_of(tree)
    for step in path:
        child = child_of(here, step)
        if child is None:
            break
        here, found = child, place_of(child) or found
    return found


def child_of(tree: MarkedTree, step: str | int) -> MarkedTree | None:
    """The value at a key or an index, None where there is none."""
    inside = tree.value
    known = step in inside if isinstance(inside, dict) else isinstance(inside, list) and isinstance(step, int) and step < len(inside)
    return inside[step] if known else None


class Answer:
    """What webhooks and plugins say of a document: errors and warnings, and the names of looked-up objects that are not in its file."""

    __slots__ = ("diagnostics", "wanted")

    def __init__(self, diagnostics: list[Diagnostic], wanted: Sequence[Name] = ()) -> None:
        self.diagnostics = diagnostics
        self.wanted = wanted
