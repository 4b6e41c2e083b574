"""All rules of lint, by topic."""

from __future__ import annotations

from jobspec.lint import images

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.rule import Rule

RULES: tuple[Rule, ...] = (*images.RULES,)
