"""All documents of a run, whatever their files and order: what jobs refer to is looked up here."""

from __future__ import annotations

from jobspec.operators.stored import NAMESPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.documents.document import Document
    from jobspec.targets import Target


class Documents:
    """The documents, by kind and by file."""

    __slots__ = ("_by_file", "_by_kind", "target")

    def __init__(self, documents: Iterable[Document], target: Target) -> None:
        self.target = target
        self._by_kind: dict[str, list[Document]] = {}
        self._by_file: dict[str, list[Document]] = {}
        for document in documents:
            self._by_kind.setdefault(document.kind, []).append(document)
            self._by_file.setdefault(document.file, []).append(document)

    def of_kind(self, kind: str) -> Sequence[Document]:
        """The documents of a kind, such as `PersistentVolumeClaim`."""
        return self._by_kind.get(kind, ())

    def of_file(self, file: str) -> Sequence[Document]:
        """The documents of a file."""
        return self._by_file.get(file, ())

    def kinds(self) -> Iterable[str]:
        """The kinds that there are."""
        return self._by_kind.keys()

    def beside(self, document: Document, kind: str) -> list[Document]:
        """The documents of a kind that stand in the namespace of another document."""
        namespace = document.namespace or NAMESPACE
        return [each for each in self.of_kind(kind) if (each.namespace or NAMESPACE) == namespace]

    def named(self, document: Document, kind: str, name: str) -> Document | None:
        """The document of a kind and name in the namespace of another document, None where there is none."""
        return next((each for each in self.beside(document, kind) if each.name == name), None)
