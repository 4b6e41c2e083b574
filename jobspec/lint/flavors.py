"""Kueue's flavors: what they add to pods, take from them, and leave in them, and the nodes that pods with them find."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import CLUSTER_QUEUE, JOBSET, RESOURCE_FLAVOR, RUNTIMES, TRAINJOB
from jobspec.apis.releases import QUEUES
from jobspec.diagnostics.places import items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import items
from jobspec.go.values import structs, text, without_nulls
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.lint.nodes import WITH_NODES, nodes_of
from jobspec.lint.runtimes import tolerates_as_much
from jobspec.operators.kueue.versions import RELEASE, not_queued, replaces_tolerations
from jobspec.operators.workloads import QUEUE, is_workload, written_pod_specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Data, Path
    from jobspec.documents.document import Document
    from jobspec.lint.documents import Documents
    from jobspec.operators.kueue.flavors import Choice
    from jobspec.operators.kueue.workload import QueuedPodSet


def unfit_flavor_labels(document: LintedDocument) -> Iterator[Finding]:
    """Flavors of one resource group have node labels with different keys, and JobSets or TrainJobs are in the queue.

    Why: JobSet merges the node selector of a job that is admitted again into that of its Jobs from the last time. A label of the flavor
    before stays where the next one does not set its key: after an eviction no node fits, and the pods hold the quota.
    Instead: the same keys in all flavors of the group, with other values. A batch Job gets the new labels alone.
    Before: "nodeLabels: {pool-a: here}, and nodeLabels: {pool-b: here}"
    After: "nodeLabels: {pool: a}, and nodeLabels: {pool: b}"
    Evidence: Kueue 0.19.2 and JobSet 0.12.0 on a server; `resumeJob` of sigs.k8s.io/jobset pkg/controllers, 0.8.2 and 0.12.0
    """
    from jobspec.operators.kueue.flavors import kept_selectors

    jobs = document.documents.once("jobsets in queues", lambda: list(_jobsets_in_queues(document.documents)))
    for queue, job, pods, found in jobs:
        moves = kept_selectors(pods, found, nodes_of(document)) if queue == document.given.name else ()
        for left, entered, labels in moves:
            kept = f"keeps the node selector {', '.join(labels)} of flavor `{left}`"
            message = f"evicted and admitted to flavor `{entered}`, {job.kind} `{job.name}` {kept}"
            yield Finding(_place_of(entered, document), message, "use the same keys in the node labels of all flavors of the group")
            return


def _jobsets_in_queues(documents: Documents) -> Iterator[tuple[str, Document, QueuedPodSet, list[Choice]]]:
    """The pods of JobSets and TrainJobs with the ClusterQueue that they are in and what they can get there; not those of other clusters."""
    from jobspec.operators.kueue.flavors import choices, queue_of
    from jobspec.operators.kueue.workload import workload_of

    world, target = documents.queues, documents.target
    for job in (each for kind in (JOBSET, TRAINJOB) for each in documents.of_kind(kind)):
        workload = workload_of(job, documents.referred(job), target, world)
        queue, (unqueued, _) = queue_of(workload, world), not_queued(job.group_kind, target.get(QUEUES, RELEASE), world.configuration)
        if queue and not unqueued and not queue.checks_of("multikueue"):
            yield from ((queue.name, job, pods, choices(pods, workload, world)) for pods in workload.pod_sets)


def _place_of(flavor: str, queue: LintedDocument) -> Path:
    """The path of a flavor in a ClusterQueue."""
    groups = items_at(queue.given.data, ("spec", "resourceGroups"))
    places = ((*path, *inner, "name") for path, group in groups for inner, each in items_at(group, ("flavors",)) if each["name"] == flavor)
    return next(places, ("metadata", "name"))


def tolerations_lost_at_admission(job: LintedJob) -> Iterator[Finding]:
    """Kueue below 0.20 replaces the tolerations of a TrainJob's pods by those of the flavor.

    Why: Kueue writes the flavor's tolerations into a patch of the runtime, whose list of them replaces that of the runtime. What only the
    runtime tolerates, or another patch, keeps the pods of the admitted job Pending. A flavor without tolerations takes nothing away.
    Instead: give the flavor all tolerations of the runtime, too.
    Before: "kind: ResourceFlavor with tolerations: [{key: pool, operator: Exists}]"
    After: "kind: ResourceFlavor with tolerations: [{key: pool, operator: Exists}, {key: dedicated, operator: Exists}]"
    Evidence: kubernetes-sigs/kueue#15161, kubernetes-sigs/kueue#15162
    """
    target, world = job.target, job.documents.queues
    if QUEUES in job.cluster.later or not replaces_tolerations(target.get(QUEUES, RELEASE)):
        return
    from jobspec.operators.kueue.flavors import choices, runs_without_its_own_tolerations, tolerations_of
    from jobspec.operators.kueue.workload import workload_of

    if not_queued(job.given.group_kind, target.get(QUEUES, RELEASE), world.configuration)[0]:
        return
    workload = workload_of(job.given, job.documents.referred(job.given), target, world)
    found = {pods.name: choices(pods, workload, world) for pods in workload.pod_sets}
    for role in job.roles:
        own, spec = items(role.pod_tree.get("spec", "tolerations")), role.pod_tree.data()["spec"]
        for choice in found.get(role.name.lower(), ()):
            added = tolerations_of(choice)
            lost = [each for each in own if _matters(each.data()) and not any(tolerates_as_much(one, each.data()) for one in added)]
            if added and lost and not runs_without_its_own_tolerations(spec, choice, nodes_of(job)):
                flavor = next(each.name for each in choice if each.tolerations)
                said = lost[0].data().get("key") or "operator: Exists"
                message = f"Kueue replaces the toleration of `{said}` by those of flavor `{flavor}`: pods may stay Pending"
                yield Finding(lost[0], message, f"add it to the tolerations of the ResourceFlavor `{flavor}`")
                break


def _matters(toleration: Data) -> bool:
    """Whether a toleration lets pods start on nodes that others avoid: not those of a node's own state, which the server adds."""
    return text(toleration, "effect") != "PreferNoSchedule" and not text(toleration, "key").startswith("node.kubernetes.io/")


