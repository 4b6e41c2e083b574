"""A JobSet as the server stores it: with the defaults of its CRD, and those of JobSet's webhook.

Follows `jobSetWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from jobspec import shapes
from jobspec.diagnostics import Mark
from jobspec.operators.edits import changed, each_item, with_fields
from jobspec.operators.marks import operator_mark, set_by
from jobspec.operators.stored import filled
from jobspec.overlays.marked_tree import MarkedTree, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.targets import Target


def stored_jobset(tree: MarkedTree, target: Target) -> MarkedTree:
    """A JobSet with all that the server and the webhook fill in."""
    shape = shapes.load("jobset.x-k8s.io/v1alpha2", "JobSet", target)
    assert shape
    webhook = operator_mark("jobset", target["jobset"])
    return changed(filled(tree, shape, Mark("the CRD of JobSet")), ("spec",), lambda spec: _defaulted(spec, webhook))


def _defaulted(spec: MarkedTree, webhook: Mark) -> MarkedTree:
    spec = _missing(spec, webhook, {"successPolicy": {"operator": "All"}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}})
    spec = each_item(spec, "replicatedJobs", lambda each: changed(each, ("template", "spec"), lambda job: _job(job, webhook)))
    network = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    spec = (
        changed(spec, ("network",), lambda each: _missing(each, webhook, network))
        if "network" in spec.value
        else _missing(spec, webhook, {"network": network})
    )
    if spec.get("failurePolicy"):
        spec = changed(spec, ("failurePolicy",), lambda policy: _with_rule_names(policy, webhook))
    kept = {"retentionPolicy": {"whenDeleted": "Delete"}}
    return each_item(spec, "volumeClaimPolicies", lambda policy: _missing(policy, webhook, kept))


def _job(job: MarkedTree, webhook: Mark) -> MarkedTree:
    job = _missing(job, webhook, {"completionMode": "Indexed"})
    return changed(job, ("template", "spec"), lambda pod: _missing(pod, webhook, {"restartPolicy": "OnFailure"}))


def _with_rule_names(policy: MarkedTree, webhook: Mark) -> MarkedTree:
    rules = policy.get("rules")
    if rules is None:
        return policy
    named = [_missing(rule, webhook, {"name": f"failurePolicyRule{number}"}) for number, rule in enumerate(items(rules))]
    return with_fields(policy, {"rules": rules.with_value(named)})


def _missing(tree: MarkedTree, mark: Mark, defaults: dict[str, Any]) -> MarkedTree:
    """A mapping with the defaults of fields that are absent or empty."""
    absent = {name: set_by(mark, each) for name, each in defaults.items() if name not in tree.value or tree.value[name].value == ""}
    return tree.with_value({**tree.value, **absent}) if absent else tree
