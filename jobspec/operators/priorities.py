"""The priority of a pod, by its priority class: one that every cluster has, or one at hand. The value of any other remains open."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, with_missing
from jobspec.kubernetes.index import index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.places import Mark
    from jobspec.documents.document import Document


def value_of_class(name: str, context: Sequence[Document]) -> int:
    """Return the value of a priority class; 0 for one that is not given."""
    return int((index_of(context).priority_class(name) or {}).get("value") or 0)


def with_priority(spec: MarkedTree, server: Mark, context: Sequence[Document]) -> MarkedTree:
    """A pod's spec with the priority of its class, 0 without one; a class that is the default of all pods counts, too."""
    from jobspec.kubernetes.admission.classes import priority_of

    named = spec.get("priorityClassName")
    return with_missing(spec, priority_of(named.value if named else "", index_of(context)) or {}, server)
