"""What JobSet's webhooks change: the defaults of a JobSet, and in the pods of its Jobs a label for their priority and their topology.

Follows `jobSetWebhook.Default` and `podWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0. A pod that follows the first
one of its Job waits until that is on a node, and goes where that is; which topology that will be, nobody knows before.
"""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.edits import changed, each_item, with_fields
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR, PREFIX
from jobspec.operators.objects import operator_mark, set_by
from jobspec.operators.stored import RANDOM, filled
from jobspec.schemas import shapes
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.targets import Target

_PRIORITY = f"{PREFIX}/priority"
_JOB = f"{PREFIX}/job-key"


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


def admitted(pod: MarkedTree, target: Target, priority: MarkedTree | None) -> MarkedTree:
    """A pod after the webhook. *priority*: that of its class, None where the class is not at hand."""
    mark = operator_mark("jobset", target["jobset"])
    annotations = pod.get("metadata", "annotations")
    own = annotations.value if annotations else {}
    exclusive = EXCLUSIVE in own
    if NODE_SELECTOR in own or not (exclusive or reached(target["jobset"], "0.11.1")):
        return pod
    if priority is not None:
        label = {_PRIORITY: priority.with_value(str(priority.value))}
        pod = changed(pod, ("metadata", "labels"), lambda labels: with_fields(labels, label))
    return _apart(pod, own[EXCLUSIVE], mark) if exclusive else pod


def _apart(pod: MarkedTree, topology: MarkedTree, mark: Mark) -> MarkedTree:
    if text(pod, "metadata", "annotations", "batch.kubernetes.io/job-completion-index") != "0":
        place = {topology.value: set_by(mark, RANDOM)}
        return changed(pod, ("spec", "nodeSelector"), lambda each: with_fields(each, place))
    job = text(pod, "metadata", "labels", _JOB)
    together: list[dict[str, Any]] = [{"key": _JOB, "operator": "In", "values": [job]}]
    priority = text(pod, "metadata", "labels", _PRIORITY)
    alone: list[dict[str, Any]] = [
        {"key": _JOB, "operator": "Exists"},
        {"key": _JOB, "operator": "NotIn", "values": [job]},
        {"key": _PRIORITY, "operator": "In", "values": [priority]},
    ]
    pod = _with_term(pod, "podAffinity", _term(together, topology), mark)
    return _with_term(pod, "podAntiAffinity", _term(alone, topology), mark)


def _term(expressions: list[dict[str, Any]], topology: MarkedTree) -> dict[str, Any]:
    return {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology, "namespaceSelector": {}}


def _with_term(pod: MarkedTree, kind: str, term: dict[str, Any], mark: Mark) -> MarkedTree:
    name = "requiredDuringSchedulingIgnoredDuringExecution"

    def affinity(tree: MarkedTree) -> MarkedTree:
        terms = tree.get(name)
        return with_fields(tree, {name: MarkedTree([*items(terms), set_by(mark, term)], terms.mark if terms else mark)})

    return changed(pod, ("spec", "affinity", kind), affinity)
