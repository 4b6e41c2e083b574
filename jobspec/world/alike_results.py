"""Results of documents, kept for documents that are alike or have the same data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from jobspec.documents.document import Document


_MOST = 1000  # results that are kept: a repository has few different jobs, and an editor runs for days
_MOST_SAME = 10_000  # of which each is a digest and a result


class AlikeResults:
    """Results of documents, kept for documents that are alike.

    Rules limit the length of names from above. So a result in which nothing was found holds for names that are not longer. If the results
    for two names say the same, the result for each name of a length between them does.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, dict[int, tuple[object, Any]]] = {}
        """What each result says, and the result, by the length of the name."""

    def of(self, document: Document, *met: Hashable) -> Any:
        """Return the result of a document that is alike and met the same. If there is none, return None."""
        likeness = document.likeness
        by_length = self._found.get((likeness.text, *met)) if likeness else None
        if not by_length or likeness is None:
            return None
        nearest = min((each for each in by_length if each >= likeness.length), default=None)
        if nearest is None:
            return None
        said, result = by_length[nearest]
        holds = not said or nearest == likeness.length or any(at < likeness.length and each == said for at, (each, _) in by_length.items())
        return result if holds else None

    def keep(self, document: Document, result: Any, *met: Hashable, said: object = None) -> None:
        """Keep the result of a document. *said*: all that the result says; None if nothing was found."""
        likeness = document.likeness
        if likeness is not None:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found.setdefault((likeness.text, *met), {})[likeness.length] = said, result


class SameResults:
    """Results of documents, kept for documents of the same data, in whatever file."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def of(self, document: Document, *met: Hashable) -> Any:
        """Return the result of a document that has the same data and met the same.

        If there is none, return None.
        """
        return self._found.get((document.digest, *met)) if self._found else None

    def keep(self, document: Document, result: Any, *met: Hashable) -> None:
        """Keep the result of a document."""
        if len(self._found) >= _MOST_SAME:
            self._found.clear()
        self._found[document.digest, *met] = result
