"""`jobspec queue`: say whether Kueue ever admits jobs, and with which flavors."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from jobspec.operators.kueue.versions import RELEASE
from jobspec.reports.queue import REPORTS, TextOptions
from jobspec.session.arguments import add_paths, declare
from jobspec.session.delivery import deliver
from jobspec.session.options import PROJECT_OR_FOLDER, Option, Options, journey_options, repository_options
from jobspec.session.queues import LACKING, answers
from jobspec.session.reading import reader
from jobspec.session.terminal import takes_colour, width_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "a file or folder with the queues: ClusterQueues, LocalQueues, Cohorts, ResourceFlavors, Topologies, Nodes"
    options = [
        Option("--queues", metavar="PATH", repeatable=True, what=what),
        *journey_options(),
        *repository_options(),
        Option("--output", "-o", dest="form", choices=tuple(REPORTS), what="output format"),
    ]
    declare(add_paths(parser, by_default=PROJECT_OR_FOLDER), options)


def run(options: Options) -> int:
    """Say of all jobs in files, or of the variants of a project, what Kueue does with them.

    Files with errors are left out. If there are any, or a job is never admitted, return 1. If there are jobs but no queue, return 2.
    """
    made = answers(options)
    if made.left_out:
        deliver(made.results, made.cluster.releases, options, sys.stderr, read=reader(made.read))
        if not made.asked:
            sys.stderr.write("jobspec: no queue is asked before these errors are fixed\n")
            return 1
        sys.stderr.write(f"jobspec: left out because of their errors: {', '.join(made.left_out)}\n")
    if made.lacks:
        sys.stderr.write(f"jobspec: {LACKING[made.lacks]}\n")
    if made.lacks == "queues":
        return 2
    text = TextOptions(width_of(sys.stdout), made.cluster.target.get("kueue", RELEASE), colour=takes_colour(sys.stdout))
    sys.stdout.write(REPORTS[options.form](made.asked, made.world, text))
    return 1 if made.left_out or any(each.answer and each.answer.verdict == "never" for each in made.asked) else 0
