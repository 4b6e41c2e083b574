"""The resources of a node: what the runtime and the job ask for, and the processes for which the trainer counts its GPUs and CPUs.

Follows `ExtractResourcePerNodeFromRuntime` and `GetNumGPUPerNode`, github.com/kubeflow/trainer pkg/runtime, `EnforceMLPolicy`,
`calculateNumProcPerNode` and `getNumCPUPerNode` of the plugin torch and `MergeResourceRequirements` in pkg/util/trainingruntime, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, text, with_fields
from jobspec.go.formats import is_parsed_quantity
from jobspec.go.quantities import canonical_quantity, quantity
from jobspec.kubernetes.strategic_merge import merged
from jobspec.operators.trainer.pod_sets import is_configured
from jobspec.operators.trainer.runtimes import merges_resources
from jobspec.operators.workloads import NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.trainer.pod_sets import TrainerPodSet
    from jobspec.operators.trainer.train_job import JobOfTrainer


AMOUNTS = ("limits", "requests")


def resources_per_node(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree:
    """The resources that count for a node: the job's, if it has any, else those of the runtime's container."""
    own = job.trainer("resourcesPerNode")
    if own:
        return own
    containers = [container for each in sets if each.trains or each.name == NODE for container in each.containers()]
    found = (container.get("resources") for container in containers if text(container, "name") == NODE)
    return next(filter(None, found), None) or MarkedTree({}, job.mark)


def gpus(resources: MarkedTree) -> MarkedTree | None:
    """The amount of GPUs, of the requests before the limits; None where there are none."""
    for name in ("requests", "limits"):
        amounts = [amount for key, amount in resources.entries(name) if "gpu" in key.lower()]
        if amounts and whole(amounts[0]):
            return amounts[0]
    return None


def cpus(resources: MarkedTree) -> MarkedTree | None:
    """The amount of CPUs: the requests where they are not zero, else the limits; None where there is none."""
    return next((amount for name in ("requests", "limits") if (amount := resources.get(name, "cpu")) and whole(amount)), None)


def whole(amount: MarkedTree) -> int:
    """A quantity as a whole number, rounded up; 0 for a text that Go does not parse, which a webhook refuses."""
    text = str(amount.value)
    return quantity(text).rounded_up() if is_parsed_quantity(text) else 0


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
        return _at_least_one(cpus(resources), job)
    return wanted


def _of_job(wanted: MarkedTree, resources: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """In 2.0 the limits are looked at, then the requests if the CPUs of the limits do not count; an absent list makes it 1."""
    found = one = MarkedTree(1, job.mark)
    for name in AMOUNTS:
        amounts = resources.get(name)
        if amounts is not None and _counts_cpus(wanted, amounts):
            return _at_least_one(amounts.get("cpu"), job)
        found = one if amounts is None or wanted.value == "cpu" else wanted
    return found


def _counts_cpus(wanted: MarkedTree, amounts: MarkedTree) -> bool:
    if wanted.value == "auto":
        return not any("gpu" in name.lower() for name in amounts.value)
    return wanted.value == "cpu" and "cpu" in amounts.value


def _at_least_one(amount: MarkedTree | None, job: JobOfTrainer) -> MarkedTree:
    return amount.with_value(max(1, whole(amount))) if amount else MarkedTree(1, job.mark)
