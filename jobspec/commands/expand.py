"""`jobspec expand`: print the objects that operators will make of jobs."""

from __future__ import annotations

import sys

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.writer import write
from jobspec.reports.expansion import ordered, table, with_origin
from jobspec.session.delivery import deliver
from jobspec.session.expanding import expand_files
from jobspec.session.options import Option, Options, journey_options, repository_options
from jobspec.session.reading import reader
from jobspec.session.terminal import is_terminal, takes_colour, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from jobspec.apis.releases import Target
    from jobspec.operators.expansion import ExpandedJob


def options() -> list[Option]:
    """Its options."""
    forms = ("auto", "table", "yaml", "json")
    return [
        *journey_options(),
        *repository_options(),
        Option("--output", "-o", dest="form", choices=forms, what="a table on a terminal and YAML elsewhere (auto), or one of these"),
        Option("--defaults", what="add what the API server fills in, as `kubectl get` will show it"),
        Option(
            "--gang-scheduler",
            metavar="NAME",
            what="expand as a training-operator with this `--gang-scheduler-name`, or an mpi-operator with this `--gang-scheduling`, does: "
            "volcano, or a scheduler of scheduler-plugins",
        ),
        Option("--queued", what="add the Workload that Kueue makes of each job with a queue; with its queues, the pods are as admitted"),
        Option(
            "--queues",
            metavar="PATH",
            repeatable=True,
            what="with --queued, a file or folder with the queues; those among the files and of --cluster count, too",
        ),
        Option("--origin", what="write behind each line of YAML where it comes from"),
    ]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.session.arguments import Help, add_paths, declare

    shown = Help(
        examples=(
            ("jobspec expand job.yaml", "the pods, their environment and what else operators create"),
            ("jobspec expand job.yaml -o yaml --defaults", "the objects as `kubectl get -o yaml` will show them"),
            ("jobspec expand job.yaml --queued --queues queues/", "with the Workload that Kueue makes, and its flavors"),
        ),
        used_most="output defaults origin target cluster overlay set queues",
        not_shown="skip-unknown closed-world no-admission",
    )
    declare(add_paths(parser), options(), shown=shown)


def run(options: Options) -> int:
    """Print what becomes of all jobs in files that a server accepts; 1 where an error was found."""
    form = options.form
    if form == "auto":
        form = "table" if is_terminal(sys.stdout) and not options.origin else "yaml"
    if options.origin and form != "yaml":
        raise JobspecError("--origin is for YAML: remove `-o`, or write `-o yaml`")
    found = expand_files(options)
    _write_expansion(found.jobs, form, found.cluster.target, origin=options.origin)
    if any(each.diagnostics for each in found.results):
        deliver(found.results, found.cluster.releases, options, sys.stderr, read=reader(found.read))
    if not found.is_accepted:
        sys.stderr.write("jobspec: fix these errors first, then run expand again\n")
    return 0 if all(each.valid for each in found.results) else 1


def _write_expansion(expanded: Sequence[ExpandedJob], form: str, target: Target, *, origin: bool) -> None:
    if form == "table":
        sys.stdout.write(table(expanded, width=width_of(sys.stdout), colour=takes_colour(sys.stdout)))
        return
    objects = ordered([each for job in expanded for each in job.objects], target)
    if form == "json":
        import json

        whole = {"apiVersion": "v1", "kind": "List", "items": [each.data() for each in objects]}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    elif origin:
        sys.stdout.write("---\n".join(map(with_origin, objects)))
    else:
        sys.stdout.write(write(each.data() for each in objects) if objects else "")
