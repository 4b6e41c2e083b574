"""`jobspec blame`: where the values of a rendered file or of an object of a build come from, and what they override."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import join

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import shortened
from jobspec.documents.document import Document
from jobspec.journey import rendering
from jobspec.journey.steps import Checked
from jobspec.kubernetes.problems import closest
from jobspec.operators.training_roles import job_among
from jobspec.project.blame import Blame, Blamed
from jobspec.project.rendering import documents_of, identity_of
from jobspec.project.tree import SHARED, as_rendered, shared_path
from jobspec.project.variants import PlannedVariant
from jobspec.reports.blame import STATES, as_json, field_lines, file_lines
from jobspec.session.arguments import declare
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.options import Option, Options, cluster_option, kind_options
from jobspec.session.project import plan, tree_before
from jobspec.session.reading import reader
from jobspec.session.rendered_files import NotRenderedError, find
from jobspec.session.terminal import is_terminal, takes_colour, width_of
from jobspec.session.trees import ProjectFiles
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.session.rendered_files import RenderedFile, State


#: What a cluster says to a variant, and its objects by the names of their files.
Rendered = tuple[Checked, Mapping[str, Document]]


#: Gives the cluster that a variant meets.
MetBy = Callable[[PlannedVariant], Cluster]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    what = "a variant of the project, for its job, or a file that a project renders, such as rendered/VARIANT/pytorchjob-NAME.yaml"
    built = "without a project an object that kustomize builds, such as PyTorchJob/NAME, a kustomization's folder, or a manifest"
    add("path", metavar="VARIANT|OBJECT", help=f"{what}; {built}")
    what = "a field as messages spell it, or one around it; an item also by its name, an argument by its flag: args[--lr]"
    add("field", nargs="?", metavar="FIELD", help=f"{what}; `.` is every field, those that are gone, too; without it, the whole file")
    add("--in", dest="folder", default=os.curdir, metavar="DIR", help="where the object is built; the working folder by default")
    add("--project", metavar="FILE", help="the project's file; by default the nearest jobspec.yaml above that renders it")
    declare(
        parser,
        [*kind_options(), cluster_option(), Option("--output", "-o", dest="report_format", choices=("text", "json"), what="output format")],
    )


def run(options: Options) -> int:
    """Show where a variant's job or another rendered file, or one field of it, comes from; 1 where the project has an error."""
    try:
        file, field = find(options.path, options.project), options.field
    except NotRenderedError:
        raise
    except JobspecError:
        is_missing = options.path.endswith(MANIFEST_ENDINGS) and not os.path.lexists(options.path)
        if options.project is not None or is_missing or (code := _blame_built(options)) is None:
            raise
        return code
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


def _blame_built(options: Options) -> int | None:
    """Show where the values of objects come from that kustomize builds, or files have; None if no object is meant.

    Builds that fail are reported; return 1 if only those may have the object. Raises JobspecError if several objects are meant where one
    report is wanted, for an object that is nowhere, and for a field that none has.
    """
    from jobspec.session.built_blame import blamed_fields, fields_at, objects_named
    from jobspec.session.inputs import load_run_context

    target = load_run_context(options).cluster.target
    named = objects_named(options.path, options.folder, target)
    objects = named.objects
    sys.stderr.writelines(f"jobspec: {each} is left out, since it cannot be built: {why}\n" for each, why in named.unbuilt.items())
    if not objects and not os.path.lexists(options.path) and "/" in options.path and named.others:
        hint = closest(options.path, named.others) or f"it has {shortened(named.others, 12)}"
        missing = f"{options.path}: no such object below {options.folder}: {hint}"
        if not named.unbuilt:
            raise JobspecError(missing)
        sys.stderr.write(f"jobspec: {missing}\n")
    if not objects and named.unbuilt:
        return 1
    names = list(dict.fromkeys(each.name for each in objects))
    if len(names) > 1:
        command = _command_for(options, names)
        raise JobspecError(f"{options.path}: name one of its objects: {shortened(names, 12)}; write `{command}`")
    if len(objects) > 1 and options.output == "json":
        units = ", ".join(f"--in {each.unit}" for each in objects)
        raise JobspecError(f"{options.path}: {len(objects)} builds have it; choose one: {units}")
    for number, each in enumerate(objects):
        blamed, text = blamed_fields(each, target)
        if options.field not in (None, "."):
            known = [one.field for one in blamed]
            blamed = fields_at(blamed, options.field)
            if not blamed:
                raise JobspecError(f"{each.name}: no field `{options.field}`: {closest(options.field, known) or 'leave FIELD out'}")
        if options.output == "json":
            sys.stdout.write(as_json(blamed, file=each.unit, project="", variant="", state="same"))
            continue
        colour, width = takes_colour(sys.stdout), width_of(sys.stdout) if is_terminal(sys.stdout) else None
        head = [*([""] if number else []), f"{each.name} in {each.unit}", ""] if len(objects) > 1 else []
        whole = options.field is None
        lines = file_lines(blamed, text, colour=colour, width=width) if whole else field_lines(blamed, colour=colour)
        sys.stdout.writelines(f"{line}\n" for line in (*head, *lines))
    return 0 if objects else None


def _command_for(options: Options, names: Sequence[str]) -> str:
    """The command for one of several objects at a path.

    It takes the one of the *names* that the field was written for, or else the first.
    """
    wanted, field = (options.field, None) if options.field in names else (names[0], options.field)
    folder = options.path if os.path.isdir(options.path) else options.folder
    place = ["--in", folder] if os.path.normpath(folder) != os.curdir else []
    return join(each for each in ("jobspec", "blame", wanted, field, *place) if each is not None)


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
    job = job_among(documents)
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
