"""Describe what reads the files that builds are made of. The session gives a reader that knows which files may be read, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jobspec.documents.document import Document


class SourceFiles(Protocol):
    """Reads files by their paths.

    It can be pickled, since marks of built objects read their files on first use.
    """

    def content(self, path: str) -> bytes:
        """Return what a file holds. Raises OSError if it cannot be read."""

    def text(self, path: str) -> str:
        """Return the text of a file, empty if it cannot be decoded. Raises OSError if it cannot be read."""

    def documents(self, path: str) -> Sequence[Document]:
        """Return the documents of a file, none if it cannot be read. Callers share them."""


class NoFiles:
    """The files of what is given as a text: there are none."""

    def content(self, path: str) -> bytes:
        """Raises OSError."""
        raise FileNotFoundError(path)

    def text(self, path: str) -> str:
        """Raises OSError."""
        raise FileNotFoundError(path)

    def documents(self, _: str) -> Sequence[Document]:
        """Return no documents."""
        return ()
