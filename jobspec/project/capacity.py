"""How many pods a job asks for, with which resources, for how long at most, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from jobspec.apis.kinds import JOBSET, PYTORCHJOB, TRAINJOB
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import value_at
from jobspec.documents.document import Document
from jobspec.go.quantities import Quantity, quantity_of
from jobspec.go.values import mapping
from jobspec.kubernetes.pods.amounts import needs_together
from jobspec.operators.accelerators import is_accelerator, is_gpu, is_other_accelerator
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.trainer.runtimes import nodes_of, runtime_of
from jobspec.operators.training_operator import WAITING_CONTAINER
from jobspec.operators.training_operator.life import cleans_up_at_limits_too, leaves_running_pods
from jobspec.operators.workloads import JOBS, released

Amounts = Mapping[str, Decimal]
_DEADLINE = "activeDeadlineSeconds"


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
    role: str = ""
    """The role that they have in the job; empty if only the job's own requests are known."""

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of one pod."""
        return accelerators(self.resources)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The pods, resources and deadline of a job."""

    pods: Sequence[AlikePods]
    deadline: int | None
    """The seconds after which the operator ends the job; None where it may run forever."""
    notes: Sequence[str] = ()
    """Why it may be more, each as one sentence."""

    @property
    def number(self) -> int:
        """Return the number of pods."""
        return sum(each.number for each in self.pods)

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of all pods."""
        return sum(each.number * each.gpus for each in self.pods)

    @property
    def resources(self) -> Amounts:
        """Return what all pods may use together."""
        found: dict[str, Decimal] = {}
        for each in self.pods:
            for name, amount in each.resources.items():
                found[name] = found.get(name, Decimal(0)) + each.number * amount
        return found

    @property
    def most(self) -> int:
        """Return the highest number of pods that an autoscaler may make."""
        return sum(each.most for each in self.pods)

    @property
    def most_gpus(self) -> int:
        """Return the number of GPUs at the highest number of pods."""
        return sum(each.most * each.gpus for each in self.pods)


def amount_text(resource: str, amount: Decimal) -> str:
    """Write an amount of a resource as people do: memory in binary units."""
    is_memory = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return str(Quantity(int(amount.scaleb(9)), "binary" if is_memory else "decimal"))


def accelerators(resources: Amounts) -> int:
    """Return the number of GPUs and other accelerators.

    Memory and cores of a shared GPU do not count.
    """
    return int(sum(amount for name, amount in resources.items() if is_gpu(name) or is_other_accelerator(name)))


def capacity_of(job: Document, context: Sequence[Document], target: Target) -> Capacity:
    """Return the pods, resources and deadline of a running job; of a CronJob, those of one run.

    A server accepts the job. *context*: the documents that the job may refer to.
    """
    if job.group_kind == PYTORCHJOB:
        deadline = value_at(job.data, ("spec", "runPolicy", _DEADLINE))
        return Capacity(list(_pods_of(job, context, target)), deadline, list(_outliving(job, target)) if deadline is not None else ())
    if job.group_kind == JOBSET:
        return Capacity(list(_pods_of(job, context, target)), _deadline_of_jobset(job.data))
    if job.group_kind != TRAINJOB:
        return Capacity(list(_pods_of(released(job), context, target)), value_at(job.data, (*JOBS[job.group_kind].policy, _DEADLINE)))
    deadline = value_at(job.data, ("spec", _DEADLINE))
    if runtime_of(job, context, target) is None:
        nodes, own = nodes_of(job.data, None), _limits_of({"resources": value_at(job.data, ("spec", "trainer", "resourcesPerNode"))})
        pods = AlikePods(nodes, nodes, {name: _as_decimal(each) for name, each in own.items()}, {})
        return Capacity([pods], deadline, ["its runtime is not in the files: only the job's own requests are counted"])
    return Capacity(list(_pods_of(job, context, target)), deadline)


def _deadline_of_jobset(data: Any) -> int | None:
    """Return the seconds after which all Jobs of a JobSet have ended, restarts among them; None if one may run forever."""
    jobs = value_at(data, ("spec", "replicatedJobs")) or ()
    deadlines = [value_at(each, ("template", "spec", _DEADLINE)) for each in jobs]
    restarts = int(value_at(data, ("spec", "failurePolicy", "maxRestarts")) or 0)
    return None if None in deadlines or not deadlines else (restarts + 1) * max(deadlines)


def _outliving(job: Document, target: Target) -> Iterator[str]:
    policy = value_at(job.data, ("spec", "runPolicy", "cleanPodPolicy"))
    release = target["training-operator"]
    if leaves_running_pods(policy) and cleans_up_at_limits_too(release):
        yield f"with `cleanPodPolicy: None`, training-operator {release} leaves pods running at the deadline; `Running` deletes them"


def _pods_of(job: Document, context: Sequence[Document], target: Target) -> Iterator[AlikePods]:
    expansion = expand(job, context, target, first_and_last_only=True, skip_server_checks=True)
    expanded = ExpandedJob(job, expansion.objects, target, expansion.counts)
    scaled = {"Worker": value_at(job.data, ("spec", "elasticPolicy", "maxReplicas"))} if expanded.of_kind("HorizontalPodAutoscaler") else {}
    for role in expanded.roles:
        pod = role.pod_tree.data()["spec"]
        pod["initContainers"] = [each for each in pod.get("initContainers") or () if each["name"] != WAITING_CONTAINER]
        most = max(int(scaled.get(role.name) or 0), role.count)
        yield AlikePods(role.count, most, needs_of(pod), pod.get("nodeSelector") or {}, role.name)


def needs_of(pod: dict[str, Any]) -> Amounts:
    """Return what a pod may use by its spec: limits, and requests if there is no limit."""
    return {name: _as_decimal(each) for name, each in needs_together(pod, _limits_of).items()}


def _limits_of(container: Any) -> dict[str, Quantity]:
    """The limits of a container by resource, and the requests where it has no limit."""
    resources = mapping(container, "resources")
    return {name: quantity_of(each) for name, each in {**mapping(resources, "requests"), **mapping(resources, "limits")}.items()}


def _as_decimal(amount: Quantity) -> Decimal:
    return Decimal(amount.nanos).scaleb(-9)


# What a job costs at most: its pods, by a price list, for as long as its deadline lets them run.


_HOUR = 3600
_UNITS = {"memory": 2**30, "ephemeral-storage": 2**30}  # of which a price is; one of all others
_CENT = Decimal("0.01")


class PriceList:
    """A list of prices of pods and resources."""

    def __init__(self, document: Document) -> None:
        """*document* has passed its schema."""
        spec = document.data["spec"]
        self.currency: str = spec["currency"]
        self.pods = [(each["nodeSelector"], Decimal(str(each["perHour"]))) for each in spec.get("pods") or ()]
        self.resources = {name: Decimal(str(price)) for name, price in (value_at(spec, ("resources",)) or {}).items()}


@dataclass(frozen=True, slots=True)
class Cost:
    """The highest cost of a job, or why it cannot be known."""

    amount: Decimal | None
    why: str = ""


def cost_of(capacity: Capacity, prices: PriceList) -> Cost:
    """Return the highest cost of a job: most pods, times price of an hour, times hours.

    The hours are those until the job's deadline.
    """
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


def _price(pods: AlikePods, prices: PriceList) -> Decimal | str:
    """The price of one pod for an hour, or why there is none."""
    for selector, price in prices.pods:
        if selector.items() <= pods.selector.items():
            return price
    unknown = [name for name in pods.resources if is_accelerator(name) and name not in prices.resources]
    if unknown:
        return f"no price of `{unknown[0]}`"
    found = [amount / _UNITS.get(name, 1) * prices.resources[name] for name, amount in pods.resources.items() if name in prices.resources]
    return sum(found, Decimal(0)) if found else "no price of its pods"
