"""Replace the content of several files: of all of them, or of none.

All new contents are written beside their files and flushed to the disk first; then a journal that names them; then each is renamed to its
file, which is one step for the file system, so that no file is ever half written. If one cannot be renamed, those that were become the
old ones again. Where the process or the machine dies, no file is changed before there is a journal; from then on some files may be new
and others old, until `complete` goes on, or back where that was begun. Whoever reads the files in between sees both.

The journal stands in the first of the files' folders, and in each further one a note that leads to it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256

from jobspec import trees
from jobspec.diagnostics import JobspecError

#: The digests of what a file holds before and afterwards, by its path.
Digests = Mapping[str, Sequence[str]]

_JOURNAL = ".jobspec-replacing"
_NEW, _OLD = ".jobspec-new", ".jobspec-old"


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a file holds, and what it is to hold."""

    before: bytes
    after: bytes


def replace_all(files: Mapping[str, Replacement]) -> None:
    """Give files, by their paths, new contents; a link stays, and the file that it names changes. Modes stay.

    Raises JobspecError, with nothing changed, where a file holds something else than it should, or cannot be written.
    """
    wanted = {os.path.realpath(path): each for path, each in files.items()}
    folders = _folders(wanted)
    with ExitStack() as held:
        try:
            _hold(folders, held)
            _refuse_changed(wanted, folders)
            _exchange(wanted, folders)
        except OSError as error:
            raise JobspecError(f"{error.filename or folders[0]}: cannot write: {error.strerror}; nothing is changed") from None
        _forget(folders)


def interrupted(folders: Iterable[str]) -> list[str]:
    """The journals of replacements in some folders that were interrupted when some files may have been new already."""
    found = {_journal_of(os.path.realpath(each)) for each in folders}
    return sorted(each for each in found if each)


def complete(folders: Collection[str]) -> bool:
    """Complete what was interrupted in some folders; whether there was any. Raises JobspecError where that cannot be."""
    journals = interrupted(folders)
    try:
        for journal in journals:
            _complete(journal)
        for folder in sorted({os.path.realpath(each) for each in folders}):
            _clean(folder)
    except OSError as error:
        raise JobspecError(f"{error.filename}: cannot write: {error.strerror}") from None
    return bool(journals)


def _folders(paths: Iterable[str]) -> list[str]:
    return sorted({os.path.dirname(path) for path in paths})


def _hold(folders: Iterable[str], held: ExitStack) -> None:
    """Keep other replacements in folders waiting."""
    for each in folders:
        held.callback(os.close, trees.lock_folder(each))


def _refuse_changed(wanted: Mapping[str, Replacement], folders: Iterable[str]) -> None:
    for journal in interrupted(folders):
        raise JobspecError(f"{journal}: another run was interrupted here meanwhile; nothing is changed, run again")
    for path, each in wanted.items():
        if not os.path.isfile(path):
            raise JobspecError(f"{path} is no regular file; nothing is changed")
        if _content(path) != each.before:
            raise JobspecError(f"{path} was changed meanwhile; nothing is changed, run again")


def _exchange(wanted: Mapping[str, Replacement], folders: Iterable[str]) -> None:
    try:
        _prepare(wanted)
        _move(wanted, _NEW)
    except BaseException:
        _go_back(wanted)
        _forget(folders)
        raise


def _prepare(wanted: Mapping[str, Replacement]) -> None:
    """Write all new contents beside their files, keep the old ones, and write the journal where there are several."""
    for path, each in wanted.items():
        _remove(_beside(path, _OLD))
        _keep(path, _beside(path, _OLD))
        trees.write_synced(_beside(path, _NEW), each.after)
        os.chmod(_beside(path, _NEW), os.stat(path).st_mode & 0o7777)
    if len(wanted) > 1:
        first, *others = _folders(wanted)
        for folder in others:
            _write_note(folder, {"journal": os.path.relpath(os.path.join(first, _JOURNAL), folder)})
        _flush(_folders(wanted))
        _write_journal({path: (_digest(each.before), _digest(each.after)) for path, each in wanted.items()}, _NEW)


def _keep(path: str, old: str) -> None:
    try:
        os.link(path, old)
    except OSError:  # a file system without hard links
        shutil.copy2(path, old)


def _write_journal(files: Digests, which: str) -> None:
    first = _folders(files)[0]
    _write_note(first, {"to": which, "files": {os.path.relpath(path, first): each for path, each in files.items()}})


def _write_note(folder: str, data: object) -> None:
    path = os.path.join(folder, _JOURNAL)
    trees.write_synced(_beside(path, _NEW), json.dumps(data).encode())
    os.replace(_beside(path, _NEW), path)
    _flush([folder])


def _move(paths: Iterable[str], which: str) -> None:
    """Make files the new or the old ones. Every step can be repeated."""
    for path in paths:
        if os.path.exists(_beside(path, which)):
            os.replace(_beside(path, which), path)
    _flush(_folders(paths))


def _go_back(wanted: Mapping[str, Replacement]) -> None:
    """Make all files the old ones again, in a way that can be completed, too. Raises JobspecError where one cannot be."""
    journal = os.path.join(_folders(wanted)[0], _JOURNAL)
    if not os.path.exists(journal):
        return
    try:
        _write_journal({path: (_digest(each.before), _digest(each.after)) for path, each in wanted.items()}, _OLD)
        _move(wanted, _OLD)
    except OSError as error:
        raise JobspecError(
            f"{error.filename}: cannot write: {error.strerror}; some of the files that {journal} names are changed, "
            "and the next run makes them the old ones again"
        ) from None


def _forget(folders: Iterable[str]) -> None:
    """Remove the journal, which stands in the first folder, the notes that lead to it, and what stands beside files."""
    for folder in folders:
        for path in _left_in(folder):
            os.unlink(path)
        _flush([folder])


def _left_in(folder: str) -> list[str]:
    """The journal of a folder, then what stands beside its files."""
    names = [name for name in os.listdir(folder) if name.startswith(".") and name.endswith((_NEW, _OLD))]
    paths = [os.path.join(folder, name) for name in (_JOURNAL, *sorted(names))]
    return [path for path in paths if os.path.isfile(path)]


def _clean(folder: str) -> None:
    """Remove what a run has left that was killed before it changed anything, or when it was done."""
    with ExitStack() as held:
        if _left_in(folder):
            _hold([folder], held)
            if not interrupted([folder]):
                _forget([folder])


def _journal_of(folder: str) -> str:
    """The journal that holds for a folder; empty where none does."""
    path = os.path.join(folder, _JOURNAL)
    with suppress(FileNotFoundError):
        note = json.loads(_content(path))
        path = os.path.normpath(os.path.join(folder, note.get("journal", _JOURNAL)))
        return path if os.path.exists(path) else ""
    return ""


def _complete(journal: str) -> None:
    with ExitStack() as held:
        first, note = os.path.dirname(journal), json.loads(_content(journal))
        files = {os.path.normpath(os.path.join(first, name)): digests for name, digests in note["files"].items()}
        _hold(_folders(files), held)
        if not os.path.exists(journal):  # another run has completed it meanwhile
            return
        for path, digests in files.items():
            if os.path.exists(_beside(path, note["to"])) and _digest(_content(path)) not in digests:
                raise JobspecError(
                    f"{path} was changed after a run had been interrupted that was to replace it: delete {journal} to keep it as it is"
                )
        _move(files, note["to"])
        _forget(_folders(files))


def _beside(path: str, ending: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{ending}")


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def _flush(folders: Iterable[str]) -> None:
    """Have renames in folders reach the disk."""
    for each in folders:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
