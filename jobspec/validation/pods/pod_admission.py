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
_PREEMPTION = "PreemptLowerPriority"


def pod_admission_problems(pod: dict[str, Any]) -> Iterator[Problem]:
    """The problems of what only a class can give to a pod: a priority, a preemption policy, an overhead.

    Where no class is named, a cluster's default class could still have the pod's priority; nobody counts on that.
    """
    spec = pod.get("spec") or {}
    name = spec.get("priorityClassName") or ""
    if not name or name in SYSTEM_PRIORITIES:
        yield from _priority(spec, name)
    if "overhead" in spec and not spec.get("runtimeClassName"):
        message = "an overhead comes from a RuntimeClass, and the pod names none"
        yield Problem(
            "conflicting-values", (*_SPEC, "overhead"), message, "remove it, or name the class by `runtimeClassName`", at_key=True
        )


def _priority(spec: dict[str, Any], name: str) -> Iterator[Problem]:
    computed = SYSTEM_PRIORITIES.get(name, 0)
    whose = f"the class `{name}` has" if name else "a pod without `priorityClassName` has"
    if spec.get("priority", computed) != computed:
        message = f"{whose} the priority {computed}, not {spec['priority']}"
        yield Problem("conflicting-values", (*_SPEC, "priority"), message, "remove it; name a PriorityClass by `priorityClassName`")
    if spec.get("preemptionPolicy", _PREEMPTION) != _PREEMPTION:
        message = f"{whose} the preemption policy `{_PREEMPTION}`, not `{spec['preemptionPolicy']}`"
        yield Problem("conflicting-values", (*_SPEC, "preemptionPolicy"), message, "remove it; name a PriorityClass by `priorityClassName`")
