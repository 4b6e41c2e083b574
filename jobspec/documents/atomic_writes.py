"""Write files all or none, unless the process is killed meanwhile.

The new contents are written into hidden files and flushed to the disk first, and then each is renamed to its place, which is one step for
the file system: no file is ever half written. If one cannot be renamed, those that were become the old ones again. Of a process that is
killed between two renames, some files are new and others old, and hidden files stay that the next write there removes.

A folder that is written as a whole is exchanged with the old one in one call, if the system can do that: it is built beside the old one.
Files that stay as they are become links to the old ones, so that a small change of a large tree costs little.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from io import FileIO

from jobspec.diagnostics.errors import JobspecError

#: The first line of every file that a render writes; only a folder of such files is ever replaced.
HEADER = "# Rendered by jobspec; changes made here are lost."

_NEW, _OLD = ".jobspec-new", ".jobspec-old"
_MANY = 100  # files from which on one flush of all is quicker than one of each


@dataclass(frozen=True, slots=True)
class Replacement:
    """The content of a file before and after a replacement."""

    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files that a folder must hold, by path with `/`."""

    files: Mapping[str, bytes]
    _: KW_ONLY
    same: Collection[str] = ()
    """The paths whose files are in the folder already, with the same content."""
    is_new: bool = False
    """Whether the folder may not be there yet."""
    last: str = ""
    """The path of the file that says what the others hold, and so is replaced after them; empty if none does."""


def replace_files(files: Mapping[str, Replacement]) -> None:
    """Replace the contents of files, given by path, all or none.

    Modes are kept. If a path is a link, the link is kept and the linked file changes. Raises JobspecError, with nothing changed, if a
    file does not hold the content it should, or cannot be written.
    """
    wanted = {os.path.realpath(path): each for path, each in files.items()}
    before, after = {path: each.before for path, each in wanted.items()}, {path: each.after for path, each in wanted.items()}
    moves = _moves(before, after, os.path.dirname)
    folders = sorted(set(map(os.path.dirname, wanted)))
    with ExitStack() as held:
        try:
            held.enter_context(_locked(folders))
            for path, content in before.items():
                if not os.path.isfile(path):
                    raise JobspecError(f"{path} is not a regular file; nothing is changed")
                if _content(path) != content:
                    raise JobspecError(f"{path} was changed meanwhile; nothing is changed, run again")
            _exchange(moves, before, after)
        except OSError as error:
            raise JobspecError(f"{_where(error) or folders[0]}: cannot write: {error.strerror}; nothing is changed") from None
        _remove_hidden(folders)


def _where(error: OSError) -> str:
    """Return the path that an error names. If a folder takes no hidden file, return the folder."""
    path = error.filename or ""
    is_of_folder = os.path.basename(path).startswith((_NEW, _OLD)) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    return os.path.dirname(path) if is_of_folder else path


def add_files(
    folder: str, files: Callable[[], Mapping[str, bytes]], *, replaced: Collection[str] = (), alone: Collection[str] = ()
) -> None:
    """Add files to *folder*, by path with `/`, all or none.

    A file may replace another only if its path is in *replaced*. The folders *alone* inside *folder* may hold nothing else. *files* is
    called while the folder is locked for other writers. Raises JobspecError, with nothing written, if another file is in the way or the
    folder cannot be written.
    """
    folder = os.path.normpath(folder)
    if not os.path.isdir(folder):
        replace_folder(folder, lambda: Wanted(_untaken(folder, files(), replaced, alone), is_new=True))
        return
    try:
        with _locked([folder]):
            wanted = _untaken(folder, files(), replaced, alone)
            found = {path: _content(os.path.join(folder, path)) for path in wanted if os.path.exists(os.path.join(folder, path))}
            _write_below(folder, found, wanted)
    except OSError as error:
        raise JobspecError(f"{error.filename or folder}: cannot write: {error.strerror}") from None


def _untaken(folder: str, wanted: Mapping[str, bytes], replaced: Collection[str], alone: Collection[str]) -> Mapping[str, bytes]:
    """Return the wanted files if no path is in the way, else raise JobspecError with all paths.

    In the way are a file of that path, and a file or link where a folder is needed.
    """
    taken = {path for path in wanted if path not in replaced and os.path.lexists(os.path.join(folder, path))}
    taken |= {path for path in alone if os.path.isdir(os.path.join(folder, path)) and os.listdir(os.path.join(folder, path))}
    for around in _folders_of(wanted):
        place = os.path.join(folder, around)
        if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
            taken.add(around)
    if taken:
        places = ", ".join(os.path.normpath(os.path.join(folder, path)) for path in sorted(taken))
        raise JobspecError(f"{places}: there already; nothing is written")
    return wanted


