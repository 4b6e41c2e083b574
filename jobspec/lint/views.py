"""What rules look at: a job with all that its operator makes of it, a runtime as if a job used it, and any document among the others."""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import Diagnostic, JobspecError, Path
from jobspec.documents.document import Document, marks_at
from jobspec.documents.marked_tree import MarkedTree, with_marks
from jobspec.kinds import PRIORITY_CLASS, TRAINJOB
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.workloads import is_workload, released, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set
    from typing import Any

    from jobspec.kinds import GroupKind
    from jobspec.targets import Target

    #: Group, kind, namespace, name, and the folder of the file.
    Identity = tuple[str, str, str, str, str]


RUNTIMES = (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME)


class DocumentView:
    """A document, and all others of the run."""

    __slots__ = ("documents", "given")

    def __init__(self, given: Document, documents: Documents) -> None:
        self.given = given
        self.documents = documents

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.given.data, path)


class JobView(DocumentView):
    """A job and its pods, or a runtime and the pods of a job that says nothing but its name."""

    __slots__ = ("_said", "_tree", "expanded", "is_job", "refused", "roles", "runtime")

    def __init__(
        self, given: Document, documents: Documents, expanded: ExpandedJob, runtime: Document | None, refused: Sequence[Diagnostic]
    ) -> None:
        super().__init__(given, documents)
        self.expanded = expanded
        self.refused = refused
        """Of a runtime that is looked at alone: errors for which the operator, or the server behind it, makes nothing of a job."""
        self.runtime = runtime
        """Of a TrainJob, and of a runtime that is looked at alone."""
        self.is_job = is_workload(given)
        self.roles: Sequence[ExpandedRole] = expanded.roles()
        """The roles that have pods."""
        self._tree: MarkedTree | None = None
        self._said: tuple[set[str], str] | None = None

    @property
    def tree(self) -> MarkedTree:
        """The given document with its marks."""
        if self._tree is None:
            self._tree = with_marks(self.given.data, self.given.marks)
        return self._tree

    @property
    def said(self) -> tuple[set[str], str]:
        """The fields and keys of the job and its runtime, of `nvidia.com/gpu` also `nvidia.com`; and their texts in one."""
        if self._said is None:
            keys, texts = _keys_and_texts(self.given.data, self.runtime.data if self.runtime else None)
            self._said = (keys | {key.partition("/")[0] for key in keys}, "\n".join(texts))
        return self._said

    @property
    def words(self) -> set[str]:
        """The fields and keys of the job and its runtime; of `nvidia.com/gpu` also `nvidia.com`."""
        return self.said[0]

    def says(self, *parts: str) -> bool:
        """Whether one of these is in a text of the job or its runtime."""
        return any(part in self.said[1] for part in parts)

    @property
    def is_pytorchjob(self) -> bool:
        """Whether it is a PyTorchJob, and no TrainJob or runtime."""
        return self.given.group_kind == kinds.PYTORCHJOB

    @property
    def training(self) -> list[ExpandedRole]:
        """The roles that train."""
        return [each for each in self.roles if each.training]


def view_of(given: Document, documents: Documents) -> JobView | None:
    """The view of an accepted job or runtime; None for other documents, and where nobody can say what comes of it."""
    target = documents.target
    if given.group_kind in RUNTIMES:
        job = _stand_in(given)
        beside = [given]
    elif is_workload(given):
        job = released(given)
        beside = documents.referred(given)
    else:
        return None
    runtime = _runtime_of(job, beside, target)
    try:
        expansion = expand(job, beside, target, ends=True, accepted=given is not runtime)  # of a job, outcomes tell what is refused
    except JobspecError:  # too many pods to look at
        return None
    refused = [each for each in expansion.diagnostics if each.severity == "error"]
    return JobView(given, documents, ExpandedJob(job, expansion.objects, target, expansion.counts), runtime, refused)


def _keys_and_texts(*values: Any) -> tuple[set[str], list[str]]:
    """The keys of all mappings in some values, and all texts."""
    keys: set[str] = set()
    texts: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            keys.update(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    return keys, texts


def _runtime_of(job: Document, beside: Sequence[Document], target: Target) -> Document | None:
    if job.group_kind != kinds.TRAINJOB:
        return None
    from jobspec.operators.trainer.runtimes import runtime_of

    return runtime_of(job, beside, target)


def _stand_in(runtime: Document) -> Document:
    """The smallest TrainJob that uses a runtime; all of it stands at the runtime's name."""
    metadata = {"name": "job", **({"namespace": runtime.namespace} if runtime.namespace else {})}
    reference = {"apiGroup": runtime.group_kind[0], "kind": runtime.kind, "name": runtime.name}
    data = {"apiVersion": runtime.api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference, "trainer": {}}}
    place = runtime.marks.nearest(("metadata", "name")).place()
    return Document(data, lambda: marks_at(data, place), file=runtime.file, index=runtime.index)


# All documents of a run, whatever their files and order: what jobs refer to is looked up here.


