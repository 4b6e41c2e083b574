"""Results of documents, kept for documents that are alike or have the same data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from jobspec.documents.document import Document


_MOST = 1000  # results that are kept: a repository has few different jobs, and an editor runs for days
_MOST_SAME = 10_000  # of which each is a digest and a result


class SoundResults:
    """Results of documents in which nothing was found.

    They hold for documents that are alike, under names that are not longer.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[int, Any]] = {}

    def of(self, document: Document, *met: Hashable) -> Any:
        """Return the result of a document that is alike and met the same. If there is none, return None."""
        likeness = document.likeness
        if likeness is None:
            return None
        length, result = self._found.get((likeness.text, *met), (-1, None))
        return result if likeness.length <= length else None

    def keep(self, document: Document, result: Any, *met: Hashable) -> None:
        """Keep the result of a document in which nothing was found."""
        likeness = document.likeness
        if likeness is not None:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[likeness.text, *met] = likeness.length, result


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
