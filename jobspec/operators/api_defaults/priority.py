"""The priority of a pod, by its priority class.

Follows `Plugin.admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, 1.36, with the classes that every cluster has, and those at
hand. The value of a class that is not at hand remains open.
"""

from __future__ import annotations

from jobspec.kinds import PRIORITY_CLASS
from jobspec.operators.api_defaults.filling import with_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.overlays.marked_tree import MarkedTree

_SYSTEM = {"system-cluster-critical": {"value": 2_000_000_000}, "system-node-critical": {"value": 2_000_001_000}}


def with_priority(spec: MarkedTree, server: Mark, beside: Sequence[Document]) -> MarkedTree:
    """A pod's spec with the priority of its class, 0 without one; a class that is the default of all pods counts, too."""
    classes = _classes(beside)
    named = spec.get("priorityClassName")
    if named is None:
        name = max((name for name, each in classes.items() if each.get("globalDefault")), key=lambda n: -classes[n]["value"], default="")
        spec = with_missing(spec, {"priorityClassName": name} if name else {}, server)
        chosen: Mapping[str, Any] | None = classes.get(name, {"value": 0})
    else:
        chosen = classes.get(named.value)
    if chosen is None:
        return spec
    policy = chosen.get("preemptionPolicy", "PreemptLowerPriority")
    return with_missing(spec, {"priority": int(chosen.get("value", 0)), "preemptionPolicy": policy}, server)


def value_of_class(name: str, beside: Sequence[Document]) -> int:
    """The priority that a class stands for; 0 for one that is not at hand."""
    return int(_classes(beside).get(name, {}).get("value", 0))


def _classes(beside: Sequence[Document]) -> dict[str, Mapping[str, Any]]:
    return {**_SYSTEM, **{each.name: each.data for each in beside if each.group_kind == PRIORITY_CLASS}}
