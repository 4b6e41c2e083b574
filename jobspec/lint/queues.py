"""Kueue: jobs that wait in queues, the queues, and topology requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import CLUSTER_QUEUE, CRON_JOB, QUEUE_GROUP, QUEUE_KINDS, RESOURCE_FLAVOR, GroupKind
from jobspec.apis.releases import QUEUES, REMOVED_VERSIONS
from jobspec.diagnostics.places import Key, items_at, value_at
from jobspec.diagnostics.problems import remove, set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import text
from jobspec.go.values import integer
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.kueue_keys import misspelt_keys
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.lint.nodes import WITH_NODES, nodes_of
from jobspec.operators.kueue.versions import QUEUED_KINDS, makes_workloads_of, queued_by_holder
from jobspec.operators.trainer.runtimes import has_runtime_patches
from jobspec.operators.workloads import MAXIMUM_TIME, QUEUE, queue_path, queue_place, queued_object, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.diagnostics.rules import Place
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.world import AlikeNodes, QueueInCohort


_LOCAL_QUEUE = QUEUE_KINDS[1]
_TOPOLOGY: GroupKind = (QUEUE_GROUP, "Topology")
_ADMISSION_CHECK: GroupKind = (QUEUE_GROUP, "AdmissionCheck")
_COHORT: GroupKind = (QUEUE_GROUP, "Cohort")
_WORKER_CLUSTERS: GroupKind = (QUEUE_GROUP, "MultiKueueConfig")
#: Kind -> where it names its cohort, in the versions of the API.
_COHORTS: dict[GroupKind, tuple[Path, ...]] = {
    CLUSTER_QUEUE: (("spec", "cohortName"), ("spec", "cohort")),
    _COHORT: (("spec", "parentName"),),
}


def misplaced_queue_name(job: LintedDocument) -> Iterator[Finding]:
    """The queue name is not a label of the job, where Kueue reads it, but an annotation or a label of its pods.

    Why: Kueue looks at the labels of the job itself, of a CronJob at those of its `jobTemplate`. At the pods, or as an annotation, the
    name is not seen: the job bypasses every queue and quota, or each of its pods is queued by itself.
    Instead: write it into `metadata.labels` of the job.
    Fix: adds the label to the job; what is written elsewhere stays, and the pods are the same.
    Before: template: {metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}}
    After: metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775, kubeflow/trainer#3221; https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/pytorchjobs/
    """
    metadata = queue_path(job.given.group_kind)[:-2]
    if job.get(*metadata, "labels", QUEUE) is not None or _gets_labels_of_pods(job.given):
        return
    paths: list[Path] = [(*metadata, "annotations", Key(QUEUE)), *((*at, Key(QUEUE)) for at in _OF_CRON_JOB if metadata != _METADATA)]
    said: list[tuple[Place, str]] = [(path, value) for path in paths if isinstance(value := job.get(*path), str)]
    for place, name in [*said, *job.pod_labels(QUEUE)][:1]:
        edits = [(metadata, set_to(("labels", QUEUE), name))] if job.get(*metadata) else []
        message = f"Kueue reads the queue name `{name}` from the labels of the job only"
        yield Finding(place, message, f"move it to `{'.'.join(map(str, metadata))}.labels`", edits=edits)


def _gets_labels_of_pods(job: Document) -> bool:
    """Whether the server copies the queue name of the pods to a Job without labels of its own."""
    return queue_place(job) != queue_path(job.group_kind)


_METADATA: Path = ("metadata",)
_OF_CRON_JOB: tuple[Path, ...] = (("metadata", "labels"), ("metadata", "annotations"))


def no_queue_name(job: LintedDocument) -> Iterator[Finding]:
    """The job bypasses Kueue: it has no queue-name label, and its namespace has LocalQueues.

    Why: Kueue leaves a job without a queue alone: it bypasses all quotas, and uses what was reserved for jobs that wait.
    Instead: name a queue. A LocalQueue named `default` is that of all jobs that name none.
    Before: metadata: {name: train}
    After: metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775; https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/
    """
    queues = job.documents.names_in_same_namespace(job.given, _LOCAL_QUEUE)
    queued = queued_object(job.given)
    kind = queued.group_kind
    path = queue_path(job.given.group_kind)
    is_named = job.get(*path) is not None or _gets_labels_of_pods(job.given) or next(misplaced_queue_name(job), None)
    if is_named or _misspells_queue_name(job) or not queues or not makes_workloads_of(queued):
        return
    if job.is_hook or (isinstance(job, LintedJob) and not job.trains):
        return
    from jobspec.operators.kueue.children import children_in_queues
    from jobspec.operators.kueue.management import DEFAULT_QUEUE, default_queue, suspends_without_queue

    namespace, target, world = job.given.namespace, job.target, job.documents.queues
    if queued_by_holder(job.given, world.configuration) or children_in_queues(job.given, job.documents.referred(job.given), target, world):
        return
    if default_queue(namespace, target, world) or suspends_without_queue(kind, namespace or "default", target, world) is not False:
        return
    if job.given.namespace or DEFAULT_QUEUE not in queues:
        hint = f"add the label `{QUEUE}`; queues here: {listed(queues[:3])}"
        yield Finding(("metadata", "name"), "bypasses Kueue: no queue-name label", hint)


def _misspells_queue_name(job: LintedDocument) -> bool:
    """True if the label or annotation of the queue is misspelt."""
    return any(meant == QUEUE for _, _, meant in misspelt_keys(job))


def empty_queue_name(job: LintedDocument) -> Iterator[Finding]:
    """The label that names the queue is empty.

    Why: an empty name is no queue: Kueue lets the job bypass all quotas or, where it manages jobs without a queue, never start.
    Instead: name a LocalQueue of the job's namespace, or remove the label.
    Before: labels: {kueue.x-k8s.io/queue-name: ""}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: kubernetes-sigs/kueue#13293
    """
    place = queue_place(job.given)
    if job.get(*place) == "":
        yield Finding(place, "empty queue name", "name a LocalQueue of the job's namespace")


def unsuspended_in_queue(job: LintedJob) -> Iterator[Finding]:
    """A job in a queue says `suspend: false`.

    Why: Kueue suspends and releases the job by this field. An engine that syncs the manifest writes `false` back, and starts what has no
    quota; an apply is refused, or fights with Kueue forever. The Jobs of a CronJob are not in Git, so that no sync changes them back.
    Instead: leave the field out: Kueue suspends the job when it is made.
    Fix: removes the field; the pods are the same.
    Before: runPolicy: {suspend: false}
    After: runPolicy: {}
    Evidence: kubeflow/trainer#3888, kubernetes-sigs/kueue#14676
    """
    said = job.tree.get(*suspend_of(job.given.group_kind))
    if said and said.value is False and text(job.queue_name) and job.can_be_synced and job.given.group_kind != CRON_JOB:
        message = "Kueue sets this field to start the job, and a sync from Git reverts it"
        yield Finding(said, message, "remove it", edits=[(said, remove())])


def unknown_queue(job: LintedDocument) -> Iterator[Finding]:
    """The job names a LocalQueue that does not exist in its namespace.

    Why: a job of an unknown queue waits suspended, without an error, until somebody makes the queue.
    Instead: name one of the queues, or pass the file of the queue, too.
    Before: labels: {kueue.x-k8s.io/queue-name: teama}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    place = queue_place(job.given)
    said = job.get(*place)
    if not said or not isinstance(said, str) or queued_object(job.given).group_kind not in QUEUED_KINDS:
        return
    if not job.documents.of_kind(_LOCAL_QUEUE) and _LOCAL_QUEUE not in job.cluster.complete.pinned:
        return
    elsewhere = next((each.namespace for each in job.documents.of_name(_LOCAL_QUEUE, said)), "")
    if elsewhere and not job.given.namespace:  # whoever applies the job says its namespace
        return
    if job.documents.named(job.given, _LOCAL_QUEUE, said) is None and not job.documents.may_get_name(_LOCAL_QUEUE, said):
        known = job.documents.names_in_same_namespace(job.given, _LOCAL_QUEUE)
        hint = f"it is in the namespace `{elsewhere}`" if elsewhere else closest(said, known) or f"known: {listed(known)}"
        where = "in the job's namespace" if job.given.namespace else "among the files"
        message = f"no LocalQueue `{said}` {where}"
        yield Finding(place, message, hint if elsewhere or known else "")


