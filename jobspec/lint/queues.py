"""Kueue: jobs that wait in queues, the queues, and where the pods of a job have to stand."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics import Edit, Finding, Rule
from jobspec.documents.marked_tree import text
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.operators.trainer.runtimes import has_runtime_patches
from jobspec.workloads import QUEUE, items_at, suspend_of, value_at

_LOCAL_QUEUE, _CLUSTER_QUEUE = ("kueue.x-k8s.io", "LocalQueue"), ("kueue.x-k8s.io", "ClusterQueue")


def misplaced_queue_name(job: LintedJob) -> Iterator[Finding]:
    """The queue name is not a label of the job, where Kueue reads it.

    Why: Kueue looks at the labels of the job itself. At the pods, or as an annotation, the name is not seen: the job starts past every
    queue and quota, or its pods are taken one by one.
    Instead: write it into `metadata.labels` of the job.
    Fix: adds the label to the job; what is written elsewhere stays, and the pods are the same.
    Before: template: {metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}}
    After: metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775, kubeflow/trainer#3221; https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/pytorchjobs/
    """
    if job.tree.get("metadata", "labels", QUEUE):
        return
    said = [job.tree.get("metadata", "annotations", QUEUE)]
    said += [role.pod_tree.get("metadata", "labels", QUEUE) for role in job.roles]
    place = next((each for each in said if each), None)
    if place:
        edits = [Edit(("metadata",), ("labels", QUEUE), place.value)] if job.get("metadata") else []
        message = f"Kueue reads the queue name `{text(place)}` from the labels of the job only"
        yield Finding(place, message, "move it to `metadata.labels`", edits=edits)


def no_queue_name(job: LintedJob) -> Iterator[Finding]:
    """The job bypasses Kueue: it has no queue-name label, and its namespace has LocalQueues.

    Why: Kueue leaves a job without a queue alone: it starts past all quotas, and takes what was promised to those that wait.
    Instead: name a queue. A LocalQueue named `default` is that of all jobs that name none.
    Before: metadata: {name: train}
    After: metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775; https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/
    """
    queues = job.documents.names_in_same_namespace(job.given, _LOCAL_QUEUE)
    is_named = job.get("metadata", "labels", QUEUE) is not None or next(misplaced_queue_name(job), None)
    if queues and not is_named and "default" not in queues:
        hint = f"add the label `{QUEUE}`; queues here: {listed(queues[:3])}"
        yield Finding(("metadata", "name"), "bypasses Kueue: no queue-name label", hint)


def empty_queue_name(job: LintedJob) -> Iterator[Finding]:
    """The label that names the queue is empty.

    Why: an empty name is no queue: Kueue lets the job start past all quotas or, where it manages jobs without a queue, never.
    Instead: name a LocalQueue of the job's namespace, or remove the label.
    Before: labels: {kueue.x-k8s.io/queue-name: ""}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: kubernetes-sigs/kueue#13293
    """
    said = job.tree.get("metadata", "labels", QUEUE)
    if said and said.value == "":
        yield Finding(said, "empty queue name", "name a LocalQueue of the job's namespace")


def unsuspended_in_queue(job: LintedJob) -> Iterator[Finding]:
    """A job in a queue says `suspend: false`.

    Why: Kueue suspends and releases the job by this field. An engine that syncs the manifest writes `false` back, and starts what has no
    quota; an apply is refused, or fights with Kueue forever.
    Instead: leave the field out: Kueue suspends the job when it is made.
    Fix: removes the field; the pods are the same.
    Before: runPolicy: {suspend: false}
    After: runPolicy: {}
    Evidence: kubeflow/trainer#3888, kubernetes-sigs/kueue#14676
    """
    said = job.tree.get(*suspend_of(job.given.group_kind))
    if said and said.value is False and text(job.tree, "metadata", "labels", QUEUE):
        message = "Kueue sets this field to start the job, and a sync from Git reverts it"
        yield Finding(said, message, "remove it", edits=[Edit(said, removes=True)])


def unknown_queue(job: LintedJob) -> Iterator[Finding]:
    """The job names a LocalQueue that does not exist in its namespace.

    Why: a job of an unknown queue waits suspended, without an error, until somebody makes the queue.
    Instead: name one of the queues, or pass the file of the queue, too.
    Before: labels: {kueue.x-k8s.io/queue-name: teama}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    said = job.tree.get("metadata", "labels", QUEUE)
    queues = job.documents.of_kind(_LOCAL_QUEUE)
    if not said or not said.value or not queues:
        return
    elsewhere = next((each.namespace for each in job.documents.of_name(_LOCAL_QUEUE, text(said))), "")
    if elsewhere and not job.given.namespace:  # whoever applies the job says its namespace
        return
    if job.documents.named(job.given, _LOCAL_QUEUE, text(said)) is None:
        known = job.documents.names_in_same_namespace(job.given, _LOCAL_QUEUE)
        hint = f"it is in the namespace `{elsewhere}`" if elsewhere else closest(text(said), known) or f"known: {listed(known)}"
        where = "in the job's namespace" if job.given.namespace else "among the files"
        message = f"no LocalQueue `{text(said)}` {where}"
        yield Finding(said, message, hint if elsewhere or known else "")


