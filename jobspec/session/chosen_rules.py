"""The rules of lint that the settings choose."""

from __future__ import annotations

from jobspec.lint.topics import is_default

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.rules import Rule
    from jobspec.lint.ignores import ReportFilter
    from jobspec.lint.topics import Chosen


def chosen(settings: ReportFilter | None) -> Chosen:
    """Return which rules are looked at.

    These are rules that are not ignored, and are on by default or selected by name.
    """
    if not settings:
        return is_default
    selected = settings.select or ()

    def is_chosen(rule: Rule) -> bool:
        return (rule.by_default or rule.name in selected) and settings.reports(rule.name, "lint")

    return is_chosen