def unknown_cluster_queue(document: LintedDocument) -> Iterator[Finding]:
    """A LocalQueue names a ClusterQueue that is not among the files.

    Why: such a queue is inactive, and its jobs wait forever.
    Instead: name one of the ClusterQueues, or pass its file, too.
    Before: clusterQueue: clusterqueue
    After: clusterQueue: cluster-queue
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    name = document.get("spec", "clusterQueue")
    if not isinstance(name, str) or document.documents.of_name(CLUSTER_QUEUE, name):
        return
    known = sorted({each.name for each in document.documents.of_kind(CLUSTER_QUEUE)})
    if known and not document.documents.may_get_name(CLUSTER_QUEUE, name):
        yield Finding(
            ("spec", "clusterQueue"), f"no ClusterQueue `{name}` among the files", closest(name, known) or f"known: {listed(known)}"
        )


def unknown_admission_check(document: LintedDocument) -> Iterator[Finding]:
    """A ClusterQueue names an AdmissionCheck that is not among the files: it is inactive as a whole.

    Why: one missing check is enough: the queue admits nothing, and its jobs wait forever without an event.
    Instead: name one of the AdmissionChecks, write it, pass its file, too, or leave it out.
    Before: admissionChecksStrategy: {admissionChecks: [{name: dws-chek}]}
    After: admissionChecksStrategy: {admissionChecks: [{name: dws-check}]}
    Evidence: kubernetes-sigs/kueue#1181, kubernetes-sigs/kueue#2021
    """
    data = document.given.data
    named = [
        ((*path, "name"), value_at(each, ("name",)))
        for path, each in items_at(data, ("spec", "admissionChecksStrategy", "admissionChecks"))
    ]
    named += items_at(data, ("spec", "admissionChecks"))
    for place, name in named:
        yield from _unknown(document, place, name, _ADMISSION_CHECK, "the queue is inactive", "pass its file, write it, or leave it out")


def unknown_topology(document: LintedDocument) -> Iterator[Finding]:
    """A ResourceFlavor names a Topology that is not among the files: each queue with the flavor is inactive.

    Why: one missing topology is enough: the queues admit nothing, from their other flavors neither, and their jobs wait forever.
    Instead: name one of the Topologies, or pass its file, too.
    Before: topologyName: raks
    After: topologyName: racks
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
    """
    place = ("spec", "topologyName")
    name = document.get(*place)
    if name and not _is_for_other_clusters(document):  # to know the queues, all documents are looked at
        yield from _unknown(document, place, name, _TOPOLOGY, "its queues are inactive")


def _is_for_other_clusters(flavor: LintedDocument) -> bool:
    """Whether all queues with a flavor dispatch their jobs to other clusters, which have the topology."""
    queues = [each for each in flavor.documents.queues.queues.values() if flavor.given.name in each.flavors]
    return bool(queues) and all(each.checks_of("multikueue") for each in queues)


def unknown_cohort(document: LintedDocument) -> Iterator[Finding]:
    """A ClusterQueue or Cohort names a cohort that no other one names, and that is not among the files, though other Cohorts are.

    Why: Kueue makes a cohort of every name. A misspelt one has no quota and no other member, so that there is nothing to borrow.
    Instead: name one of the Cohorts, or pass its file, too.
    Before: cohortName: reserch
    After: cohortName: research
    Evidence: kubernetes-sigs/kueue#2021; https://kueue.sigs.k8s.io/docs/concepts/cohort/
    """
    path = next((each for each in _COHORTS[document.given.group_kind] if value_at(document.given.data, each)), None)
    name = value_at(document.given.data, path) if path else None
    documents = document.documents
    if path is None or not isinstance(name, str) or documents.of_name(_COHORT, name) or documents.may_get_name(_COHORT, name):
        return
    known = sorted({each.name for each in documents.of_kind(_COHORT)})
    named = [value_at(each.data, at) for kind, paths in _COHORTS.items() for each in documents.of_kind(kind) for at in paths]
    if known and named.count(name) <= 1:
        hint = closest(name, known)
        message = f"no Cohort `{name}` among the files: it has no quota, and no other member to borrow from"
        yield Finding(path, message, hint or f"known: {listed(known)}", severity="warning" if hint else "info")


def unknown_check_parameters(document: LintedDocument) -> Iterator[Finding]:
    """An AdmissionCheck or a MultiKueueConfig names an object that is not among the files, though others of the kind are.

    Why: the check is inactive, and with it each queue that names it: its jobs wait forever.
    Instead: name one of the objects, or pass its file, too.
    Before: parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws-confg}
    After: parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws-config}
    Evidence: kubernetes-sigs/kueue#2021; https://kueue.sigs.k8s.io/docs/concepts/admission_check/
    """
    named: list[tuple[Path, object, GroupKind]]
    if document.given.group_kind == _ADMISSION_CHECK:
        kind = (str(document.get("spec", "parameters", "apiGroup")), str(document.get("spec", "parameters", "kind")))
        named = [(("spec", "parameters", "name"), document.get("spec", "parameters", "name"), kind)]
    else:
        cluster = (QUEUE_GROUP, "MultiKueueCluster")
        named = [(path, name, cluster) for path, name in items_at(document.given.data, ("spec", "clusters"))]
    for place, name, kind in named:
        if kind[0] == QUEUE_GROUP and document.documents.has([kind]):
            yield from _unknown(document, place, name, kind, "the check is inactive")


def _unknown(
    document: LintedDocument, place: Path, name: object, kind: GroupKind, then: str, way: str = "pass its file, too"
) -> Iterator[Finding]:
    """The finding that an object of Kueue is named that is not among the files; none if it is."""
    documents = document.documents
    if isinstance(name, str) and name and not documents.of_name(kind, name) and not documents.may_get_name(kind, name):
        known = sorted({each.name for each in document.documents.of_kind(kind)})
        hint = closest(name, known) or (f"known: {listed(known)}" if known else way)
        yield Finding(place, f"no {kind[1]} `{name}` among the files: {then}", hint)


def inactive_cluster_queue(document: LintedDocument) -> Iterator[Finding]:
    """The ClusterQueue is inactive: it admits nothing.

    Why: Kueue takes a queue with checks that exclude each other, or whose cohorts form a cycle, for inactive. Its jobs wait forever.
    Instead: resolve what the message names; a stopped queue (`stopPolicy`) is reported as an info.
    Before: admissionChecks: [{name: multikueue}, {name: provisioning}]
    After: admissionChecks: [{name: provisioning}]
    Evidence: kubernetes-sigs/kueue#8347, kubernetes-sigs/kueue#8451
    """
    queue, missing = _queue(document), {name for _, name in _queue(document).missing()}
    for why in queue.broken:
        if not any(f"`{name}`" in why and why.startswith("has no ") for name in missing):  # other rules report them
            hint = "keep one of the two: with MultiKueue, the queues of the worker clusters provision" if "MultiKueue" in why else ""
            yield Finding(_of_checks(document) if "heck" in why else ("metadata", "name"), f"inactive queue: it {why}", hint)
    if queue.stop_policy:
        yield Finding(("spec", "stopPolicy"), f"inactive queue: it {queue.stop_policy}", severity="info")


def no_namespace_selector(document: LintedDocument) -> Iterator[Finding]:
    """The ClusterQueue has no `namespaceSelector`: it admits jobs of no namespace.

    Why: an absent selector selects nothing, and an empty one selects all. Nothing warns of it, and all jobs wait forever.
    Instead: `namespaceSelector: {}`, or the labels of the namespaces that may use the queue.
    Before: spec: {resourceGroups: []}
    After: spec: {namespaceSelector: {}, resourceGroups: []}
    Evidence: djinnos/djinn#2841; https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector
    """
    if document.get("spec", "namespaceSelector") is not None:
        return
    if not _leads_to(document) and _queue(document).lends:
        return  # a queue that only lends to its cohort
    place = ("spec", "namespaceSelector") if "namespaceSelector" in (document.get("spec") or {}) else ("metadata", "name")
    yield Finding(place, "no `namespaceSelector`: the queue admits no namespace", "write `namespaceSelector: {}` to admit all")


def _queue(document: LintedDocument) -> QueueInCohort:
    """The ClusterQueue of a document among all given queues."""
    from jobspec.operators.kueue.versions import as_v1beta2
    from jobspec.operators.kueue.world import QueueInCohort

    return QueueInCohort(document.given.name, as_v1beta2(document.given.data), document.documents.queues)


def _leads_to(document: LintedDocument) -> bool:
    """Whether a LocalQueue leads to a ClusterQueue."""
    queues = document.documents.of_kind(_LOCAL_QUEUE)
    return any(value_at(each.data, ("spec", "clusterQueue")) == document.given.name for each in queues)


def _of_checks(document: LintedDocument) -> Path:
    """The path of a ClusterQueue's admission checks."""
    return ("spec", "admissionChecksStrategy") if document.get("spec", "admissionChecksStrategy") else ("spec", "admissionChecks")


