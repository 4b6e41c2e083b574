"""`jobspec render`: apply overlays, check the result, and write it as a stream or as a folder of files."""

from __future__ import annotations

import sys

from jobspec.diagnostics.errors import JobspecError
from jobspec.journey import rendering
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.inputs import load_run_context, project_among, require_workload, settings_of
from jobspec.session.judging import check_files
from jobspec.session.options import PROJECT_HERE, Option, Options, input_options, kind_options, outcome_option
from jobspec.session.reading import reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def options() -> list[Option]:
    """Its options."""
    to = Option("--to", metavar="DIR", what="write one file per object to DIR; `-`, also of a project, is one stream to standard output")
    only = Option("--only", metavar="VARIANT", repeatable=True, what="render only this variant of a project")
    check = Option("--check", what="write nothing, name the files that are not up to date, fail if there are any (projects)")
    diff = Option("--diff", what="the same, with a diff of these files in place of their names")
    return [*input_options(), *kind_options(), outcome_option(), to, only, check, diff]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.session.arguments import add_paths, declare

    declare(add_paths(parser, by_default=PROJECT_HERE), options())


def run(options: Options) -> int:
    """Render a project or manifests; 1 where an error was found."""
    project = project_among(options.paths)
    if project is None:
        if options.only or options.check or options.diff:
            raise JobspecError("--only, --check and --diff are for a project, not for manifests")
        return _render_manifests(options)
    if options.to not in (None, "-"):
        raise JobspecError(f"--to DIR is for manifests: {project} declares where it is rendered to")
    if options.to == "-" and (options.check or options.diff):
        raise JobspecError("--check and --diff compare the committed tree, and `--to -` writes none")
    from jobspec.session.project import write_project

    return write_project(options, project)


def _render_manifests(options: Options) -> int:
    """Render to standard output, or to the folder of `--to`, whole or not at all."""
    to = None if options.to == "-" else options.to
    if to == "":
        raise JobspecError("--to needs the name of a folder")
    run_context = load_run_context(options)
    target, releases = run_context.cluster.target, run_context.cluster.releases
    found = find_for(options, settings_of(options))
    checked = check_files(found, run_context, skip_unknown=options.skip_unknown, outcome=options.outcome)
    rendered = rendering.rendered(checked, target, companions_once=bool(run_context.overlays))
    results = [*run_context.remarks, *require_workload(run_context.overlays, run_context.wrong or rendered.results)]
    if not all(each.valid for each in results):
        stream = sys.stderr if options.output == "text" or to is None else sys.stdout
        deliver(results, releases, options, stream, read=reader(found))
        return 1
    if not rendered.documents:
        raise JobspecError("nothing to render: no Kubernetes objects in the files")
    if to is None:
        sys.stdout.write(rendering.text_of(rendered.documents, target))
        skipped = any(row.status == "skipped" for each in results for row in each.documents)
        if options.output != "text" or options.output_file or skipped or any(each.diagnostics for each in results):
            deliver(results, releases, options, sys.stderr, read=reader(found))
    else:
        from jobspec.documents.atomic_writes import write_rendered

        files = {name: rendering.text_of([document], target) for name, document in rendering.files_of(rendered.documents).items()}
        written = write_rendered(to, files)
        if options.output == "text":
            sys.stdout.writelines(f"{path}\n" for path in written)
        deliver(results, releases, options, sys.stderr if options.output == "text" else sys.stdout, read=reader(found))
    return 0
