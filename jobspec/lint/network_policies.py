"""NetworkPolicies: which pods one isolates, and whom it lets in.

Follows the semantics of networking.k8s.io/v1 NetworkPolicy, https://kubernetes.io/docs/concepts/services-networking/network-policies/.
"""

from __future__ import annotations

from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.overlays.marked_tree import MarkedTree


def labels_of(pod: MarkedTree) -> dict[str, str]:
    """The labels of a pod."""
    metadata = pod.get("metadata")
    return {name: str(each.value) for name, each in metadata.entries("labels")} if metadata else {}


def isolates(policy: Document, labels: Mapping[str, str]) -> bool:
    """Whether a pod with these labels accepts only what policies allow, because of this one."""
    types = value_at(policy.data, ("spec", "policyTypes"))
    return bool(not types or "Ingress" in types) and _selects(value_at(policy.data, ("spec", "podSelector")), labels)


def lets_in(policy: Document, sender: Mapping[str, str]) -> bool:
    """Whether a policy allows traffic of a pod of the same namespace; on whatever port, so that too much is taken for allowed."""
    return any(_lets_in(rule, sender) for _, rule in items_at(policy.data, ("spec", "ingress")))


def _lets_in(rule: Any, sender: Mapping[str, str]) -> bool:
    senders = value_at(rule, ("from",))
    return not senders or any(_is_sender(each, sender) for each in senders)


def _is_sender(peer: Any, sender: Mapping[str, str]) -> bool:
    """Whether a pod is a peer; one by its namespace's labels or its address may be."""
    if value_at(peer, ("podSelector",)) is None:
        return True
    return _selects(peer["podSelector"], sender)


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
