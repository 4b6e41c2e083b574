"""The resources that a pod asks for when a scheduler counts those of a whole group.

Follows `PodRequests`, k8s.io/component-helpers resource, 0.32 to 0.36: what a pod says for itself counts before its containers, and its
runtime class may cost something on top.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.pod_resources import requested, sum_of
from jobspec.quantities import quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.api_defaults.pod_resources import Amounts
    from jobspec.overlays.marked_tree import MarkedTree


def pod_requests(spec: MarkedTree) -> Amounts:
    """The amounts of a pod's spec by the names of the resources."""
    of_pod = {name: each for name, each in _amounts(spec.get("resources", "requests")).items() if _is_for_pods(name)}
    return sum_of(({**requested(spec), **of_pod}, _amounts(spec.get("overhead"))))


def _is_for_pods(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _amounts(tree: MarkedTree | None) -> Amounts:
    return {name: quantity(str(each.value)) for name, each in tree.value.items()} if tree else {}
