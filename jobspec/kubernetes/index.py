"""All objects that are given, by kind, namespace and name; whoever judges a manifest asks here what it meets."""

from __future__ import annotations

from itertools import chain

from jobspec.apis import kinds
from jobspec.apis.kinds import UNKNOWN
from jobspec.diagnostics.places import Data
from jobspec.go.values import mapping, text

#: The name of a method of the index, and its arguments.
Question = tuple[object, ...]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from jobspec.apis.kinds import CompleteKinds, GroupKind, Name
    from jobspec.documents.document import Document

    T = TypeVar("T")
    _ByPlace = dict[tuple[GroupKind, str], dict[str, Data]]
    _Placed = tuple[_ByPlace, dict[Name, list[Data]]]
    _Data = dict[str, Any]
else:
    _Data = dict


def says(question: Question, name: str) -> bool:
    """Return True if a question says a name."""
    return bool(name) and any(says(each, name) if isinstance(each, tuple) else isinstance(each, str) and name in each for each in question)


class GivenObject(_Data):
    """The data of an object that messages name, with its origin: a file's name, or `pinned in FILE`."""

    __slots__ = ("origin",)

    def __init__(self, data: Data, origin: str = "") -> None:
        super().__init__(data)
        self.origin = origin


class Index:
    """The given objects by kind, namespace and name.

    If two have one name, the last counts; `of_group` gives both.
    """

    def __init__(
        self,
        objects: Iterable[Data] = (),
        *,
        complete: CompleteKinds = UNKNOWN,
        there: Index | None = None,
        asked: set[Question] | None = None,
        placed: _Placed | None = None,
    ) -> None:
        """*there*: further objects, which come first; *asked* is filled with the questions that are asked.

        *placed*: what `_by_place` gives of the objects; None if it is still to be found out.
        """
        more, rivals = placed or _by_place(objects)
        before = there._by_place if there else {}
        changed = {place: {**before.get(place, {}), **named} for place, named in more.items()}
        self._by_place: _ByPlace = {**before, **changed} if changed else before
        others = there._rivals_after(more) if there else {}
        self._rivals = {**others, **rivals} if rivals else others
        """The objects before the last, by kind, namespace and name, where these differ and nothing says which one is there."""
        self._there = there if not any((kind, "") in more for kind in kinds.ADMISSION_POLICIES) else None
        """The index of the further objects, if it has the same policies with rules in CEL."""
        self.complete = complete
        """The kinds of which no other objects exist."""
        self._made: dict[Any, Any] = there._made if there and not more else {}
        self.asked = asked
        """The questions so far; None if they are not recorded."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the objects, without the compiled policies, which no other process can have."""
        objects = [*chain(*self._rivals.values()), *(each for named in self._by_place.values() for each in named.values())]
        return _rebuilt, (objects, self.complete)

    def with_others(self, objects: Iterable[Data]) -> Index:
        """The same with further objects, and the same record of questions."""
        return Index(objects, complete=self.complete, there=self, asked=self.asked)

    def recording(self, objects: Iterable[Data] = ()) -> Index:
        """The same with further objects, and with a record of the questions that are asked of it."""
        more, rivals = _by_place(objects)
        if not (rivals or self._by_place):
            return Index(complete=self.complete, there=self, asked=set(), placed=(more, rivals))
        latest = {(*place, name): each for place, named in more.items() for name, each in named.items()}
        changed = [*chain(*rivals.values()), *(each for place, each in latest.items() if self._is_new(place, each) or place in rivals)]
        return Index(changed, complete=self.complete, there=self, asked=set())

    def _rivals_after(self, more: _ByPlace) -> dict[Name, list[Data]]:
        """Return the rivals that stay behind further objects.

        A place with several objects keeps all of them. A further ConfigMap takes the place of all.
        """
        changed: dict[Name, list[Data]] = {}
        for (kind, namespace), named in more.items() if self._rivals else ():
            for name, new in named.items():
                place = kind, namespace, name
                several, last = self._rivals.get(place), self._at(place)
                if several and kind == kinds.CONFIG_MAP:
                    changed[place] = []
                elif several is not None and last is not None and new != last:
                    changed[place] = [*(each for each in several if each != new), last]
        return {**self._rivals, **changed} if changed else self._rivals

    @property
    def have_rivals(self) -> bool:
        """True if several objects of one name are given that differ."""
        return bool(self._rivals)

    def alternatives(self, namespace: str, asked: Iterable[Question]) -> Iterator[tuple[Name, Index]]:
        """Yield an index with each further quota, LimitRange or Namespace of one name that concerns a namespace.

        If the index gives the same answers to the *asked* questions, leave it out.
        """
        rivals = self.rivals(namespace)
        answers = [(question, self.answer(question)) for question in asked] if rivals else []
        for place, each in rivals:
            other = Index([each], complete=self.complete, there=self, asked=self.asked)
            if any(other.answer(question) != answer for question, answer in answers):
                yield place, other

    def rivals(self, namespace: str) -> list[tuple[Name, Data]]:
        """The objects before the last that concern a namespace: quotas, LimitRanges and Namespaces of one name that differ."""
        return [(place, each) for place, each, _ in self.rivals_with_origins(namespace)]

    def rivals_with_origins(self, namespace: str) -> list[tuple[Name, Data, str]]:
        """The same with their origins, which messages name."""
        self._record("rivals_with_origins", namespace)
        return [
            (place, each, getattr(each, "origin", ""))
            for place, several in self._rivals.items()
            if (place[0] in _OF_NAMESPACES and place[1] == namespace) or (place[0] == kinds.NAMESPACE and place[2] == namespace)
            for each in several
        ]

    def _is_new(self, place: Name, data: Data) -> bool:
        """Return True if an object differs from the one in its place, or has another origin."""
        there = self._at(place)
        is_of_other_file = getattr(there, "origin", "") != getattr(data, "origin", "")
        return there != data or is_of_other_file or (place[0] == kinds.CONFIG_MAP and bool(self._rivals.get(place)))

    def _at(self, place: Name) -> Data | None:
        kind, namespace, name = place
        return self._by_place.get((kind, namespace), {}).get(name)

    def answer(self, question: Question) -> Any:
        """The answer to a recorded question."""
        name, *arguments = question
        return getattr(self, str(name))(*arguments)

    def _record(self, *question: Any) -> None:
        if self.asked is not None:
            self.asked.add(question)

    def note(self, questions: Iterable[Question]) -> None:
        """Record questions that were asked of another index in the place of this one."""
        if self.asked is not None:
            self.asked.update(questions)

    def has_policies_of(self, other: Index) -> bool:
        """True if it has no other policies with rules in CEL than an index that it was made from."""
        here: Index | None = self
        while here is not None and here is not other:
            here = here._there
        return here is other

    # Questions.

    def find(self, kind: GroupKind, namespace: str, name: str) -> Data | None:
        """The object of a name, None if it is not given; *namespace* is empty for kinds without one."""
        self._record("find", kind, namespace, name)
        return self._by_place.get((kind, namespace), {}).get(name) or self._by_place.get((kind, kinds.ANY), {}).get(name)

    def find_only(self, kind: GroupKind, namespace: str, name: str) -> Data | None:
        """Return the one object of a name.

        If none is given, or if several are given that differ, return None.
        """
        self._record("find_only", kind, namespace, name)
        return None if self._rivals.get((kind, namespace, name)) else self.find(kind, namespace, name)

    def in_namespace(self, kind: GroupKind, namespace: str) -> list[tuple[str, Data]]:
        """All objects of a kind in a namespace with their names, by name."""
        self._record("in_namespace", kind, namespace)
        return sorted(self._by_place.get((kind, namespace), {}).items())

    def named(self, kind: GroupKind, namespace: str, name: str) -> str:
        """Return an object's kind, name and origin for a message: ResourceQuota `gpus` (platform/quota.yaml)."""
        self._record("named", kind, namespace, name)
        origin = getattr(self._at((kind, namespace, name)), "origin", "")
        return f"{kind[1]} `{name}`{f' ({origin})' if origin else ''}"

    def of_group(self, group: str) -> list[Data]:
        """All objects of an API group, of several that have one name the last behind the others."""
        self._record("of_group", group)
        before = [each for (kind, _, _), several in self._rivals.items() if kind[0] == group for each in several]
        return before + [each for (kind, _), named in self._by_place.items() if kind[0] == group for each in named.values()]

    def of_kind(self, kind: GroupKind) -> list[Data]:
        """All objects of a kind, in whatever namespace."""
        self._record("of_kind", kind)
        return [each for (own, _), named in self._by_place.items() if own == kind for each in named.values()]

    def selected(self, kind: GroupKind, test: Callable[[GroupKind, Data], bool]) -> list[Data]:
        """The objects of a kind, in whatever namespace, that pass a test."""
        self._record("selected", kind, test)
        return [each for (own, _), named in self._by_place.items() if own == kind for each in named.values() if test(kind, each)]

    def others_than(self, left_out: tuple[GroupKind, ...]) -> list[tuple[Data, str]]:
        """Return all objects of other kinds than some, with their origins.

        Of several objects of one name, the last comes after the others. Those who read objects without a record ask this question.
        """
        self._record("others_than", left_out)
        before = [each for (kind, _, _), several in self._rivals.items() if kind not in left_out for each in several]
        found = before + [each for (kind, _), named in self._by_place.items() if kind not in left_out for each in named.values()]
        return [(each, getattr(each, "origin", "")) for each in found]

    def names(self, kind: GroupKind, namespace: str = "") -> list[str]:
        """The names of the objects of a kind."""
        self._record("names", kind, namespace)
        return list(self._by_place.get((kind, namespace), {}))

    # What follows from the objects, made once.

    def once(self, name: str, make: Callable[[Index], T]) -> T:
        """The value that *make* gives of these objects, made once for each name; with it come the questions by which it was made."""
        if name not in self._made:
            recording = self.recording()
            self._made[name] = make(recording), recording.asked
        found, asked = self._made[name]
        if self.asked is not None:
            self.asked.update(asked)
        made: T = found
        return made

    def prepared(self, kind: GroupKind, prepare: Callable[[Index, GroupKind], T]) -> T:
        """What the policies of a kind are made ready to, once for all indexes that have the same policies."""
        if kind not in self._made:
            self._made[kind] = self._there.prepared(kind, prepare) if self._there else prepare(self, kind)
        found: T = self._made[kind]
        return found

    # The objects that the server's plugins look at.

    @property
    def have_policies(self) -> bool:
        """Whether policies with rules in CEL are among the objects, and bindings."""
        return any((kind, "") in self._by_place for kind in _IN_FORCE)

    @property
    def change_objects(self) -> bool:
        """Whether policies that change objects are among the objects, and bindings."""
        return (kinds.MUTATING_POLICY_BINDING, "") in self._by_place

    def deciding_on_pods(self, namespace: str) -> list[Data]:
        """The objects by which plugins decide on the pods of a namespace, and those that pods wait for if the world is closed."""
        self._record("deciding_on_pods", namespace)
        lists = [self._by_place.get((kind, "" if of_cluster else namespace), {}) for kind, of_cluster in _DECIDING]
        if self.complete.every:
            lists += [self._by_place.get((kind, namespace), {}) for kind in kinds.MOUNTED_KINDS]
        found = [each for named in lists for each in named.values()]
        accounts = self._by_place.get((kinds.SERVICE_ACCOUNT, namespace), {}).values()
        is_listed = self.complete.lack(kinds.SERVICE_ACCOUNT, namespace)
        found += [each for each in accounts if is_listed or mapping(each, "metadata", "annotations")]
        own = self._by_place.get((kinds.NAMESPACE, ""), {}).get(namespace)
        is_known = own is not None and (self.complete.every or _enforces_pod_security(own))
        return [*found, own] if own is not None and is_known else found

    @property
    def have_queues(self) -> bool:
        """Whether objects of Kueue, or its configuration, are among the objects."""
        return self.once("have queues", _have_queues)

    def labels(self, namespace: str) -> Mapping[str, Any]:
        """The labels of a namespace; none if it is not given."""
        return mapping(self.find(kinds.NAMESPACE, "", namespace), "metadata", "labels")

    def priority_class(self, name: str) -> Data | None:
        """A priority class that is given, or one of those that every cluster has."""
        if name in kinds.SYSTEM_PRIORITIES:
            return {"value": kinds.SYSTEM_PRIORITIES[name]}
        return self.find(kinds.PRIORITY_CLASS, "", name)

    def default_priority_class(self) -> tuple[str, Data] | None:
        """The default priority class and its name, of several the lowest; None if none is given."""
        classes = self.in_namespace(kinds.PRIORITY_CLASS, "")
        defaults = [(name, each) for name, each in classes if each.get("globalDefault")]
        return min(defaults, key=lambda each: each[1].get("value") or 0) if defaults else None


