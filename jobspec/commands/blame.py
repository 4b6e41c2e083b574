"""`jobspec blame`: where the values of a rendered file come from, and what they overrode."""

from __future__ import annotations

import os
import sys

from jobspec import rendering
from jobspec.cluster import Cluster
from jobspec.commands.files import Found, content_of, reader
from jobspec.commands.output import deliver, is_terminal, takes_colour, width_of
from jobspec.commands.project import plan, read_project
from jobspec.commands.project_files import ProjectFiles
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory
from jobspec.gitops.blame import Blame
from jobspec.gitops.project import FILE, Project
from jobspec.gitops.rendering import documents_of
from jobspec.gitops.sources import Unreadable
from jobspec.gitops.tree import KUSTOMIZATION, as_rendered
from jobspec.reports import blame as report
from jobspec.results import FileResult
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from jobspec.commands.inputs import Inputs
    from jobspec.gitops.variants import Variant
    from jobspec.reports.blame import State


class _Place:
    """A rendered file: the project that it belongs to, and its path below the project's output folder."""

    __slots__ = ("folder", "name", "output", "path", "project", "project_path")

    def __init__(self, path: str, project_path: str, project: Project, output: str, parts: tuple[str, str]) -> None:
        self.path = path
        """As the user gives it."""
        self.project_path = project_path
        self.project = project
        self.output = output
        self.folder, self.name = parts


def run(inputs: Inputs, field: str | None, *, project: str | None) -> int:
    """Tell of a rendered file, or of one *field* of it; 1 where the project has an error."""
    (path,) = inputs.paths
    place = _place_of(path, project)
    if isinstance(place, FileResult):
        return _refuse([place], inputs, Cluster(), [])
    planned = plan(inputs, ProjectFiles(place.project_path))
    variant = next((each for each in planned.variants if each.name == place.folder), None)
    results = planned.results
    if all(each.valid for each in results):
        variant = _require_variant(place, variant, [each.name for each in planned.variants])
        checked, files = documents_of(variant, planned.cluster)
        results = [checked.result]
    if not all(each.valid for each in results):
        return _refuse(results, inputs, planned.cluster, planned.read)
    assert variant
    name = _require_file(place, variant, files)
    text = as_rendered(rendering.text_of([files[name]], planned.cluster.target)).decode()
    blame = Blame(variant, place.project, planned.cluster, files[name], text)
    _write(inputs, place, blame, text, field=field, name=name)
    return 0


def _refuse(results: Sequence[FileResult], inputs: Inputs, cluster: Cluster, read: Sequence[Found]) -> int:
    stream = sys.stderr if inputs.output == "text" else sys.stdout
    deliver(results, cluster.releases, inputs, stream, read=reader(read))
    return 1


def _place_of(path: str, project: str | None) -> _Place | FileResult:
    """The project whose output holds the file, or what is wrong with the nearest one. Raises JobspecError where there is none."""
    outputs = []
    for candidate in [project] if project is not None else _projects_above(path):
        found = read_project(Found(candidate, named=True))
        if not isinstance(found, Project):
            return found
        output = _output(candidate, found)
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(output)).split(os.sep)
        if inside[0] != os.pardir:
            return _Place(path, candidate, found, output, _in_variant(path, inside))
        outputs.append(f"{candidate} renders to {output}")
    why = "; ".join(outputs) or f"there is no {FILE} above it"
    raise JobspecError(f"{path}: no project renders it: {why}; `--project FILE` names the project")


def _projects_above(path: str) -> Iterator[str]:
    """The project files in the folders around a path, the nearest first."""
    here = os.path.dirname(os.path.abspath(path))
    while True:
        candidate = os.path.join(here, FILE)
        if os.path.isfile(candidate):
            yield _shown(candidate)
        if os.path.dirname(here) == here:
            return
        here = os.path.dirname(here)


def _shown(path: str) -> str:
    """A path as it is shortest to read: from the working folder where that holds it or stands beside it."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(path) else path


def _output(path: str, project: Project) -> str:
    try:
        return ProjectFiles(path).output(project.output)
    except Unreadable as error:
        raise JobspecError(f"{project.output_place}: cannot render to `{project.output}`: {error}") from None


def _in_variant(path: str, inside: list[str]) -> tuple[str, str]:
    """The folder and the name of a file below the output folder. Raises JobspecError for what no base or overlay makes."""
    if inside[-1] in (KUSTOMIZATION, inventory.NAME):
        what = "lists what engines read" if inside[-1] == KUSTOMIZATION else "holds the hashes of the rendered files"
        raise JobspecError(f"{path}: jobspec writes this file itself: it {what}, and no value in it comes from your files")
    if len(inside) != 2:
        raise JobspecError(f"{path}: no rendered file: name one, such as FOLDER/VARIANT/pytorchjob-NAME.yaml")
    return inside[0], inside[1]


def _require_variant(place: _Place, variant: Variant | None, known: Collection[str]) -> Variant:
    if variant is None:
        hint = closest(place.folder, known) or f"it has {len(known)} others"
        raise JobspecError(f"{place.path}: {place.project_path} has no variant `{place.folder}`: {hint}")
    return variant


def _require_file(place: _Place, variant: Variant, files: Collection[str]) -> str:
    """The name under which the file is rendered now: a job's changes with its spec. Raises JobspecError for a file that is not rendered."""
    if place.name in files:
        return place.name
    if os.path.isfile(place.path):
        renamed = [each for each in files if _without_hash(each) == _without_hash(place.name) != ""]
        if renamed:
            return renamed[0]
    hint = closest(place.name, files) or f"it renders {', '.join(sorted(files))}"
    raise JobspecError(f"{place.path}: the variant `{variant.name}` renders no such file: {hint}")


def _without_hash(name: str) -> str:
    """The name of a job's file up to the hash of its spec, empty where none is in it."""
    before, _, digest = name.removesuffix(".yaml").rpartition("-")
    return before if len(digest) == 8 and not digest.strip("0123456789abcdef") else ""


def _write(inputs: Inputs, place: _Place, blame: Blame, text: str, *, field: str | None, name: str) -> None:
    blamed = blame.fields() if field is None else blame.at(field)
    if not blamed:
        assert field is not None
        hint = closest(field, blame.names()) or "leave FIELD out to see all fields"
        raise JobspecError(f"{place.path}: no field `{field}`: {hint}")
    state = _state(place, text, name)
    stream = sys.stdout
    if inputs.output == "json":
        stream.write(report.as_json(blamed, file=place.path, project=place.project_path, variant=place.folder, state=state))
        return
    if state != "same":
        sys.stderr.write(f"jobspec: {place.path} {report.STATES[state]}\n")
    colour = takes_colour(stream)
    if field is not None:
        stream.writelines(f"{line}\n" for line in report.field_lines(blamed, colour=colour))
    else:
        width = width_of(stream) if is_terminal(stream) else None
        stream.writelines(f"{line}\n" for line in report.file_lines(blamed, text, colour=colour, width=width))


def _state(place: _Place, text: str, name: str) -> State:
    """How the file on disk differs from the one that is rendered now."""
    if not os.path.isfile(place.path):
        return "missing"
    found = content_of(Found(place.path, named=True))
    if name == place.name and found == text.encode():
        return "same"
    try:
        listed = content_of(Found(f"{place.output}/{inventory.NAME}", named=True)).decode()
        hashes = inventory.parse(listed)
    except (JobspecError, ValueError):
        return "stale"
    return "stale" if hashes.get(f"{place.folder}/{place.name}") == inventory.digest_of(found) else "edited"
