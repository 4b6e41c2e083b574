"""The objects that decide on pods: namespaces by their labels, LimitRanges, ResourceQuotas, classes, accounts; and what pods mount."""

from __future__ import annotations

from jobspec import kinds
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.kinds import GroupKind

    Data = dict[str, Any]
    _ByPlace = dict[tuple[GroupKind, str], dict[str, Data]]

_KINDS = (*kinds.DECIDING, *kinds.AWAITED)
_CLUSTER_WIDE = (kinds.NAMESPACE, kinds.PRIORITY_CLASS, kinds.RUNTIME_CLASS)


class PolicyObjects:
    """The objects that decide on pods, by kind, namespace and name; of two with one name, the last counts."""

    __slots__ = ("_by_place", "closed")

    def __init__(self, objects: Iterable[Data] = (), *, closed: bool = False, there: PolicyObjects | None = None) -> None:
        before = there._by_place if there else {}
        self._by_place: _ByPlace = {**before, **{place: {**before.get(place, {}), **named} for place, named in _by_place(objects).items()}}
        self.closed = closed
        """Whether what is not among the objects does not exist; else nobody knows."""

    def with_others(self, objects: Iterable[Data]) -> PolicyObjects:
        """The same with further objects."""
        return PolicyObjects(objects, closed=self.closed, there=self)

    def concern(self, namespace: str) -> bool:
        """Whether there are objects that decide on the pods of a namespace, or that these can wait for."""
        places = [(kind, "" if kind in _CLUSTER_WIDE else namespace) for kind in _KINDS if kind != kinds.NAMESPACE]
        return any(place in self._by_place for place in places) or self.find(kinds.NAMESPACE, "", namespace) is not None

    def find(self, kind: GroupKind, namespace: str, name: str) -> Data | None:
        """The object of a name, None where it is not at hand; *namespace* is empty for kinds without one."""
        return self._by_place.get((kind, namespace), {}).get(name)

    def names(self, kind: GroupKind, namespace: str = "") -> list[str]:
        """The names of the objects of a kind that are at hand."""
        return list(self._by_place.get((kind, namespace), {}))

    def in_namespace(self, kind: GroupKind, namespace: str) -> list[tuple[str, Data]]:
        """All objects of a kind in a namespace with their names, by name."""
        return sorted(self._by_place.get((kind, namespace), {}).items())

    def labels(self, namespace: str) -> Mapping[str, Any]:
        """The labels of a namespace; none where it is not at hand."""
        return mapping(self.find(kinds.NAMESPACE, "", namespace), "metadata", "labels")

    def priority_class(self, name: str) -> Data | None:
        """A priority class that is at hand, or one of those that every cluster has."""
        if name in kinds.SYSTEM_PRIORITIES:
            return {"value": kinds.SYSTEM_PRIORITIES[name]}
        return self.find(kinds.PRIORITY_CLASS, "", name)

    def default_priority_class(self) -> tuple[str, Data] | None:
        """The name and the class of pods that name none: of several defaults the lowest. None where no default is at hand."""
        classes = self.in_namespace(kinds.PRIORITY_CLASS, "")
        defaults = [(name, each) for name, each in classes if each.get("globalDefault")]
        return min(defaults, key=lambda each: each[1].get("value") or 0) if defaults else None


def _by_place(objects: Iterable[Data]) -> _ByPlace:
    found: _ByPlace = {}
    for each in objects:
        kind = kinds.group_kind(str(each.get("apiVersion")), str(each.get("kind")))
        if kind in _KINDS:
            metadata = mapping(each, "metadata")
            namespace = "" if kind in _CLUSTER_WIDE else metadata.get("namespace") or ""
            found.setdefault((kind, namespace), {})[metadata.get("name") or ""] = each
    return found


def policies_of(documents: Iterable[Document], *, closed: bool = False) -> PolicyObjects:
    """The objects among *documents* that decide on pods."""
    return PolicyObjects(data_of(documents), closed=closed)


def data_of(documents: Iterable[Document]) -> list[Data]:
    """The data of those documents that are mappings."""
    return [each.data for each in documents if isinstance(each.data, dict)]
