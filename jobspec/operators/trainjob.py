"""Expand a TrainJob: the trainer's objects, the Jobs and the Service that JobSet makes of the JobSet, and the pods of the Jobs."""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, PRIORITY_CLASS
from jobspec.operators.batch_job import completions_of, job_defaults, pods_of
from jobspec.operators.edits import changed
from jobspec.operators.jobset.made import made_by_jobset
from jobspec.operators.jobset.webhooks import admitted, stored_jobset
from jobspec.operators.objects import Expansion, set_by
from jobspec.operators.pods import ROLE
from jobspec.operators.stored import api_server, stored
from jobspec.operators.trainer.made import made_by_trainer
from jobspec.operators.trainer.train_job import TrainJob
from jobspec.runtimes.runtime import RuntimeRef
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Diagnostic, Mark
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.targets import Target


def expand_trainjob(
    job: Document,
    runtime: Document | None,
    target: Target,
    *,
    beside: Sequence[Document] = (),
    ends: bool = False,
    accepted: bool = False,
) -> Expansion:
    """What the trainer, JobSet and Kubernetes make of a TrainJob that a server accepts, in the order in which it comes.

    *beside*: documents in which a priority class of the pods may be; *ends*, *accepted*: as for `expand`.
    """
    if runtime is None:
        return Expansion((), [_no_runtime(job, target)])
    train_job = TrainJob(stored(job, target), _stored_runtime(runtime, target), target["trainer"])
    managed = _managed_by_others(train_job, job)
    if managed:
        return Expansion((), [managed])
    made = made_by_trainer(train_job, job, runtime, target)
    sent = [each for each in made.objects if text(each, "kind") == "JobSet"]
    jobsets = [stored_jobset(each, target) for each in sent]
    further = [each for jobset in jobsets for each in expand_jobset(jobset, target, beside=beside, ends=ends)]
    refused = [] if accepted else [each for jobset in jobsets for each in _refusals(jobset, job, target)]
    return Expansion([*made.objects, *further], [*made.diagnostics, *refused], counts=_counts(further))


def _managed_by_others(train_job: TrainJob, job: Document) -> Diagnostic | None:
    if value_at(job.data, ("spec", "managedBy")) is None:
        return None
    from jobspec.operators.trainer.failures import managed_by_others

    return managed_by_others(train_job, job)


def _refusals(jobset: MarkedTree, job: Document, target: Target) -> Iterator[Diagnostic]:
    from jobspec.operators.jobset.refused import refusals

    return refusals(jobset, job, target)


def _counts(objects: Sequence[MarkedTree]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in objects:
        if text(each, "kind") == "Job":
            role = text(each, "metadata", "labels", ROLE)
            found[role] = found.get(role, 0) + completions_of(each)
    return found


def expand_jobset(jobset: MarkedTree, target: Target, *, beside: Sequence[Document], ends: bool) -> list[MarkedTree]:
    """What comes of a stored JobSet. *ends*: as for `expand`."""
    objects = made_by_jobset(jobset, target)
    return [*objects, *(pod for each in objects if text(each, "kind") == "Job" for pod in _pods(each, target, beside, ends=ends))]


def _pods(job: MarkedTree, target: Target, beside: Sequence[Document], *, ends: bool) -> list[MarkedTree]:
    server = api_server(target)
    stored_job = job_defaults(job, server)
    priority = _priority(stored_job.value["spec"].value["template"].value["spec"], server, beside)
    return [admitted(pod, target, priority) for pod in pods_of(stored_job, target, ends=ends)]


def _priority(spec: MarkedTree, server: Mark, beside: Sequence[Document]) -> MarkedTree | None:
    """The priority of the pods of a Job; None where their class is not at hand."""
    if spec.get("priorityClassName") is None and not any(each.group_kind == PRIORITY_CLASS for each in beside):
        return spec.get("priority") or set_by(server, 0)
    from jobspec.operators.api_defaults.priority import with_priority

    return with_priority(spec, server, beside).get("priority")


def _stored_runtime(runtime: Document, target: Target) -> MarkedTree:
    """A runtime as the server stores it; one of the whole cluster has no namespace."""
    tree = stored(runtime, target)
    if runtime.group_kind != CLUSTER_TRAINING_RUNTIME:
        return tree
    return changed(tree, ("metadata",), lambda each: each.with_value({name: it for name, it in each.value.items() if name != "namespace"}))


def _no_runtime(job: Document, target: Target) -> Diagnostic:
    ref = RuntimeRef(job.data)
    message = f"there is no {ref.kind} `{ref.name}` at hand, and none in trainer {target['trainer']}: nobody can say what comes of the job"
    hint = "write the runtime into the job's file, or give its file, too"
    return job.problem("unresolved-reference", message, ("spec", "runtimeRef", "name"), hint=hint)