# Write a whole folder, and read one.


def write_rendered(folder: str, files: Mapping[str, str]) -> list[str]:
    """Make *folder* hold exactly *files* (name to text, below the header), and list the paths.

    Raises JobspecError, with nothing changed, if the folder holds a file that jobspec did not write, or cannot be written.
    """
    folder = os.path.normpath(folder)
    content = {name: f"{HEADER}\n{text}".encode() for name, text in files.items()}

    def wanted() -> Wanted:
        _refuse_foreign(folder)
        return Wanted(content)

    replace_folder(folder, wanted)
    return [os.path.join(folder, name) for name in sorted(files)]


def _refuse_foreign(folder: str) -> None:
    """Raise JobspecError if a folder holds files that a render did not write.

    A render would replace all of them.
    """
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    foreign = [name for name in names if not _is_rendered(os.path.join(folder, name))]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise JobspecError(
            f"{folder} holds {foreign[0]}{more}, which jobspec did not write and would remove: choose another folder with --to"
        )


def _is_rendered(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER.encode()


def replace_folder(folder: str, wanted: Callable[[], Wanted | None]) -> None:
    """Make *folder* hold exactly the files that *wanted* returns.

    *wanted* is called while the folder is locked for other writers. If it returns None, the folder is left as it is. Raises JobspecError,
    with nothing changed, if *wanted* raises it, or if the folder cannot be written.
    """
    folder = os.path.normpath(folder)
    try:
        _refuse_other(folder)
        parent, name = os.path.split(os.path.abspath(folder))
        new = os.path.join(parent, f".{name}{_NEW}")  # the tree while it is built, then the old one while it is removed
        os.makedirs(parent, exist_ok=True)
        with _locked([parent]):
            if os.path.isdir(new):
                _remove_folder(new)
            remove_leftovers(folder)
            found = wanted()
            if found is None:
                return
            if found.is_new or not os.path.isdir(folder):
                _build(folder, new, found)
                os.rename(new, folder)
            elif os.path.samefile(folder, os.curdir) or not _exchanged(folder, new, found):  # a shell there would stay in the old one
                _write_into(folder, found)
    except OSError as error:
        raise JobspecError(f"{folder}: cannot write: {error.strerror}") from None


def read_folder(folder: str) -> dict[str, bytes]:
    """Return the content of every file below *folder*, by path with `/`.

    If there is no folder, the result is empty. Raises JobspecError if the folder holds a link or anything else but files and folders, or
    if a file cannot be read.
    """
    found = {}
    try:
        for path, entry in sorted(_entries(folder), key=lambda each: each[0]):
            if not entry.is_file(follow_symlinks=False):
                raise JobspecError(f"{folder} holds {path}, which is not a file, and which jobspec did not write")
            found[path] = _content(entry.path)
    except OSError as error:
        raise JobspecError(f"{error.filename or folder}: {error.strerror}") from None
    return found


def _entries(folder: str, above: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield everything below a folder except folders, with its path from there.

    If there is no folder, yield nothing.
    """
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, f"{above}{entry.name}/")
        else:
            yield f"{above}{entry.name}", entry


def _refuse_other(folder: str) -> None:
    if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
        raise JobspecError(f"{folder} is not a folder: choose another place")
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        raise JobspecError(f"{folder}: cannot write: the folder is read-only")


def _build(folder: str, new: str, wanted: Wanted) -> None:
    os.mkdir(new)
    try:
        for inner in _folders_of(wanted.files):
            os.mkdir(os.path.join(new, inner))
        linked = {path for path in wanted.same if _is_linked(os.path.join(folder, path), os.path.join(new, path))}
        _write_flushed({os.path.join(new, path): content for path, content in wanted.files.items() if path not in linked})
        if os.path.isdir(folder):
            os.chmod(new, os.stat(folder).st_mode & 0o7777)
    except BaseException:
        _remove_folder(new)
        raise


def _folders_of(paths: Iterable[str]) -> list[str]:
    """The folders in which files stand, by their paths, each behind the one around it."""
    found: set[str] = set()
    for path in paths:
        inner = os.path.dirname(path)
        while inner and inner not in found:
            found.add(inner)
            inner = os.path.dirname(inner)
    return sorted(found)


def _exchanged(folder: str, new: str, wanted: Wanted) -> bool:
    """Exchange a folder with one that holds the wanted files, and return True on success."""
    _build(folder, new, wanted)
    is_done = _swap(new, folder)
    _remove_folder(new)
    return is_done


def _swap(one: str, other: str) -> bool:
    """Exchange two folders in one system call; False where the system or the file system cannot."""
    here = -100  # AT_FDCWD
    paths = os.fsencode(one), os.fsencode(other)
    number = _system_call("renameat2", here, paths[0], here, paths[1], 2)  # RENAME_EXCHANGE
    if number == errno.ENOSYS:
        number = _system_call("renamex_np", *paths, 2)  # RENAME_SWAP
    # no such call in the system or file system; a folder in a lower layer of a container; a mount point
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EBUSY):
        return False
    _raise_for(number)
    return True


def _write_into(folder: str, wanted: Wanted) -> None:
    """Make a folder hold exactly the wanted files, one by one."""
    for here, _, _ in os.walk(folder, topdown=False):  # an empty folder may stand where a file belongs
        if here != folder and not os.listdir(here):
            os.rmdir(here)
    with _locked([folder]):
        _write_below(folder, read_folder(folder), wanted.files, last=wanted.last)


def _write_below(folder: str, before: Mapping[str, bytes], after: Mapping[str, bytes], *, last: str = "") -> None:
    """Make files of a folder, by path with `/`, those of *after* instead of those of *before*; *last* after all others."""
    folder = os.path.abspath(folder)
    before, after = ({os.path.join(folder, path): each for path, each in files.items()} for files in (before, after))
    moves = _moves(before, after, lambda _: folder)
    _exchange(sorted(moves, key=lambda each: each.path == os.path.join(folder, last)), before, after)
    _remove_hidden([folder])


# Replace files one by one, and restore them if one cannot be replaced.


@dataclass(frozen=True, slots=True)
class _Move:
    """A file to replace, and the hidden files with both contents."""

    number: int
    folder: str
    """The folder of the hidden files, and the last one that may be removed where it is empty."""
    path: str
    is_old: bool
    """Whether there is a file before."""
    is_kept: bool
    """Whether there is a file after."""

    def hidden(self, which: str) -> str:
        """Return the hidden file with the new or the old content.

        Its name is short: the name of the file itself may be as long as names can be.
        """
        return os.path.join(self.folder, f"{which}-{self.number}")


def _moves(before: Mapping[str, bytes], after: Mapping[str, bytes], folder_of: Callable[[str], str]) -> list[_Move]:
    """Return the moves that replace the files *before* by the files *after*.

    *folder_of*: returns the folder of a file's hidden files.
    """
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return [_Move(number, folder_of(path), path, path in before, path in after) for number, path in enumerate(changed)]


def _exchange(moves: Sequence[_Move], before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
    """Give all files their new contents, or none. The hidden files with the old contents stay."""
    begun: list[_Move] = []
    try:
        _prepare(moves, before, after)
        _move(moves, begun)
    except BaseException:
        _restore(begun)
        _remove_hidden(_folders(moves))
        raise


def _prepare(moves: Sequence[_Move], before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
    """Write all new contents, and keep the old ones."""
    for each in moves:
        _remove(each.hidden(_OLD))  # of a run that was killed; it may be a link to the file
    contents = {each.hidden(_NEW): after[each.path] for each in moves if each.is_kept}
    kept = [each for each in moves if each.is_old]
    contents |= {each.hidden(_OLD): before[each.path] for each in kept if not _is_linked(each.path, each.hidden(_OLD))}
    _write_flushed(contents)
    for each in kept:
        for hidden in {each.hidden(_NEW), each.hidden(_OLD)} & contents.keys():
            os.chmod(hidden, os.stat(each.path).st_mode & 0o7777)


def _move(moves: Sequence[_Move], begun: list[_Move]) -> None:
    """Replace files by the new ones, and note in *begun* which. Removed files make room first."""
    for each in sorted(moves, key=lambda each: each.is_kept):
        begun.append(each)
        if each.is_kept:
            os.makedirs(os.path.dirname(each.path), exist_ok=True)
            os.replace(each.hidden(_NEW), each.path)
        else:
            _remove(each.path)
            _remove_empty_around(each)
    _flush(filter(os.path.isdir, {os.path.dirname(each.path) for each in moves}))


def _restore(begun: Sequence[_Move]) -> None:
    """Restore all old files. Added files make room first.

    Raises JobspecError if a file cannot be restored, and leaves its old content in the hidden file.
    """
    failed = []
    for each in sorted(begun, key=lambda each: each.is_old):
        try:
            if each.is_old:
                os.makedirs(os.path.dirname(each.path), exist_ok=True)
                os.replace(each.hidden(_OLD), each.path)
            else:
                _remove(each.path)
                _remove_empty_around(each)
        except OSError as error:
            why = f"its old content is in {each.hidden(_OLD)}" if each.is_old else "it is new, and stays"
            failed.append(f"{each.path}: cannot restore: {error.strerror}; {why}")
    if failed:
        raise JobspecError("; ".join(failed))
    _flush(filter(os.path.isdir, {os.path.dirname(each.path) for each in begun}))


def _remove_empty_around(move: _Move) -> None:
    around = os.path.dirname(move.path)
    with suppress(OSError):  # one that is not empty
        while around != move.folder:
            os.rmdir(around)
            around = os.path.dirname(around)


def remove_leftovers(folder: str) -> None:
    """Remove the hidden files that a killed run has left in *folder*.

    Raises JobspecError if one cannot be removed.
    """
    try:
        if _hidden_in(folder):
            with _locked([folder]):
                _remove_hidden([folder])
    except OSError as error:
        raise JobspecError(f"{error.filename}: cannot write: {error.strerror}") from None


def _remove_hidden(folders: Iterable[str]) -> None:
    for folder in folders:
        for path in _hidden_in(folder):
            os.unlink(path)
        _flush([folder])


def _hidden_in(folder: str) -> list[str]:
    """The hidden files of a folder."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in sorted(names) if name.startswith((f"{_NEW}-", f"{_OLD}-"))]
    return [path for path in paths if os.path.isfile(path)]


def _folders(moves: Iterable[_Move]) -> list[str]:
    return sorted({each.folder for each in moves})


@contextmanager
def _locked(folders: Iterable[str]) -> Iterator[None]:
    """Lock folders in the same order as all other runs, if the file system has such locks."""
    import fcntl

    with ExitStack() as held:
        for folder in folders:
            descriptor = held.enter_context(_opened(folder))
            with suppress(OSError):  # NFS cannot lock a file that is open for reading only
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


# Single files, without buffers: a buffered file costs as much again, and a tree has thousands.


@contextmanager
def _opened(path: str, flags: int = os.O_RDONLY) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _content(path: str) -> bytes:
    with FileIO(path) as file:
        return file.read()


def _write_flushed(files: Mapping[str, bytes]) -> None:
    """Write files that survive a loss of power. Each file is flushed.

    If there are many, and the system can flush a whole file system, they are flushed at once.
    """
    for path, content in files.items():
        with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if len(files) <= _MANY:
                os.fsync(descriptor)
    if len(files) > _MANY:
        _flush_all(files)


def _flush_all(files: Iterable[str]) -> None:
    for path in {os.stat(path).st_dev: path for path in files}.values():
        with _opened(path) as descriptor:
            number = _system_call("syncfs", descriptor)
        if number == errno.ENOSYS:
            _flush(files)
            return
        _raise_for(number)


def _flush(paths: Iterable[str]) -> None:
    """Have files, or the renames in folders, reach the disk."""
    for each in paths:
        with _opened(each) as descriptor:
            os.fsync(descriptor)


def _system_call(name: str, *arguments: object) -> int:
    """Call a function of the system's library, and return its error number, 0 for none.

    If the library has no such function, return ENOSYS.
    """
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, name):
        return errno.ENOSYS
    return ctypes.get_errno() if getattr(library, name)(*arguments) else 0


def _raise_for(number: int) -> None:
    if number:
        raise OSError(number, os.strerror(number))


def _is_linked(old: str, new: str) -> bool:
    """Link a file to another one, and return True on success.

    Not every file system and owner of a file allows links.
    """
    try:
        os.link(old, new)
    except OSError:
        return False
    return True


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it."""
    for here, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(os.path.join(here, name))
        for name in folders:
            os.rmdir(os.path.join(here, name))
    os.rmdir(folder)
