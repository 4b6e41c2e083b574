"""The catalogue: the name and the explanation of every rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jobspec.diagnostics.explanations import RULES, STAGES
from jobspec.lint.pages import summary
from jobspec.lint.topics import every_rule
from jobspec.operators.jobset.webhook import CREATE_RULES, UPDATE_RULES
from jobspec.operators.kueue.webhook import RULES as KUEUE_RULES
from jobspec.operators.lws.disaggregated import RULES as DISAGGREGATED_SET_RULES
from jobspec.operators.lws.webhook import UPDATE_RULES as LWS_RULES
from jobspec.operators.trainer.policies import POLICY_RULES
from jobspec.operators.trainer.runtime_rules import RUNTIME_RULES
from jobspec.operators.trainer.torchtune_rules import TORCHTUNE_RULES
from jobspec.operators.trainer.webhook import TRAINJOB_RULES, WITHOUT_RUNTIME
from jobspec.operators.training_operator.webhook import SIBLING_RULES
from jobspec.operators.training_operator.webhook import WEBHOOK_RULES as PYTORCHJOB_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.explanations import Stage

#: The lists of rules of the operators' webhooks.
ADMISSION = (
    PYTORCHJOB_RULES,
    *SIBLING_RULES.values(),
    WITHOUT_RUNTIME,
    TRAINJOB_RULES,
    POLICY_RULES,
    TORCHTUNE_RULES,
    RUNTIME_RULES,
    CREATE_RULES,
    UPDATE_RULES,
    LWS_RULES,
    DISAGGREGATED_SET_RULES,
    *(rules for both in KUEUE_RULES.values() for rules in both),
)

#: The rules that mostly warn: a server accepts the value, or jobspec cannot check it. Of all others but lint's, each is an error.
WARNINGS = frozenset(
    (
        *("broken-kustomization", "deprecated-processes", "deprecated-runtime", "earlier-release", "encrypted-manifest", "fixed-name"),
        *("hashed-name", "image-not-reached", "labels-not-on-pods", "number-as-text", "renamed-reference", "selects-nothing"),
        *(
            "later-release",
            "list-replaced",
            "list-replaced-by-patch",
            "offline-webhooks",
            "pod-waits",
            "pods-change",
            "policy-type",
            "ranks-missing",
        ),
        *("recreated-first", "release-step", "restarts-forever", "rule-not-evaluated", "run-returned", "runs-again"),
        *(
            "stale-baseline",
            "trains-alone",
            "unresolved-reference",
            "unset-variable",
            "unused-ignore",
            "volume-not-shared",
            "volume-replaced",
        ),
    )
)
#: The rules that only inform.
NOTES = frozenset(
    (
        *(
            "admission-not-known",
            "kind-not-queued",
            "lost-in-apply",
            "no-pods-created",
            "policy-not-evaluated",
            "recreated-object",
            "refused-before",
            "renamed-rule",
        ),
        "undercounted-requests",
        "unjudged-template",
    )
)


@cache
def rules() -> Mapping[str, str]:
    """Name -> explanation of all rules, in the order in which a document meets them."""
    admission = {rule.name: " ".join((rule.check.__doc__ or "").split()) for each in ADMISSION for rule in each}
    return {**RULES, **admission, **{rule.name: summary(rule) for rule in every_rule()}}


def severity_of(name: str) -> Severity:
    """How much the findings of a rule mostly weigh."""
    advice = {rule.name: rule.severity for rule in every_rule()}
    return advice.get(name, "info" if name in NOTES else "warning" if name in WARNINGS else "error")


def stage_of(name: str) -> Stage:
    """The stage of a rule."""
    return "lint" if any(rule.name == name for rule in every_rule()) else STAGES.get(name, "admission")
