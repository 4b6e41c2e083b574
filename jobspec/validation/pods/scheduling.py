"""What holds a pod back, and the node and classes that it names.

Follows `ValidatePodSpec`, `validateSchedulingGates` and `validateReadinessGates`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_label_value, bad_qualified_name, bad_subdomain
from jobspec.validation.pods.complaints import missing, unsupported
from jobspec.validation.pods.resource_names import bad_container_resource
from jobspec.validation.pods.resources import requirement_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

#: The fields that name an object, and what kind of object.
_NAMES = {
    "nodeName": "a node",
    "priorityClassName": "a PriorityClass",
    "runtimeClassName": "a RuntimeClass",
}
_PREEMPTIONS = ("PreemptLowerPriority", "Never")


def scheduling_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of gates, of the node's labels, and of names."""
    yield from _node_labels(spec, path)
    yield from _gates(spec, path)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = (*path, "readinessGates", index)
        yield from _qualified(gate, "conditionType", "a condition", at)
    yield from _names(spec, path)
    yield from _overhead(spec.get("overhead", {}), (*path, "overhead"))
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in _PREEMPTIONS:
        yield unsupported(preemption, _PREEMPTIONS, (*path, "preemptionPolicy"))


def _overhead(overhead: dict[str, str], path: Path) -> Iterator[Problem]:
    """The problems of an overhead, which is held to the rules for limits of a container."""
    for problem in requirement_problems({"limits": overhead}, path, bad_container_resource, set()):
        yield Problem(problem.rule, (*path, *problem.path[len(path) + 1 :]), problem.message, problem.hint, at_key=problem.at_key)


def _node_labels(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    for key, value in (spec.get("nodeSelector") or {}).items():
        at = (*path, "nodeSelector", Key(key))
        if why := bad_qualified_name(key):
            yield Problem("wrong-format", at, f'"{key}" is no label key: {why}', at_key=True)
        if why := bad_label_value(value):
            yield Problem("wrong-format", at, f'"{value}" is no label value: {why}')


def _gates(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = (*path, "schedulingGates", index), gate.get("name") or ""
        yield from _qualified(gate, "name", "a gate", at)
        if name and name in seen:
            yield Problem("duplicate-item", (*at, "name"), f"two gates are named `{name}`", "remove one of the two")
        seen.add(name)


def _qualified(data: dict[str, Any], field: str, what: str, path: Path) -> Iterator[Problem]:
    name = data.get(field) or ""
    if not name:
        yield missing(field, data, path)
    elif why := bad_qualified_name(name):
        yield Problem("invalid-name", (*path, field), f"`{name}` is no name for {what}: {why}")


def _names(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field, what in _NAMES.items():
        name = spec.get(field)
        if name is None or (name == "" and field != "runtimeClassName"):
            continue
        if why := bad_subdomain(name):
            yield Problem("invalid-name", (*path, field), f"`{name}` is no name for {what}: {why}")
