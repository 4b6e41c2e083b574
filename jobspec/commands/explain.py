"""`jobspec explain`: what a rule is about."""

from __future__ import annotations

import sys

from jobspec.diagnostics import RULES, JobspecError


def run(rule: str) -> int:
    """Print what the rule of this name is about."""
    if rule not in RULES:
        from jobspec.validation.wording import closest

        raise JobspecError(f"no rule `{rule}`: {closest(rule, RULES) or 'the rules are ' + ', '.join(RULES)}")
    sys.stdout.write(f"{rule}: {RULES[rule]}\n")
    return 0
