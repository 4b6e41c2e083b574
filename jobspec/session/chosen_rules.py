"""The rules of lint that the settings choose."""

from __future__ import annotations

from jobspec.diagnostics.rules import Rule
from jobspec.lint.linting import DEFAULT_RULES, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.lint.ignores import ReportFilter


def chosen(settings: ReportFilter | None) -> Sequence[Rule]:
    """Return the rules to run, without the ignored ones.

    Rules run if they are on by default, or if the user selects them by name.
    """
    if not settings:
        return DEFAULT_RULES
    selected = settings.select or ()
    return [rule for rule in RULES if (rule.by_default or rule.name in selected) and settings.reports(rule.name, "lint")]
