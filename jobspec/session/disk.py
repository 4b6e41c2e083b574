"""The files on disk, with the texts that are open in an editor in their place."""

from __future__ import annotations

import os

from jobspec.diagnostics.record import Record
from jobspec.documents.decoding import MAX_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobspec.session.listing import Listing, OnError

_PART = 1 << 14  # bytes; to ask for many more than there are costs as much as the file
_SMALL = 1 << 10  # bytes of a content that is kept: to read a file again takes as long for each
_MOST = 1 << 22  # bytes of all contents that are kept


class Contents:
    """The contents of small files, each read once, up to a number of bytes."""

    def __init__(self) -> None:
        self._all = bytearray()
        """The contents, one behind the other."""
        self._read: dict[str, tuple[int, int]] = {}
        """Where each content begins and ends, by the path of the file."""

    def __reduce__(self) -> tuple[type[Contents], tuple[()]]:
        """Pickle none of them, which belong to this process."""
        return Contents, ()

    def of(self, path: str) -> bytes | None:
        """Return the content of a file; None if it was not read, or is not kept."""
        place = self._read.get(path)
        return bytes(self._all[place[0] : place[1]]) if place else None

    def has(self, path: str) -> bool:
        """True if the content of a file is kept."""
        return path in self._read

    def keep(self, path: str, content: bytes) -> None:
        """Keep the content of a file if it is small.

        The content of a pipe is not kept.
        """
        start, end = len(self._all), len(self._all) + len(content)
        if len(content) <= _SMALL and end <= _MOST and os.path.isfile(path):
            self._all.extend(content)
            self._read[path] = start, end


class Disk(Record):
    """The files that a run reads."""

    opened: Mapping[str, bytes] | None = None
    """The texts that are open in an editor, by real path; None outside of an editor."""
    root: str = ""
    """The real path of the folder that links may not lead out of; empty if there is none."""
    listing: Listing | None = None
    """What folders hold, each read once; None if folders are read anew each time."""
    contents: Contents | None = None
    """The contents of small files, each read once; None if all files are read anew each time."""

    def opened_text(self, path: str) -> bytes | None:
        """Return the text of a file that is open in an editor; None if the file is not open."""
        if not self.opened:
            return None
        name = os.path.basename(path)
        has_name = any(os.path.basename(each) == name for each in self.opened)  # else it is a link: real paths of thousands take long
        return self.opened.get(os.path.realpath(path)) if has_name or os.path.islink(path) else None

    def read(self, path: str) -> bytes:
        """Return the open text of a file, or else its first bytes."""
        if (text := self.opened_text(path)) is not None:
            return text
        if self.contents is None:
            return _read(path)
        content = self.contents.of(path)
        if content is None:
            content = _read(path)
            self.contents.keep(path, content)
        return content

    def is_file(self, path: str) -> bool:
        """True if a path names a file that can be read more than once, which a pipe is not."""
        return (self.contents is not None and self.contents.has(path)) or os.path.isfile(path)

    def mentions(self, path: str, *words: bytes) -> bool:
        """True if a file has one of these words. A pipe cannot be read twice, and has none."""
        try:
            content = self.read(path) if self.is_file(path) else b""
            return any(each in content for each in words)
        except OSError:
            return False

    def walk(self, folder: str, onerror: OnError | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
        """Walk as `os.walk` does from the top down."""
        return (self.listing.walk if self.listing else os.walk)(folder, onerror=onerror)

    def has(self, path: str) -> bool:
        """True if a path names a file, which a pipe is not, and no link leads out of the root."""
        return os.path.isfile(path) and self.may_read(path)

    def may_read(self, path: str) -> bool:
        """True if no link leads out of the root."""
        return not self.root or os.path.commonpath((os.path.realpath(path), self.root)) == self.root


def _read(path: str) -> bytes:
    """Read the first bytes of a file, by fewer calls of the system than a file object needs."""
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        left = MAX_FILE + 1
        while left and (part := os.read(file, min(left, _PART))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(file)


DISK = Disk()
