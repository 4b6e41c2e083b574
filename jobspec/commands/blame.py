"""`jobspec blame`: where the values of a rendered file come from, and what they override."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jobspec.apis.kinds import MANIFEST_ENDINGS, PROJECT_FILE
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.journey import rendering
from jobspec.journey.steps import Checked
from jobspec.kubernetes.problems import closest
from jobspec.operators.workloads import is_workload
from jobspec.project import tree
from jobspec.project.blame import Blame, Blamed
from jobspec.project.project import LoadedProject, Unreadable
from jobspec.project.rendering import documents_of, identity_of
from jobspec.project.tree import KUSTOMIZATION, SHARED, as_rendered, shared_path
from jobspec.project.variants import PlannedVariant
from jobspec.reports.blame import STATES, as_json, field_lines, file_lines
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.options import Option, Options, cluster_option, declare, kind_options
from jobspec.session.project import plan, read_project, tree_before
from jobspec.session.reading import content_of, reader
from jobspec.session.terminal import is_terminal, takes_colour, width_of
from jobspec.session.trees import ProjectFiles
from jobspec.world.world import Cluster

#: What a cluster says to a variant, and its objects by the names of their files.
Rendered = tuple[Checked, Mapping[str, Document]]
#: Gives the cluster that a variant meets.
MetBy = Callable[[PlannedVariant], Cluster]
State = Literal["same", "stale", "edited", "missing"]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    what = "a variant of the project, for its job, or a file that a project renders, such as rendered/VARIANT/pytorchjob-NAME.yaml"
    add("path", metavar="VARIANT", help=what)
    what = "a field as messages spell it, or one around it; an item also by its name, an argument by its flag: args[--lr]"
    add("field", nargs="?", metavar="FIELD", help=f"{what}; `.` is every field, those that are gone, too; without it, the whole file")
    add("--project", metavar="FILE", help="the project's file; by default the nearest jobspec.yaml above that renders it")
    declare(
        parser,
        [*kind_options(), cluster_option(), Option("--output", "-o", dest="report_format", choices=("text", "json"), what="output format")],
    )


def run(options: Options) -> int:
    """Show where a variant's job or another rendered file, or one field of it, comes from; 1 where the project has an error."""
    file, field = find(options.path, options.project), options.field
    if isinstance(file, FileResult):
        return _refuse([file], options, Cluster(), [Found(file.path, named=True)])
    planned = plan(options, ProjectFiles(file.project_path)).with_variants()
    if not planned.valid:
        return _refuse(planned.results, options, planned.cluster, planned.read)
    folders = tree_before(planned.combinations, planned.output)
    variants = [each.with_runs(folders.get(each.name, {})) for each in planned.variants]
    variant, (checked, documents) = _rendered_variant(file, variants, planned.met_by)
    if not checked.result.valid:
        return _refuse([checked.result], options, planned.cluster, planned.read)
    file = file if file.name else file.of_job(documents)
    _refuse_earlier_run(file, variant, documents.values())
    name = file.name_among(documents)
    content = as_rendered(rendering.text_of([documents[name]], planned.met_by(variant).target))
    blame = Blame(variant, file.project, planned.met_by(variant), documents[name], content.decode())
    blamed = blame.fields() if field is None else _blamed(blame, field, file)
    _write_blame(options, file, blamed, file.state(content, name), text=content.decode() if field is None else None)
    return 0


def _refuse(results: Sequence[FileResult], options: Options, cluster: Cluster, read: Sequence[Found]) -> int:
    stream = sys.stderr if options.output == "text" else sys.stdout
    deliver(results, cluster.releases, options, stream, read=reader(read))
    return 1


def _rendered_variant(file: RenderedFile, variants: Sequence[PlannedVariant], met_by: MetBy) -> tuple[PlannedVariant, Rendered]:
    """The variant that a file is of, and what it renders to; of a shared file, the first of its variants by name.

    Raises JobspecError where there is none.
    """
    if file.variant == SHARED:
        return _sharing(file, variants, met_by)
    for each in variants:
        if each.name == file.variant:
            return each, documents_of(each, met_by(each))
    hint = closest(file.variant, [each.name for each in variants]) or f"it has {len(variants)} others"
    raise JobspecError(f"{file.path}: {file.project_path} has no variant `{file.variant}`: {hint}")


def _sharing(file: RenderedFile, variants: Sequence[PlannedVariant], met_by: MetBy) -> tuple[PlannedVariant, Rendered]:
    for variant in sorted(variants, key=lambda each: each.name):
        checked, documents = documents_of(variant, met_by(variant))
        shared = {shared_path(identity_of(each)).removeprefix(f"{SHARED}/"): each for each in documents.values()}
        if not checked.result.valid or file.name in shared:
            return variant, (checked, shared)
    raise JobspecError(f"{file.path}: no variant of {file.project_path} renders this object")


def _refuse_earlier_run(file: RenderedFile, variant: PlannedVariant, documents: Iterable[Document]) -> None:
    """Raises JobspecError for a file that is kept as it was rendered once."""
    job = next(filter(is_workload, documents), None)
    if job and variant.history and f"{file.variant}/{file.name}" in variant.history.earlier(job):
        raise JobspecError(f"{file.path}: this is an earlier run, which `history` keeps as it was; blame shows what is rendered now")


def _blamed(blame: Blame, field: str, file: RenderedFile) -> list[Blamed]:
    """The history of a field. Raises JobspecError for a field that never existed."""
    found = blame.at(field)
    if not found:
        hint = closest(field, blame.names()) or "leave FIELD out to see all fields"
        raise JobspecError(f"{file.path}: no field `{field}`: {hint}")
    return found


def _write_blame(options: Options, file: RenderedFile, blamed: Sequence[Blamed], state: State, *, text: str | None) -> None:
    """Write what is known of fields, beside the *text* of the file where the whole was asked for."""
    stream = sys.stdout
    if options.output == "json":
        stream.write(as_json(blamed, file=file.path, project=file.project_path, variant=file.variant, state=state))
        return
    if state != "same":
        sys.stderr.write(f"jobspec: {file.path} {STATES[state]}\n")
    colour, width = takes_colour(stream), width_of(stream) if is_terminal(stream) else None
    lines = field_lines(blamed, colour=colour) if text is None else file_lines(blamed, text, colour=colour, width=width)
    stream.writelines(f"{line}\n" for line in lines)


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
        name = next(name for name, each in files.items() if is_workload(each))
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
    """The rendered file at a path, or what is wrong with the nearest project above it, or with the *project* that is given.

    A plain name is that of a variant, and stands for its job. Raises JobspecError where no project renders to the file's folder, and for a
    file of which jobspec makes all.
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


def _in_variant(path: str, inside: list[str]) -> tuple[str, str]:
    """The folder and the name of a file below the output folder."""
    if inside[-1] in (KUSTOMIZATION, tree.NAME):
        what = "lists what engines read" if inside[-1] == KUSTOMIZATION else "holds the hashes of the rendered files"
        raise JobspecError(f"{path}: jobspec writes this file itself: it {what}, and no value in it comes from your files")
    if len(inside) < 2 or (len(inside) > 2 and inside[0] != SHARED):
        raise JobspecError(f"{path}: not a rendered file; name one, such as FOLDER/VARIANT/pytorchjob-NAME.yaml")
    return inside[0], "/".join(inside[1:])
