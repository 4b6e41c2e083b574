"""All documents of a run, whatever their files and order: what jobs refer to is looked up here."""

from __future__ import annotations

from jobspec.kinds import PRIORITY_CLASS, TRAINJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.kinds import GroupKind
    from jobspec.lint.selectors import Selectors
    from jobspec.targets import Target

    #: Group, kind, namespace, name, and the folder of the file.
    Identity = tuple[str, str, str, str, str]


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
            from jobspec.lint.selectors import Selectors

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