_OF_NAMESPACES = (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA)
#: The kinds of objects that put policies with rules in CEL in force.
_IN_FORCE = (kinds.VALIDATING_POLICY_BINDING, kinds.MUTATING_POLICY_BINDING, kinds.KYVERNO_POLICY)
POD_SECURITY_LABEL = "pod-security.kubernetes.io/"


def _enforces_pod_security(namespace: Data) -> bool:
    return any(str(name).startswith(POD_SECURITY_LABEL) for name in mapping(namespace, "metadata", "labels"))


def _have_queues(index: Index) -> bool:
    configurations = (index.selected(kind, kinds.configures_queues) for kind in (kinds.QUEUE_CONFIGURATION, kinds.CONFIG_MAP))
    return bool(index.of_group(kinds.QUEUE_GROUP)) or any(configurations)


def _rebuilt(objects: Iterable[Data], complete: CompleteKinds) -> Index:
    """The index that was pickled."""
    return Index(objects, complete=complete)


def _by_place(objects: Iterable[Data]) -> _Placed:
    """Return the last object of each kind, namespace and name, and the different ones before it."""
    found: _ByPlace = {}
    rivals: dict[Name, list[Data]] = {}
    of_kinds: dict[tuple[str, str], tuple[GroupKind, bool]] = {}
    for each in objects:
        said = str(each.get("apiVersion")), str(each.get("kind"))
        if said not in of_kinds:
            of_kinds[said] = kinds.group_kind(*said), _has_no_namespace(kinds.group_kind(*said))
        (kind, has_no_namespace), metadata = of_kinds[said], mapping(each, "metadata")
        place = kind, namespace, name = kind, "" if has_no_namespace else text(metadata, "namespace"), text(metadata, "name")
        named = found.setdefault((kind, namespace), {})
        if name in named and named[name] != each:
            rivals.setdefault(place, []).append(named[name])
        named[name] = each
    return found, rivals


