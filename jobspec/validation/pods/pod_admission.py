"""What admission refuses of new pods on every cluster, whatever objects it has.

Follows `admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, and `validateOverhead`, plugin/pkg/admission/runtimeclass, 1.36.
"""

from __future__ import annotations

from jobspec.kinds import SYSTEM_PRIORITIES
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_WORDS = {"priority": "priority", "preemptionPolicy": "preemption policy"}


def pod_admission_problems(pod: dict[str, Any]) -> Iterator[Problem]:
    """The problems of what only a class can give to a pod: a priority, a preemption policy, an overhead.

    The priority of a pod that names no class is that of the cluster's default class, for which `admission/plugins` looks.
    """
    spec = pod.get("spec") or {}
    if spec.get("priorityClassName"):
        yield from priority_problems(spec)
    if "overhead" in spec and not spec.get("runtimeClassName"):
        message = "an overhead comes from a RuntimeClass, and the pod names none"
        hint = "remove it, or name the class by `runtimeClassName`"
        yield Problem("conflicting-values", (*_SPEC, "overhead"), message, hint, at_key=True)


def priority_problems(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a priority and a preemption policy that a system class does not have, or no class where none is named."""
    name = spec.get("priorityClassName")
    whose = f"the class `{name}` has" if name else "a pod without `priorityClassName` has"
    for field, value in of_class(spec).items():
        if spec.get(field, value) != value:
            message = f"{whose} the {_WORDS[field]} {value}, not {spec[field]}"
            yield Problem("conflicting-values", (*_SPEC, field), message, "remove it; name a PriorityClass by `priorityClassName`")


def of_class(spec: dict[str, Any]) -> dict[str, Any]:
    """What a pod gets of its class, where that is one of every cluster, or where it names none; empty for others."""
    name = spec.get("priorityClassName") or ""
    priority = SYSTEM_PRIORITIES.get(name) if name else 0
    return {} if priority is None else {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"}
