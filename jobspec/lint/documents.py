"""All documents of a run, whatever their files and order: what jobs refer to is looked up here.

The questions are recorded if findings are to be kept: while the answers are the same, so are the findings of a file.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache, cached_property

from jobspec.apis.kinds import CONFIG_MAP, PRIORITY_CLASS, TRAINJOB, GroupKind
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Path, value_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import marked
from jobspec.kubernetes.index import Index, data_of, says
from jobspec.kubernetes.index import Question as IndexQuestion
from jobspec.lint.selectors import Selectors
from jobspec.operators.trainer.runtimes import GROUP, RuntimeReference
from jobspec.operators.workloads import JOBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any, TypeVar

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.kueue.world import World
    from jobspec.world.world import Cluster

    T = TypeVar("T")

    #: Group, kind, namespace, name, and the folder of the file.
    Identity = tuple[str, str, str, str, str]
    #: The name of a method of `Documents`, and its arguments.
    Question = tuple[object, ...]

#: The question of those who may look at every document.
EVERYTHING = ("everything",)


class _Index:
    """Documents by kind, by file and by name."""

    __slots__ = ("by_file", "by_kind", "by_name")

    def __init__(self, documents: Sequence[Document]) -> None:
        self.by_kind: Mapping[GroupKind, Sequence[Document]] = grouped(documents, lambda each: each.group_kind)
        self.by_file: Mapping[str, Sequence[Document]] = grouped(documents, lambda each: each.file)
        self.by_name: Mapping[tuple[GroupKind, str], Sequence[Document]] = grouped(documents, lambda each: (each.group_kind, each.name))


class _OfIndex(set[IndexQuestion]):
    """Passes each question that is asked of an index on to a function."""

    def __init__(self, note: Callable[[IndexQuestion], None]) -> None:
        super().__init__()
        self._note = note

    def add(self, question: IndexQuestion) -> None:
        """Pass a question on."""
        self._note(question)

    def update(self, *several: Iterable[IndexQuestion]) -> None:
        """Pass questions on."""
        for questions in several:
            for each in questions:
                self._note(each)


class Documents:
    """The documents, and behind them the objects of the cluster, by kind, by file and by name."""

    def __init__(
        self,
        documents: Sequence[Document],
        cluster: Cluster,
        *,
        further: Iterable[GroupKind] = (),
        syncs: Mapping[str, str] = {},
        by_server: Collection[str] = (),
        filled_in_by_engine: Collection[str] = (),
        written: Iterable[Document] = (),
        to_fill_in: Iterable[tuple[GroupKind, re.Pattern[str]]] = (),
    ) -> None:
        """*further*: the kinds of what stands in the files besides, such as a `kustomization.yaml`, which has no name.

        *syncs*: of files that an engine applies together, their folder. *by_server*: the files that an engine applies server-side.
        *filled_in_by_engine*: the files whose placeholders an engine fills in, and no other program.

        *written*: the documents as their files have them, where policies change some. *to_fill_in*: the kinds of objects whose names have
        placeholders, each with a pattern of its names.
        """
        self.cluster = cluster
        self.target = cluster.target
        self._further = set(further)
        self._documents = documents
        self._own = _Index(documents)
        self._there = cluster.once("documents", lambda: _Index(cluster.objects))
        self._first: dict[Identity, Document] = {}
        self._in_namespace = cache(lambda kind, namespace: [each for each in self.of_kind(kind) if _may_be_in(each, namespace)])
        self._names: Callable[[GroupKind, str], Sequence[str]] = cache(
            lambda kind, namespace: sorted({each.name for each in self._in_namespace(kind, namespace)})
        )
        self._selectors = cache(lambda kind, path, namespace: Selectors(self._in_namespace(kind, namespace), path))
        self._syncs = syncs
        self._by_server = by_server
        self._filled_in_by_engine = filled_in_by_engine
        self._to_fill_in = tuple(to_fill_in)
        self._found: dict[str, tuple[Any, Set[Question]]] = {}
        self._asked: set[Question] | None = None
        """The questions so far; None if they are not recorded."""
        self._name = ""
        """The name of the document that rules look at; empty if that is not recorded."""
        self.asked_by_place = 0
        """How many answers depended on the file or the name of a document, so that they may be others for a job that is alike."""
        for document in documents:
            self._first.setdefault(self._key(document), document)
        self._written = {self._key(each): each for each in written}

    @contextmanager
    def recording(self, name: str = "") -> Iterator[set[Question]]:
        """Record the questions that are asked meanwhile, for an outer record, too.

        *name*: that of the document that rules look at. The answer to a question that says it depends on the name.
        """
        asked: set[Question] = set()
        before = self._asked, self._name
        self._asked, self._name = asked, name
        try:
            yield asked
        finally:
            self._asked, self._name = before
            self.note(asked)

    def note(self, asked: Iterable[Question]) -> None:
        """Record earlier questions whose answers are used again."""
        if self._asked is not None:
            self._asked.update(asked)

    def _record(self, *question: object) -> None:
        if self._asked is not None:
            self._asked.add(question)
            self.asked_by_place += says(question, self._name)

    def answer(self, question: Question) -> Any:
        """Return the answer to a recorded question: a plain value, a document, or several."""
        name, *arguments = question
        return getattr(self, str(name))(*arguments)

    def around(self) -> tuple[object, ...]:
        """Return what is known of all files besides their documents.

        That is how engines apply them, and which names are to be filled in.
        """
        to_fill_in = [(kind, pattern.pattern) for kind, pattern in self._to_fill_in]
        return sorted(self._syncs.items()), sorted(self._by_server), sorted(self._filled_in_by_engine), to_fill_in

    @property
    def index(self) -> Index:
        """All given objects: those of the documents, and behind them those of the cluster."""
        self.asked_by_place += 1
        self._record(*EVERYTHING)
        return self._index

    @property
    def limit_ranges(self) -> Index:
        """All given objects, for what LimitRanges say of a namespace: the same of jobs that are alike."""
        return self._recorded_index

    def change_objects(self) -> bool:
        """Return whether policies that change objects are among all given objects."""
        self._record("change_objects")
        return self._index.change_objects

    @property
    def queues(self) -> World:
        """The queues and nodes among all given objects."""
        from jobspec.operators.kueue.world import queues_in

        self._recorded_index.once("queues", queues_in)  # records what the queues follow from, each time
        return self._queues

    def given(self, question: IndexQuestion) -> Any:
        """Return the answer of the index of all given objects to a recorded question."""
        return self._index.answer(question)

    @cached_property
    def _queues(self) -> World:
        from jobspec.operators.kueue.world import queues_of

        return queues_of(self._recorded_index)

    @cached_property
    def _index(self) -> Index:
        return self.cluster.index.with_others(data_of(self._documents))

    @cached_property
    def _recorded_index(self) -> Index:
        """All given objects; what is asked of it is recorded as asked of the documents."""
        return Index(complete=self._index.complete, there=self._index, asked=_OfIndex(lambda question: self._record("given", question)))

    def of_kind(self, kind: GroupKind) -> Sequence[Document]:
        """The documents of a kind."""
        self.asked_by_place += kind in JOBS
        self._record("of_kind", kind)
        return _both(self._own.by_kind.get(kind, ()), self._there.by_kind.get(kind, ()))

    def of_file(self, file: str) -> Sequence[Document]:
        """The documents of a file."""
        self.asked_by_place += 1
        self._record("of_file", file)
        return _both(self._own.by_file.get(file, ()), self._there.by_file.get(file, ()))

    def kinds(self) -> Set[GroupKind]:
        """The kinds that there are in the files."""
        self._record("kinds")
        return self._own.by_kind.keys() | self._further

    def has(self, kinds: Sequence[GroupKind]) -> bool:
        """Whether a document is of one of these kinds."""
        if self._asked is not None:
            self._asked.add(("has", tuple(kinds)))
        return any(kind in self._own.by_kind or kind in self._there.by_kind for kind in kinds)

    def names_in_same_namespace(self, document: Document, kind: GroupKind) -> Sequence[str]:
        """The names of a kind in the namespace of a document, sorted."""
        self._record("in_namespace", kind, document.namespace)
        return self._names(kind, document.namespace)

    def selecting(self, document: Document, kind: GroupKind, path: Path, labels: Mapping[str, str]) -> list[Document]:
        """Return the documents of a kind that may select pods with some labels.

        They are in the namespace of a document. *path*: where the labels that they look for stand.
        """
        self.asked_by_place += any(document.name and document.name in each for each in labels.values())
        return self.selectors(document, kind, path).of(labels)

    def selectors(self, document: Document, kind: GroupKind, path: Path) -> Selectors:
        """What of a kind selects pods in the namespace of a document, by the labels at a path."""
        self._record("in_namespace", kind, document.namespace)
        return self._selectors(kind, path, document.namespace)

    def in_namespace(self, kind: GroupKind, namespace: str) -> Sequence[Document]:
        """The documents of a kind that may be in a namespace."""
        self._record("in_namespace", kind, namespace)
        return self._in_namespace(kind, namespace)

    @property
    def used_runtimes(self) -> Set[tuple[str, str]]:
        """The kinds and names of runtimes that TrainJobs refer to."""
        return self.once("used runtimes", self._runtimes_of_jobs)

    def _runtimes_of_jobs(self) -> Set[tuple[str, str]]:
        return {(str(ref.kind), str(ref.name)) for ref in (RuntimeReference(each.data) for each in self.of_kind(TRAINJOB))}

    @property
    def runtimes_of_bare_jobs(self) -> Set[tuple[str, str]]:
        """The kinds and names of runtimes that TrainJobs without `spec.trainer` refer to."""
        return self.once("runtimes of bare jobs", self._runtimes_of_bare_jobs)

    def _runtimes_of_bare_jobs(self) -> Set[tuple[str, str]]:
        bare = (each.data for each in self.of_kind(TRAINJOB) if value_at(each.data, ("spec", "trainer")) is None)
        return {(str(ref.kind), str(ref.name)) for ref in map(RuntimeReference, bare)}

    def referred(self, job: Document) -> list[Document]:
        """What a job may refer to, that of its own file first: runtimes of the name that it says, and priority classes."""
        found = [*self.of_kind(PRIORITY_CLASS)]
        if job.group_kind == TRAINJOB:
            ref = RuntimeReference(job.data)
            found = [*self.of_name((GROUP, str(ref.kind)), str(ref.name)), *found]
        return sorted(found, key=lambda each: each.file != job.file)

    def named(self, document: Document, kind: GroupKind, name: str) -> Document | None:
        """The document of a kind and name in the namespace of another document, None where there is none."""
        found = [each for each in self.of_name(kind, name) if _may_be_in(each, document.namespace)]
        return next((each for each in found if each.namespace == document.namespace), found[0] if found else None)

    def data_of_config_map(self, document: Document, name: str) -> Mapping[str, MarkedTree]:
        """Return the data of the ConfigMap of a name in the namespace of a document, by key.

        If there is no such ConfigMap, return nothing.
        """
        found = self.config_map(document, name)
        return dict(marked(found).entries("data")) if found else {}

    def config_map(self, document: Document, name: str) -> Document | None:
        """Return the ConfigMap of a name in the namespace of a document.

        That of the same file comes first, then that of the same folder. If several elsewhere differ, return None.
        """
        found = [each for each in self.of_name(CONFIG_MAP, name) if _may_be_in(each, document.namespace)] if name else []
        found = [each for each in found if each.namespace == document.namespace] or found
        if len(found) > 1:
            in_file = [each for each in found if each.file == document.file]
            found = in_file or [each for each in found if self.are_applied_together(each, document)] or found
        return found[0] if found and all(each.data == found[0].data for each in found) else None

    def of_name(self, kind: GroupKind, name: str) -> Sequence[Document]:
        """The documents of a kind and name, in whatever namespace."""
        self.asked_by_place += kind in JOBS
        self._record("of_name", kind, name)
        return _both(self._own.by_name.get((kind, name), ()), self._there.by_name.get((kind, name), ()))

    def makes_more(self, kind: GroupKind) -> bool:
        """Whether an object of a kind has a placeholder in its name, so that others may be made of the same text."""
        return any(own == kind for own, _ in self._to_fill_in)

    def may_get_name(self, kind: GroupKind, name: str) -> bool:
        """Whether an object of a kind gets this name if its placeholder is filled in."""
        return any(own == kind and pattern.fullmatch(name) for own, pattern in self._to_fill_in)

    def met(self, document: Document, kind: GroupKind, name: str) -> list[Document]:
        """The objects of a kind and name among the files that are certainly in the namespace of a document."""
        self.asked_by_place += kind in JOBS
        self._record("of_name", kind, name)
        found = self._own.by_name.get((kind, name), ()) if name else ()
        return [each for each in found if self.are_together(each, document)]

    def are_together(self, one: Document, other: Document) -> bool:
        """Whether two documents are in one namespace: they name the same one, or name none and are applied together."""
        self.asked_by_place += 1
        if one.namespace != other.namespace or any(each.is_held or each.is_shown for each in (one, other)):
            return False
        return bool(one.namespace) or self.are_applied_together(one, other)

    def are_applied_together(self, one: Document, other: Document) -> bool:
        """Whether two documents are in one file, in one folder, or in files that an engine applies together."""
        self.asked_by_place += 1
        places = (self._syncs.get(each.file) or each.file.rpartition("/")[0] for each in (one, other))
        return one.file == other.file or len(set(places)) == 1

    def is_filled_in_by_engine(self, document: Document) -> bool:
        """True if an engine fills in the placeholders of the document's file, and no other program does before."""
        self.asked_by_place += bool(self._filled_in_by_engine)
        return document.file in self._filled_in_by_engine

    def is_applied_by_server(self, document: Document) -> bool:
        """True if an engine applies a document server-side."""
        self.asked_by_place += bool(self._by_server)
        from jobspec.repository.recreation import sync_options

        return document.file in self._by_server or "ServerSideApply=true" in sync_options(document)

    def once(self, name: str, find: Callable[[], T], *, by_place: bool = False) -> T:
        """What *find* gives, called once for each name: a cache of what all documents say together.

        *by_place*: what a rule takes of that depends on the file or the name of the document that it looks at.
        """
        self.asked_by_place += by_place
        if name not in self._found:
            with self.recording() as asked:
                self._found[name] = find(), asked
        found: T
        found, asked_before = self._found[name]
        self.note(asked_before)
        return found

    def written(self, document: Document) -> Document:
        """The document as its file has it, before policies change it."""
        self.asked_by_place += bool(self._written)
        key = self._key(document)
        self._record("written_at", key)
        return self.written_at(key) or document

    def written_at(self, key: Identity) -> Document | None:
        """Return the document that policies change, as its file has it.

        If policies change no document with this identity, return None.
        """
        return self._written.get(key)

    def first(self, document: Document) -> Document:
        """The first document that is the same object, in its file or one that is applied with it: of the same kind, namespace and name."""
        self.asked_by_place += 1
        key = self._key(document)
        self._record("first_at", key)
        return self._first[key]

    def first_at(self, key: Identity) -> Document | None:
        """Return the first document with an identity.

        If there is none, return None.
        """
        return self._first.get(key)

    def _key(self, document: Document) -> Identity:
        return (*document.group_kind, document.namespace, document.name, self._syncs.get(document.file, document.file))


def whereabouts(other: Document, document: Document) -> str:
    """Where another document is, for the reader of a document: its line, with its file where that is another one."""
    kind, name = (other.nearest(path).place() for path in (("kind",), ("metadata", "name")))
    place = name if name.file == kind.file else kind  # an overlay has added a prefix to the name
    return f"line {place.line}" if place.file == document.nearest(("kind",)).place().file else str(place)


def _both(own: Sequence[Document], there: Sequence[Document]) -> Sequence[Document]:
    return [*own, *there] if there else own


def _may_be_in(document: Document, namespace: str) -> bool:
    """Whether a document may be in a namespace: it has that one, or none."""
    return document.namespace in ("", namespace)
