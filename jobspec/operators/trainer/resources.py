"""The resources of a node: what the runtime and the job ask for, and the processes for which the trainer counts its GPUs and CPUs.

Follows `ExtractResourcePerNodeFromRuntime` and `GetNumGPUPerNode`, github.com/kubeflow/trainer pkg/runtime, `EnforceMLPolicy`,
`calculateNumProcPerNode` and `getNumCPUPerNode` of the plugin torch and `MergeResourceRequirements` in pkg/util/trainingruntime, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.go.quantities import canonical_quantity, quantity
from jobspec.operators.edits import with_fields
from jobspec.operators.trainer.pod_sets import NODE, is_configured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

AMOUNTS = ("limits", "requests")


def resources_per_node(job: TrainJob, sets: list[PodSet]) -> MarkedTree:
    """The resources that count for a node: the job's, if it has any, else those of the runtime's container."""
    own = job.trainer("resourcesPerNode")
    if own:
        return own
    nodes = [
        container for each in sets if each.trains or each.name == NODE for container in each.containers() if text(container, "name") == NODE
    ]
    found = [resources for container in nodes if (resources := container.get("resources"))]
    return found[0] if found else MarkedTree({}, job.mark)


def gpus(resources: MarkedTree) -> MarkedTree | None:
    """The amount of GPUs, of the requests before the limits; None where there are none."""
    for name in ("requests", "limits"):
        amounts = [amount for key, amount in resources.entries(name) if "gpu" in key.lower()]
        if amounts and whole(amounts[0]):
            return amounts[0]
    return None


def cpus(resources: MarkedTree) -> MarkedTree | None:
    """The amount of CPUs: the requests where they are not zero, else the limits; None where there is none."""
    found = [amount for name in ("requests", "limits") if (amount := resources.get(name, "cpu"))]
    return next(filter(whole, found), None)


def whole(amount: MarkedTree) -> int:
    """A quantity as a whole number, rounded up."""
    return quantity(str(amount.value)).rounded_up()


def with_resources(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The containers that train with the job's resources: merged with the runtime's from 2.3 on, in place of them before."""
    own = job.trainer("resourcesPerNode")
    counts = job.policy() is not None if job.reached("2.3.0") else own is not None and any(own.get(name) for name in AMOUNTS)
    if own is None or not counts:
        return sets
    change = _merged if job.reached("2.3.0") else _replaced
    return [each.with_container(NODE, lambda container: change(container, own)) if is_configured(each, job) else each for each in sets]


def _replaced(container: MarkedTree, own: MarkedTree) -> MarkedTree:
    return with_fields(container, {"resources": _amounts(own)})


def _merged(container: MarkedTree, own: MarkedTree) -> MarkedTree:
    """The runtime's claims, which take no part in the merge, are lost as well."""
    base = container.get("resources")
    before = _amounts(base) if base else None
    if before is None or not before.value:
        return with_fields(container, {"resources": (before or own).with_value(_amounts(own).value)})
    from jobspec.operators.trainer.strategic_merge import merged

    return with_fields(container, {"resources": merged(before, _amounts(own), None)})


def _amounts(resources: MarkedTree) -> MarkedTree:
    return resources.with_value({name: _canonical(amounts) for name in AMOUNTS if (amounts := resources.get(name))})


def _canonical(amounts: MarkedTree) -> MarkedTree:
    return amounts.with_value({name: each.with_value(canonical_quantity(str(each.value))) for name, each in amounts.value.items()})


def processes_per_node(job: TrainJob, sets: list[PodSet]) -> MarkedTree:
    """The number of processes of a node of a PyTorch training, counted where the job does not say it; `auto` where torchrun is to count."""
    policy = job.policy("torch", "numProcPerNode") if not job.reached("2.2.0") else None
    wanted = job.trainer("numProcPerNode") or policy or MarkedTree("auto", job.mark)
    if not job.reached("2.1.0"):
        own = job.trainer("resourcesPerNode")
        return _of_job(wanted, own, job) if own else wanted
    resources = resources_per_node(job, sets)
    is_cpu = wanted.value == "cpu" and not job.reached("2.2.0")
    if is_cpu or (wanted.value == "auto" and gpus(resources) is None):
        return _at_least_one(cpus(resources), job)
    return wanted


def _of_job(wanted: MarkedTree, resources: MarkedTree, job: TrainJob) -> MarkedTree:
    """In 2.0 the limits are looked at, then the requests if the CPUs of the limits do not count; an absent list makes it 1."""
    fallback = MarkedTree(1, job.mark) if wanted.value == "cpu" else wanted
    found = MarkedTree(1, job.mark)
    for name in AMOUNTS:
        amounts = resources.get(name)
        if amounts is None:
            found = MarkedTree(1, job.mark)
        elif _counts_cpus(wanted, amounts):
            return _at_least_one(amounts.get("cpu"), job)
        else:
            found = fallback
    return found


def _counts_cpus(wanted: MarkedTree, amounts: MarkedTree) -> bool:
    if wanted.value == "auto":
        return not any("gpu" in name.lower() for name in amounts.value)
    return wanted.value == "cpu" and "cpu" in amounts.value


def _at_least_one(amount: MarkedTree | None, job: TrainJob) -> MarkedTree:
    return amount.with_value(max(1, whole(amount))) if amount else MarkedTree(1, job.mark)
