"""`jobspec capture`: the jobs that a Python program sends to Kubernetes, as manifests, without a cluster."""

from __future__ import annotations

import os
import sys

from jobspec.captures.program import run_program
from jobspec.captures.server import served
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import counted
from jobspec.reports.formats import FORMATS
from jobspec.session.arguments import declare
from jobspec.session.capturing import accepted, add_to_project, files_of_captured, results_of_captured, server_for, text_of_captured
from jobspec.session.delivery import deliver
from jobspec.session.imports import read_existing_project
from jobspec.session.inputs import load_run_context
from jobspec.session.options import Option, Options, cluster_option, target_option
from jobspec.session.reading import reader
from jobspec.session.stored import documents_in
from jobspec.session.writing import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


_SCRIPT = (
    "a Python program that uses TrainerClient, OptimizerClient or TrainingClient; it runs, and what it sends stays on this machine, but for"
    " programs that it starts and that ignore KUBECONFIG and the proxy of their environment"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    parser.add_argument("script", metavar="SCRIPT", help=_SCRIPT)
    parser.set_defaults(arguments=[])
    options = [
        Option("--to", dest="to_dir", metavar="DIR", what="write a file for each object into this folder, not to standard output"),
        Option("--project", dest="into_project", what="add the jobs to the project here, as bases (below --to, or `base`) and variants"),
        Option("--runtimes", metavar="PATH", repeatable=True, what="a file or folder with runtimes besides those that the trainer ships"),
        Option("--namespace", metavar="NAME", what="the namespace of the client; default by default"),
        Option("--python", metavar="PROGRAM", what="the Python that runs the program, with the SDK; by default the one that runs jobspec"),
        target_option("the releases that jobs are for"),
        cluster_option(),
        Option("--output", "-o", dest="report_format", choices=FORMATS, what="format of the findings, which go to standard error"),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Run a program and write what it posts; 1 if the server refuses an object, a finding is an error, or the program fails."""
    if not os.path.isfile(options.script):
        raise JobspecError(f"{options.script}: no such file")
    project = read_existing_project(options) if options.into_project else None
    if isinstance(project, FileResult):
        deliver([project], {}, options, sys.stderr, read=reader(()))
        return 1
    if project:
        options = options.changed(target=[f"{operator}={release}" for operator, release in project.asked_releases.items()])
    context = load_run_context(options)
    given = [document for path in options.runtimes for document in documents_in(path, option="--runtimes")]
    cluster, namespace = context.cluster.with_objects(given), options.namespace or "default"
    server = server_for(cluster, namespace=namespace)
    with served(server, namespace=namespace) as (port, kubeconfig):
        code = run_program(options.python or sys.executable, options.script, options.arguments, port, kubeconfig)
    results = results_of_captured(server.posted, cluster)
    taken = accepted(server.posted)
    added: Sequence[str] = ()
    if options.into_project:
        made = add_to_project(taken, project, cluster, options)
        added, results = made.lines, [*results, *made.results]
    elif options.to_dir is None:
        sys.stdout.write(text_of_captured(taken) if taken else "")
    else:
        os.makedirs(options.to_dir, exist_ok=True)
        for path, text in files_of_captured(taken, options.to_dir).items():
            write_whole(path, text)
    if any(each.diagnostics for each in results):
        deliver(results, cluster.releases, options, sys.stderr, read=reader(()))
    sys.stdout.writelines(added)
    sys.stderr.write(f"jobspec: {_summary(options, len(server.posted), len(taken), code)}\n")
    return 0 if server.posted and not code and all(each.valid for each in results) else 1


def _summary(options: Options, posted: int, taken: int, code: int) -> str:
    if not posted:
        what = f"{options.script} posted nothing to Kubernetes"
    else:
        folder = None if options.into_project else options.to_dir
        what = f"captured {counted(taken, 'object')}" + (f" in {folder}" if folder is not None else "")
        what += f"; the server refuses {posted - taken}" if taken < posted else ""
    return f"{what}; {options.script} ended with exit code {code}" if code else what
