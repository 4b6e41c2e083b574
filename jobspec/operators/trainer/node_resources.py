"""The resources of a node: what the runtime and the job ask for, and the processes for which the trainer counts its GPUs and CPUs.

Follows `ExtractResourcePerNodeFromRuntime` and `GetNumGPUPerNode`, github.com/kubeflow/trainer pkg/runtime, `EnforceMLPolicy`,
`calculateNumProcPerNode` and `getNumCPUPerNode` of the plugin torch and `MergeResourceRequirements` in pkg/util/trainingruntime, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, with_fields
from jobspec.go.formats import is_parsed_quantity
from jobspec.go.quantities import amount_of, canonical_quantity, whole_number
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.strategic_merge import merged
from jobspec.operators.trainer.pod_sets import is_configured
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER, merges_resources
from jobspec.operators.workloads import NODE, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.places import Data, Path
    from jobspec.operators.trainer.pod_sets import TrainerPodSet
    from jobspec.operators.trainer.train_job import JobOfTrainer


AMOUNTS = ("limits", "requests")


# Read the resources that count for a node, on plain data: the webhook and the plugins do it alike.


def counted_container(replicated: Sequence[Data]) -> Path | None:
    """The path, among the replicated jobs of a runtime, of the first container that trains and has resources; None if there is none."""
    for number, job in enumerate(replicated):
        labels = mapping(job, "template", "metadata", "labels")
        if job.get("name") == NODE or labels.get(ANCESTOR) == TRAINER:
            for index, container in enumerate(structs(job, *TEMPLATE, "spec", "containers")):
                if container.get("name") == NODE and container.get("resources") is not None:
                    return number, *TEMPLATE, "spec", "containers", index
    return None


def gpus_in(resources: Data) -> tuple[Path, int] | None:
    """The path of the amount by which the trainer counts GPUs, and their number: of requests before limits; None if there are none.

    A resource counts if `gpu` is in its name.
    """
    for field, counts in (("requests", bool), ("limits", lambda number: number > 0)):
        found = next((name for name in mapping(resources, field) if _counts_as_gpu(name)), None)
        number = whole_number(str(resources[field][found])) if found else 0
        if found and counts(number):
            return (field, found), number
    return None


def _counts_as_gpu(resource: str) -> bool:
    return "gpu" in resource.lower()


def _cpus_in(resources: Data) -> tuple[Path, int] | None:
    """The path of the amount of CPUs, and their number: of the requests if they are not zero, else of the limits."""
    for field in ("requests", "limits"):
        amount = mapping(resources, field).get("cpu")
        if amount is not None and is_parsed_quantity(str(amount)) and amount_of(str(amount)):
            return (field, "cpu"), whole_number(str(amount))
    return None


# The same in marked trees: a number has the place of the amount that it was read from.


def resources_per_node(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree:
    """The resources that count for a node: the job's, if it has any, else those of the runtime's container."""
    own = job.trainer("resourcesPerNode")
    if own:
        return own
    found = counted_container([each.job.data() for each in sets])
    number, index = (found[0], found[-1]) if found else (0, 0)
    resources = sets[int(number)].containers()[int(index)].get("resources") if found else None
    return resources or MarkedTree({}, job.mark)


def gpus(resources: MarkedTree) -> MarkedTree | None:
    """The number of GPUs; None where there are none."""
    return _at(resources, gpus_in(resources.data()))


def _at(resources: MarkedTree, found: tuple[Path, int] | None) -> MarkedTree | None:
    amount = resources.get(*map(str, found[0])) if found else None
    return amount.with_value(found[1]) if found and amount else None


def with_resources(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The containers that train with the job's resources: merged with the runtime's from 2.3 on, in place of them before."""
    own = job.trainer("resourcesPerNode")
    merges = merges_resources(job.release)
    if own is None or not (job.policy() is not None if merges else any(own.get(name) for name in AMOUNTS)):
        return sets

    def change(container: MarkedTree) -> MarkedTree:
        return _merged_container(container, own) if merges else with_fields(container, {"resources": _canonical_amounts(own)})

    return [each.with_container(NODE, change) if is_configured(each, job) else each for each in sets]


def _merged_container(container: MarkedTree, own: MarkedTree) -> MarkedTree:
    """The runtime's claims, which take no part in the merge, are lost as well, and so are lists of amounts that hold none."""
    base = container.get("resources")
    before = _canonical_amounts(base) if base else None
    if before is None or not before.value:
        resources = (before or own).with_value(_canonical_amounts(own).value)
    else:
        resources = merged(before, _canonical_amounts(own), None)
    held = {name: amounts for name, amounts in resources.value.items() if amounts.value}
    return with_fields(container, {"resources": resources.with_value(held)})


def _canonical_amounts(resources: MarkedTree) -> MarkedTree:
    def canonical(amounts: MarkedTree) -> MarkedTree:
        return amounts.with_value({name: each.with_value(canonical_quantity(str(each.value))) for name, each in amounts.value.items()})

    return resources.with_value({name: canonical(amounts) for name in AMOUNTS if (amounts := resources.get(name))})


def processes_per_node(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree:
    """The number of processes of a node of a PyTorch training, counted where the job does not say it; `auto` where torchrun is to count."""
    policy = job.policy("torch", "numProcPerNode") if not job.is_at_least("2.2.0") else None
    wanted = job.trainer("numProcPerNode") or policy or MarkedTree("auto", job.mark)
    if not job.is_at_least("2.1.0"):
        own = job.trainer("resourcesPerNode")
        return _of_job(wanted, own, job) if own else wanted
    resources = resources_per_node(job, sets)
    is_cpu = wanted.value == "cpu" and not job.is_at_least("2.2.0")
    if is_cpu or (wanted.value == "auto" and gpus(resources) is None):
        counted = _at(resources, _cpus_in(resources.data()))
        return counted.with_value(max(1, counted.value)) if counted else MarkedTree(1, job.mark)
    return wanted


def _of_job(wanted: MarkedTree, resources: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """In 2.0 the limits are looked at, then the requests if the CPUs of the limits do not count; an absent list makes it 1."""
    found = one = MarkedTree(1, job.mark)
    for name in AMOUNTS:
        amounts = resources.get(name)
        if amounts is not None and _counts_cpus(wanted, amounts):
            cpus = amounts.get("cpu")
            return cpus.with_value(max(1, whole_number(str(cpus.value)))) if cpus else one
        found = one if amounts is None or wanted.value == "cpu" else wanted
    return found


def _counts_cpus(wanted: MarkedTree, amounts: MarkedTree) -> bool:
    if wanted.value == "auto":
        return not any(map(_counts_as_gpu, amounts.value))
    return wanted.value == "cpu" and "cpu" in amounts.value
