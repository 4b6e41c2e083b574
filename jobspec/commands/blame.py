"""`jobspec blame`: where the values of a rendered file come from, and what they overrode."""

from __future__ import annotations

import sys

from jobspec import rendering
from jobspec.cluster import Cluster
from jobspec.commands.files import Found, reader
from jobspec.commands.output import deliver, is_terminal, takes_colour, width_of
from jobspec.commands.project import plan, tree_before
from jobspec.commands.project_files import ProjectFiles
from jobspec.commands.rendered_file import find
from jobspec.diagnostics import JobspecError
from jobspec.gitops.blame import Blame
from jobspec.gitops.rendering import documents_of, identity_of
from jobspec.gitops.tree import SHARED, as_rendered, shared_path
from jobspec.kubernetes.problems import closest
from jobspec.reports.blame import STATES, as_json, field_lines, file_lines
from jobspec.results import FileResult
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.commands.inputs import Inputs
    from jobspec.commands.rendered_file import RenderedFile, State
    from jobspec.documents.document import Document
    from jobspec.gitops.blame import Blamed
    from jobspec.gitops.variants import Variant
    from jobspec.pipeline import Checked

    #: What a cluster says to a variant, and its objects by the names of their files.
    Rendered = tuple[Checked, Mapping[str, Document]]


def run(inputs: Inputs, field: str | None, *, project: str | None) -> int:
    """Tell of a rendered file, or of one *field* of it; 1 where the project has an error."""
    file = find(inputs.paths[0], project)
    if isinstance(file, FileResult):
        return _refuse([file], inputs, Cluster(), [Found(file.path, named=True)])
    planned = plan(inputs, ProjectFiles(file.project_path)).with_variants()
    if not all(each.valid for each in planned.results):
        return _refuse(planned.results, inputs, planned.cluster, planned.read)
    folders = tree_before(planned.combinations, planned.output)
    variants = [each.with_runs(folders.get(each.name, {})) for each in planned.variants]
    variant, (checked, documents) = _rendered(file, variants, planned.cluster)
    if not checked.result.valid:
        return _refuse([checked.result], inputs, planned.cluster, planned.read)
    _refuse_earlier_run(file, variant, documents.values())
    name = file.name_among(documents)
    content = as_rendered(rendering.text_of([documents[name]], planned.cluster.target))
    blame = Blame(variant, file.project, planned.cluster, documents[name], content.decode())
    blamed = blame.fields() if field is None else _blamed(blame, field, file)
    _write(inputs, file, blamed, file.state(content, name), text=content.decode() if field is None else None)
    return 0


def _refuse(results: Sequence[FileResult], inputs: Inputs, cluster: Cluster, read: Sequence[Found]) -> int:
    stream = sys.stderr if inputs.output == "text" else sys.stdout
    deliver(results, cluster.releases, inputs, stream, read=reader(read))
    return 1


def _rendered(file: RenderedFile, variants: Sequence[Variant], cluster: Cluster) -> tuple[Variant, Rendered]:
    """The variant that a file is of, and what it renders to; of a shared file, the first of its variants by name.

    Raises JobspecError where there is none.
    """
    if file.variant == SHARED:
        return _sharing(file, variants, cluster)
    for each in variants:
        if each.name == file.variant:
            return each, documents_of(each, cluster)
    hint = closest(file.variant, [each.name for each in variants]) or f"it has {len(variants)} others"
    raise JobspecError(f"{file.path}: {file.project_path} has no variant `{file.variant}`: {hint}")


def _sharing(file: RenderedFile, variants: Sequence[Variant], cluster: Cluster) -> tuple[Variant, Rendered]:
    for variant in sorted(variants, key=lambda each: each.name):
        checked, documents = documents_of(variant, cluster)
        shared = {shared_path(identity_of(each)).removeprefix(f"{SHARED}/"): each for each in documents.values()}
        if not checked.result.valid or file.name in shared:
            return variant, (checked, shared)
    raise JobspecError(f"{file.path}: no variant of {file.project_path} renders this object")


def _refuse_earlier_run(file: RenderedFile, variant: Variant, documents: Iterable[Document]) -> None:
    """Raises JobspecError for a file that is kept as it was rendered once."""
    job = next(filter(is_workload, documents), None)
    if job and variant.history and f"{file.variant}/{file.name}" in variant.history.earlier(job):
        raise JobspecError(f"{file.path}: this is an earlier run, which `history` keeps as it was; blame tells of what is rendered now")


def _blamed(blame: Blame, field: str, file: RenderedFile) -> list[Blamed]:
    """What is told of a field. Raises JobspecError where there is none of the name, nor was."""
    found = blame.at(field)
    if not found:
        hint = closest(field, blame.names()) or "leave FIELD out to see all fields"
        raise JobspecError(f"{file.path}: no field `{field}`: {hint}")
    return found


def _write(inputs: Inputs, file: RenderedFile, blamed: Sequence[Blamed], state: State, *, text: str | None) -> None:
    """Write what is told of fields, beside the *text* of the file where the whole was asked for."""
    stream = sys.stdout
    if inputs.output == "json":
        stream.write(as_json(blamed, file=file.path, project=file.project_path, variant=file.variant, state=state))
        return
    if state != "same":
        sys.stderr.write(f"jobspec: {file.path} {STATES[state]}\n")
    colour, width = takes_colour(stream), width_of(stream) if is_terminal(stream) else None
    lines = field_lines(blamed, colour=colour) if text is None else file_lines(blamed, text, colour=colour, width=width)
    stream.writelines(f"{line}\n" for line in lines)
