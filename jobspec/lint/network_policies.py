"""NetworkPolicies: which pods they isolate, which traffic they allow, and which policy blocks traffic inside a job.

Follows the semantics of networking.k8s.io/v1 NetworkPolicy, https://kubernetes.io/docs/concepts/services-networking/network-policies/.
"""

from __future__ import annotations

from jobspec.diagnostics.places import items_at, value_at
from jobspec.documents.marked_tree import MarkedTree
from jobspec.kubernetes.label_selectors import selects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from jobspec.documents.document import Document


_PORTS_OF_NAMES = (53, 5353)


def labels_of(pod: MarkedTree) -> dict[str, str]:
    """The labels of a pod."""
    return {name: str(each.value) for name, each in pod.entries("metadata", "labels")}


def blocking(policies: Sequence[Document], own: Mapping[str, str], peers: Sequence[Mapping[str, str]]) -> tuple[Document, str, str] | None:
    """The policy that blocks the pods of a role, what it blocks, and the hint; None where there is none.

    *own*, *peers*: the labels of the role's pods, and of all that they have to reach.
    """
    between = "allow traffic between the pods of the job"
    entering = [each for each in policies if _isolates(each, own)]
    if entering and not all(any(_allows(each, "ingress", "from", peer) for each in entering) for peer in peers):
        return entering[0], "ingress from the job's other pods", between
    leaving = [each for each in policies if _isolates(each, own, "Egress")]
    if leaving and not all(any(_allows(each, "egress", "to", peer) for each in leaving) for peer in peers):
        return leaving[0], "egress to the job's other pods", between
    if leaving and not any(_lets_ask_for_names(each) for each in leaving):
        return leaving[0], "DNS queries for the other pods' names", "allow egress to the cluster DNS, on port 53"
    return None


def _isolates(policy: Document, labels: Mapping[str, str], direction: Literal["Ingress", "Egress"] = "Ingress") -> bool:
    """Whether pods with these labels have only the traffic of a direction that policies allow, because of this one."""
    types = value_at(policy.data, ("spec", "policyTypes"))
    isolated = direction in types if types else direction == "Ingress" or bool(value_at(policy.data, ("spec", "egress")))
    return isolated and selects(value_at(policy.data, ("spec", "podSelector")), labels)


def _allows(policy: Document, rules: str, field: str, peer: Mapping[str, str]) -> bool:
    """Whether a policy allows traffic from or to a pod of the same namespace on any port, so that rather too little is reported."""
    of_rules = [value_at(rule, (field,)) for _, rule in items_at(policy.data, ("spec", rules))]
    return any(not peers or any(_is_peer(each, peer) for each in peers) for peers in of_rules)


def _lets_ask_for_names(policy: Document) -> bool:
    """Whether a policy may allow DNS queries to other namespaces."""
    for _, rule in items_at(policy.data, ("spec", "egress")):
        peers, ports = value_at(rule, ("to",)), value_at(rule, ("ports",))
        leaves = not peers or any(value_at(each, (field,)) is not None for each in peers for field in ("namespaceSelector", "ipBlock"))
        if leaves and (not ports or any(map(_is_of_names, ports))):
            return True
    return False


def _is_of_names(ports: Any) -> bool:
    """Whether a port or a range of ports includes that of DNS: 53, or 5353 in OpenShift."""
    first, last = (value_at(ports, (field,)) for field in ("port", "endPort"))
    if isinstance(first, int):
        return any(first <= each <= (last if isinstance(last, int) else first) for each in _PORTS_OF_NAMES)
    return first in (None, "dns", "dns-tcp", "domain")


def _is_peer(peer: Any, pod: Mapping[str, str]) -> bool:
    """Whether a pod is, or may be, a peer: one selected by namespace labels or by address counts as a match."""
    return value_at(peer, ("podSelector",)) is None or selects(peer["podSelector"], pod)