def unknown_cluster_queue(document: LintedDocument) -> Iterator[Finding]:
    """A LocalQueue names a ClusterQueue that is not among the files.

    Why: such a queue is inactive, and its jobs wait forever.
    Instead: name one of the ClusterQueues, or pass its file, too.
    Before: clusterQueue: clusterqueue
    After: clusterQueue: cluster-queue
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    name = document.get("spec", "clusterQueue")
    if document.given.group_kind != _LOCAL_QUEUE or not isinstance(name, str) or document.documents.of_name(_CLUSTER_QUEUE, name):
        return
    known = sorted({each.name for each in document.documents.of_kind(_CLUSTER_QUEUE)})
    if known:
        yield Finding(
            ("spec", "clusterQueue"), f"no ClusterQueue `{name}` among the files", closest(name, known) or f"known: {listed(known)}"
        )


def deprecated_kueue_api(document: LintedDocument) -> Iterator[Finding]:
    """Deprecated API version `kueue.x-k8s.io/v1beta1`, removed in Kueue 0.20.

    Why: after an update of Kueue, an apply fails, and an engine's sync with it.
    Instead: `v1beta2`, which Kueue has since 0.15. Some fields have other names there: a ClusterQueue's `cohort` is `cohortName`.
    Before: apiVersion: kueue.x-k8s.io/v1beta1
    After: apiVersion: kueue.x-k8s.io/v1beta2
    Evidence: the release notes of Kueue 0.20
    """
    if document.given.api_version == "kueue.x-k8s.io/v1beta1":
        yield Finding(("apiVersion",), "deprecated: Kueue 0.20 no longer serves this version", "write `kueue.x-k8s.io/v1beta2`")


def old_trainer_in_queue(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob in a queue of Kueue 0.17 or later, on a trainer below 2.2: it stays suspended.

    Why: Kueue 0.17 writes `runtimePatches` into the TrainJob to release it. The CRDs of trainers before 2.2 do not have the field: the
    server drops it, and the job stays suspended forever, although Kueue has admitted it.
    Instead: trainer 2.2 or later, or Kueue 0.16.
    Before: jobspec lint --target trainer=2.1
    After: jobspec lint --target trainer=2.2
    Evidence: kubernetes-sigs/kueue#11931
    """
    said = job.tree.get("metadata", "labels", QUEUE)
    release = job.documents.target["trainer"]
    if said and not has_runtime_patches(release):
        yield Finding(said, f"Kueue 0.17 and later never starts TrainJobs of trainer {release}", "use trainer 2.2 or later, or Kueue 0.16")


# Topology: where the pods of a job have to stand.


_TOPOLOGY = ("kueue.x-k8s.io", "Topology")
_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
_LEVELS = (_REQUIRED, "kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-slice-required-topology")
_HOST = "kubernetes.io/hostname"
_USUAL, _MOST = 8, 16  # GPUs of one node


def topology_too_narrow(job: LintedJob) -> Iterator[Finding]:
    """All pods of a role must run on one host, which cannot have as many GPUs.

    Why: Kueue admits the job only where one place of the level has room for all pods; where there is none, the job waits forever.
    Instead: require a level that is wide enough, such as a rack or a block, or prefer this one.
    Before: annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}
    After: annotations: {kueue.x-k8s.io/podset-preferred-topology: kubernetes.io/hostname}
    Evidence: kubernetes-sigs/kueue#3211
    """
    for role in job.roles:
        level = role.pod_tree.get("metadata", "annotations", _REQUIRED)
        number = role.count * sum(each.gpus for each in job.containers if each.role is role and not each.is_init)
        if level and text(level) == _HOST and role.count > 1 and number > _USUAL:
            message = f"{role.count} pods with {number} GPUs each must fit on one host"
            yield Finding(level, message, "require a wider level, or prefer this one", severity="warning" if number > _MOST else "info")


def unknown_topology_level(job: LintedJob) -> Iterator[Finding]:
    """The job asks for a topology level that none of the files' Topologies has.

    Why: Kueue finds no place of a level that it does not know, and does not admit the job.
    Instead: name a level of the Topology that the queue's flavor refers to.
    Before: annotations: {kueue.x-k8s.io/podset-required-topology: cloud/rack}
    After: annotations: {kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
    """
    said = [role.pod_tree.get("metadata", "annotations", name) for role in job.roles for name in _LEVELS]
    asked = [each for each in said if each]
    topologies = job.documents.of_kind(_TOPOLOGY) if asked else ()
    known = sorted({str(value_at(level, ("nodeLabel",))) for each in topologies for _, level in items_at(each.data, ("spec", "levels"))})
    for level in asked if known else ():
        if text(level) not in known:
            yield Finding(level, f"no Topology in the files has the level `{text(level)}`", f"the levels are {', '.join(known)}")


RULES = (
    Rule(misplaced_queue_name, "warning", sees="job", reads=[QUEUE]),
    Rule(no_queue_name, "info", sees="job", kinds=[_LOCAL_QUEUE]),
    Rule(empty_queue_name, "warning", sees="job", reads=[QUEUE]),
    Rule(unsuspended_in_queue, "warning", sees="job", reads=[QUEUE]),
    Rule(unknown_queue, "warning", sees="job", reads=[QUEUE]),
    Rule(unknown_cluster_queue, "warning", sees="document"),
    Rule(deprecated_kueue_api, "info", sees="document"),
    Rule(old_trainer_in_queue, "info", sees="TrainJob", reads=[QUEUE]),
)
TOPOLOGY_RULES = (
    Rule(topology_too_narrow, "info", reads=[_REQUIRED]),
    Rule(unknown_topology_level, "warning", reads=_LEVELS),
)
