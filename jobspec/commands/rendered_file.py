"""A file of a rendered tree: the project that renders it, and how it differs from what that would render now."""

from __future__ import annotations

import os

from jobspec.commands.files import Found, content_of
from jobspec.commands.project import read_project
from jobspec.commands.project_files import ProjectFiles
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory
from jobspec.gitops.project import FILE, Project
from jobspec.gitops.sources import Unreadable
from jobspec.gitops.tree import KUSTOMIZATION, SHARED
from jobspec.kubernetes.problems import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Literal

    from jobspec.results import FileResult

    State = Literal["same", "stale", "edited", "missing"]

_HASH = 8  # characters at the end of a job's name


class RenderedFile:
    """A file that a project renders, whether it is there or not."""

    __slots__ = ("_output", "name", "path", "project", "project_path", "variant")

    def __init__(self, path: str, project_path: str, project: Project, output: str, variant: str, name: str) -> None:
        self.path = path
        """As the user gives it."""
        self.project_path = project_path
        self.project = project
        self._output = output
        self.variant = variant
        """The name of its folder; of an object that several variants share, that of the folder for those."""
        self.name = name
        """Its path from there."""

    def name_among(self, files: Collection[str]) -> str:
        """The name under which it is rendered now: a job's changes with its spec.

        Raises JobspecError where none of the variant's *files* is meant.
        """
        if self.name in files:
            return self.name
        wanted = _without_hash(self.name) if os.path.isfile(self.path) else ""
        for each in files:
            if wanted and _without_hash(each) == wanted:
                return each
        hint = closest(self.name, files) or f"it renders {', '.join(sorted(files))}"
        raise JobspecError(f"{self.path}: the variant `{self.variant}` renders no such file: {hint}")

    def state(self, content: bytes, name: str) -> State:
        """How it differs from the *content* that is rendered now, under that name."""
        if not os.path.isfile(self.path):
            return "missing"
        found = content_of(Found(self.path, named=True))
        if name == self.name and found == content:
            return "same"
        return "edited" if self._hash() not in (None, inventory.digest_of(found)) else "stale"

    def _hash(self) -> str | None:
        """What the inventory has for it; None without an inventory."""
        try:
            text = content_of(Found(os.path.join(self._output, inventory.NAME), named=True)).decode()
            return inventory.parse(text).get(f"{self.variant}/{self.name}", "")
        except (JobspecError, ValueError):
            return None


def _without_hash(name: str) -> str:
    """The name of a job's file up to the hash of its spec; empty where none is in it."""
    before, _, digest = name.removesuffix(".yaml").rpartition("-")
    return before if len(digest) == _HASH and not digest.strip("0123456789abcdef") else ""


def find(path: str, project: str | None) -> RenderedFile | FileResult:
    """The rendered file at a path, or what is wrong with the nearest project above it, or with the *project* that is given.

    Raises JobspecError where no project renders to its folder, and for a file of which jobspec makes all.
    """
    others = []
    for candidate in [project] if project is not None else _projects_above(path):
        found = read_project(Found(candidate, named=True))
        if not isinstance(found, Project):
            return found
        output = _output(candidate, found)
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(output)).split(os.sep)
        if inside[0] != os.pardir:
            return RenderedFile(path, candidate, found, output, *_in_variant(path, inside))
        others.append(f"{candidate} renders to {output}")
    why = "; ".join(others) or f"there is no {FILE} above it"
    raise JobspecError(f"{path}: no project renders it: {why}; `--project FILE` names the project")


def _projects_above(path: str) -> Iterator[str]:
    """The project files in the folders around a path, the nearest first."""
    here = os.path.abspath(path)
    while os.path.dirname(here) != here:
        here = os.path.dirname(here)
        candidate = os.path.join(here, FILE)
        if os.path.isfile(candidate):
            yield min(os.path.relpath(candidate), candidate, key=len)


def _output(path: str, project: Project) -> str:
    try:
        return ProjectFiles(path).output(project.output)
    except Unreadable as error:
        raise JobspecError(f"{project.output_place}: cannot render to `{project.output}`: {error}") from None


def _in_variant(path: str, inside: list[str]) -> tuple[str, str]:
    """The folder and the name of a file below the output folder."""
    if inside[-1] in (KUSTOMIZATION, inventory.NAME):
        what = "lists what engines read" if inside[-1] == KUSTOMIZATION else "holds the hashes of the rendered files"
        raise JobspecError(f"{path}: jobspec writes this file itself: it {what}, and no value in it comes from your files")
    if len(inside) < 2 or (len(inside) > 2 and inside[0] != SHARED):
        raise JobspecError(f"{path}: no rendered file: name one, such as FOLDER/VARIANT/pytorchjob-NAME.yaml")
    return inside[0], "/".join(inside[1:])
