"""The JobSet that the trainer makes of a TrainJob.

Follows `Build` and `Builder` of the plugin jobset, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, with_fields
from jobspec.operators.jobset import JOBSET
from jobspec.operators.made import as_applied, with_items, with_variables
from jobspec.operators.trainer.gang_scheduling import in_group
from jobspec.operators.trainer.pod_sets import TrainerPodSet, is_configured, synced
from jobspec.operators.trainer.runtimes import INITIALIZERS
from jobspec.operators.trainer.torchtune_command import command_of_torchtune
from jobspec.operators.trainer.train_job import JobOfTrainer
from jobspec.operators.workloads import NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def jobset_of(job: JobOfTrainer, sets: list[TrainerPodSet], spec: MarkedTree, *, command: MarkedTree | None = None) -> dict[str, Any]:
    """The JobSet as the trainer sends it; *spec* is the runtime's with the job's overrides.

    *command*: what a plugin runs in place of the job's command and arguments.
    """
    program = {"command": command or _command(job, sets), **({} if command else {"args": job.trainer("args")})}
    sent = [each.changed(job=synced(each, job)) for each in sets]
    jobs = [in_group(_with_job(_initializing(each, job), job, program).job, job) for each in sent]
    listed = spec.get("replicatedJobs")
    whole = with_fields(spec, {"replicatedJobs": listed and listed.with_value(jobs), "suspend": job.tree.get("spec", "suspend")})
    metadata = {"name": job.name, **{name: labels for name in ("labels", "annotations") if (labels := _propagated(job, name))}}
    return {"apiVersion": JOBSET[0], "kind": JOBSET[1], "metadata": metadata, "spec": as_applied(whole)}


def _command(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The command that a job sets, with what the trainer adds to it; None where the runtime's stays."""
    return command_of_torchtune(job, sets) if job.is_torchtune else job.trainer("command")


def _propagated(job: JobOfTrainer, name: str) -> MarkedTree | None:
    """The JobSet's labels or annotations: the runtime's, and the job's own from `spec` (until 2.1) or its patches (2.2 on)."""
    own = [job.tree.get("spec", name)]
    if job.is_at_least("2.2.0"):
        patches = items(job.tree.get("spec", "runtimePatches"))
        own = [each.get("trainingRuntimeSpec", "template", "metadata", name) for each in patches]
    found = [each for each in (job.runtime.get("spec", "template", "metadata", name), *own) if each is not None]
    every = {key: child for each in found for key, child in each.value.items()}
    return found[0].with_value(every) if every else None


def _initializing(pod_set: TrainerPodSet, job: JobOfTrainer) -> TrainerPodSet:
    """A replicated job that fetches the data or the model, with what the job says of it."""
    field = next((field for field, part in INITIALIZERS.items() if part == pod_set.ancestor), "")
    if not field:
        return pod_set
    once, initializer = _once(pod_set, job), job.tree.get("spec", "initializer", field)
    return once.with_container(pod_set.ancestor, lambda each: _fetching(each, initializer, job)) if initializer else once


def _fetching(container: MarkedTree, initializer: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """The container of an initializer, with the place that it fetches from, its variables and its secret."""
    uri = initializer.get("storageUri")
    if uri:
        container = with_items(container, "env", [set_by(job.mark, {"name": "STORAGE_URI", "value": uri})])
    container = with_variables(container, initializer.get("env"))
    secret = initializer.get("secretRef", "name")
    if secret is None:
        return container
    sources = [*items(container.get("envFrom")), set_by(job.mark, {"secretRef": {"name": secret}})]
    return with_fields(container, {"envFrom": secret.with_value(sources)})


def _once(pod_set: TrainerPodSet, job: JobOfTrainer) -> TrainerPodSet:
    return pod_set.changed(job=with_fields(pod_set.job, {"replicas": MarkedTree(1, job.mark)}))


def _with_job(pod_set: TrainerPodSet, job: JobOfTrainer, program: dict[str, MarkedTree | None]) -> TrainerPodSet:
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
