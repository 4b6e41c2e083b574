"""NetworkPolicies: which pods one isolates, whom it lets in, where it lets them go, and which one keeps the pods of a job apart.

Follows the semantics of networking.k8s.io/v1 NetworkPolicy, https://kubernetes.io/docs/concepts/services-networking/network-policies/.
"""

from __future__ import annotations

from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree

_PORTS_OF_NAMES = (53, 5353)


def labels_of(pod: MarkedTree) -> dict[str, str]:
    """The labels of a pod."""
    metadata = pod.get("metadata")
    return {name: str(each.value) for name, each in metadata.entries("labels")} if metadata else {}


def blocking(
    policies: Sequence[Document], role: str, own: Mapping[str, str], peers: Sequence[Mapping[str, str]]
) -> tuple[Document, str, str] | None:
    """The policy that keeps the pods of a role from others, what it does to them, and the remedy; None where there is none.

    *own*, *peers*: the labels of the role's pods, and of all that they have to reach.
    """
    between = "allow traffic between the pods of the job"
    entering = [each for each in policies if _isolates(each, own)]
    if entering and not all(any(_lets_in(each, peer) for each in entering) for peer in peers):
        return entering[0], f"no pod of the job reach those of {role}", between
    leaving = [each for each in policies if _isolates(each, own, "Egress")]
    if leaving and not all(any(_lets_out(each, peer) for each in leaving) for peer in peers):
        return leaving[0], f"those of {role} reach no other pod of the job", between
    if leaving and not any(_lets_ask_for_names(each) for each in leaving):
        return leaving[0], f"those of {role} ask for no name of another pod", "allow the cluster's name servers, on port 53"
    return None


def _isolates(policy: Document, labels: Mapping[str, str], direction: Literal["Ingress", "Egress"] = "Ingress") -> bool:
    """Whether pods with these labels have only the traffic of a direction that policies allow, because of this one."""
    types = value_at(policy.data, ("spec", "policyTypes"))
    isolated = direction in types if types else direction == "Ingress" or bool(value_at(policy.data, ("spec", "egress")))
    return isolated and _selects(value_at(policy.data, ("spec", "podSelector")), labels)


def _lets_in(policy: Document, sender: Mapping[str, str]) -> bool:
    """Whether a policy allows traffic of a pod of the same namespace; on whatever port, so that too much is taken for allowed."""
    return any(_allows(rule, "from", sender) for _, rule in items_at(policy.data, ("spec", "ingress")))


def _lets_out(policy: Document, receiver: Mapping[str, str]) -> bool:
    """Whether a policy allows traffic to a pod of the same namespace, on whatever port."""
    return any(_allows(rule, "to", receiver) for _, rule in items_at(policy.data, ("spec", "egress")))


def _lets_ask_for_names(policy: Document) -> bool:
    """Whether a policy may allow what leaves the namespace on the port of name servers."""
    for _, rule in items_at(policy.data, ("spec", "egress")):
        peers, ports = value_at(rule, ("to",)), value_at(rule, ("ports",))
        leaves = not peers or any(value_at(each, (field,)) is not None for each in peers for field in ("namespaceSelector", "ipBlock"))
        if leaves and (not ports or any(map(_is_of_names, ports))):
            return True
    return False


def _is_of_names(ports: Any) -> bool:
    """Whether a port, or a range of them, has one of name servers; that of OpenShift's pods is 5353."""
    first, last = (value_at(ports, (field,)) for field in ("port", "endPort"))
    if isinstance(first, int):
        return any(first <= each <= (last if isinstance(last, int) else first) for each in _PORTS_OF_NAMES)
    return first in (None, "dns", "dns-tcp", "domain")


def _allows(rule: Any, field: str, pod: Mapping[str, str]) -> bool:
    peers = value_at(rule, (field,))
    return not peers or any(_is_peer(each, pod) for each in peers)


def _is_peer(peer: Any, pod: Mapping[str, str]) -> bool:
    """Whether a pod is a peer; one by its namespace's labels or its address may be."""
    if value_at(peer, ("podSelector",)) is None:
        return True
    return _selects(peer["podSelector"], pod)


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects labels; an empty one selects all."""
    wanted = value_at(selector, ("matchLabels",)) or {}
    return all(labels.get(name) == value for name, value in wanted.items()) and all(
        _holds(each, labels) for _, each in items_at(selector, ("matchExpressions",))
    )


def _holds(expression: Any, labels: Mapping[str, str]) -> bool:
    value = labels.get(str(value_at(expression, ("key",))))
    values = value_at(expression, ("values",)) or ()
    operator = value_at(expression, ("operator",))
    if operator in ("In", "NotIn"):
        return bool(value in values) is (operator == "In")
    return (value is not None) is (operator == "Exists")
