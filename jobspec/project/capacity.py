"""How many pods a job asks for, with which resources, and for how long at most.

`operators/` makes every pod whole; here pods are counted without making them, since a project has thousands, and a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from jobspec.documents.document import Document
from jobspec.kinds import PYTORCHJOB
from jobspec.kubernetes.cel.functions import number_of, quantity
from jobspec.operators.life import cleans_up_at_limits_too, leaves_running_pods
from jobspec.operators.trainer.policies import changes
from jobspec.operators.trainer.runtimes import TRAINER, ancestor, merges_resources, nodes_of, runtime_of
from jobspec.targets import Target
from jobspec.workloads import Role, Workload, roles_in, value_at

Amounts = Mapping[str, Decimal]


_NODE = "node"
_DEVICES = ("google.com/tpu", "habana.ai/", "aws.amazon.com/neuron", "huawei.com/ascend", "nvidia.com/mig-", "gpu.intel.com/")


@dataclass(frozen=True, slots=True)
class AlikePods:
    """Pods that are all alike."""

    number: int
    most: int
    """The most pods that an autoscaler may make of them."""
    resources: Amounts
    """What one pod may use: its limits, and requests where it has no limit."""
    selector: Mapping[str, str]
    """The labels of the nodes that it runs on."""

    @property
    def gpus(self) -> int:
        """The GPUs of one pod."""
        return int(sum(amount for name, amount in self.resources.items() if is_accelerator(name)))


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a job asks for."""

    pods: Sequence[AlikePods]
    deadline: int | None
    """The seconds after which the operator ends the job; None where it may run forever."""
    notes: Sequence[str] = ()
    """Why it may be more, each as one sentence."""

    @property
    def number(self) -> int:
        """The number of pods."""
        return sum(each.number for each in self.pods)

    @property
    def gpus(self) -> int:
        """The GPUs of all pods."""
        return sum(each.number * each.gpus for each in self.pods)

    @property
    def most(self) -> int:
        """The number of pods, where an autoscaler makes as many as it may."""
        return sum(each.most for each in self.pods)

    @property
    def most_gpus(self) -> int:
        """The GPUs of those."""
        return sum(each.most * each.gpus for each in self.pods)


def is_accelerator(resource: str) -> bool:
    """Whether a resource is a GPU, a slice of one, or another device that models are trained on."""
    vendor, _, name = resource.lower().partition("/")
    return name.startswith("gpu") or "/gpu" in name or f"{vendor}/{name}".startswith(_DEVICES)


def capacity_of(job: Document, context: Iterable[Document], target: Target) -> Capacity:
    """What a training job asks for once it runs; its runtime is looked for *context* it."""
    if job.group_kind == PYTORCHJOB:
        deadline = value_at(job.data, ("spec", "runPolicy", "activeDeadlineSeconds"))
        return Capacity(list(_of_roles(job)), deadline, list(_outliving(job, target)) if deadline is not None else ())
    deadline = value_at(job.data, ("spec", "activeDeadlineSeconds"))
    runtime = runtime_of(job, context, target)
    if runtime is None:
        nodes = nodes_of(job.data, None)
        own = AlikePods(nodes, nodes, _amounts(value_at(job.data, ("spec", "trainer", "resourcesPerNode"))), {})
        return Capacity([own], deadline, ["its runtime is not in the files: only the job's own requests are counted"])
    return Capacity(list(_of_replicated_jobs(job, runtime, target)), deadline)


def _outliving(job: Document, target: Target) -> Iterator[str]:
    policy = value_at(job.data, ("spec", "runPolicy", "cleanPodPolicy"))
    release = target["training-operator"]
    if leaves_running_pods(policy) and cleans_up_at_limits_too(release):
        yield f"with `cleanPodPolicy: None`, training-operator {release} leaves pods running at the deadline; `Running` deletes them"


def _of_roles(job: Document) -> Iterator[AlikePods]:
    for role in roles_in(job):
        replicas = value_at(role.data, ("replicas",))
        is_scaled = role.name == "Worker" and value_at(job.data, ("spec", "elasticPolicy", "metrics")) is not None
        most = int(value_at(job.data, ("spec", "elasticPolicy", "maxReplicas")) or 0) if is_scaled else 0
        number = 1 if replicas is None else int(replicas)
        yield AlikePods(number, max(most, number), _of_pod(role, {}), _selector(role.in_pod("nodeSelector")))


def _of_replicated_jobs(job: Document, runtime: Document, target: Target) -> Iterator[AlikePods]:
    patches = list(changes(Workload(job, runtime=runtime)))
    for role in roles_in(runtime):
        own = _own_resources(job, runtime, role, target)
        selector = _selector(role.in_pod("nodeSelector"))
        for patch in patches:
            if patch.job == role.name:
                selector |= _selector(value_at(patch.spec, ("nodeSelector",)))
        number = _number(job, runtime, role)
        yield AlikePods(number, number, _of_pod(role, own, merged=merges_resources(target["trainer"])), selector)


