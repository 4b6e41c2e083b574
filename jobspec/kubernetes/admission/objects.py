"""The objects that decide on pods: namespaces by their labels, LimitRanges, ResourceQuotas, classes, accounts; and what pods mount."""

from __future__ import annotations

from functools import partial

from jobspec.apis import kinds
from jobspec.apis.kinds import CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, SECRET, UNKNOWN
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.record import Record
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.generated import ANY, generated_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, TypeVar

    from jobspec.apis.kinds import CompleteKinds, GroupKind
    from jobspec.documents.document import Document

    T = TypeVar("T")
    _ByPlace = dict[tuple[GroupKind, str], dict[str, Data]]


#: The kinds of objects that put policies with rules in CEL in force.
_IN_FORCE = (kinds.VALIDATING_POLICY_BINDING, kinds.MUTATING_POLICY_BINDING, kinds.KYVERNO_POLICY)
_CLUSTER_WIDE = (kinds.NAMESPACE, kinds.PRIORITY_CLASS, kinds.RUNTIME_CLASS, *kinds.ADMISSION_POLICIES)
_LOOKED_UP = {*kinds.POLICY_KINDS, *kinds.MOUNTED_KINDS} - {kinds.NAMESPACE, *kinds.ADMISSION_POLICIES}


class PolicyObjects:
    """The objects that decide on pods, by kind, namespace and name; of two with one name, the last counts."""

    def __init__(self, objects: Iterable[Data] = (), *, complete: CompleteKinds = UNKNOWN, there: PolicyObjects | None = None) -> None:
        before, more = there._by_place if there else {}, _by_place(objects)
        self._by_place: _ByPlace = {**before, **{place: {**before.get(place, {}), **named} for place, named in more.items()}}
        self._there = there if not any((kind, "") in more for kind in kinds.ADMISSION_POLICIES) else None
        """Further objects that it begins with, where they have the same policies with rules in CEL."""
        self.complete = complete
        """The kinds of which no others exist than those among the objects."""
        self._prepared: dict[GroupKind, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """What is pickled: not the compiled policies, which no other process can have."""
        objects = [each for named in self._by_place.values() for each in named.values()]
        return partial(PolicyObjects, complete=self.complete), (objects,)

    def with_others(self, objects: Iterable[Data]) -> PolicyObjects:
        """The same with further objects."""
        return PolicyObjects(objects, complete=self.complete, there=self)

    @property
    def have_policies(self) -> bool:
        """Whether policies with rules in CEL are among them, and bindings."""
        return any((kind, "") in self._by_place for kind in _IN_FORCE)

    @property
    def have_queues(self) -> bool:
        """Whether queues of Kueue are among them."""
        return any(kind in kinds.QUEUE_KINDS for kind, _ in self._by_place)

    def queues(self) -> list[Data]:
        """The objects of Kueue, and its configuration."""
        wanted = (*kinds.QUEUE_KINDS, kinds.QUEUE_CONFIGURATION, kinds.CONFIG_MAP)
        found = [(kind, each) for (kind, _), named in self._by_place.items() if kind in wanted for each in named.values()]
        return [each for kind, each in found if kind in kinds.QUEUE_KINDS or kinds.configures_queues(kind, each)]

    @property
    def change_objects(self) -> bool:
        """Whether policies that change objects are among them, and bindings."""
        return (kinds.MUTATING_POLICY_BINDING, "") in self._by_place

    def prepared(self, kind: GroupKind, prepare: Callable[[PolicyObjects, GroupKind], T]) -> T:
        """What the policies of a kind among them are made ready to, once."""
        if kind not in self._prepared:
            self._prepared[kind] = self._there.prepared(kind, prepare) if self._there else prepare(self, kind)
        found: T = self._prepared[kind]
        return found

    def apply_to(self, namespace: str) -> bool:
        """Whether there are objects that decide on the pods of a namespace, or that these can wait for."""
        return any((kind, "") in self._by_place for kind in kinds.ADMISSION_POLICIES) or self.are_looked_up(namespace)

    def are_looked_up(self, namespace: str) -> bool:
        """Whether the server's plugins look up some of them for the pods of a namespace."""
        places = [(kind, "" if kind in _CLUSTER_WIDE else namespace) for kind in _LOOKED_UP]
        return any(place in self._by_place for place in places) or self.find(kinds.NAMESPACE, "", namespace) is not None

    def find(self, kind: GroupKind, namespace: str, name: str) -> Data | None:
        """The object of a name, None where it is not at hand; *namespace* is empty for kinds without one."""
        return self._by_place.get((kind, namespace), {}).get(name) or self._by_place.get((kind, ANY), {}).get(name)

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
        """The default priority class and its name, of several the lowest; None where none is at hand."""
        classes = self.in_namespace(kinds.PRIORITY_CLASS, "")
        defaults = [(name, each) for name, each in classes if each.get("globalDefault")]
        return min(defaults, key=lambda each: each[1].get("value") or 0) if defaults else None


def _by_place(objects: Iterable[Data]) -> _ByPlace:
    found: _ByPlace = {}
    for each in objects:
        kind = kinds.group_kind(str(each.get("apiVersion")), str(each.get("kind")))
        metadata = mapping(each, "metadata")
        namespace = "" if kind in _CLUSTER_WIDE else metadata.get("namespace") or ""
        found.setdefault((kind, namespace), {})[metadata.get("name") or ""] = each
    return found


def policies_of(documents: Iterable[Document], *, complete: CompleteKinds = UNKNOWN) -> PolicyObjects:
    """The objects among *documents* that decide on pods."""
    return PolicyObjects(data_of(documents), complete=complete)


POD_SECURITY_LABEL = "pod-security.kubernetes.io/"


def decides(document: Document, *, complete: CompleteKinds) -> bool:
    """Whether an object decides on the pods of jobs, or they wait for it. Unless its kind is *complete*, what is absent does not count."""
    kind = document.group_kind
    if kind == kinds.NAMESPACE and not complete.every:
        return any(str(name).startswith(POD_SECURITY_LABEL) for name in mapping(document.data, "metadata", "labels"))
    if kind == kinds.SERVICE_ACCOUNT and not complete.every and kind not in complete.pinned:
        return bool(mapping(document.data, "metadata", "annotations"))
    wanted = (*kinds.MOUNTED_KINDS, *kinds.GENERATING_KINDS) if complete.every else ()
    return kind in (*kinds.POLICY_KINDS, *kinds.QUEUE_KINDS, *wanted) or kinds.configures_queues(kind, document.data)


def policies_among(documents: Sequence[Document], there: PolicyObjects | None, *, complete: CompleteKinds) -> PolicyObjects | None:
    """The objects that decide on the pods of jobs: those among *documents*, and those that are *there* already; None without any."""
    found = [each for each in documents if decides(each, complete=complete)]
    if any(each.group_kind in kinds.ADMISSION_POLICIES for each in found):
        read = {kinds.NAMESPACE, *parameter_kinds(found)}
        found += [each for each in documents if each.group_kind in read and each not in found]
    if not found:
        return there
    return there.with_others(data_of(found)) if there else policies_of(found, complete=complete)


def parameter_kinds(policies: Iterable[Document]) -> set[GroupKind]:
    """The kinds of the objects that the admission policies among some documents have for parameters."""
    found = (mapping(each.data, "spec", "paramKind") for each in policies if each.group_kind in kinds.ADMISSION_POLICIES)
    return {kinds.group_kind(str(each.get("apiVersion")), str(each.get("kind"))) for each in found if each}


def may_be_parameter(policies: Sequence[Document]) -> Callable[[GroupKind, str, Any], bool]:
    """Whether an object of a kind, a name and labels may be a parameter of policies: a binding names it, or selects it by its labels."""
    from jobspec.kubernetes.metadata import selects

    wanted, names, selectors = parameter_kinds(policies), *_named_and_selected(policies)
    return lambda kind, name, labels: kind in wanted and (name in names or any(selects(each, mapping(labels)) for each in selectors))


def parameter_words(policies: Iterable[Document]) -> set[str]:
    """Texts of which each parameter has one, its name or the value of a label; empty where a binding selects by anything else."""
    names, selectors = _named_and_selected(policies)
    values = [next(iter(mapping(each, "matchLabels").values()), None) for each in selectors]
    return {*names, *map(str, values)} if None not in values else set()


def _named_and_selected(policies: Iterable[Document]) -> tuple[set[str], list[Any]]:
    """The names by which bindings refer to parameters, and the selectors by which they do."""
    bindings = [each for each in policies if each.group_kind == kinds.VALIDATING_POLICY_BINDING]
    references = [each for each in (mapping(one.data, "spec", "paramRef") for one in bindings) if each]
    names = {str(each["name"]) for each in references if each.get("name")}
    return names, [each.get("selector") for each in references if not each.get("name")]


def may_concern(policies: Iterable[Document], kind: GroupKind) -> bool:
    """Whether a rule of a policy may be for objects of a kind: by the group, and of Kubernetes' own kinds by the resource.

    A binding is always one of them, since its policy may be in another file.
    """
    group, name = kind
    is_builtin = any((each.group, each.name) == kind for each in kinds.built_in())
    own = ("*", kinds.plural_of(name))
    if kind in (kinds.VALIDATING_POLICY_BINDING, kinds.MUTATING_POLICY_BINDING):
        return True

    def is_for(rule: Any) -> bool:
        parts = [str(each).partition("/") for each in sequence(rule, "resources")]
        is_of_kind = not is_builtin or any(resource in own and sub in ("", "*") for resource, _, sub in parts)
        return is_of_kind and any(each in ("*", group) for each in sequence(rule, "apiGroups"))

    specs = [mapping(each.data, "spec", "matchConstraints") for each in policies if each.group_kind in kinds.ADMISSION_POLICIES]
    rules = [sequence(each, "resourceRules") for each in specs if each]
    return any(not each or any(map(is_for, each)) for each in rules)


def data_of(documents: Iterable[Document]) -> list[Data]:
    """The data of those documents that are mappings, or of what is generated by them."""
    data = [each.data for each in documents if isinstance(each.data, dict)]
    return [made for each in data for made in (list(generated_by(each)) or [each])]


# Read plain data of pods: what is absent or null is empty, as it is once Go has decoded it.


#: The fields of a pod's spec that hold containers, in the order in which most plugins look at them.
CONTAINERS = ("initContainers", "containers")


def sequence(data: Any, field: str) -> list[Any]:
    """The items of a list that are mappings or scalars, an empty list where there is none; null items are empty mappings."""
    found = data.get(field) if isinstance(data, dict) else None
    return [{} if each is None else each for each in found] if isinstance(found, list) else []


def containers(spec: Data, fields: tuple[str, ...] = (*CONTAINERS, "ephemeralContainers")) -> Iterator[tuple[Path, Data]]:
    """The containers of a pod's spec, each with its path in the pod."""
    for field in fields:
        for index, each in enumerate(sequence(spec, field)):
            if isinstance(each, dict):
                yield ("spec", field, index), each


# The claims, ConfigMaps and Secrets that a pod needs before its containers start.
#
# Follows `VisitPodSecretNames` and `VisitPodConfigmapNames`, k8s.io/kubernetes pkg/api/v1/pod, 1.36.


class Reference(Record):
    """An object that a pod needs, the keys that it reads of it, and the path of its name."""

    kind: GroupKind
    name: str
    path: Path
    keys: Sequence[tuple[str, Path]] = ()
    """Each with its path."""
    _: KW_ONLY
    is_optional: bool = False
    """Whether the pod starts without it, too."""
    is_projected: bool = False
    """Whether it is one of several sources of one volume."""


def references(spec: Data) -> Iterator[Reference]:
    """What a pod refers to."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        yield from _of_volume(volume, ("spec", "volumes", index))
    for path, container in containers(spec, CONTAINERS):
        yield from _of_container(container, path)


def _of_volume(volume: Data, path: Path) -> Iterator[Reference]:
    yield from _named_in(volume, "persistentVolumeClaim", "claimName", PERSISTENT_VOLUME_CLAIM, path)
    yield from _named_in(volume, "secret", "secretName", SECRET, path)
    yield from _named_in(volume, "configMap", "name", CONFIG_MAP, path)
    for number, source in enumerate(sequence(mapping(volume, "projected"), "sources")):
        place = (*path, "projected", "sources", number)
        yield from _named_in(source, "secret", "name", SECRET, place, is_projected=True)
        yield from _named_in(source, "configMap", "name", CONFIG_MAP, place, is_projected=True)


def _of_container(container: Data, path: Path) -> Iterator[Reference]:
    for index, variable in enumerate(sequence(container, "env")):
        for field, kind in (("secretKeyRef", SECRET), ("configMapKeyRef", CONFIG_MAP)):
            yield from _named_in(mapping(variable, "valueFrom"), field, "name", kind, (*path, "env", index, "valueFrom"))
    for index, several in enumerate(sequence(container, "envFrom")):
        for field, kind in (("secretRef", SECRET), ("configMapRef", CONFIG_MAP)):
            yield from _named_in(several, field, "name", kind, (*path, "envFrom", index))


def _named_in(holder: Data, field: str, name: str, kind: GroupKind, path: Path, *, is_projected: bool = False) -> Iterator[Reference]:
    """The object that a field of a volume or a variable names, with the one key that it reads, or those that become files."""
    source, place = mapping(holder, field), (*path, field)
    if source.get(name):
        keys = [(each["key"], (*place, "items", index, "key")) for index, each in enumerate(sequence(source, "items")) if each.get("key")]
        keys += [(source["key"], (*place, "key"))] if source.get("key") else []
        is_optional = bool(source.get("optional"))
        yield Reference(kind, source[name], (*place, name), keys, is_optional=is_optional, is_projected=is_projected)