def queued_without_node(document: LintedDocument) -> Iterator[Finding]:
    """No node can run the pods of a Deployment, a Pod or another object in a queue, as far as a `Cluster` or Nodes among the files say.

    Why: Kueue compares the node selector and the affinity of pods with the keys alone that its flavors have. It admits the pods, no node
    has the other labels, and they wait and hold the quota. Of jobs, `pod-without-node` says it.
    Instead: select labels that a node of the flavor has, and write them into the flavor.
    Before: "nodeSelector: {pool: a100, example.com/fabric: nvlink}"
    After: "nodeSelector: {pool: a100}"
    Evidence: kubernetes-sigs/kueue#15136, kubernetes-sigs/kueue#12446
    """
    nodes, given = nodes_of(document), document.given
    if not value_at(given.data, ("metadata", "labels", QUEUE)) or is_workload(given) or given.group_kind in RUNTIMES:
        return
    if not nodes or not all(each.allocatable for each in nodes):  # a Node of a repository mostly has labels alone
        return
    from jobspec.kubernetes.pods.resources import filled_in
    from jobspec.operators.kueue.flavors import nodeless
    from jobspec.operators.kueue.topology import cause_of

    documents = document.documents
    written = [(path, without_nulls(spec)) for path, spec in written_pod_specs(given)]
    pods = [(path, filled_in(spec, documents.target["kubernetes"])) for path, spec in written if structs(spec, "containers")]
    for number, why in nodeless(given, [spec for _, spec in pods], documents.referred(given), documents.target, documents.queues, nodes):
        path, spec = pods[number]
        if not text(spec, "nodeName"):
            yield Finding((*path, cause_of(why, spec)), f"no node can run a pod: {why}", "select what a node has, or request less")


RULES = (
    Rule(unfit_flavor_labels, "warning", sees="document", of=[CLUSTER_QUEUE], kinds=[RESOURCE_FLAVOR]),
    Rule(tolerations_lost_at_admission, "warning", sees="TrainJob", kinds=[RESOURCE_FLAVOR]),
    Rule(queued_without_node, "warning", sees="document", kinds=WITH_NODES),
)