class Documents:
    """The documents, by kind, by file and by name."""

    __slots__ = ("_beside", "_by_file", "_by_kind", "_by_name", "_first", "_further", "_selectors", "_used_runtimes", "target")

    def __init__(self, documents: Iterable[Document], target: Target, *, further: Iterable[GroupKind] = ()) -> None:
        """*further*: the kinds of what stands in the files besides, such as a `kustomization.yaml`, which has no name."""
        self.target = target
        self._further = set(further)
        self._by_kind: dict[GroupKind, list[Document]] = {}
        self._by_file: dict[str, list[Document]] = {}
        self._first: dict[Identity, Document] = {}
        self._by_name: dict[tuple[GroupKind, str], list[Document]] = {}
        self._beside: dict[tuple[GroupKind, str], tuple[Sequence[Document], Sequence[str]]] = {}
        self._used_runtimes: Set[tuple[str, str]] | None = None
        self._selectors: dict[tuple[GroupKind, Path, str], Selectors] = {}
        for document in documents:
            self._by_kind.setdefault(document.group_kind, []).append(document)
            self._by_file.setdefault(document.file, []).append(document)
            self._by_name.setdefault((document.group_kind, document.name), []).append(document)
            self._first.setdefault(_identity(document), document)

    def of_kind(self, kind: GroupKind) -> Sequence[Document]:
        """The documents of a kind."""
        return self._by_kind.get(kind, ())

    def of_file(self, file: str) -> Sequence[Document]:
        """The documents of a file."""
        return self._by_file.get(file, ())

    def kinds(self) -> Set[GroupKind]:
        """The kinds that there are."""
        return self._by_kind.keys() | self._further

    def has(self, kinds: Iterable[GroupKind]) -> bool:
        """Whether a document is of one of these kinds."""
        return any(kind in self._by_kind for kind in kinds)

    def beside(self, document: Document, kind: GroupKind) -> Sequence[Document]:
        """The documents of a kind in the namespace of another one; where one of two says none, it means the other's."""
        return self._found_beside(document, kind)[0]

    def names_beside(self, document: Document, kind: GroupKind) -> Sequence[str]:
        """Their names, sorted."""
        return self._found_beside(document, kind)[1]

    def _found_beside(self, document: Document, kind: GroupKind) -> tuple[Sequence[Document], Sequence[str]]:
        known = self._beside.get((kind, document.namespace))
        if known is None:
            found = [each for each in self.of_kind(kind) if not document.namespace or each.namespace in ("", document.namespace)]
            known = self._beside[kind, document.namespace] = (found, sorted({each.name for each in found}))
        return known

    def selectors(self, document: Document, kind: GroupKind, path: Path) -> Selectors:
        """What of a kind selects pods in the namespace of a document, by the labels at a path."""
        known = self._selectors.get((kind, path, document.namespace))
        if known is None:
            known = self._selectors[kind, path, document.namespace] = Selectors(self.beside(document, kind), path)
        return known

    @property
    def used_runtimes(self) -> Set[tuple[str, str]]:
        """The kinds and names of runtimes that TrainJobs refer to."""
        if self._used_runtimes is None:
            from jobspec.operators.trainer.runtimes import RuntimeRef

            references = (RuntimeRef(each.data) for each in self.of_kind(TRAINJOB))
            self._used_runtimes = {(str(each.kind), str(each.name)) for each in references}
        return self._used_runtimes

    def referred(self, job: Document) -> list[Document]:
        """What a job may refer to, that of its own file first: runtimes of the name that it says, and priority classes."""
        found = [*self.of_kind(PRIORITY_CLASS)]
        if job.group_kind == TRAINJOB:
            from jobspec.operators.trainer.runtimes import GROUP, RuntimeRef

            ref = RuntimeRef(job.data)
            found = [*self.of_name((GROUP, str(ref.kind)), str(ref.name)), *found]
        return sorted(found, key=lambda each: each.file != job.file)

    def named(self, document: Document, kind: GroupKind, name: str) -> Document | None:
        """The document of a kind and name in the namespace of another document, None where there is none."""
        found = [
            each for each in self._by_name.get((kind, name), ()) if not document.namespace or each.namespace in ("", document.namespace)
        ]
        return next((each for each in found if each.namespace == document.namespace), found[0] if found else None)

    def of_name(self, kind: GroupKind, name: str) -> Sequence[Document]:
        """The documents of a kind and name, in whatever namespace."""
        return self._by_name.get((kind, name), ())

    def first(self, document: Document) -> Document:
        """The first document that is the same object, in files of the same folder: of the same kind, namespace and name."""
        return self._first[_identity(document)]


def _identity(document: Document) -> Identity:
    return (*document.group_kind, document.namespace, document.name, document.file.rpartition("/")[0])


# Documents that select pods by their labels, such as Services and NetworkPolicies, looked up by these labels.


class Selectors:
    """The documents of a kind in a namespace, by the labels for which they look at pods."""

    __slots__ = ("_by_label", "_documents")

    def __init__(self, documents: Sequence[Document], path: Path) -> None:
        """*path*: where their labels stand."""
        self._documents = documents
        self._by_label: dict[tuple[str, str] | None, list[int]] = {}
        for number, document in enumerate(documents):
            labels = value_at(document.data, path)
            for label in labels.items() if isinstance(labels, dict) and labels else [None]:
                if label is None or isinstance(label[1], str):
                    self._by_label.setdefault(label, []).append(number)

    def with_label(self, name: str, value: str) -> Document | None:
        """The first that looks for a label, None where none does."""
        numbers = self._by_label.get((name, value))
        return self._documents[numbers[0]] if numbers else None

    def of(self, labels: Mapping[str, str]) -> list[Document]:
        """Those that may select these labels: they look for one of them, or for none by its value."""
        numbers = {number for label in (None, *labels.items()) for number in self._by_label.get(label, ())}
        return [self._documents[number] for number in sorted(numbers)]
