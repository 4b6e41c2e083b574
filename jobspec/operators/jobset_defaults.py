"""The defaults that JobSet's webhook fills into a JobSet, on plain data.

They stand below the room of JobSet because what all webhooks share asks whether a JobSet has them.

Follows `jobSetWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec.go.values import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.diagnostics.places import Data


_POLICIES = {"successPolicy": {"operator": "All"}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}}
_NETWORK = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
_RETENTION = {"retentionPolicy": {"whenDeleted": "Delete"}}
_NAME = {"name": ""}  # Go writes a name that is absent as an empty text, which the schema accepts


def with_jobset_defaults(spec: Data) -> Data:
    """The spec of a JobSet with the webhook's defaults; an equal one if it has them all."""
    made = _filled(spec, _POLICIES)
    made = {**made, "network": _filled(mapping(made, "network"), _NETWORK)}
    made = _with_items(made, "replicatedJobs", lambda job, _: _filled(with_job_defaults(job), _NAME))
    if isinstance(made.get("failurePolicy"), dict):
        rules = _with_items(made["failurePolicy"], "rules", _named)
        made = {**made, "failurePolicy": rules}
    return _with_items(made, "volumeClaimPolicies", lambda policy, _: _filled(policy, _RETENTION))


def with_job_defaults(replicated: Data) -> Data:
    """A replicated job with the webhook's defaults: its pods have numbers, and are restarted where they fail."""
    template, pod = mapping(replicated, "template"), mapping(replicated, "template", "spec", "template")
    policy = mapping(pod, "spec").get("restartPolicy") or "OnFailure"
    pod = {**pod, "spec": {**mapping(pod, "spec"), "restartPolicy": policy}}
    spec = {**_filled(mapping(template, "spec"), {"completionMode": "Indexed"}), "template": pod}
    return {**replicated, "template": {**template, "spec": spec}}


def _named(rule: Data, number: int) -> Data:
    return rule if rule.get("name") else {**rule, "name": rule_name(rule, number)}


def rule_name(rule: Data, number: int) -> str:
    """The name of a rule of a failure policy, by its number if it has none."""
    return str(rule.get("name") or f"failurePolicyRule{number}")


def _filled(data: Data, defaults: dict[str, Any]) -> Data:
    """Data with defaults for fields that are absent or null."""
    return {**data, **{name: each for name, each in defaults.items() if data.get(name) is None}}


def _with_items(data: Data, field: str, change: Callable[[Data, int], Data]) -> Data:
    """Data in which the objects of a list are changed; *change* gets the number of each."""
    given = data.get(field)
    if not isinstance(given, list):
        return data
    return {**data, field: [change(each, number) if isinstance(each, dict) else each for number, each in enumerate(given)]}
