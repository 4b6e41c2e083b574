"""A rule of lint: a short generator over one view, whose docstring is its page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from jobspec.diagnostics import Path, Severity
    from jobspec.documents.marked_tree import MarkedTree

    #: What a rule sees, as its only argument: `pods`, a `JobView` of a job or of a runtime alone; `job`, one of a job; `document`, a
    #: `DocumentView` of any document; `runtime`, one of a runtime.
    Sees = Literal["pods", "job", "document", "runtime"]
    #: Where something is: a value of the expanded job, or a path in the document that the rule looks at.
    Place = MarkedTree | Path


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
    """What a rule finds: where, a sentence, how to mend it, and the edits that do so where that is safe and there is one way alone."""

    __slots__ = ("at", "edits", "hint", "message", "severity")

    def __init__(self, at: Place, message: str, hint: str = "", *, edits: Sequence[Edit] = (), severity: Severity | None = None) -> None:
        self.at = at
        self.message = message
        self.hint = hint
        self.edits = edits
        self.severity = severity
        """Where it is another one than the rule's."""


class Rule:
    """A check, how much its findings weigh, and what it sees."""

    __slots__ = ("by_default", "check", "name", "sees", "severity")

    def __init__(
        self, check: Callable[[Any], Iterator[Finding]], severity: Severity, *, sees: Sees = "pods", by_default: bool = True
    ) -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.severity: Severity = severity
        self.sees: Sees = sees
        self.by_default = by_default
        """Whether it is looked at where nobody chooses it by name."""
