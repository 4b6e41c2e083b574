"""A runtime's JobSet with the changes of a TrainJob: `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1), `runtimePatches` (2.2 on).

Follows `mergePodSpecOverrides`, `mergePodTemplateOverrides` and `mergeRuntimePatches`, github.com/kubeflow/trainer pkg/runtime/core.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, items, text
from jobspec.kubernetes.strategic_merge import merged
from jobspec.operators.made import as_go_writes
from jobspec.operators.trainer.runtimes import API_VERSION, PATCH_FIELDS
from jobspec.operators.workloads import PATCHED_JOBS, TEMPLATE
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.operators.trainer.train_job import JobOfTrainer

    Change = Callable[[MarkedTree], MarkedTree]


def overridden(spec: MarkedTree, job: JobOfTrainer, shape: Shape, target: Target) -> MarkedTree:
    """The spec of the runtime's JobSet, whose *shape* that is, with the job's changes."""
    own = shapes.part(API_VERSION, "TrainJob", target)
    if job.is_at_least("2.3.0"):
        return _patched_whole(spec, job, shape, own)
    if job.is_at_least("2.2.0"):
        return _patched_jobs(spec, job, shape, own)
    return _overridden_pods(spec, job, shape, own)


def _entries(job: JobOfTrainer, field: str, own: Shape) -> list[MarkedTree]:
    """The changes as the trainer writes them again before it merges them."""
    shape = own.at(("spec", field, 0))
    return [_with_empty_account(as_go_writes(entry, shape), entry) for entry in items(job.tree.get("spec", field))]


def _with_empty_account(written: MarkedTree, given: MarkedTree) -> MarkedTree:
    """A change that sends an empty `serviceAccountName`, if it was given so: this is a pointer here, and takes the runtime's away."""
    if isinstance(given.value, list):
        pairs = zip(items(written), items(given), strict=True)
        return written.with_value([_with_empty_account(new, old) for new, old in pairs])
    if not isinstance(given.value, dict):
        return written
    kept = {name: _with_empty_account(child, given.value[name]) for name, child in written.value.items()}
    empty = {name: child for name, child in given.value.items() if name == "serviceAccountName" and child.value == ""}
    return written.with_value({**kept, **empty})


def _patched_whole(spec: MarkedTree, job: JobOfTrainer, shape: Shape, own: Shape) -> MarkedTree:
    """From 2.3 on patches are merged with the whole spec; an unknown replicated job comes first, all others keep their order."""
    order = {text(each, "name"): place for place, each in enumerate(items(spec.get("replicatedJobs")))}
    for entry in _entries(job, "runtimePatches", own):
        patch = entry.get("trainingRuntimeSpec", "template", "spec")
        if patch:
            spec = merged(spec, patch, shape)
    jobs = spec.get("replicatedJobs")
    if jobs is None:
        return spec
    ordered = sorted(items(jobs), key=lambda each: order.get(text(each, "name"), 0))
    return spec.with_value({**spec.value, "replicatedJobs": jobs.with_value(ordered)})


def _patched_jobs(spec: MarkedTree, job: JobOfTrainer, shape: Shape, own: Shape) -> MarkedTree:
    """In 2.2 patches are merged with each replicated job that they name, one after the other."""
    template = shape.at(("replicatedJobs", 0, "template"))
    for entry in _entries(job, "runtimePatches", own):
        for patch in items(entry.get(*PATCHED_JOBS)):
            change = patch.get("template")
            if change:
                spec = _with_job(spec, {text(patch, "name")}, ("template",), change, template)
    return spec


def _overridden_pods(spec: MarkedTree, job: JobOfTrainer, shape: Shape, own: Shape) -> MarkedTree:
    """Until 2.1 overrides are merged with the pods of each replicated job that they name."""
    template = shape.at(("replicatedJobs", 0, *TEMPLATE))
    field = PATCH_FIELDS[1 if job.is_at_least("2.1.0") else 0]
    for entry in _entries(job, field, own):
        names = {text(each, "name") for each in items(entry.get("targetJobs"))}
        spec = _with_job(spec, names, TEMPLATE, entry.with_value(_template_of(entry, field)), template)
    return spec


def _template_of(entry: MarkedTree, field: str) -> dict[str, MarkedTree]:
    """What an override says of a pod template: in 2.0 the pod's spec, later also metadata, of which labels and annotations count."""
    if field == PATCH_FIELDS[0]:
        return {"spec": entry.with_value({name: each for name, each in entry.value.items() if name != "targetJobs"})}
    metadata = entry.get("metadata")
    kept = {name: each for name, each in metadata.value.items() if name in ("labels", "annotations")} if metadata else {}
    spec = entry.get("spec")
    return {**({"metadata": metadata.with_value(kept)} if metadata and kept else {}), **({"spec": spec} if spec else {})}


def _with_job(spec: MarkedTree, names: set[str], path: tuple[str, ...], change: MarkedTree, shape: Shape | None) -> MarkedTree:
    """The spec with a change merged at a path of the replicated jobs of some names."""

    def one(replicated: MarkedTree) -> MarkedTree:
        if text(replicated, "name") not in names:
            return replicated
        return changed(replicated, path, lambda before: merged(before, change, shape))

    return each_item(spec, "replicatedJobs", one)
