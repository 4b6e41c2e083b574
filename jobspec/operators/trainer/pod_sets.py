"""The replicated jobs of a runtime as the trainer's plugins see them: by name, by what of the TrainJob runs in them, with a number of pods.

Follows `newRuntimeInfo` and `WithPodSet`, github.com/kubeflow/trainer pkg/runtime, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, is_true, items, number, text, with_fields
from jobspec.operators.made import at_most, with_items
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER
from jobspec.operators.workloads import NODE, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobspec.operators.trainer.overrides import Change
    from jobspec.operators.trainer.train_job import JobOfTrainer


LAUNCHER = "launcher"
"""The replicated job in which `mpirun` runs."""


POD = (*TEMPLATE, "spec")
"""The path of the pod spec in a replicated job."""


class TrainerPodSet(Record):
    """A replicated job, and how many pods each of its Jobs has."""

    job: MarkedTree
    count: MarkedTree

    @property
    def name(self) -> str:
        """The name of the replicated job."""
        return text(self.job, "name")

    @property
    def ancestor(self) -> str:
        """The part of the TrainJob that runs in it, empty where it is none."""
        return text(self.job, "template", "metadata", "labels", ANCESTOR)

    @property
    def trains(self) -> bool:
        """Whether the TrainJob's `trainer` runs in it."""
        return self.ancestor == TRAINER

    def containers(self, name: str = "containers") -> list[MarkedTree]:
        """The containers, or the `initContainers`, of its pods."""
        return items(self.job.get(*POD, name))

    def with_count(self, count: MarkedTree | None) -> TrainerPodSet:
        """The same with another number of pods, where there is one."""
        return self.changed(count=count) if count else self

    def with_pod(self, change: Change) -> TrainerPodSet:
        """The same with the spec of its pods changed."""
        return self.changed(job=changed(self.job, POD, change))

    def with_container(self, name: str, change: Change, *, among: str = "containers") -> TrainerPodSet:
        """The same with the containers of a name changed."""
        return self.with_pod(lambda pod: each_item(pod, among, lambda each: change(each) if text(each, "name") == name else each))


def pod_sets(spec: MarkedTree, job: JobOfTrainer) -> list[TrainerPodSet]:
    """The replicated jobs of a JobSet's spec; those that train have as many pods as the policy says, all others as they say themselves."""
    return [TrainerPodSet(each, _count(each, job)) for each in items(spec.get("replicatedJobs"))]


def _count(replicated: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """The number of pods of each Job: by the policy where it trains, else its own parallelism; at least 1."""
    one = MarkedTree(1, job.mark)
    own = replicated.get("template", "spec", "parallelism") or one
    by_policy = text(replicated, "template", "metadata", "labels", ANCESTOR) == TRAINER and job.policy() is not None
    count = (job.policy("numNodes") or one) if by_policy else own
    return count if count.value >= 1 else one


def first(sets: Iterable[TrainerPodSet], condition: Callable[[TrainerPodSet], bool]) -> TrainerPodSet | None:
    """The first pod set that meets a condition."""
    return next(filter(condition, sets), None)


def is_configured(pod_set: TrainerPodSet, job: JobOfTrainer) -> bool:
    """Whether the variables and resources of `spec.trainer` are for its pods: from 2.1 on also for the nodes of a launcher that is one."""
    shares = job.is_at_least("2.1.0") and is_true(job.policy("mpi"), "runLauncherAsNode")
    return pod_set.trains or (shares and pod_set.name == NODE)


def with_nodes_of(job: JobOfTrainer, sets: list[TrainerPodSet]) -> list[TrainerPodSet]:
    """The pod sets, the first training one with as many pods as the job says."""
    training = first(sets, lambda each: each.trains)
    return [each.with_count(job.trainer("numNodes")) if each is training else each for each in sets]


def training_container(sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The training container of the first training pod set."""
    training = first(sets, lambda each: each.trains)
    return next((each for each in training.containers() if text(each, "name") == NODE), None) if training else None


def with_training_container(sets: list[TrainerPodSet], change: Change) -> list[TrainerPodSet]:
    """The pod sets, with the training container of the first training one changed."""
    training = first(sets, lambda each: each.trains)
    return [each.with_container(NODE, change) if each is training else each for each in sets]


def synced(pod_set: TrainerPodSet, job: JobOfTrainer) -> MarkedTree:
    """The replicated job as the trainer sends it: with its number of pods, and each list put over itself once more.

    A list in which two items count as one, such as two ports without a name, then has the later of them twice.
    """
    count = {"parallelism": pod_set.count, "completions": pod_set.count}
    replicated = changed(pod_set.job, ("template", "spec"), lambda spec: with_fields(spec, count))
    among = ("containers", "initContainers") if job.is_at_least("2.3.0") else ("containers",)

    def with_own(tree: MarkedTree, *names: str) -> MarkedTree:
        for name in names:
            tree = with_items(tree, name, items(tree.get(name)))
        return tree

    def pod(spec: MarkedTree) -> MarkedTree:
        spec = with_own(spec, "volumes")
        for name in among:
            spec = each_item(spec, name, lambda container: with_own(container, "env", "ports", "volumeMounts"))
        return spec

    return changed(replicated, POD, pod)


def endpoints(pod_set: TrainerPodSet, job: JobOfTrainer, spec: MarkedTree) -> list[str]:
    """The host names of its pods; before 2.3 those of its first Job alone.

    Follows `IdentifyPodNetwork` of the plugin jobset.
    """
    name = text(job.name)
    subdomain = text(spec, "network", "subdomain") or name
    replicas = number(pod_set.job, "replicas", default=1) if job.is_at_least("2.3.0") else 1
    at_most(replicas * pod_set.count.value, f"nodes of TrainJob `{name}`")
    return [f"{name}-{pod_set.name}-{replica}-{pod}.{subdomain}" for replica in range(replicas) for pod in range(pod_set.count.value)]