def _number(job: Document, runtime: Document, role: Role) -> int:
    """The pods of a replicated job of a runtime."""
    policy = value_at(runtime.data, ("spec", "mlPolicy"))
    said = value_at(job.data, ("spec", "trainer", "numNodes"))
    mpi = value_at(policy, ("mpi",))
    if mpi is not None and role.name == _NODE and said:
        return max(int(said) - 1, 1) if value_at(mpi, ("runLauncherAsNode",)) else int(said)
    if ancestor(role) == TRAINER and mpi is None:
        return nodes_of(job.data, runtime)
    if ancestor(role) == TRAINER:
        return int(value_at(policy, ("numNodes",)) or 1)
    parallelism = value_at(role.data, ("template", "spec", "parallelism"))
    replicas = value_at(role.data, ("replicas",))
    return max(int(parallelism or 1), 1) * (1 if replicas is None else int(replicas))


def _own_resources(job: Document, runtime: Document, role: Role, target: Target) -> dict[str, Any]:
    """The `resourcesPerNode` of a TrainJob where they reach the pods of a replicated job; empty where they do not."""
    policy = value_at(runtime.data, ("spec", "mlPolicy"))
    if policy is None and merges_resources(target["trainer"]):
        return {}
    context = role.name == _NODE and value_at(policy, ("mpi", "runLauncherAsNode")) is True
    found = value_at(job.data, ("spec", "trainer", "resourcesPerNode")) if ancestor(role) == TRAINER or context else None
    return found or {}


def _of_pod(role: Role, own: dict[str, Any], *, merged: bool = True) -> Amounts:
    """What a pod may use: its containers together, or its largest init container where that is more."""
    together: dict[str, Decimal] = {}
    for _, container in role.items("containers"):
        resources = container.get("resources") or {}
        if own and container.get("name") == _NODE:
            resources = _merged(resources, own) if merged else own
        _add(together, _amounts(resources))
    largest: dict[str, Decimal] = {}
    for _, container in role.items("initContainers"):
        amounts = _amounts(container.get("resources"))
        if container.get("restartPolicy") == "Always":
            _add(together, amounts)
        else:
            largest |= {name: max(amount, largest.get(name, amount)) for name, amount in amounts.items()}
    return together | {name: max(amount, together.get(name, amount)) for name, amount in largest.items()}


def _add(total: dict[str, Decimal], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _merged(resources: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return {part: {**(resources.get(part) or {}), **(own.get(part) or {})} for part in ("limits", "requests")}


def _amounts(resources: Any) -> dict[str, Decimal]:
    """The limits of a container by resource, and the requests where it has no limit."""
    said = {**(value_at(resources, ("requests",)) or {}), **(value_at(resources, ("limits",)) or {})}
    return {name: number_of(quantity(str(amount))) for name, amount in said.items()}


def _selector(labels: Any) -> dict[str, str]:
    return dict(labels) if isinstance(labels, dict) else {}


# What a job costs at most: its pods, by a price list, for as long as its deadline lets them run.


_HOUR = 3600
_UNITS = {"memory": 2**30, "ephemeral-storage": 2**30}  # of which a price is; one of all others
_CENT = Decimal("0.01")


class Prices:
    """A price list."""

    __slots__ = ("currency", "pods", "resources")

    def __init__(self, document: Document) -> None:
        """*document* has passed its schema."""
        spec = document.data["spec"]
        self.currency: str = spec["currency"]
        self.pods = [(each["nodeSelector"], _decimal(each["perHour"])) for each in spec.get("pods") or ()]
        self.resources = {name: _decimal(price) for name, price in (value_at(spec, ("resources",)) or {}).items()}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job costs at most, or why nobody can say."""

    amount: Decimal | None
    why: str = ""


def cost_of(capacity: Capacity, prices: Prices) -> Cost:
    """The most that a job costs: the most pods that it may have, times the price of an hour, times the hours until its deadline."""
    if capacity.deadline is None:
        return Cost(None, "no cost without a deadline")
    hourly = Decimal(0)
    for pods in capacity.pods:
        price = _price(pods, prices)
        if isinstance(price, str):
            return Cost(None, price)
        hourly += pods.most * price
    exact = hourly * max(capacity.deadline, 0) / _HOUR
    return Cost(exact.quantize(_CENT, ROUND_CEILING))


def _price(pods: AlikePods, prices: Prices) -> Decimal | str:
    """The price of one pod for an hour, or why there is none."""
    for selector, price in prices.pods:
        if selector.items() <= pods.selector.items():
            return price
    unknown = [name for name in pods.resources if is_accelerator(name) and name not in prices.resources]
    if unknown:
        return f"no price of `{unknown[0]}`"
    found = [amount / _UNITS.get(name, 1) * prices.resources[name] for name, amount in pods.resources.items() if name in prices.resources]
    return sum(found, Decimal(0)) if found else "no price of its pods"


def _decimal(price: float) -> Decimal:
    return Decimal(str(price))
