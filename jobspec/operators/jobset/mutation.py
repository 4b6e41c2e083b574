"""What JobSet's webhooks change: the defaults of a JobSet, and in the pods of its Jobs a label for their priority and their topology.

Follows `podWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0; of JobSets see `jobset_defaults`. The first pod of a
Job decides on the topology of the others, which wait until it is on a node. Before that, the topology is not known.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, changed, items, set_by, text, with_data, with_fields
from jobspec.operators.jobset import JOBSET, PREFIX
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR
from jobspec.operators.jobset_defaults import with_jobset_defaults
from jobspec.operators.made import RANDOM, operator_mark, with_crd_defaults
from jobspec.operators.workloads import JOB_INDEX
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_PRIORITY = f"{PREFIX}/priority"
_JOB = f"{PREFIX}/job-key"


def stored_jobset(tree: MarkedTree, target: Target) -> MarkedTree:
    """A JobSet with all that the server and the webhook fill in."""
    whole = with_crd_defaults(tree, shapes.part(*JOBSET, target), Mark("the CRD of JobSet"))
    webhook = operator_mark("jobset", target["jobset"])
    return changed(whole, ("spec",), lambda spec: with_data(spec, with_jobset_defaults(spec.data()), webhook))


def admitted(pod: MarkedTree, target: Target, priority: MarkedTree | None) -> MarkedTree:
    """A pod after the webhook. *priority*: that of its class, None where the class is not at hand."""
    mark = operator_mark("jobset", target["jobset"])
    annotations = pod.get("metadata", "annotations")
    own = annotations.value if annotations else {}
    exclusive = EXCLUSIVE in own
    if NODE_SELECTOR in own or not (exclusive or is_at_least(target["jobset"], "0.11.1")):
        return pod
    if priority is not None:
        label = {_PRIORITY: priority.with_value(str(priority.value))}
        pod = changed(pod, ("metadata", "labels"), lambda labels: with_fields(labels, label))
    return _apart(pod, own[EXCLUSIVE], mark) if exclusive else pod


def _apart(pod: MarkedTree, topology: MarkedTree, mark: Mark) -> MarkedTree:
    """A pod of a Job that has a topology for itself: the first keeps other Jobs away, the others go where the first one is."""
    if text(pod, "metadata", "annotations", JOB_INDEX) != "0":
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
    """A pod with one more required term of affinity."""
    name = "requiredDuringSchedulingIgnoredDuringExecution"

    def affinity(tree: MarkedTree) -> MarkedTree:
        terms = tree.get(name)
        return with_fields(tree, {name: MarkedTree([*items(terms), set_by(mark, term)], terms.mark if terms else mark)})

    return changed(pod, ("spec", "affinity", kind), affinity)
