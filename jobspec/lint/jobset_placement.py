"""Where the pods of a JobSet may run: exclusive placement, and topologies that no node has.

Follows `podWebhook.Default` and `ValidateCreate`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0; and the filters InterPodAffinity and
PodTopologySpread, k8s.io/kubernetes pkg/scheduler/framework/plugins, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, number, of_kind, text
from jobspec.lint.linted import LintedJob
from jobspec.lint.nodes import WITH_NODES, nodes_of
from jobspec.operators.jobset.labels import EXCLUSIVE, NODE_SELECTOR
from jobspec.operators.workloads import HOSTNAME


def exclusive_without_index(job: LintedJob) -> Iterator[Finding]:
    """Jobs with exclusive placement and `completionMode: NonIndexed`: no pod is ever created.

    Why: JobSet places the pod of index 0 first and refuses all others until that is on a node. Pods without an index are all others: each
    creation is refused, and only events of the Job say so.
    Instead: leave `completionMode` out, or write `Indexed`.
    Before: "annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}, with completionMode: NonIndexed"
    After: completionMode: Indexed
    Evidence: `ValidateCreate` of sigs.k8s.io/jobset pkg/webhooks; JobSet 0.12.0 on a server
    """
    for made in of_kind(job.objects, "Job"):
        annotations = made.get("spec", "template", "metadata", "annotations")
        mode = made.get("spec", "completionMode")
        is_exclusive = annotations is not None and annotations.get(EXCLUSIVE) and not annotations.get(NODE_SELECTOR)
        if is_exclusive and text(mode) == "NonIndexed" and number(made, "spec", "parallelism", default=1) > 0:
            message = "no pod is ever created: exclusive placement needs the completion mode Indexed"
            yield Finding(mode, message, "remove `completionMode: NonIndexed`, or the annotation")


def absent_topology(job: LintedJob) -> Iterator[Finding]:
    """Pods need nodes with a label that none has, as far as Nodes among the files or a pinned cluster say.

    Why: a required pod affinity, or a topology spread that forbids other places, takes only nodes that have the label of its topology key,
    for the first pod, too: the pods wait forever. JobSet makes such an affinity of the annotation for exclusive placement.
    Instead: label the nodes, or name a label that they have. A pool that an autoscaler makes from nothing has none yet.
    Before: "annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: example.com/nodepool}"
    After: "annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool}"
    Evidence: kubernetes-sigs/jobset#637
    """
    nodes = nodes_of(job)
    for pod in job.pods if nodes else ():
        for key in _topology_keys(pod):
            if text(key) != HOSTNAME and not any(text(key) in each.labels for each in nodes):
                message = f"pods wait forever: no node has the topology label `{text(key)}`"
                yield Finding(key, message, "label the nodes, or name a label that they have")


def _topology_keys(pod: MarkedTree) -> list[MarkedTree]:
    """The keys of topologies without which the scheduler takes no node for a pod."""
    terms = items(pod.get("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
    spreads = items(pod.get("spec", "topologySpreadConstraints"))
    needed = [*terms, *(each for each in spreads if text(each, "whenUnsatisfiable") in ("", "DoNotSchedule"))]
    return [key for each in needed if (key := each.get("topologyKey"))]


RULES = (
    Rule(exclusive_without_index, "error", sees="JobSet", reads=[EXCLUSIVE]),
    Rule(absent_topology, "warning", sees="any pods", kinds=WITH_NODES),
)
