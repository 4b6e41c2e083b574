"""Kueue: jobs that wait in queues, and the queues."""

from __future__ import annotations

from jobspec.documents.document import Document
from jobspec.documents.marked_tree import text
from jobspec.go.quantities import Quantity, quantity
from jobspec.lint.containers import requested, requests_of
from jobspec.lint.rule import Edit, Finding, Rule
from jobspec.operators.trainer.releases import has_runtime_patches
from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.lint.views import DocumentView, JobView

_QUEUE = "kueue.x-k8s.io/queue-name"
_LOCAL_QUEUE, _CLUSTER_QUEUE = ("kueue.x-k8s.io", "LocalQueue"), ("kueue.x-k8s.io", "ClusterQueue")


def misplaced_queue_name(job: JobView) -> Iterator[Finding]:
    """The name of the queue is not a label of the job.

    Why: Kueue looks at the labels of the job itself. At the pods, or as an annotation, the name is not seen: the job starts past every
    queue and quota, or its pods are taken one by one.
    Instead: write it into `metadata.labels` of the job.
    Fix: adds the label to the job; what is written elsewhere stays, and the pods are the same.
    Before: template: {metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}}
    After: metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775, kubeflow/trainer#3221; https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/pytorchjobs/
    """
    if job.tree.get("metadata", "labels", _QUEUE):
        return
    said = [job.tree.get("metadata", "annotations", _QUEUE)]
    said += [role.pods[0].tree.get("metadata", "labels", _QUEUE) for role in job.roles]
    place = next((each for each in said if each), None)
    if place:
        edits = [Edit(("metadata",), ("labels", _QUEUE), place.value)] if job.get("metadata") else []
        yield Finding(
            place, f"Kueue looks for the queue `{text(place)}` at the labels of the job", "write it into `metadata.labels`", edits=edits
        )


def no_queue_name(job: JobView) -> Iterator[Finding]:
    """The job names no queue, and its namespace has LocalQueues.

    Why: Kueue leaves a job without a queue alone: it starts past all quotas, and takes what was promised to those that wait.
    Instead: name a queue. A LocalQueue named `default` is that of all jobs that name none.
    Before: metadata: {name: train}
    After: metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}
    Evidence: kubeflow/trainer#2775; https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/
    """
    queues = job.documents.names_beside(job.given, _LOCAL_QUEUE)
    is_named = job.get("metadata", "labels", _QUEUE) is not None or next(misplaced_queue_name(job), None)
    if queues and not is_named and "default" not in queues:
        hint = f"name one by the label `{_QUEUE}`: {', '.join(f'`{each}`' for each in queues[:3])}"
        yield Finding(("metadata", "name"), "the job starts past the queues of its namespace", hint)


def empty_queue_name(job: JobView) -> Iterator[Finding]:
    """The label that names the queue is empty.

    Why: an empty name is no queue: Kueue lets the job start past all quotas or, where it manages jobs without a queue, never.
    Instead: name a LocalQueue of the job's namespace, or remove the label.
    Before: labels: {kueue.x-k8s.io/queue-name: ""}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: kubernetes-sigs/kueue#13293
    """
    said = job.tree.get("metadata", "labels", _QUEUE)
    if said and said.value == "":
        yield Finding(said, "an empty name is no queue", "name a LocalQueue of the job's namespace")


def unsuspended_in_queue(job: JobView) -> Iterator[Finding]:
    """A job in a queue says `suspend: false`.

    Why: Kueue suspends and releases the job by this field. An engine that syncs the manifest writes `false` back, and starts what has no
    quota; an apply is refused, or fights with Kueue for ever.
    Instead: leave the field out: Kueue suspends the job when it is made.
    Fix: removes the field; the pods are the same.
    Before: runPolicy: {suspend: false}
    After: runPolicy: {}
    Evidence: kubeflow/trainer#3888, kubernetes-sigs/kueue#14676
    """
    said = job.tree.get(*(("spec", "runPolicy", "suspend") if job.is_pytorchjob else ("spec", "suspend")))
    if said and said.value is False and text(job.tree, "metadata", "labels", _QUEUE):
        yield Finding(said, "Kueue releases the job by this field, and Git takes it back", "leave it out", edits=[Edit(said, removes=True)])


