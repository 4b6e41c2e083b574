"""The JobSet that the trainer makes of a TrainJob.

Follows `Build` and `Builder` of the plugin jobset, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.edits import with_fields, with_items
from jobspec.operators.objects import set_by
from jobspec.operators.trainer.pod_sets import NODE, PodSet, is_configured, synced
from jobspec.operators.trainer.written import as_applied, with_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.operators.trainer.train_job import TrainJob

#: The part of a TrainJob that fetches something -> its field in `spec.initializer`; replicated job and container are named like the part.
_INITIALIZERS = {"dataset-initializer": "dataset", "model-initializer": "model"}


def jobset(job: TrainJob, sets: list[PodSet], spec: MarkedTree, *, command: MarkedTree | None = None) -> dict[str, Any]:
    """The JobSet as the trainer sends it; *spec* is the runtime's with the job's overrides.

    *command*: what a plugin runs in place of the job's command and arguments.
    """
    program: dict[str, MarkedTree | None] = (
        {"command": command} if command else {"command": _command(job, sets), "args": job.trainer("args")}
    )
    jobs = [_in_group(_with_job(_initializing(each, job), job, program).job, job) for each in (_synced(each, job) for each in sets)]
    listed = spec.get("replicatedJobs")
    whole = with_fields(spec, {"replicatedJobs": listed and listed.with_value(jobs), "suspend": job.tree.get("spec", "suspend")})
    metadata = {"name": job.name, **{name: labels for name in ("labels", "annotations") if (labels := _propagated(job, name))}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": as_applied(whole)}


def _command(job: TrainJob, sets: list[PodSet]) -> MarkedTree | None:
    """The command that a job sets, with what the trainer adds to it; None where the runtime's stays."""
    if not job.is_torchtune:
        return job.trainer("command")
    from jobspec.operators.trainer.torchtune import command_of

    return command_of(job, sets)


def _synced(pod_set: PodSet, job: TrainJob) -> PodSet:
    return PodSet(synced(pod_set, job), pod_set.count)


def _in_group(replicated: MarkedTree, job: TrainJob) -> MarkedTree:
    if job.group_policy() is None:
        return replicated
    from jobspec.operators.trainer.pod_groups import in_group

    return in_group(replicated, job)


def _propagated(job: TrainJob, name: str) -> MarkedTree | None:
    """The JobSet's labels or annotations: the runtime's, and the job's own from `spec` (until 2.1) or its patches (2.2 on)."""
    own = [job.tree.get("spec", name)]
    if job.reached("2.2.0"):
        patches = items(job.tree.get("spec", "runtimePatches"))
        own = [each.get("trainingRuntimeSpec", "template", "metadata", name) for each in patches]
    found = [each for each in (job.runtime.get("spec", "template", "metadata", name), *own) if each is not None]
    return (
        found[0].with_value({key: child for each in found for key, child in each.value.items()})
        if any(each.value for each in found)
        else None
    )


def _initializing(pod_set: PodSet, job: TrainJob) -> PodSet:
    """A replicated job that fetches the data or the model, with what the job says of it."""
    if pod_set.ancestor not in _INITIALIZERS:
        return pod_set
    initializer = job.tree.get("spec", "initializer", _INITIALIZERS[pod_set.ancestor])
    once = _once(pod_set, job)
    return once.with_container(pod_set.ancestor, lambda each: _fetching(each, initializer, job)) if initializer else once


def _fetching(container: MarkedTree, initializer: MarkedTree, job: TrainJob) -> MarkedTree:
    uri = initializer.get("storageUri")
    if uri:
        container = with_items(container, "env", [set_by(job.mark, {"name": "STORAGE_URI", "value": uri})])
    container = with_variables(container, initializer.get("env"))
    secret = initializer.get("secretRef", "name")
    if secret is None:
        return container
    sources = [*items(container.get("envFrom")), set_by(job.mark, {"secretRef": {"name": secret}})]
    return with_fields(container, {"envFrom": secret.with_value(sources)})


def _once(pod_set: PodSet, job: TrainJob) -> PodSet:
    return PodSet(with_fields(pod_set.job, {"replicas": MarkedTree(1, job.mark)}), pod_set.count)


def _with_job(pod_set: PodSet, job: TrainJob, program: dict[str, MarkedTree | None]) -> PodSet:
    """A replicated job that trains, with what the job says in `spec.trainer`; MPI's further nodes get the variables alone."""
    if pod_set.trains:
        own = {"image": job.trainer("image"), **program}
        pod_set = _once(pod_set, job).with_container(NODE, lambda each: _without_empty_lists(with_fields(each, own)))
    if is_configured(pod_set, job):
        return pod_set.with_container(NODE, lambda each: with_variables(each, job.trainer("env")))
    return pod_set


def _without_empty_lists(container: MarkedTree) -> MarkedTree:
    """An empty command or list of arguments is not sent, so the image's own counts."""
    return container.with_value({name: each for name, each in container.value.items() if name not in ("command", "args") or each.value})
