"""What the trainer makes of a TrainJob whose runtime is known.

Follows `NewObjects`, github.com/kubeflow/trainer pkg/runtime/core, and `reconcileObjects` in pkg/controller, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import LateTree, MarkedTree, text
from jobspec.operators.edits import with_fields
from jobspec.operators.objects import Expansion, set_by
from jobspec.operators.stored import UID
from jobspec.operators.trainer.jobset import jobset
from jobspec.operators.trainer.pod_sets import PodSet, pod_sets
from jobspec.operators.trainer.policies import enforced, is_active
from jobspec.operators.trainer.resources import with_resources
from jobspec.operators.trainer.written import as_typed
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.operators.trainer.train_job import TrainJob
    from jobspec.targets import Target

#: The fields by which a job of some release changes the runtime's JobSet.
_CHANGES = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")


def made_by_trainer(job: TrainJob, document: Document, runtime: Document, target: Target) -> Expansion:
    """The objects that the trainer sends, the JobSet last; all belong to the job. *document*, *runtime*: for problems in them."""
    template = job.runtime.get("spec", "template", "spec")
    spec = _overridden(template or MarkedTree({}, job.mark), job, target)
    before = pod_sets(spec, job)
    kept = [_snapshot(job, target)] if job.reached("2.3.0") else []
    found = _failures(job, before, document, runtime)
    if found:
        return Expansion([_sent(each, job) for each in kept], found)
    sets = enforced(with_resources(before, job) if job.reached("2.3.0") else before, job)
    final = jobset(job, _with_late_resources(sets, job), spec, command=_command_of_plugin(before, job))
    beside = _beside(job, sets, spec)
    return Expansion([_sent(each, job) for each in (*kept, *beside, *_groups(job, sets, final), final)])


def _snapshot(job: TrainJob, target: Target) -> dict[str, Any]:
    """The ConfigMap with the runtime, whose text is made for the first who looks at it."""

    def runtime() -> str:
        from jobspec.operators.trainer.snapshot import written

        return written(job.runtime, target)

    place = job.runtime.value["metadata"].value["name"]
    name = f"{text(job.name)}-runtime-snapshot"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"runtime": LateTree(runtime, place.mark, place.key)},
    }


def _failures(job: TrainJob, sets: list[PodSet], document: Document, runtime: Document) -> list[Diagnostic]:
    """Why the trainer makes no JobSet; frameworks that have no such reason are left out."""
    if all(job.policy(name) is None for name in ("flux", "jax", "mpi")):
        return []
    from jobspec.operators.trainer.failures import failures

    return list(failures(job, sets, document, runtime))


def _overridden(spec: MarkedTree, job: TrainJob, target: Target) -> MarkedTree:
    """The spec of the runtime's JobSet in Go's form, with the changes that the job says."""
    whole = shapes.load("jobset.x-k8s.io/v1alpha2", "JobSet", target)
    shape = whole and whole.at(("spec",))
    assert shape
    typed = as_typed(spec, shape)
    if not any(job.tree.get("spec", name) for name in _CHANGES):
        return typed
    from jobspec.operators.trainer.overrides import overridden

    return as_typed(overridden(typed, job, shape, target), shape)


def _command_of_plugin(sets: list[PodSet], job: TrainJob) -> MarkedTree | None:
    """What a plugin runs in place of the job's command; None where none does."""
    if not is_active(job, "flux"):
        return None
    from jobspec.operators.trainer.flux import wrapped_command

    return wrapped_command(sets, job)


def _beside(job: TrainJob, sets: list[PodSet], spec: MarkedTree) -> list[dict[str, Any]]:
    """The settings and keys that plugins send beside the JobSet."""
    found: list[dict[str, Any]] = []
    if job.policy("mpi") is not None:
        from jobspec.operators.trainer.mpi import host_file, secret

        found += [secret(job), host_file(job, sets, spec)]
    if is_active(job, "flux"):
        from jobspec.operators.trainer.flux import settings_and_keys

        found += settings_and_keys(job)
    return found


def _groups(job: TrainJob, sets: list[PodSet], jobset: dict[str, Any]) -> list[dict[str, Any]]:
    """The pod groups of a runtime that has a policy for them."""
    if job.group_policy() is None:
        return []
    from jobspec.operators.trainer.pod_groups import pod_groups

    return pod_groups(job, with_resources(sets, job), jobset["metadata"].get("annotations"))


def _with_late_resources(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """Before 2.3 the job's resources replace those of the runtime only after the plugins have counted these."""
    return sets if job.reached("2.3.0") else with_resources(sets, job)


def _sent(made: dict[str, Any], job: TrainJob) -> MarkedTree:
    """An object in the job's namespace that goes when the job goes."""
    tree = set_by(job.mark, made)
    owner = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": job.name,
        "uid": UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = with_fields(tree.value["metadata"], {"namespace": job.tree.get("metadata", "namespace")})
    owned = with_fields(metadata, {"ownerReferences": set_by(job.mark, [owner])})
    return with_fields(tree, {"metadata": owned})