def unknown_queue(job: JobView) -> Iterator[Finding]:
    """The job names a queue that is not among the LocalQueues of its namespace.

    Why: a job of an unknown queue waits suspended, without an error, until somebody makes the queue.
    Instead: name one of the queues, or give the file of the queue, too.
    Before: labels: {kueue.x-k8s.io/queue-name: teama}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    said = job.tree.get("metadata", "labels", _QUEUE)
    queues = job.documents.of_kind(_LOCAL_QUEUE)
    if not said or not said.value or not queues:
        return
    if job.documents.named(job.given, _LOCAL_QUEUE, text(said)) is None:
        elsewhere = next((each.namespace for each in job.documents.of_name(_LOCAL_QUEUE, text(said))), "")
        known = job.documents.names_beside(job.given, _LOCAL_QUEUE)
        hint = f"it is in the namespace `{elsewhere}`" if elsewhere else f"there is {', '.join(f'`{each}`' for each in known)}"
        message = f"there is no LocalQueue `{text(said)}` in the job's namespace"
        yield Finding(said, message, hint if elsewhere or known else "")


def over_queue_quota(job: JobView) -> Iterator[Finding]:
    """The job's pods ask for more than its queue can ever have.

    Why: Kueue admits a job as a whole, and keeps one that does not fit waiting for ever, with a message that is easily overlooked.
    Instead: ask for less, or raise the quota of the ClusterQueue.
    Before: nominalQuota: 8
    After: nominalQuota: 16
    Evidence: kubernetes-sigs/kueue#2796
    """
    said = job.tree.get("metadata", "labels", _QUEUE)
    local = job.documents.named(job.given, _LOCAL_QUEUE, text(said)) if said else None
    name = value_at(local.data, ("spec", "clusterQueue")) if local else None
    queue = next(iter(job.documents.of_name(_CLUSTER_QUEUE, str(name))), None)
    if said is None or queue is None:
        return
    quotas = _quotas(queue)
    over = [
        f"for {_amount(wanted, resource)} {resource}, and the queue `{queue.name}` can have {_amount(quota, resource)} at most"
        for resource, quota in quotas.items()
        if quota is not None and (wanted := sum(requested(role.pods[0].tree, resource) * role.count for role in job.roles)) > quota
    ]
    asked = {name for role in job.roles for name in requests_of(role.pods[0].tree)}
    none = [f"for {resource}, of which the queue `{queue.name}` has none" for resource in sorted(asked - {*quotas, "pods"})]
    if over or none:
        hint = "ask for less, or raise the quota" if over else "cover it by a quota of the ClusterQueue"
        yield Finding(said, f"the pods ask {'; '.join([*over, *none])}", hint)


def _amount(nanos: int, resource: str) -> Quantity:
    return Quantity(nanos, "binary" if resource in ("memory", "ephemeral-storage") else "decimal")


def queue_of_nothing(document: DocumentView) -> Iterator[Finding]:
    """A LocalQueue names a ClusterQueue that is not among those of the files.

    Why: such a queue is inactive, and its jobs wait for ever.
    Instead: name one of the ClusterQueues, or give its file, too.
    Before: clusterQueue: clusterqueue
    After: clusterQueue: cluster-queue
    Evidence: https://kueue.sigs.k8s.io/docs/concepts/local_queue/
    """
    name = document.get("spec", "clusterQueue")
    if document.given.group_kind != _LOCAL_QUEUE or not isinstance(name, str) or document.documents.of_name(_CLUSTER_QUEUE, name):
        return
    known = sorted({each.name for each in document.documents.of_kind(_CLUSTER_QUEUE)})
    if known:
        listed = ", ".join(f"`{each}`" for each in known)
        yield Finding(("spec", "clusterQueue"), f"there is no ClusterQueue `{name}` in the files", f"there is {listed}")


def old_kueue_api(document: DocumentView) -> Iterator[Finding]:
    """A document of `kueue.x-k8s.io/v1beta1`, which Kueue 0.20 serves no more.

    Why: after an update of Kueue, an apply fails, and an engine's sync with it.
    Instead: `v1beta2`, which Kueue has since 0.15. Some fields have other names there: a ClusterQueue's `cohort` is `cohortName`.
    Before: apiVersion: kueue.x-k8s.io/v1beta1
    After: apiVersion: kueue.x-k8s.io/v1beta2
    Evidence: the release notes of Kueue 0.20
    """
    if document.given.api_version == "kueue.x-k8s.io/v1beta1":
        yield Finding(("apiVersion",), "Kueue serves this version no more from 0.20 on", "write `kueue.x-k8s.io/v1beta2`")


def old_trainer_in_queue(job: JobView) -> Iterator[Finding]:
    """A TrainJob in a queue, on a trainer that Kueue 0.17 and later cannot release jobs of.

    Why: Kueue 0.17 writes `runtimePatches` into the TrainJob to release it. The CRDs of trainers before 2.2 do not have the field: the
    server drops it, and the job stays suspended for ever, although Kueue has admitted it.
    Instead: trainer 2.2 or later, or Kueue 0.16.
    Before: jobspec lint --target trainer=2.1
    After: jobspec lint --target trainer=2.2
    Evidence: kubernetes-sigs/kueue#11931
    """
    said = None if job.is_pytorchjob else job.tree.get("metadata", "labels", _QUEUE)
    release = job.documents.target["trainer"]
    if said and not has_runtime_patches(release):
        yield Finding(
            said, f"Kueue 0.17 and later cannot release TrainJobs of trainer {release}", "use trainer 2.2 or later, or Kueue 0.16"
        )


def _quotas(queue: Document) -> dict[str, int | None]:
    """The most that a ClusterQueue can have of each resource, in billionths; None where it can borrow without a limit."""
    in_cohort = any(value_at(queue.data, ("spec", field)) for field in ("cohort", "cohortName"))
    most: dict[str, int] = {}
    unlimited = set()
    for _, group in items_at(queue.data, ("spec", "resourceGroups")):
        for _, flavor in items_at(group, ("flavors",)):
            for _, resource in items_at(flavor, ("resources",)):
                name = value_at(resource, ("name",))
                limit = value_at(resource, ("borrowingLimit",))
                if isinstance(name, str):
                    most[name] = most.get(name, 0) + _nanos(value_at(resource, ("nominalQuota",))) + (_nanos(limit) if in_cohort else 0)
                    unlimited |= {name} if in_cohort and limit is None else set()
    return {name: None if name in unlimited else quota for name, quota in most.items()}


def _nanos(said: Any) -> int:
    try:
        return quantity(str(said)).nanos
    except ValueError:
        return 0


RULES = (
    Rule(misplaced_queue_name, "warning", sees="job"),
    Rule(no_queue_name, "info", sees="job"),
    Rule(empty_queue_name, "warning", sees="job"),
    Rule(unsuspended_in_queue, "warning", sees="job"),
    Rule(unknown_queue, "warning", sees="job"),
    Rule(over_queue_quota, "warning", sees="job"),
    Rule(queue_of_nothing, "warning", sees="document"),
    Rule(old_kueue_api, "info", sees="document"),
    Rule(old_trainer_in_queue, "info", sees="job"),
)
