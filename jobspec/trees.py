"""Write a folder whole or not at all.

The new tree is built beside the old one and exchanged with it in one system call. Files that stay as they are become links to the old
ones, so that a small change of a large tree costs little. Where the system has no such call, the new tree becomes a journal: its files are
moved one by one, and the next run completes an interrupted one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass

from jobspec.diagnostics import JobspecError

#: The first line of every file that a render writes; only a folder of such files is ever replaced.
HEADER = "# Rendered by jobspec; changes made here are lost."
_MANY = 100  # files from which on one flush of all is quicker than one of each
_PIECE = 1 << 16  # bytes that are read at once


def replace(folder: str, files: Mapping[str, str]) -> list[str]:
    """Make *folder* hold exactly *files* (name to text, below the header), and return their paths.

    Raises JobspecError, with nothing changed, where the folder holds a file that jobspec did not write, or cannot be written.
    """
    folder = os.path.normpath(folder)
    content = {name: f"{HEADER}\n{text}".encode() for name, text in files.items()}
    replace_tree(folder, lambda: _own(folder, content))
    return [os.path.join(folder, name) for name in sorted(files)]


def _own(folder: str, content: Mapping[str, bytes]) -> Wanted:
    _refuse_foreign(folder)
    return Wanted(content)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files that a folder is to hold, by path with `/`."""

    files: Mapping[str, bytes]
    _: KW_ONLY
    same: Collection[str] = ()
    """The paths whose files are in the folder already, with the same content."""


def replace_tree(folder: str, wanted: Callable[[], Wanted | None]) -> None:
    """Make *folder* hold exactly the *wanted* files, which are asked for while no other render is at work there.

    None leaves the folder as it is. JobspecError of *wanted* does, too, and so does a folder that cannot be written.
    """
    folder = os.path.normpath(folder)
    try:
        _refuse_other(folder)
        beside = _Beside(folder)
        os.makedirs(beside.parent, exist_ok=True)
        parent = lock_folder(beside.parent)
        try:
            _complete_earlier(folder, beside)
            found = wanted()
            if found is not None:
                _build(folder, beside, found)
                _exchange(folder, beside)
        finally:
            os.close(parent)
    except OSError as error:
        raise JobspecError(f"{folder}: cannot write: {error.strerror}") from None


def complete_interrupted(folder: str) -> None:
    """Complete what a render that was interrupted has begun in a folder, as the next one does before it writes."""
    replace_tree(folder, lambda: None)


def read_tree(folder: str) -> dict[str, bytes]:
    """The content of every file below *folder* by its path with `/`; none where there is no folder.

    Raises JobspecError for a link and for what is no file, and where one cannot be read.
    """
    found = {}
    try:
        for path, entry in sorted(_entries(folder), key=lambda each: each[0]):
            if not entry.is_file(follow_symlinks=False):
                raise JobspecError(f"{folder} holds {path}, which is no file, and which jobspec did not write")
            found[path] = _content(entry.path)
    except OSError as error:
        raise JobspecError(f"{error.filename or folder}: {error.strerror}") from None
    return found


def _content(path: str) -> bytes:
    """The content of a file, by the system's own calls: a file object of Python's costs as much again, and a tree has thousands."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(descriptor, _PIECE):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def _paths(folder: str) -> list[str]:
    """The path from *folder* of everything below that is no folder itself; a link is none."""
    return sorted(path for path, _ in _entries(folder))


def _entries(folder: str, above: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder that is no folder itself, with its path from there; nothing where there is no folder."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, f"{above}{entry.name}/")
        else:
            yield f"{above}{entry.name}", entry


class _Beside:
    """The two trees that can stand beside a folder while it is replaced."""

    __slots__ = ("journal", "new", "parent")

    def __init__(self, folder: str) -> None:
        self.parent, name = os.path.split(os.path.abspath(folder))
        self.new = os.path.join(self.parent, f".{name}.jobspec-new")
        """The tree while it is built, then the old one while it is removed; both can be deleted at any time."""
        self.journal = os.path.join(self.parent, f".{name}.jobspec-journal")
        """A complete tree while its files are moved into the folder."""


def lock_folder(folder: str) -> int:
    """A descriptor of *folder* that keeps other renders waiting until it is closed, where the file system has such locks."""
    import contextlib
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(OSError):  # NFS cannot lock a file that is open for reading only
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _refuse_other(folder: str) -> None:
    if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
        raise JobspecError(f"{folder} is no folder: choose another place")
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        raise JobspecError(f"{folder}: cannot write: the folder is read-only")


def _refuse_foreign(folder: str) -> None:
    """Raise JobspecError where a folder holds other files than those of a render: all of it would be replaced."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    foreign = [name for name in names if not _is_ours(os.path.join(folder, name))]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise JobspecError(
            f"{folder} holds {foreign[0]}{more}, which jobspec did not write and would remove: choose another folder with --to"
        )


