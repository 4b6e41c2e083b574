"""Files, folders and standard input to text."""

from __future__ import annotations

import os
import sys

from jobspec.diagnostics import Diagnostic, JobspecError, Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDIN = "<stdin>"
MAX_BYTES = 3 * 1024 * 1024  # the API server's limit for the body of a request
_PART = 1 << 14  # bytes; to ask for many more than there are costs as much as the file
ENDINGS = (".yaml", ".yml", ".json")


class Found:
    """A file to read, and whether the user named it or it was met in a folder."""

    __slots__ = ("named", "path")

    def __init__(self, path: str, *, named: bool) -> None:
        self.path = path
        self.named = named


def find(paths: Iterable[str]) -> list[Found]:
    """The files that *paths* stand for: `-` is standard input, a folder all manifests in it, dot-folders left out.

    Raises JobspecError naming every path that does not exist and every folder without a manifest.
    """
    found = []
    wrong = []
    for path in paths:
        if path == "-":
            found.append(Found(STDIN, named=True))
        elif os.path.isdir(path):
            inside = list(_walk(path))
            found += inside
            if not inside:
                wrong.append(f"{path}: no *.yaml, *.yml or *.json file in this folder")
        elif os.path.exists(path):
            found.append(Found(path, named=True))
        else:
            wrong.append(f"{path}: no such file or folder")
    if wrong:
        raise JobspecError("\n".join(wrong))
    return found


def _walk(folder: str) -> Iterator[Found]:
    for here, folders, names in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(ENDINGS) and not name.startswith("."):
                yield Found(os.path.join(here, name), named=False)


def _unreadable(error: OSError) -> None:
    raise JobspecError(f"{error.filename}: {error.strerror}")


_stdin_read: list[tuple[object, bytes]] = []  # the stream, which can be read once, and what it held


def _stdin() -> bytes:
    if sys.stdin is None:
        raise JobspecError("standard input is closed")
    stream = sys.stdin.buffer
    if not _stdin_read or _stdin_read[0][0] is not stream:
        _stdin_read[:] = [(stream, stream.read(MAX_BYTES + 1))]
    return _stdin_read[0][1]


def text_of(path: str, *, layer: str = "") -> str | Diagnostic:
    """A file's text, or why it cannot be a manifest: over 3 MiB, not UTF-8. Raises JobspecError where it cannot be read."""
    try:
        raw = _stdin() if path == STDIN else _content(path)
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        return Diagnostic("too-large", "the file is over 3 MiB, the most that an API server takes", Mark(path, layer=layer))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        mark = Mark(path, before.count("\n") + 1, len(before) - before.rfind("\n"), layer=layer)
        return Diagnostic("not-utf8", f"the byte 0x{raw[error.start]:02x} is not UTF-8", mark, hint="save the file as UTF-8")


def _content(path: str) -> bytes:
    """What a file holds, as far as can matter, by fewer calls of the system than a file object needs."""
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        left = MAX_BYTES + 1
        while left and (part := os.read(file, min(left, _PART))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(file)


def mentions(path: str, word: bytes) -> bool:
    """Whether a *word* stands in what can be a manifest of a file; standard input, which is read once, may hold any."""
    if path == STDIN:
        return True
    with open(path, "rb") as file:
        return word in file.read(MAX_BYTES)
