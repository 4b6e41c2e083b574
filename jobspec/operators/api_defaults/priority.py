"""The priority of a pod, by its priority class: one that every cluster has, or one at hand. The value of any other remains open."""

from __future__ import annotations

from jobspec.operators.api_defaults.filling import with_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree


def with_priority(spec: MarkedTree, server: Mark, beside: Sequence[Document]) -> MarkedTree:
    """A pod's spec with the priority of its class, 0 without one; a class that is the default of all pods counts, too."""
    from jobspec.kubernetes.admission.classes import priority_of
    from jobspec.kubernetes.admission.objects import policies_of

    named = spec.get("priorityClassName")
    return with_missing(spec, priority_of(named.value if named else "", policies_of(beside)) or {}, server)


def value_of_class(name: str, beside: Sequence[Document]) -> int:
    """The priority that a class stands for; 0 for one that is not at hand."""
    from jobspec.kubernetes.admission.objects import policies_of

    return int((policies_of(beside).priority_class(name) or {}).get("value") or 0)
