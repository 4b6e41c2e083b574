"""One problem in one place."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a tenth of a cold start; a type checker believes this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    from jobspec.explanations import Stage as Stage
    from jobspec.remedies import Change

    Severity = Literal["error", "warning", "info"]

#: A step of a path: the field of an object, the key of a map (`Key`), the index of a list.
Path = tuple["str | int", ...]


class JobspecError(Exception):
    """jobspec could not run as asked: wrong arguments, a missing file, an unwritable folder. Exit code 2."""


class Key(str):
    """A path step that is the key of a map, not the name of a field; spelt `[key]`."""

    __slots__ = ()


class Mark:
    """A place in a file; lines and columns count from 1, columns in code points; line 0 is the file as a whole."""

    __slots__ = ("column", "end_column", "end_line", "file", "layer", "line")

    layer_kind = "overlay"
    """What the layer is."""

    def __init__(self, file: str, line: int = 0, column: int = 0, end_line: int = 0, end_column: int = 0, layer: str = "") -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_line = end_line or line
        self.end_column = end_column or column
        self.layer = layer
        """Name of the overlay that the file holds, or of the variant that the place belongs to; empty for a base."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Diagnostic:
    """One problem: what is wrong, where, and what would be right."""

    __slots__ = ("changes", "document", "field", "hint", "mark", "message", "rule", "severity", "stage")

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
        """What mends it in its document, all together; empty where there is more than one way, or none that is safe."""

    def with_hint(self, hint: str) -> Diagnostic:
        """The same with another hint."""
        return self._with(self.message, hint)

    def with_message(self, message: str) -> Diagnostic:
        """The same in other words."""
        return self._with(message, self.hint)

    def _with(self, message: str, hint: str) -> Diagnostic:
        return Diagnostic(
            self.rule,
            message,
            self.mark,
            field=self.field,
            document=self.document,
            severity=self.severity,
            hint=hint,
            stage=self.stage,
            changes=self.changes,
        )

    def as_dict(self) -> dict[str, Any]:
        """The diagnostic as the JSON report has it."""
        mark = self.mark
        return {
            "rule": self.rule,
            "stage": self.stage,
            "severity": self.severity,
            "message": self.message,
            "field": self.field,
            "file": mark.file,
            "document": self.document,
            "line": mark.line,
            "column": mark.column,
            "endLine": mark.end_line,
            "endColumn": mark.end_column,
            "layer": mark.layer,
            "hint": self.hint,
        }

    def __repr__(self) -> str:
        return f"<{self.rule} {self.mark} {self.message!r}>"


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any is of severity error."""
    return any(each.severity == "error" for each in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place."""
    return sorted(diagnostics, key=lambda d: (d.mark.file, d.mark.line, d.mark.column, d.field, d.rule))


def deduplicated(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics without repetitions: a mistake in an overlay shows in every role and job that it is applied to."""
    first: dict[tuple[object, ...], Diagnostic] = {}
    for each in diagnostics:
        first.setdefault((each.rule, str(each.mark), each.message) if each.mark.layer else (id(each),), each)
    return list(first.values())


def spell(path: Path) -> str:
    """The path as the API server spells it: `spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image`."""
    text = ""
    for step in path:
        if isinstance(step, (int, Key)):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _stage_of(rule: str) -> Stage:
    from jobspec.explanations import STAGES

    return STAGES.get(rule, "admission")
