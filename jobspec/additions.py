"""Add files to a folder: all of them or none, and none in the place of another.

They are written into a folder of their own first. Into a new folder that is renamed to the folder; in one that is there, it becomes a
journal, whose files are moved to their places one by one, and an addition that was interrupted there is completed by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from jobspec import trees
from jobspec.diagnostics import JobspecError

_NEW = ".jobspec-new"
_JOURNAL = ".jobspec-journal"


def add(
    folder: str, files: Callable[[], Mapping[str, bytes]], *, replaced: Collection[str] = (), alone: Collection[str] = ()
) -> Mapping[str, bytes]:
    """Add files to *folder*, by path with `/`, and return them; those of the paths *replaced* may be there already.

    The folders *alone* in it may hold nothing else.

    *files* is asked for them while no other addition is at work there. Raises JobspecError, with nothing written, where a file is in
    the way, and for a folder that cannot be written.
    """
    folder = os.path.normpath(folder)
    try:
        _refuse_file(folder)
        is_new = not os.path.isdir(folder)
        around = os.path.dirname(os.path.abspath(folder)) if is_new else folder
        os.makedirs(around, exist_ok=True)
        held = trees.lock_folder(around)
        try:
            _complete_earlier(folder)
            wanted = files()
            _refuse_taken(folder, wanted, replaced, alone)
            (_make if is_new else _move_in)(folder, wanted)
            return wanted
        finally:
            os.close(held)
    except OSError as error:
        raise JobspecError(f"{error.filename or folder}: cannot write: {error.strerror}") from None


def complete(folder: str) -> bool:
    """Complete an addition to *folder* that was interrupted; whether there was one. Raises JobspecError where it cannot be written."""
    if not os.path.isdir(os.path.join(folder, _JOURNAL)):
        return False
    add(folder, dict)
    return True


def _refuse_file(folder: str) -> None:
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise JobspecError(f"{folder} is no folder: choose another place")


def _refuse_taken(folder: str, wanted: Mapping[str, bytes], replaced: Collection[str], alone: Collection[str]) -> None:
    """Raises JobspecError with every path in the way: a file of that name, and a file or a link where a folder is needed."""
    taken = {path for path in wanted if path not in replaced and os.path.lexists(os.path.join(folder, path))}
    taken |= {path for path in alone if os.path.isdir(os.path.join(folder, path)) and os.listdir(os.path.join(folder, path))}
    for path in wanted:
        parts = path.split("/")[:-1]
        around = ["/".join(parts[: number + 1]) for number in range(len(parts))]
        places = [(each, os.path.join(folder, each)) for each in around]
        taken |= {each for each, place in places if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place))}
    if taken:
        places_taken = ", ".join(os.path.normpath(os.path.join(folder, path)) for path in sorted(taken))
        raise JobspecError(f"{places_taken}: there already; nothing is written")


def _make(folder: str, wanted: Mapping[str, bytes]) -> None:
    """Make a folder of the files in one step."""
    around, name = os.path.split(os.path.abspath(folder))
    new = os.path.join(around, f".{name}{_NEW}")
    if os.path.isdir(new):
        trees.remove(new)
    _write_all(new, wanted)
    os.rename(new, folder)


def _move_in(folder: str, wanted: Mapping[str, bytes]) -> None:
    new = os.path.join(folder, _NEW)
    _write_all(new, wanted)
    os.rename(new, os.path.join(folder, _JOURNAL))
    _complete(folder)


def _write_all(new: str, wanted: Mapping[str, bytes]) -> None:
    os.mkdir(new)
    try:
        for path, content in wanted.items():
            trees.write_synced(os.path.join(new, path), content)
    except BaseException:
        trees.remove(new)
        raise


def _complete_earlier(folder: str) -> None:
    """Complete an addition that was interrupted, and remove one that had not come so far."""
    if os.path.isdir(os.path.join(folder, _JOURNAL)):
        _complete(folder)
    if os.path.isdir(os.path.join(folder, _NEW)):
        trees.remove(os.path.join(folder, _NEW))


def _complete(folder: str) -> None:
    """Move the files of the journal to their places. Every step can be repeated."""
    journal = os.path.join(folder, _JOURNAL)
    for here, _, names in os.walk(journal):
        to = os.path.normpath(os.path.join(folder, os.path.relpath(here, journal)))
        os.makedirs(to, exist_ok=True)
        for name in names:
            _keep_mode(os.path.join(to, name), os.path.join(here, name))
            os.replace(os.path.join(here, name), os.path.join(to, name))
    trees.remove(journal)


def _keep_mode(old: str, new: str) -> None:
    if os.path.exists(old):
        os.chmod(new, os.stat(old).st_mode & 0o7777)
