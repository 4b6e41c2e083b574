"""The number of processes of a node of a PyTorch training, which is counted from its resources where the job does not say it.

Follows `EnforceMLPolicy` and `calculateNumProcPerNode` of the plugin torch, github.com/kubeflow/trainer
pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.operators.trainer.resources import AMOUNTS, cpus, gpus, resources_per_node, whole
from jobspec.overlays.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob


def processes_per_node(job: TrainJob, sets: list[PodSet]) -> MarkedTree:
    """The number of processes of a node, or `auto` where torchrun is to count the GPUs."""
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
