"""Accelerators: how many a pod may ask for, what they need beside them, and which taints their pods tolerate."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.lint.accelerators import MOST_OF_A_NODE
from jobspec.lint.storage import DEFAULT_SHM, SHM
from jobspec.policies.cel import GPUS, in_containers, literal
from jobspec.policies.rule import Parameter, PolicyRule
from jobspec.policies.storage import IS_MEMORY, SAID_SIZE, SIZE
from jobspec.policies.templates import EVERY, WHOLE

_MOST = Parameter("most-gpus", MOST_OF_A_NODE, "The most GPUs of one container: those of the largest node.")
_TAINTS = Parameter("gpu-taints", [], "Keys of the taints of all nodes with GPUs, such as `nvidia.com/gpu`; none by default.")
_OWN = "mainContainers"
#: True of a memory volume that is no larger than what a container gets without one.
_SMALL = (
    f"({IS_MEMORY} && {SIZE}.hasValue() && !({SAID_SIZE} in ['', '0']) &&\n"
    f"        !quantity({SAID_SIZE}).isGreaterThan(quantity({literal(str(DEFAULT_SHM))})))"
)
_MOUNTED = (
    f"container.mounts.exists(mount, mount.mountPath in [{literal(SHM)}, {literal(f'{SHM}/')}] &&\n"
    f"        pod.volumes.exists(volume, volume.name == mount.name && !{_SMALL}))"
)
_TOLERATES = (
    "pod.tolerations.exists(each, (each.?key.orValue('') == '' || each.?key.orValue('') == taint) &&\n"
    "        each.?effect.orValue('') in ['', 'NoSchedule'])"
)


def _lacks(resource: str) -> str:
    """True if a container asks for nothing of a resource."""
    name = literal(resource)
    limit, request = (f"quantity(string(container.{field}[{name}])).isGreaterThan(quantity('0'))" for field in ("limits", "requests"))
    return f"!({name} in container.limits ? {limit} :\n        {name} in container.requests && {request})"


POLICIES = (
    PolicyRule(
        "more-gpus-than-a-node",
        in_containers(f"{GPUS} > variables.mostGpus", f"container.name + ' asks for ' + string({GPUS}) + ' GPUs'"),
        EVERY,
        parameters=[_MOST],
    ),
    PolicyRule(
        "small-shared-memory",
        in_containers(
            f"{GPUS} > 1 && !{_MOUNTED}",
            f"container.name + ' has ' + string({GPUS}) + ' GPUs'",
            of=_OWN,
            where="!pod.hostIPC",
        ),
        WHOLE,
        differs=[
            "it looks at each container with several GPUs; lint at that which trains, and not at one that only shows devices",
            "it does not count workers of a DataLoader, which lint reads from command lines",
            "the pods of a TrainJob are judged at the JobSet that the trainer makes, where the volumes of the runtime are, too",
        ],
    ),
    PolicyRule(
        "unsized-container",
        in_containers(f"{GPUS} > 0 && ({_lacks('memory')} ||\n      {_lacks('cpu')})", "container.name", of=_OWN),
        WHOLE,
        differs=[
            "it is for containers with GPUs; lint knows the one that trains, with GPUs or without",
            "the pods of a TrainJob are judged at the JobSet that the trainer makes, where the requests of the runtime are, too",
        ],
    ),
    PolicyRule(
        "pod-without-node",
        "variables.gpuTaints.filter(taint, variables.pods.exists(pod,\n"
        f"    !{_TOLERATES} &&\n"
        f"    pod.containers.exists(container, {GPUS} > 0)))\n  .map(taint, 'no toleration of ' + taint)",
        tuple(each for each in WHOLE if each not in kinds.RUNTIMES),
        parameters=[_TAINTS],
        differs=[
            "of all that keeps a pod from each node it says one thing: pods with GPUs tolerate the taints that `gpu-taints` names",
            "it goes by the keys of taints, not by their values",
            "it judges Pods that no controller makes, too; lint judges jobs",
            "the pods of a TrainJob are judged at the JobSet that the trainer makes, where the tolerations of the runtime are, too",
            "the server may add tolerations to pods, by ExtendedResourceToleration; it is judged before that at jobs, and after it at pods",
        ],
    ),
)
