"""Read the files that builds are made of: their texts, and their documents, which are kept while the file stays as it is."""

from __future__ import annotations

import os
from functools import lru_cache
from stat import S_ISREG

from jobspec.diagnostics.record import Record
from jobspec.documents.decoding import decode
from jobspec.documents.reader import read
from jobspec.session.disk import DISK, Disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document


class DiskFiles(Record):
    """Reads files of a disk: texts that are open in an editor come first, and no link leads out of the disk's root."""

    disk: Disk = DISK

    def content(self, path: str) -> bytes:
        """Return what a file holds. Raises OSError if it cannot be read, or a link leads out of the root."""
        if not self.disk.may_read(path):
            raise PermissionError(path)
        return self.disk.read(path)

    def text(self, path: str) -> str:
        """Return the text of a file; empty if it cannot be decoded."""
        return _decoded(self.content(path), path)

    def documents(self, path: str) -> Sequence[Document]:
        """Return the documents of a file; none if it cannot be read, or is a pipe or a device."""
        try:
            if not self.disk.may_read(path):
                return ()
            if (opened := self.disk.opened_text(path)) is not None:
                return _opened_kept(path, os.getcwd(), opened)
            about = os.stat(path)
            if not S_ISREG(about.st_mode):
                return ()
            return (_documents_kept if about.st_size < _LARGE else _large_kept)(path, os.getcwd(), about.st_mtime_ns)
        except OSError:
            return ()


def _decoded(content: bytes, path: str) -> str:
    text = decode(content, path)
    return text if isinstance(text, str) else ""


def _documents_of(path: str, _folder: str, content: bytes) -> Sequence[Document]:
    return read(_decoded(content, path), file=path)[0]


def _documents_read(path: str, folder: str, _changed: int) -> Sequence[Document]:
    documents = _documents_of(path, folder, DISK.read(path))
    for each in documents:
        each.forget_marks()  # few are asked for, and the parsed nodes of many files need much memory
    return documents


_LARGE = 1 << 18  # bytes; read, a file needs some twenty times as many
_documents_kept = lru_cache(maxsize=256)(_documents_read)
_large_kept = lru_cache(maxsize=2)(_documents_read)
_opened_kept = lru_cache(maxsize=16)(_documents_of)
