"""Join diagnostics that have one cause."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Reasons
from jobspec.diagnostics.grouping import grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.problems import Problem


def deduplicated(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Remove repeated diagnostics of one mistake in an overlay.

    The mistake shows in every role and job that the overlay is applied to.
    """
    first: dict[tuple[object, ...], Diagnostic] = {}
    for each in diagnostics:
        first.setdefault((each.rule, str(each.mark), each.message) if each.mark.layer else (id(each),), each)
    return list(first.values())


def by_cause(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Join the diagnostics of a file that have one cause to one, with its further places.

    Diagnostics of one rule have one cause if they are in the same words, or if their messages name the same cause with reasons.
    """

    def with_reasons(each: Diagnostic) -> object:
        message = each.message
        return (each.rule, each.severity, each.document, message.cause) if isinstance(message, Reasons) else id(each)

    found = joined(diagnostics, with_reasons) if any(isinstance(each.message, Reasons) for each in diagnostics) else diagnostics
    return joined(found, lambda each: (each.rule, each.severity, each.message, each.hint, each.mark.file))


def joined(diagnostics: Sequence[Diagnostic], key: Callable[[Diagnostic], object]) -> list[Diagnostic]:
    """Join the diagnostics of one *key* to one, with its further places."""
    return [several[0] if len(several) == 1 else _joined(several) for several in grouped(diagnostics, key).values()]


def reasons_of(several: Sequence[Diagnostic] | Sequence[Problem]) -> list[str]:
    """Return the reasons in the messages of problems, each once."""
    return list(dict.fromkeys(one for each in several if isinstance(each.message, Reasons) for one in each.message.reasons))


def _joined(several: Sequence[Diagnostic]) -> Diagnostic:
    first, message = several[0], several[0].message
    others = [*first.related, *(one for each in several[1:] for one in (each, *each.related))]
    related = {(str(each.mark), each.mark.layer, each.field, each.document): each for each in others}
    related.pop((str(first.mark), first.mark.layer, first.field, first.document), None)
    return first.changed(
        message=Reasons(message.cause, reasons_of(several)) if isinstance(message, Reasons) else message,
        hint="; ".join(dict.fromkeys(one for each in several for one in each.hint.split("; ") if one)),
        changes=[change for each in several for change in each.changes],
        related=list(related.values()),
    )
