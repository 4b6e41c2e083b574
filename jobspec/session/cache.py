"""Keep results in the user's cache: entries with a checksum, written by rename, in folders of a bounded size.

An entry that is truncated, changed or of another form counts as absent. Two runs may write one entry at once: each writes a file of its own
and renames it. Nothing here raises an error: a folder that cannot be read or written keeps nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b, sha256

from jobspec.diagnostics.record import Record

_FORM = b"jobspec cache 1 "
"""The beginning of each entry; its checksum and the end of the line follow."""
_LARGEST = 1 << 27  # bytes of a folder
_UNUSED = 14 * 24 * 3600  # seconds without a read after which an entry is removed
_LEFT_OVER = 3600  # seconds after which a file that a killed run has begun is removed


def cache_folder() -> str:
    """Return the folder of the user's cache: JOBSPEC_CACHE, or else `jobspec` in XDG_CACHE_HOME or `~/.cache`."""
    around = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))
    return os.environ.get("JOBSPEC_CACHE") or os.path.join(around, "jobspec")


def digest_of(value: object) -> bytes:
    """Return a digest of how a value is printed, as a key of what follows from the value."""
    return blake2b(repr(value).encode(errors="surrogatepass"), digest_size=24).digest()


class Cache(Record):
    """A folder of entries."""

    folder: str
    in_use: int = 0
    """The seconds for which an entry stays after a run has asked for it, however large the folder is."""

    def path(self, name: str) -> str:
        """Return the path of an entry."""
        return os.path.join(self.folder, name)

    def read(self, name: str) -> bytes | None:
        """Return what an entry holds, which is then kept for longer. If there is none, or it is damaged, return None."""
        path = self.path(name)
        try:
            with open(path, "rb") as file:
                head, content = file.readline(256), file.read()
        except OSError:
            return None
        if head != _head_of(content):
            with suppress(OSError):
                os.unlink(path)
            return None
        with suppress(OSError):
            os.utime(path)
        return content

    def write(self, name: str, content: bytes) -> bool:
        """Write an entry, for the user alone to read. Return False if it cannot be written."""
        new = self.path(f".{name}.{os.urandom(8).hex()}")
        try:
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self.folder, 0o700)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                left = memoryview(_head_of(content) + content)
                while left:
                    left = left[os.write(file, left) :]
            finally:
                os.close(file)
            os.replace(new, self.path(name))
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            return False
        return True

    def trim(self) -> None:
        """Remove entries that no run read for long, and temporary files of killed runs.

        If the folder is still too large, remove its oldest entries.
        """
        import time

        now, size = time.time(), 0
        for used, length, path in sorted(self._entries(), reverse=True):
            is_begun = os.path.basename(path).startswith(".")
            size += length
            too_many = size > _LARGEST and used < now - self.in_use
            if used < now - (_LEFT_OVER if is_begun else _UNUSED) or (too_many and not is_begun):
                with suppress(OSError):  # another run does the same
                    os.unlink(path)

    def _entries(self) -> list[tuple[float, int, str]]:
        """Return when each file was used, its size and its path."""
        found = []
        with suppress(OSError), os.scandir(self.folder) as files:
            for each in files:
                with suppress(OSError):
                    about = each.stat(follow_symlinks=False)
                    found.append((about.st_mtime, about.st_size, each.path))
        return found


HEAD = len(_FORM) + 2 * sha256().digest_size + 1
"""The number of bytes of an entry before what it holds."""


def _head_of(content: bytes) -> bytes:
    return _FORM + sha256(content).hexdigest().encode() + b"\n"