def _is_ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER.encode()


def _build(folder: str, beside: _Beside, wanted: Wanted) -> None:
    os.mkdir(beside.new)
    try:
        for inner in _folders(wanted.files):
            os.mkdir(os.path.join(beside.new, inner))
        linked = {path for path in wanted.same if _is_linked(os.path.join(folder, path), os.path.join(beside.new, path))}
        _write_all(beside.new, {path: content for path, content in wanted.files.items() if path not in linked})
        if os.path.isdir(folder):
            os.chmod(beside.new, os.stat(folder).st_mode & 0o7777)
    except BaseException:
        remove(beside.new)
        raise


def _folders(paths: Iterable[str]) -> list[str]:
    """The folders in which files stand, by their paths, each behind the one around it."""
    found: set[str] = set()
    for path in paths:
        inner = os.path.dirname(path)
        while inner and inner not in found:
            found.add(inner)
            inner = os.path.dirname(inner)
    return sorted(found)


def _is_linked(old: str, new: str) -> bool:
    """Whether a file could be made a link to another one, which not every file system and owner of a file allows."""
    try:
        os.link(old, new)
    except OSError:
        return False
    return True


def _write_all(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files that outlive a loss of power: each is flushed, or many at once where the system can flush a whole file system."""
    at_once = len(files) > _MANY and _sync_of_file_system()
    for name, content in files.items():
        _write(os.path.join(folder, name), content, flush=not at_once)
    if at_once:
        _flush_all(folder, at_once)


def _sync_of_file_system() -> Callable[[int], int] | None:
    """The system's call that flushes the file system of a descriptor; None where it has none."""
    import ctypes

    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def _flush_all(folder: str, sync: Callable[[int], int]) -> None:
    import ctypes

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if sync(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)


def _exchange(folder: str, beside: _Beside) -> None:
    if not os.path.isdir(folder):
        os.rename(beside.new, folder)
    elif not os.path.samefile(folder, os.curdir) and _swap(beside.new, folder):  # a shell in the folder would stay in the old one
        remove(beside.new)
    else:
        os.rename(beside.new, beside.journal)
        _complete(folder, beside)


def _swap(one: str, other: str) -> bool:
    """Exchange two folders in one system call; False where the system or the file system cannot."""
    import ctypes
    import errno

    libc = ctypes.CDLL(None, use_errno=True)
    here = -100  # AT_FDCWD
    if hasattr(libc, "renameat2"):
        failed = libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), 2)  # RENAME_EXCHANGE
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    # no such call in the system or file system; a folder in a lower layer of a container; a mount point
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EBUSY):
        return False
    raise OSError(number, os.strerror(number))


def _complete(folder: str, beside: _Beside) -> None:
    """Make the folder equal to the journal. Every step can be repeated; renaming the journal ends it in one step."""
    os.makedirs(folder, exist_ok=True)
    _remove_empty_below(folder)  # one may stand where a file belongs
    wanted = _paths(beside.journal)
    for name in wanted:
        with open(os.path.join(beside.journal, name), "rb") as file:
            content = file.read()
        unfinished = os.path.join(folder, ".jobspec-new")
        _write(unfinished, content, flush=True)
        place = os.path.join(folder, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.rename(unfinished, place)
    for name in set(_paths(folder)).difference(wanted):
        path = os.path.join(folder, name)
        if _is_ours(path):
            os.unlink(path)
    _remove_empty_below(folder)
    os.rename(beside.journal, beside.new)
    remove(beside.new)


def _remove_empty_below(folder: str) -> None:
    """Remove the folders below *folder* in which there is nothing."""
    for here, _, _ in os.walk(folder, topdown=False):
        if here != folder and not os.listdir(here):
            os.rmdir(here)


def _complete_earlier(folder: str, beside: _Beside) -> None:
    """Complete an earlier run's journal, and remove a tree that it did not finish."""
    if os.path.isdir(beside.journal):
        _complete(folder, beside)
    if os.path.isdir(beside.new):
        remove(beside.new)


def write_synced(path: str, content: bytes) -> None:
    """Write a file, and wait until it is on the disk."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _write(path, content, flush=True)


def _write(path: str, content: bytes, *, flush: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(folder: str) -> None:
    """Remove a folder with all that is in it."""
    for here, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(os.path.join(here, name))
        for name in folders:
            os.rmdir(os.path.join(here, name))
    os.rmdir(folder)