def _has_no_namespace(kind: GroupKind) -> bool:
    """Whether objects of a kind are in no namespace, whatever they say."""
    return kind in kinds.ADMISSION_POLICIES or kinds.is_cluster_scoped(f"{kind[0]}/", kind[1])


#: The kinds of which any object of a namespace, or of the cluster, may decide on a pod, and whether they are in no namespace.
_DECIDING = [
    (kind, _has_no_namespace(kind))
    for kind in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, kinds.PRIORITY_CLASS, kinds.RUNTIME_CLASS, *kinds.ADMISSION_POLICIES)
]


def data_of(documents: Iterable[Document]) -> list[Data]:
    """Return the data of the documents that are mappings.

    If controllers generate objects of a document, these stand in its place. Objects that messages name have their origin.
    """
    given = list(documents)
    pins = {each.file for each in given if each.group_kind == kinds.CLUSTER}
    data = [_with_origin(each, pins) if each.group_kind in _OF_NAMESPACES else each.data for each in given if isinstance(each.data, dict)]
    if not any(each.group_kind in kinds.GENERATING_KINDS for each in given):
        return data
    from jobspec.kubernetes.generated import generated_by

    return [made for each in data for made in (list(generated_by(each)) or [each])]


def _with_origin(document: Document, pins: Collection[str]) -> GivenObject:
    """Return the data of a document with its origin. *pins*: the files of pinned clusters. An object of a Python program has no origin."""
    source = document.source
    return GivenObject(document.data, f"pinned in {source}" if document.file in pins else "" if source.startswith("<") else source)


def index_of(documents: Iterable[Document], *, complete: CompleteKinds = UNKNOWN) -> Index:
    """The index of some documents."""
    return Index(data_of(documents), complete=complete)
