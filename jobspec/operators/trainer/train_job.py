"""A TrainJob with its runtime as the trainer's plugins see it: policies, overrides, replicated jobs, numbers and resources."""

from __future__ import annotations

from jobspec.diagnostics import Record
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, is_true, items, number, text, with_fields
from jobspec.go.formats import is_parsed_quantity
from jobspec.go.quantities import canonical_quantity, quantity
from jobspec.operators.made import as_go_writes, at_most, operator_mark, with_items
from jobspec.operators.trainer.runtimes import ANCESTOR, API_VERSION, PATCH_FIELDS, TORCHTUNE, TRAINER, merges_resources
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.targets import Target, is_at_least
from jobspec.workloads import NODE, PATCHED_JOBS, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Change = Callable[[MarkedTree], MarkedTree]


PORT = 29500
"""Where the first node of a training listens."""


class JobOfTrainer:
    """A TrainJob and its runtime, both as the server stores them."""

    __slots__ = ("mark", "release", "runtime", "tree")

    def __init__(self, tree: MarkedTree, runtime: MarkedTree, release: str) -> None:
        self.tree = tree
        self.runtime = runtime
        self.release = release
        """Of the trainer."""
        self.mark = operator_mark("trainer", release)
        """The place of what the trainer sets itself."""

    @property
    def name(self) -> MarkedTree:
        """`metadata.name`."""
        found = self.tree.get("metadata", "name")
        assert found
        return found

    def named(self, value: str) -> MarkedTree:
        """A text that is made from the job's name, and stands at its place."""
        return self.name.with_value(value)

    def trainer(self, *path: str) -> MarkedTree | None:
        """The value at a path of `spec.trainer`."""
        return self.tree.get("spec", "trainer", *path)

    def policy(self, *path: str) -> MarkedTree | None:
        """The value at a path of the runtime's `mlPolicy`."""
        return self.runtime.get("spec", "mlPolicy", *path)

    def group_policy(self, *path: str) -> MarkedTree | None:
        """The value at a path of the runtime's `podGroupPolicy`."""
        return self.runtime.get("spec", "podGroupPolicy", *path)

    def is_at_least(self, release: str) -> bool:
        """Whether the trainer is of a release, or a later one."""
        return is_at_least(self.release, release)

    @property
    def is_torchtune(self) -> bool:
        """Whether the job's command is that of torchtune, and nothing more."""
        return [each.value for each in items(self.trainer("command"))] == TORCHTUNE

    @property
    def first_node(self) -> str:
        """The host name of the first node, as the plugins for torch, jax and xgboost write it: they know no other subdomain."""
        name = text(self.name)
        return f"{name}-node-0-0.{name}"


def core_object(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """An object of a core kind, such as a Secret, which the trainer makes beside the JobSet."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


# A runtime's JobSet with the changes of a TrainJob: `podSpecOverrides` (2.0), `podTemplateOverrides` (2.1), `runtimePatches` (2.2 on).
#
# Follows `mergePodSpecOverrides`, `mergePodTemplateOverrides` and `mergeRuntimePatches`, github.com/kubeflow/trainer pkg/runtime/core.


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


# Merge a change into a value as Kubernetes merges patches: lists by the merge keys of their type.
#
# An item that is new stands before all that the patch does not name, and those that it names stand in the patch's order.
#
# Follows `StrategicMergePatch`, `mergeSlice` and `normalizeElementOrder`, k8s.io/apimachinery pkg/util/strategicpatch, 0.32 to 0.36.


#: Keys of a list type that are no merge keys of a patch.
_NO_KEYS = ("protocol", "whenUnsatisfiable")


def merged(base: MarkedTree | None, patch: MarkedTree, shape: Shape | None) -> MarkedTree:
    """A value with a patch merged into it; the *shape* of both knows the merge keys."""
    if base is not None and isinstance(base.value, dict) and isinstance(patch.value, dict):
        children = {name: merged(base.value.get(name), child, shape and shape.at((name,))) for name, child in patch.value.items()}
        return base.with_value({**base.value, **children})
    if base is not None and base.value and isinstance(base.value, list) and patch.value and shape and shape.merge and shape.items:
        return base.with_value(_keyed(base.value, patch.value, shape))
    return patch


def _keyed(base: list[MarkedTree], patch: list[MarkedTree], shape: Shape) -> list[MarkedTree]:
    """The items of a list with those of a patch merged in, by the merge key of the list."""
    (key,) = [name for name in shape.merge if name not in _NO_KEYS]
    given = [item.with_value(item.value or {}) for item in patch]
    patch = [item if key in item.value else item.with_value({**item.value, key: item.with_value("")}) for item in given]  # as Go writes it

    def name(tree: MarkedTree) -> object:
        return tree.value[key].value if key in tree.value else ""

    places = {name(item): place for place, item in reversed(list(enumerate(base)))}
    named = {name(item) for item in patch}
    changes = [merged(base[places[name(item)]] if name(item) in places else None, item, shape.items) for item in patch]
    kept = [item for item in base if name(item) not in named]
    result: list[MarkedTree] = []
    for change in changes:
        place = places.get(name(change))
        while kept and place is not None and places[name(kept[0])] < place:
            result.append(kept.pop(0))
        result.append(change)
    return result + kept


# The replicated jobs of a runtime as the trainer's plugins see them: by name, by what of the TrainJob runs in them, with a number of pods.
#
# Follows `newRuntimeInfo` and `WithPodSet`, github.com/kubeflow/trainer pkg/runtime, 2.0.0 to 2.3.0.


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


# The resources of a node: what the runtime and the job ask for, and the processes for which the trainer counts its GPUs and CPUs.
#
# Follows `ExtractResourcePerNodeFromRuntime` and `GetNumGPUPerNode`, github.com/kubeflow/trainer pkg/runtime, `EnforceMLPolicy`,
# `calculateNumProcPerNode` and `getNumCPUPerNode` of the plugin torch and `MergeResourceRequirements` in pkg/util/trainingruntime, 2.0.0 to
# 2.3.0.


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
