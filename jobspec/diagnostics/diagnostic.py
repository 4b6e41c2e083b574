"""A diagnostic: one problem at a place in a file."""

from __future__ import annotations

from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal

    from jobspec.diagnostics.explanations import Stage
    from jobspec.diagnostics.places import Mark
    from jobspec.diagnostics.problems import Change, ReplacedList

    Severity = Literal["error", "warning", "info"]


#: From the gravest to the least.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


_SHOWN = 3  # builds, in words


class Reasons(str):
    """The message of one cause with several reasons, which are reported as one problem.

    An example is `namespace X enforces Y, which requires A, requires B`.
    """

    def __new__(cls, cause: str, reasons: Sequence[str]) -> Reasons:
        """Write the message of a cause. A verb that begins several reasons is written once.

        An example is `requires A, B`.
        """
        parts = [f"{verb} {', '.join(said)}" for verb, said in gathered(each.partition(" ")[::2] for each in reasons).items()]
        return super().__new__(cls, f"{cause} {' and '.join(parts)}")

    def __init__(self, cause: str, reasons: Sequence[str]) -> None:
        self.cause = cause
        self.reasons = reasons

    def __reduce__(self) -> tuple[type[Reasons], tuple[str, Sequence[str]]]:
        return Reasons, (self.cause, self.reasons)


class Diagnostic(Record):
    """One problem: its cause, its place, and a hint at what would be right."""

    def __init__(
        self,
        rule: str,
        message: str,
        mark: Mark,
        *,
        field: str = "",
        document: int | None = None,
        severity: Severity = "error",
        hint: str = "",
        stage: Stage | None = None,
        changes: Sequence[Change] = (),
        related: Sequence[Diagnostic] = (),
        builds: Sequence[str] = (),
        is_of_some_builds: bool = False,
        configuration: Mapping[str, Any] | None = None,
        replaced: ReplacedList | None = None,
    ) -> None:
        self.rule = rule
        self.message = message
        self.mark = mark
        self.field = field
        self.document = document
        """Index of the document in its file, from 0; None where the file as a whole is meant."""
        self.severity = severity
        self.hint = hint
        self.stage: Stage = stage or _stage_of(rule)
        """Who refuses, or would."""
        self.changes = changes
        """What fixes it in its document, all together; empty where there is more than one way, or none."""
        self.related = related
        """The same problem at further places, where it is reported once for one cause."""
        self.builds = builds
        """The folders of the kustomizations and charts in whose builds it is; empty for a file that is judged by itself."""
        self.is_of_some_builds = is_of_some_builds
        """Whether other builds have the same object without the problem."""
        self.configuration = configuration
        """What a file of a kustomization's `configurations` needs to have, so that the problem is gone; None if none helps."""
        self.replaced = replaced
        """What a merge patch loses of a list; None for other problems."""

    @property
    def build_words(self) -> str:
        """Return the builds that have it, in words. If all builds of the object have it, return nothing."""
        names = ", ".join(f"`{each}`" for each in self.builds[:_SHOWN]) + (" and others" if len(self.builds) > _SHOWN else "")
        return f"in the build of {names}" if self.is_of_some_builds else ""

    @property
    def has_safe_fix(self) -> bool:
        """Whether it has a fix that leaves what runs as it is."""
        return bool(self.changes) and not any(each.is_unsafe for each in self.changes)

    def with_hint(self, hint: str) -> Diagnostic:
        """Return the diagnostic with another hint."""
        return self.changed(hint=hint)

    def without_fixes(self) -> Diagnostic:
        """Return the diagnostic without its fixes, as of a corrected document: they are made in the text, which is not corrected yet."""
        return self.changed(changes=()) if self.changes else self

    def with_message(self, message: str) -> Diagnostic:
        """Return the diagnostic in other words."""
        return self.changed(message=message)

    def in_document(self, index: int | None) -> Diagnostic:
        """Return the diagnostic for another document of a file."""
        return self.changed(document=index)

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnostic as the JSON report has it."""
        found = {"rule": self.rule, "stage": self.stage, "severity": self.severity, "message": self.message, **self._place()}
        found["hint"] = self.hint
        found |= {"builds": list(self.builds)} if self.builds else {}
        return {**found, "related": [each._place() for each in self.related]} if self.related else found

    def _place(self) -> dict[str, Any]:
        mark = self.mark
        return {
            "field": self.field,
            "file": mark.file,
            "document": self.document,
            "line": mark.line,
            "column": mark.column,
            "endLine": mark.end_line,
            "endColumn": mark.end_column,
            "layer": mark.layer,
        }

    @property
    def further_places(self) -> list[Mark]:
        """Return the places of the `related` diagnostics, each once, without its own place."""
        places = {str(each.mark): each.mark for each in self.related}
        places.pop(str(self.mark), None)
        return list(places.values())

    def __repr__(self) -> str:
        return f"<{self.rule} {self.mark} {self.message!r}>"


def lines_of(diagnostics: Iterable[Diagnostic]) -> str:
    """Write a line for each diagnostic: place, message and hint. An error can hold all of them."""
    return "\n".join(f"{each.mark}: {each.message}{f'; {each.hint}' if each.hint else ''}" for each in diagnostics)


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """True if any diagnostic is an error."""
    return any(each.severity == "error" for each in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort diagnostics by place."""
    return sorted(diagnostics, key=lambda d: (d.mark.file, d.mark.line, d.mark.column, d.field, d.rule))


def _stage_of(rule: str) -> Stage:
    from jobspec.diagnostics.explanations import STAGES

    return STAGES.get(rule, "admission")
