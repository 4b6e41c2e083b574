"""Text of CEL expressions: literals, and what several rules read of containers and pods.

The functions are those of k8s.io/apiserver pkg/cel/library, 1.30 and later, with optional types of cel-go.
"""

from __future__ import annotations

from jobspec.operators.accelerators import OTHER_ACCELERATORS, SHARES, WHOLE_CORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def literal(value: str | int | Iterable[str]) -> str:
    """Write a string, a number or a list of strings as CEL."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return f"[{', '.join(map(literal, value))}]"


def alternatives(words: Iterable[str]) -> str:
    """Write words as one group of a regular expression; the words have no signs with a meaning there."""
    return f"(?:{'|'.join(sorted(words))})"


def items(owner: str, *path: str) -> str:
    """The list at a path of an optional value, empty where there is none."""
    return f"{at(owner, *path)}.orValue([])"


def at(owner: str, *path: str) -> str:
    """The optional value at a path."""
    return owner + "".join(f".?{step}" for step in path)


def has(owner: str, *path: str) -> str:
    """True if there is a value at a path."""
    return f"{at(owner, *path)}.hasValue()"


#: What policies read of a container, with a default where it says nothing.
OF_CONTAINER = {
    "name": "container.name",
    "image": "container.?image.orValue('')",
    "limits": "container.?resources.?limits.orValue({})",
    "requests": "container.?resources.?requests.orValue({})",
    "env": "container.?env.orValue([]).map(each, {'name': each.name, 'value': each.?value.orValue('')})",
    "mounts": "container.?volumeMounts.orValue([])",
    "isPrivileged": "container.?securityContext.?privileged.orValue(false)",
}
#: What policies read of a pod template.
OF_POD = {
    "containers": "template.?spec.?initContainers.orValue([]) + template.?spec.?containers.orValue([])",
    "mainContainers": "template.?spec.?containers.orValue([])",
    "volumes": "template.?spec.?volumes.orValue([])",
    "tolerations": "template.?spec.?tolerations.orValue([])",
    "labels": "template.?metadata.?labels.orValue({})",
    "hostIPC": "template.?spec.?hostIPC.orValue(false)",
    "hostPID": "template.?spec.?hostPID.orValue(false)",
    "hasDeadline": "template.?spec.?activeDeadlineSeconds.hasValue()",
}
_CONTAINERS = ("containers", "mainContainers")


def pods(text: str) -> str:
    """The pods that a text reads: a map for each template, with what the text reads of pods and containers."""
    inside = [f"{literal(name)}: dyn({value})" for name, value in OF_CONTAINER.items() if f"container.{name}" in text]
    read = {name: value for name, value in OF_POD.items() if f"pod.{name}" in text}
    of_containers = f".map(container, {{{', '.join(inside)}}})"
    rows = [f"{literal(name)}: dyn({f'({value}){of_containers}' if name in _CONTAINERS else value})" for name, value in read.items()]
    joined = ",\n  ".join(rows)
    return f"variables.templates.map(template, {{\n  {joined}\n}})"


def is_gpu(name: str) -> str:
    """True if a resource is counted in whole GPUs, as `accelerators.is_gpu` says."""
    return f"{_names_gpu(name)} && {_is_no_share(name)}"


def is_device(name: str) -> str:
    """True if a resource is counted in whole GPUs or other accelerators, as `accelerators.is_other_accelerator` says."""
    others = f"{name}.lowerAscii().matches({literal('|'.join(OTHER_ACCELERATORS))})"
    return f"({_names_gpu(name)} || {others}) && {_is_no_share(name)}"


def _names_gpu(name: str) -> str:
    return f"{name}.contains('/') && {name}.lowerAscii().contains('gpu')"


def _is_no_share(name: str) -> str:
    last = f"{name}.lowerAscii().substring({name}.lastIndexOf('/') + 1).replace({literal(WHOLE_CORE)}, '')"
    return f"!{last}.matches({literal('|'.join(SHARES))})"


_WHOLE = ".filter(number, number.isInteger()).map(number, number.asInteger())"


def _number_of(is_counted: Callable[[str], str]) -> str:
    """The number of some devices of a `container`, by limits, or by requests of what has no limit."""
    return (
        f"(container.limits.filter(gpu, {is_counted('gpu')})\n"
        f"      .map(gpu, quantity(string(container.limits[gpu]))){_WHOLE} +\n"
        f"      container.requests.filter(gpu, {is_counted('gpu')} && !(gpu in container.limits))\n"
        f"      .map(gpu, quantity(string(container.requests[gpu]))){_WHOLE}).sum()"
    )


GPUS, DEVICES = _number_of(is_gpu), _number_of(is_device)


def sentences(texts: str) -> str:
    """The texts of all pods that are not empty."""
    return f"variables.pods.map(pod,\n    {texts.lstrip()}).filter(text, text != '')"


def in_containers(condition: str, text: str, *, of: str = "containers", where: str = "") -> str:
    """The texts of what a rule finds in containers, one text for each pod.

    *condition* and *text* are about a `container`. *of*: the containers of the `pod`. *where*: what has to hold of the `pod`.
    """
    found = f"pod.{of}.filter(container,\n      {condition})\n    .map(container, {text}).join(', ')"
    return sentences(f"!({where}) ? '' :\n    {found}" if where else found)


def in_volumes(condition: str, text: str, *, where: str = "") -> str:
    """The same of what a rule finds in volumes."""
    found = f"pod.volumes.filter(volume,\n      {condition})\n    .map(volume, {text}).join(', ')"
    return sentences(f"!({where}) ? '' :\n    {found}" if where else found)
