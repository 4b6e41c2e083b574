"""Find the largest part of a workload that an empty cluster admits, if Kueue never admits the whole."""

from __future__ import annotations

from dataclasses import replace

from jobspec.go.values import structs
from jobspec.operators.kueue.admission import admits_when_empty
from jobspec.operators.kueue.world import spelt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jobspec.operators.kueue.admission import QueueAnswer
    from jobspec.operators.kueue.workload import QueuedPodSet, QueuedWorkload
    from jobspec.operators.kueue.world import World

_MEBI = 1 << 20
_CONTAINERS = ("initContainers", "containers")


def fitting(answer: QueueAnswer, world: World) -> str:
    """Write how many pods, or how small ones, Kueue admits to an empty cluster.

    If the workload is admitted, or no smaller one would be, return an empty string.
    """
    if answer.verdict != "never" or answer.cluster_queue not in world.queues or not any(each.tried for each in answer.pod_sets):
        return ""

    def fits(workload: QueuedWorkload) -> bool:
        return admits_when_empty(workload, world.queues[answer.cluster_queue])

    workload = answer.workload
    for number, pods in enumerate(workload.pod_sets):
        found = [*_fewer(workload, number, fits), *_smaller(workload, number, fits)]
        if found:
            called = f" of `{pods.name}`" if len(workload.pod_sets) > 1 else ""
            return f"the queue admits at most {' or '.join(found)}{called}"
    return ""


def _fewer(workload: QueuedWorkload, number: int, fits: Callable[[QueuedWorkload], bool]) -> Iterator[str]:
    """Yield the largest number of these pods that is admitted."""
    count = workload.pod_sets[number].count
    most = _largest(count - 1, lambda fewer: fits(_with(workload, number, replace(workload.pod_sets[number], count=fewer, least=None))))
    if most:
        yield f"{most} pod{'s' if most > 1 else ''} like this"


def _smaller(workload: QueuedWorkload, number: int, fits: Callable[[QueuedWorkload], bool]) -> Iterator[str]:
    """Yield the largest requests of each pod that are admitted, as far as they differ from what the pods request."""
    pods = workload.pod_sets[number]
    overhead = _requesting(pods, {}).requests
    requests = {name: value - overhead.get(name, 0) for name, value in pods.requests.items() if value > overhead.get(name, 0)}
    least: dict[str, int] = dict.fromkeys(requests, 0)
    if not fits(_with(workload, number, _requesting(pods, least))):
        return
    most: dict[str, int] = {}
    for name, value in requests.items():
        unit = _unit(name)
        steps = _largest(value // unit, lambda each: fits(_with(workload, number, _requesting(pods, {**least, name: each * unit}))))  # noqa: B023 (called here)
        whole = fits(_with(workload, number, _requesting(pods, {**least, name: value})))
        most[name] = value if whole else steps * unit
    lowered = {name: value for name, value in most.items() if value < requests[name]}
    if lowered and all(lowered.values()) and fits(_with(workload, number, _requesting(pods, most))):
        asked = " and ".join(f"{spelt(name, value)} {name}" for name, value in lowered.items())
        yield f"{asked} in each of {pods.count} pods" if pods.count > 1 else f"{asked} in the pod"


def _unit(resource: str) -> int:
    """The step in which people write a resource: a tenth of a CPU, a mebibyte, one of others."""
    return 100 if resource == "cpu" else _MEBI if resource in ("memory", "ephemeral-storage") else 1


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 1 to *most* that fits; 0 if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _with(workload: QueuedWorkload, number: int, pods: QueuedPodSet) -> QueuedWorkload:
    """The workload with another pod set at a number."""
    return replace(workload, pod_sets=[pods if at == number else each for at, each in enumerate(workload.pod_sets)])


def _requesting(pods: QueuedPodSet, requests: Mapping[str, int]) -> QueuedPodSet:
    """The same pods, whose requests beside their overhead are other amounts, all of them in the first container."""
    spec = {name: value for name, value in pods.spec.items() if name not in ("resources", *_CONTAINERS)}
    written = {name: spelt(name, value) for name, value in requests.items()}
    containers = [
        {**each, "resources": {"requests": written if at == 0 else {}}} for at, each in enumerate(structs(pods.spec, "containers"))
    ]
    return replace(pods, template={**pods.template, "spec": {**spec, "containers": containers}})
