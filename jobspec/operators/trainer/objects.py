"""Expand a TrainJob: the trainer's objects, the Jobs and the Service that JobSet makes of the JobSet, and the pods of the Jobs.

Follows `NewObjects`, github.com/kubeflow/trainer pkg/runtime/core, and `reconcileObjects` in pkg/controller, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, changed, of_kind, set_by, text, with_fields
from jobspec.operators.jobset import JOBSET
from jobspec.operators.jobset.mutation import stored_jobset
from jobspec.operators.jobset.pods import counts_of, objects_of_jobset
from jobspec.operators.jobset.refusals import refusals
from jobspec.operators.made import Expansion, as_typed, owner_references, stored
from jobspec.operators.trainer import flux, mpi
from jobspec.operators.trainer.failures import failures, managed_by_others
from jobspec.operators.trainer.frameworks import enforced, is_active
from jobspec.operators.trainer.gang_scheduling import pod_groups
from jobspec.operators.trainer.job_set import jobset_of
from jobspec.operators.trainer.node_resources import with_resources
from jobspec.operators.trainer.overrides import overridden
from jobspec.operators.trainer.pod_sets import pod_sets
from jobspec.operators.trainer.runtimes import API_VERSION, PATCH_FIELDS, RuntimeReference, group_counts_runtime_only
from jobspec.operators.trainer.snapshot import snapshot, snapshot_name
from jobspec.operators.trainer.train_job import JobOfTrainer
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.apis.releases import Target


def expand_trainjob(
    job: Document,
    runtime: Document | None,
    target: Target,
    *,
    context: Sequence[Document] = (),
    first_and_last_only: bool = False,
    skip_server_checks: bool = False,
) -> Expansion:
    """What the trainer, JobSet and Kubernetes make of a TrainJob that a server accepts, in the order in which it comes.

    *context*: documents in which a priority class of the pods may be; *first_and_last_only*, *skip_server_checks*: as for `expand`.
    """
    if runtime is None:
        return Expansion((), [_no_runtime(job, target)])
    train_job = JobOfTrainer(stored(job, target), _stored_runtime(runtime, target), target["trainer"])
    managed = managed_by_others(train_job, job)
    if managed:
        return Expansion((), [managed])
    made = made_by_trainer(train_job, job, runtime, target)
    further, refused = list[MarkedTree](), list[Diagnostic]()
    for jobset in [stored_jobset(each, target) for each in of_kind(made.objects, "JobSet")]:
        further += objects_of_jobset(jobset, target, context=context, first_and_last_only=first_and_last_only)
        refused += [] if skip_server_checks else refusals(jobset, job, target)
    return Expansion([*made.objects, *further], [*made.diagnostics, *refused], counts=counts_of(further))


def _stored_runtime(runtime: Document, target: Target) -> MarkedTree:
    """A runtime as the server stores it; one of the whole cluster has no namespace."""
    tree = stored(runtime, target)
    if runtime.group_kind != CLUSTER_TRAINING_RUNTIME:
        return tree
    return changed(tree, ("metadata",), lambda each: each.with_value({name: it for name, it in each.value.items() if name != "namespace"}))


def _no_runtime(job: Document, target: Target) -> Diagnostic:
    ref = RuntimeReference(job.data)
    message = f"no {ref.kind} `{ref.name}` in the files or in trainer {target['trainer']}: what becomes of the job is not known"
    hint = "add the runtime to the job's file, or pass its file, too"
    return job.problem("unresolved-reference", message, ("spec", "runtimeRef", "name"), hint=hint)


def made_by_trainer(job: JobOfTrainer, document: Document, runtime: Document, target: Target) -> Expansion:
    """The objects that the trainer sends, the JobSet last; all belong to the job. *document*, *runtime*: for problems in them."""
    template = job.runtime.get("spec", "template", "spec")
    spec = _overridden(template or MarkedTree({}, job.mark), job, target)
    before = pod_sets(spec, job)
    kept = [snapshot(job, target)] if snapshot_name(text(job.name), target) else []
    found = list(failures(job, before, document, runtime))
    if found:
        return Expansion([_sent(each, job) for each in kept], found)
    sets = enforced(with_resources(before, job) if job.is_at_least("2.3.0") else before, job)
    has_flux = is_active(job, "flux")
    late = sets if job.is_at_least("2.3.0") else with_resources(sets, job)  # before 2.3 the plugins have counted the runtime's own
    final = jobset_of(job, late, spec, command=flux.wrapped_command(before, job) if has_flux else None)
    plugins = [mpi.secret(job), mpi.host_file(job, sets, spec)] if job.policy("mpi") is not None else []
    plugins += flux.settings_and_keys(job) if has_flux else []
    counted = sets if group_counts_runtime_only(job.release) else with_resources(sets, job)
    groups = pod_groups(job, counted, final["metadata"].get("annotations"))
    return Expansion([_sent(each, job) for each in (*kept, *plugins, *groups, final)])


def _overridden(spec: MarkedTree, job: JobOfTrainer, target: Target) -> MarkedTree:
    """The spec of the runtime's JobSet in Go's form, with the changes that the job says."""
    shape = shapes.part(*JOBSET, target, ("spec",))
    typed = as_typed(spec, shape)
    if not any(job.tree.get("spec", name) for name in PATCH_FIELDS):
        return typed
    return as_typed(overridden(typed, job, shape, target), shape)


def _sent(made: dict[str, Any], job: JobOfTrainer) -> MarkedTree:
    """An object in the job's namespace that goes when the job goes."""
    tree = set_by(job.mark, made)
    owners = owner_references(job.mark, API_VERSION, "TrainJob", job.name)
    own = {"namespace": job.tree.get("metadata", "namespace"), "ownerReferences": owners}
    return with_fields(tree, {"metadata": with_fields(tree.value["metadata"], own)})
