"""The objects that updates are updates of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.documents.document import Document


class Stored:
    """Objects by what names them: API version, kind, namespace and name."""

    __slots__ = ("_by_name",)

    def __init__(self, documents: Iterable[Document]) -> None:
        self._by_name: dict[tuple[str, str, str], list[Document]] = {}
        for document in documents:
            if document.name:
                self._by_name.setdefault((document.api_version, document.kind, document.name), []).append(document)

    def of(self, document: Document) -> Document | None:
        """The object that the document is a new state of, None for a new object.

        Where only one of both says a namespace, the other means the same, unless there are several of the name.
        """
        named = self._by_name.get((document.api_version, document.kind, document.name), [])
        exact = [each for each in named if each.namespace == document.namespace]
        loose = [each for each in named if not each.namespace or not document.namespace]
        return exact[-1] if exact else loose[0] if len(loose) == 1 else None
