"""The priority of a pod, by its priority class.

Follows `Plugin.admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, 1.36.
"""

from __future__ import annotations

from jobspec.kinds import PRIORITY_CLASS
from jobspec.validation.pods.pod_admission import of_class, priority_problems
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects

    Data = dict[str, Any]

_POLICY = "PreemptLowerPriority"


def with_priority(pod: Data, objects: PolicyObjects) -> tuple[Data, list[Problem]]:
    """A pod with the priority of its class, or of the default class, and why the server refuses it.

    What stands against a pod of the system's own classes is the same on every cluster and `validation` says it.
    """
    spec = mapping(pod, "spec")
    own = spec.get("priorityClassName") or ""
    found = objects.default_priority_class() if not own else (own, objects.find(PRIORITY_CLASS, "", own))
    if not found:
        return {**pod, "spec": {**spec, **of_class({})}}, list(priority_problems(spec))
    name, chosen = found
    filled = priority_of(own, objects)
    if filled is None:
        return pod, [_unknown(own, objects)] if objects.closed else []
    fields = ("priority", "preemptionPolicy") if chosen else ()
    wrong = [_differs(field, spec[field], filled[field], name) for field in fields if _is_other(spec, field, filled)]
    return {**pod, "spec": {**spec, **filled}}, wrong


def priority_of(named: str, objects: PolicyObjects) -> Data | None:
    """What the server fills in for the class that a pod names, or none names it: then for the default class. None for an unknown class."""
    name, chosen = (named, objects.priority_class(named)) if named else objects.default_priority_class() or ("", {})
    if chosen is None:
        return None
    filled = {"priority": int(chosen.get("value") or 0), "preemptionPolicy": chosen.get("preemptionPolicy") or _POLICY}
    return {"priorityClassName": name, **filled} if name else filled


def _is_other(spec: Data, field: str, filled: Data) -> bool:
    return spec.get(field) is not None and spec[field] != filled[field]


def _differs(field: str, own: Any, computed: Any, name: str) -> Problem:
    message = f"the server takes `{field}` from the priority class `{name}`, which has {computed}, so it cannot be {own}"
    return Problem("refused-by-class", ("spec", field), message, "leave it out")


def _unknown(name: str, objects: PolicyObjects) -> Problem:
    from jobspec.validation.wording import closest

    message = f"there is no PriorityClass `{name}`, so the server refuses the pod"
    hint = closest(name, objects.names(PRIORITY_CLASS)) or "give its file, too"
    return Problem("unresolved-reference", ("spec", "priorityClassName"), message, hint)
