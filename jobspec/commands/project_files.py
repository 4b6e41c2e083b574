"""The files around a project: its own, those that it names, and the folder that it renders to."""

from __future__ import annotations

import os

from jobspec.commands.files import Found, content_of
from jobspec.diagnostics import JobspecError
from jobspec.gitops.sources import Unreadable
from jobspec.pipeline import Source


class ProjectFiles:
    """Reads what a project names, from its folder, and from nowhere outside of the repository."""

    __slots__ = ("_folder", "_root", "found", "project")

    def __init__(self, project: str) -> None:
        """Raises JobspecError where the project's file itself is a link that leads out."""
        self.project = Found(project, named=True)
        """The project's own file."""
        self._folder = os.path.dirname(project)
        self._root = _repository(os.path.realpath(self._folder or os.curdir))
        if not _is_inside(os.path.realpath(project), self._root):
            raise JobspecError(f"{project} is a link that leads out of the repository: a project is the same on every machine")
        self.found: list[Found] = []
        """The other files that were read, for reports."""

    def read(self, path: str) -> Source:
        """A file by its path from the project's folder. Raises Unreadable."""
        place = self._place(path)
        if not _is_inside(os.path.realpath(place), self._root):
            raise Unreadable("it leads out of the repository")
        if not os.path.isfile(place):
            raise Unreadable("it is no file" if os.path.exists(place) else "there is no such file")
        found = Found(place, named=True)
        try:
            content = content_of(found)
        except JobspecError as error:
            raise Unreadable(str(error)) from None
        self.found.append(found)
        return Source(place, content)

    def output(self, path: str, other: str = "") -> str:
        """A folder that a project renders to. Raises Unreadable for one that must not be replaced, or that overlaps the *other* one."""
        place = self._place(path)
        real, here = os.path.realpath(place), os.path.realpath(self._folder or os.curdir)
        if _is_inside(here, real):
            raise Unreadable("the project itself is in it")
        if not _is_inside(real, self._root):
            raise Unreadable("it is outside of the repository")
        if ".git" in os.path.relpath(real, self._root).lower().split(os.sep):  # `.GIT` is the same on some file systems
            raise Unreadable("it is inside of .git")
        if os.path.lexists(place) and not os.path.isdir(place):
            raise Unreadable("it is no folder")
        beside = os.path.realpath(other) if other else ""
        if other and (_is_inside(real, beside) or _is_inside(beside, real)):
            raise Unreadable(f"it overlaps `{other}`, which holds the rendered tree")
        return place

    def _place(self, path: str) -> str:
        """A path as it is from here. Raises Unreadable for one that no file can have."""
        if "\0" in path:
            raise Unreadable("no path can have a NUL in it")
        return os.path.normpath(os.path.join(self._folder, path))

    def in_repository(self, place: str) -> str:
        """The path of a folder from the root of the repository, as engines write it."""
        return os.path.relpath(os.path.realpath(place), self._root).replace(os.sep, "/")


def _repository(folder: str) -> str:
    """The root of the Git repository around a folder; the folder itself where there is none."""
    here = folder
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return folder
        here = parent
    return here


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
