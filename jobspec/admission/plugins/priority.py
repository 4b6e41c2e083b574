"""The priority of a pod, by its priority class.

Follows `Plugin.admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.values import mapping
from jobspec.kinds import PRIORITY_CLASS
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects

    Data = dict[str, Any]

_POLICY = "PreemptLowerPriority"


def with_priority(pod: Data, objects: PolicyObjects) -> tuple[Data, list[Problem]]:
    """A pod with the priority of its class, and why the server refuses it.

    Without a class it has that of the default class, or 0: a cluster that is not closed may have a default that nobody knows, and then
    takes a priority that happens to be the same.
    """
    spec = mapping(pod, "spec")
    named = spec.get("priorityClassName") or ""
    if named:
        chosen = objects.priority_class(named)
        if chosen is None:
            return pod, [_unknown(named, objects)] if objects.closed else []
    else:
        named, chosen = objects.default_priority_class() or ("", {"value": 0})
    priority, policy = chosen.get("value") or 0, chosen.get("preemptionPolicy") or _POLICY
    filled = {"priority": priority, "preemptionPolicy": policy, **({"priorityClassName": named} if named else {})}
    wrong = [
        _differs(field, spec[field], filled[field], named) for field in ("priority", "preemptionPolicy") if _is_other(spec, field, filled)
    ]
    return {**pod, "spec": {**spec, **filled}}, wrong


def _is_other(spec: Data, field: str, filled: Data) -> bool:
    return spec.get(field) is not None and spec[field] != filled[field]


def _differs(field: str, own: Any, computed: Any, named: str) -> Problem:
    source = f"the priority class `{named}`" if named else "the pod's priority class, of which it names none,"
    message = f"the server takes `{field}` from {source} and computes {computed}, so it cannot be {own}"
    return Problem("refused-by-class", ("spec", field), message, "leave it out, and name a class in `priorityClassName`")


def _unknown(name: str, objects: PolicyObjects) -> Problem:
    from jobspec.validation.wording import closest

    message = f"there is no PriorityClass `{name}`, so the server refuses the pod"
    hint = closest(name, objects.names(PRIORITY_CLASS)) or "give its file, too"
    return Problem("unresolved-reference", ("spec", "priorityClassName"), message, hint)