def unknown_flavor(document: LintedDocument) -> Iterator[Finding]:
    """A ClusterQueue names a ResourceFlavor that is not among the files: it is inactive as a whole.

    Why: one missing flavor is enough: the queue admits nothing, from its other flavors neither, and its jobs wait forever.
    Instead: name one of the ResourceFlavors, or pass its file, too.
    Before: flavors: [{name: a100s, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
    After: flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#flavors-and-resources
    """
    known = sorted({each.name for each in document.documents.of_kind(RESOURCE_FLAVOR)})
    for path, group in items_at(document.given.data, ("spec", "resourceGroups")):
        for inner, flavor in items_at(group, ("flavors",)):
            name = value_at(flavor, ("name",))
            if known and isinstance(name, str) and name not in known and not document.documents.may_get_name(RESOURCE_FLAVOR, name):
                hint = closest(name, known) or f"known: {listed(known)}"
                yield Finding((*path, *inner, "name"), f"no ResourceFlavor `{name}` among the files: the queue is inactive", hint)


def unreachable_cluster_queue(document: LintedDocument) -> Iterator[Finding]:
    """No LocalQueue among the files leads to the ClusterQueue, so that no job can be in it, and it lends nothing.

    Why: jobs name LocalQueues. The quota of a queue that no LocalQueue leads to is lost, unless others of its cohort can borrow it:
    those with a quota of the same flavor and resource, which may be 0, and no `borrowingLimit: 0`.
    Instead: add a LocalQueue in each namespace that may use it. A queue that only lends to its cohort needs none.
    Before: kind: ClusterQueue
    After: spec: {clusterQueue: research}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    name = document.given.name
    if not document.documents.has([_LOCAL_QUEUE]):
        return
    if not _leads_to(document) and not _queue(document).lends:
        yield Finding(("metadata", "name"), f"no LocalQueue among the files leads to the ClusterQueue `{name}`", "add one in its namespace")


def flavor_without_nodes(document: LintedDocument) -> Iterator[Finding]:
    """No node has the labels of the ResourceFlavor, as far as a pinned cluster or Nodes among the files say.

    Why: Kueue admits a job to the flavor by its quota alone, and its pods wait for a node that does not exist. With a topology, it never
    admits one.
    Instead: write the labels that the nodes have. A pool that an autoscaler makes from nothing has none yet.
    Before: nodeLabels: {accelerator: a100}
    After: nodeLabels: {cloud.google.com/gke-accelerator: nvidia-tesla-a100}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/
    """
    nodes = nodes_of(document)
    wanted = value_at(document.given.data, ("spec", "nodeLabels"))
    if nodes and isinstance(wanted, dict) and not _with_labels(nodes, wanted):
        labels = ", ".join(f"{key}={value}" for key, value in wanted.items())
        yield Finding(("spec", "nodeLabels"), f"no node has the labels {labels}", "write the labels of nodes that the flavor is for")


def quota_without_nodes(document: LintedDocument) -> Iterator[Finding]:
    """The quota of a flavor is more than all nodes with its labels have together, by a pinned cluster or Nodes among the files.

    Why: Kueue admits by quota: what is beyond the nodes is admitted, and its pods wait for nodes while they hold the quota.
    Instead: a quota that the nodes can hold. A pool that an autoscaler extends may have more later.
    Before: {name: nvidia.com/gpu, nominalQuota: 64}
    After: {name: nvidia.com/gpu, nominalQuota: 32}
    Evidence: kubernetes-sigs/kueue#1410
    """
    nodes = nodes_of(document)
    if not nodes:
        return
    from jobspec.operators.kueue.world import amount, spelt

    for path, group in items_at(document.given.data, ("spec", "resourceGroups")):
        for inner, flavor in items_at(group, ("flavors",)):
            named = next(iter(document.documents.of_name(RESOURCE_FLAVOR, str(value_at(flavor, ("name",))))), None)
            labels = value_at(named.data, ("spec", "nodeLabels")) if named else None
            fitting = _with_labels(nodes, labels if isinstance(labels, dict) else {}) if named else []
            for last, quota in items_at(flavor, ("resources",)) if fitting else ():
                name, nominal = str(value_at(quota, ("name",))), value_at(quota, ("nominalQuota",))
                there = sum(each.allocatable.get(name, 0) * each.count for each in fitting)
                if nominal is not None and amount(name, nominal) > there:
                    message = f"a quota of {nominal} {name}, and all nodes of flavor `{flavor['name']}` have {spelt(name, there)}"
                    yield Finding((*path, *inner, *last, "nominalQuota"), message, "lower it, or add nodes")


def pod_without_node(job: LintedJob) -> Iterator[Finding]:
    """No node can run a pod of the job, as far as a `Cluster` or Nodes among the files say: none is as large, or tolerated and selected.

    Why: a quota counts what all pods request together; a pod needs it on one node. Kueue admits the job, and its pods wait forever.
    Instead: request what one node has, with more pods.
    Before: resources: {limits: {nvidia.com/gpu: 16}}
    After: resources: {limits: {nvidia.com/gpu: 8}}
    Evidence: kubernetes-sigs/kueue#3211
    """
    nodes = nodes_of(job)
    if not nodes or job.cluster.is_pinned:  # what becomes of the job says it
        return
    if not all(each.allocatable for each in nodes):  # a Node of a repository mostly has labels alone
        return
    from jobspec.kubernetes.pods.resources import filled_in
    from jobspec.operators.kueue.flavors import nodeless
    from jobspec.operators.kueue.topology import cause_of

    documents = job.documents
    specs = [filled_in(role.pod_tree.data()["spec"], documents.target["kubernetes"]) for role in job.roles]
    queued, referred = queued_object(job.given), documents.referred(job.given)
    for number, why in nodeless(queued, specs, referred, documents.target, documents.queues, nodes):
        if job.roles[number].follows_another():
            continue
        place = job.roles[number].pod_tree.get("spec", cause_of(why, specs[number]))
        yield Finding(place, f"no node can run a pod: {why}", "request less for each pod")


def _with_labels(nodes: Sequence[AlikeNodes], labels: dict[str, Any]) -> list[AlikeNodes]:
    return [each for each in nodes if all(each.labels.get(key) == value for key, value in labels.items())]


def deprecated_kueue_api(document: LintedDocument) -> Iterator[Finding]:
    """Deprecated API version `kueue.x-k8s.io/v1beta1`, removed in Kueue 0.20.

    Why: after an update of Kueue, an apply fails, and an engine's sync with it.
    Instead: `v1beta2`, which Kueue has since 0.15. Some fields have other names there: a ClusterQueue's `cohort` is `cohortName`.
    Before: apiVersion: kueue.x-k8s.io/v1beta1
    After: apiVersion: kueue.x-k8s.io/v1beta2
    Evidence: the release notes of Kueue 0.20
    """
    operator, release, newer = REMOVED_VERSIONS.get(document.given.api_version, ("", "", ""))
    if operator == QUEUES:
        yield Finding(("apiVersion",), f"deprecated: Kueue {release} no longer serves this version", f"write `{newer}`")


def old_trainer_in_queue(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob in a queue, on a trainer below 2.2: Kueue 0.17 or later leaves it suspended.

    Why: Kueue 0.17 writes `runtimePatches` into the TrainJob to release it. The CRDs of trainers before 2.2 do not have the field: the
    server drops it, and the job stays suspended forever, although Kueue has admitted it.
    Instead: trainer 2.2 or later, or Kueue 0.16.
    Before: jobspec lint --target trainer=2.1
    After: jobspec lint --target trainer=2.2
    Evidence: kubernetes-sigs/kueue#11931
    """
    said = job.tree.get("metadata", "labels", QUEUE)
    release, kueue = job.target["trainer"], job.cluster.installed.get("kueue")
    if said and not has_runtime_patches(release) and not kueue:  # with a release of Kueue, it is an outcome
        yield Finding(said, f"Kueue 0.17 and later never starts TrainJobs of trainer {release}", "use trainer 2.2 or later, or Kueue 0.16")


