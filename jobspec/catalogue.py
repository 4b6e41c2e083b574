"""The catalogue: every rule by its name, with what it is about."""

from __future__ import annotations

from jobspec.admission import jobset, policies, pytorchjob, runtime, torchtune, trainjob
from jobspec.diagnostics import RULES

#: The lists that rules of the operators' webhooks stand in.
ADMISSION = (
    pytorchjob.WEBHOOK_RULES,
    trainjob.WITHOUT_RUNTIME,
    trainjob.WEBHOOK_RULES,
    policies.WEBHOOK_RULES,
    torchtune.WEBHOOK_RULES,
    runtime.WEBHOOK_RULES,
    jobset.WEBHOOK_RULES,
)

#: The rules that warn, as a rule: of what a server accepts, or what nobody can look at here. All others refuse.
WARNINGS = frozenset(
    {
        "deprecated-processes",
        "deprecated-runtime",
        "later-release",
        "list-replaced",
        "offline-webhooks",
        "rule-not-evaluated",
        "unresolved-reference",
        "volume-not-shared",
        "volume-replaced",
    }
)


def rules() -> dict[str, str]:
    """All rules in the order in which a document meets them: name to explanation."""
    asked = {rule.name: " ".join((rule.check.__doc__ or "").split()) for each in ADMISSION for rule in each}
    return {**RULES, **asked}
