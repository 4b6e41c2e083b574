"""Folders around files, up to the root of their repository."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator


def real_paths(files: Container[str] = ()) -> Callable[[str], str]:
    """Return a function that gives the real path of a file or folder, and resolves each once.

    *files*: real paths of some files, which are known to be no links.
    """
    known: dict[str, str] = {}

    def resolved(path: str) -> str:
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir):
            return os.path.realpath(path)
        place = os.path.join(real_path(folder), name)
        return place if place in files or not os.path.islink(place) else os.path.realpath(place)

    def real_path(path: str) -> str:
        if path not in known:
            known[path] = resolved(path)
        return known[path]

    return real_path


def holds_repository(folder: str) -> bool:
    """True if a folder is the root of a repository of Git."""
    return os.path.exists(os.path.join(folder, ".git"))


def repository_root(folder: str, within: str = "") -> str:
    """The root of the repository that a folder is in, absolute; empty where there is none.

    *within*: the folder above which nothing is looked at, or an empty string.
    """
    here = os.path.abspath(folder)
    while not holds_repository(here):
        if here == os.path.dirname(here) or os.path.realpath(here) == within:
            return ""
        here = os.path.dirname(here)
    return here


def path_in_repository(path: str, within: str = "") -> str:
    """Return the path of a file from the root of its repository, however the user has written it.

    Without a repository, return the path from the working folder. *within*: as in `repository_root`.
    """
    return os.path.relpath(path, repository_root(os.path.dirname(path), within) or os.curdir)


def folders_around(path: str) -> Iterator[str]:
    """The folders around a file or folder, from inside outwards, up to the one that holds the repository or the working folder."""
    here = os.path.dirname(path)
    while here not in ("", ".", os.sep):
        yield here
        if holds_repository(here):
            return
        here = os.path.dirname(here)
    yield here


def with_those_around(folders: Iterable[str]) -> set[str]:
    """Some folders, and those around each of them."""
    found: set[str] = set()
    for folder in folders:
        if folder not in found:
            found.add(folder)
            for each in folders_around(folder):
                if each in found:
                    break
                found.add(each)
    return found


def folders_above(folder: str, within: str = "") -> Iterator[str]:
    """The folders above one, from inside outwards, up to the root of its repository; none where there is no repository.

    *within*: as in `repository_root`.
    """
    here, root = os.path.abspath(folder), repository_root(folder, within)
    while root and here != root:
        here = os.path.dirname(here)
        yield os.path.relpath(here, folder)