def time_limit_of_queue(job: LintedDocument) -> Iterator[Finding]:
    """The time limit of Kueue leaves the job suspended: it does not fail, and no apply starts it again.

    Why: after `max-exec-time-seconds`, Kueue deactivates the Workload and suspends the job for good. The job has no end state: clients
    that wait for it to complete or fail wait forever, and applying the manifest again changes nothing.
    Instead: the deadline of the job itself, which fails it: `activeDeadlineSeconds`. To start again, delete the job and create it anew.
    Before: labels: {kueue.x-k8s.io/max-exec-time-seconds: "3600"}
    After: spec: {activeDeadlineSeconds: 3600}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/workload/#maximum-execution-time
    """
    from jobspec.operators.kueue.management import default_queue

    label = queue_place(job.given)
    place = (*label[:-1], Key(MAXIMUM_TIME))
    seconds = job.get(*place)
    if not makes_workloads_of(queued_object(job.given)) or not isinstance(seconds, str) or (integer(seconds, 32) or 0) <= 0:
        return
    if job.get(*label) or default_queue(job.given.namespace, job.target, job.documents.queues):
        yield Finding(place, "after this time, Kueue suspends the job for good: it never fails", "limit the job by its own deadline")


RULES = (
    Rule(misplaced_queue_name, "warning", sees="queued", reads=[QUEUE], has_unsafe_fix=True),
    Rule(no_queue_name, "info", sees="queued", kinds=[_LOCAL_QUEUE]),
    Rule(empty_queue_name, "warning", sees="queued", reads=[QUEUE]),
    Rule(unsuspended_in_queue, "warning", sees="job", reads=[QUEUE]),
    Rule(unknown_queue, "warning", sees="document"),
    Rule(unknown_cluster_queue, "warning", sees="document", of=[_LOCAL_QUEUE]),
    Rule(unknown_flavor, "warning", sees="document", of=[CLUSTER_QUEUE], kinds=[RESOURCE_FLAVOR]),
    Rule(unknown_admission_check, "warning", sees="document", of=[CLUSTER_QUEUE]),
    Rule(unknown_topology, "warning", sees="document", of=[RESOURCE_FLAVOR]),
    Rule(unknown_cohort, "warning", sees="document", of=_COHORTS),
    Rule(unknown_check_parameters, "warning", sees="document", of=[_ADMISSION_CHECK, _WORKER_CLUSTERS]),
    Rule(inactive_cluster_queue, "warning", sees="document", of=[CLUSTER_QUEUE]),
    Rule(no_namespace_selector, "warning", sees="document", of=[CLUSTER_QUEUE]),
    Rule(unreachable_cluster_queue, "info", sees="document", of=[CLUSTER_QUEUE], kinds=[_LOCAL_QUEUE]),
    Rule(flavor_without_nodes, "warning", sees="document", of=[RESOURCE_FLAVOR], kinds=WITH_NODES),
    Rule(quota_without_nodes, "info", sees="document", of=[CLUSTER_QUEUE], kinds=WITH_NODES),
    Rule(pod_without_node, "warning", sees="job", kinds=WITH_NODES),
    Rule(deprecated_kueue_api, "info", sees="document"),
    Rule(time_limit_of_queue, "info", sees="queued", reads=[MAXIMUM_TIME]),
    Rule(old_trainer_in_queue, "info", sees="TrainJob", reads=[QUEUE]),
)
