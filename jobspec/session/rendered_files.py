"""Find the project that renders a file, and the file of its tree that is meant."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from jobspec.apis.kinds import MANIFEST_ENDINGS, PROJECT_FILE
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.kubernetes.problems import closest
from jobspec.operators.training_roles import job_among
from jobspec.project import tree
from jobspec.project.project import LoadedProject, Unreadable
from jobspec.project.tree import KUSTOMIZATION, SHARED
from jobspec.session.found import Found
from jobspec.session.project import read_project
from jobspec.session.reading import content_of
from jobspec.session.trees import ProjectFiles

#: How a rendered file differs from what the project renders now.
State = Literal["same", "stale", "edited", "missing"]
_HASH = 8  # characters at the end of a job's name


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file that a project renders, whether it is there or not."""

    path: str
    """As the user gives it."""
    project_path: str
    project: LoadedProject
    output: str
    variant: str
    """The name of its folder; of an object that several variants share, that of the folder for those."""
    name: str
    """Its path from there; empty where the variant's job is meant, whatever the file is called."""

    def of_job(self, files: Mapping[str, Document]) -> RenderedFile:
        """The file of the job among those of the variant."""
        job = job_among(files.values())
        name = next(name for name, each in files.items() if each is job)
        return replace(self, path=os.path.join(self.output, self.variant, name), name=name)

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
        return "edited" if self._hash() not in (None, tree.digest_of(found)) else "stale"

    def _hash(self) -> str | None:
        """What the inventory has for it; None without an inventory."""
        try:
            text = content_of(Found(os.path.join(self.output, tree.NAME), named=True)).decode()
            return tree.parse(text).get(f"{self.variant}/{self.name}", "")
        except (JobspecError, ValueError):
            return None


def _without_hash(name: str) -> str:
    """The name of a job's file up to the hash of its spec; empty where none is in it."""
    before, _, digest = name.removesuffix(".yaml").rpartition("-")
    return before if len(digest) == _HASH and not digest.strip("0123456789abcdef") else ""


def find(path: str, project: str | None) -> RenderedFile | FileResult:
    """Return the rendered file at a path, or what is wrong with its project.

    The project is the nearest above the path, or the *project* that is given. A plain name is that of a variant, and stands for its job.
    Raises JobspecError where no project renders to the file's folder, and for a file of which jobspec makes all.
    """
    is_variant = os.sep not in path and not path.endswith(MANIFEST_ENDINGS) and not os.path.isfile(path)
    others = []
    for candidate in [project] if project is not None else _projects_above(path):
        found = read_project(Found(candidate, named=True))
        if not isinstance(found, LoadedProject):
            return found
        output = _output(candidate, found)
        if is_variant:
            return RenderedFile(path, candidate, found, output, path, "")
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(output)).split(os.sep)
        if inside[0] != os.pardir:
            return RenderedFile(path, candidate, found, output, *_in_variant(path, inside))
        others.append(f"{candidate} renders to {output}")
    why = "; ".join(others) or f"no {PROJECT_FILE} here or above"
    raise JobspecError(f"{path}: no project renders it: {why}; `--project FILE` names the project")


def _projects_above(path: str) -> Iterator[str]:
    """The project files in the folders around a path, the nearest first."""
    here = os.path.abspath(path)
    while os.path.dirname(here) != here:
        here = os.path.dirname(here)
        candidate = os.path.join(here, PROJECT_FILE)
        if os.path.isfile(candidate):
            yield min(os.path.relpath(candidate), candidate, key=len)


def _output(path: str, project: LoadedProject) -> str:
    try:
        return ProjectFiles(path).output(project.output)
    except Unreadable as error:
        raise JobspecError(f"{project.output_place}: cannot render to `{project.output}`: {error}") from None


class NotRenderedError(JobspecError):
    """A path in a rendered tree that is no file with values from files of users."""


def _in_variant(path: str, inside: list[str]) -> tuple[str, str]:
    """The folder and the name of a file below the output folder."""
    if inside[-1] in (KUSTOMIZATION, tree.NAME):
        what = "lists what engines read" if inside[-1] == KUSTOMIZATION else "holds the hashes of the rendered files"
        raise NotRenderedError(f"{path}: jobspec writes this file itself: it {what}, and no value in it comes from your files")
    if len(inside) < 2 or (len(inside) > 2 and inside[0] != SHARED):
        raise NotRenderedError(f"{path}: not a rendered file; name one, such as FOLDER/VARIANT/pytorchjob-NAME.yaml")
    return inside[0], "/".join(inside[1:])
