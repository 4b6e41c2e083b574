"""`jobspec preflight`: one short answer about jobs before they are sent."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from jobspec.diagnostics.results import FileResult
from jobspec.reports.preflight import REPORTS
from jobspec.session.arguments import Help, add_paths, declare
from jobspec.session.comparing import prices_in
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.options import (
    THIS_FOLDER,
    Option,
    Options,
    choice_options,
    journey_options,
    kind_options,
    repository_options,
    with_output_file,
)
from jobspec.session.preflight_of_files import answer_to
from jobspec.session.reading import reader
from jobspec.session.terminal import takes_colour, width_of
from jobspec.session.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    options = [
        Option("--from-ref", dest="stored_ref", metavar="REF", what="show what changes against the same files at this Git ref"),
        Option("--queues", metavar="PATH", repeatable=True, what="a file or folder with Kueue's queues; those among the files count, too"),
        Option("--prices", metavar="FILE", what="a price list, to show what jobs cost at most"),
        *journey_options(),
        *repository_options(),
        *kind_options(),
        *(each for each in choice_options() if each.dest != "write_baseline"),
        Option(
            "--output",
            "-o",
            dest="form",
            choices=tuple(REPORTS),
            into_files=True,
            what="text for people, or one line of JSON of at most 2,000 tokens; FORMAT=FILE writes it to a file",
        ),
        Option("--output-file", metavar="FILE", what="write the answer to this file"),
    ]
    shown = Help(
        examples=(
            ("jobspec preflight job.yaml", "accepted? pods? queue? what does it hold, what fixes it?"),
            ("jobspec preflight --from-ref main", "with what changes against the branch main"),
            ("jobspec preflight jobs/ --queues queues/ -o json", "with Kueue's answer, for a script or an agent"),
        ),
        used_most="output from-ref queues prices target cluster",
    )
    declare(add_paths(parser, by_default=THIS_FOLDER), options, shown=shown)


def run(options: Options) -> int:
    """Answer what is asked of jobs; 1 if `lint` fails, or a job is never admitted to its queue."""
    options = with_output_file(options, options.form)
    listed = prices_in(options.prices) if options.prices is not None else None
    if isinstance(listed, FileResult):
        deliver([listed], {}, Options(), sys.stderr, read=reader([Found(listed.path, named=True)]))
        return 1
    answer = answer_to(options, listed)
    to_terminal = options.output_file is None
    looks: dict[str, Any] = {"colour": takes_colour(sys.stdout), "width": width_of(sys.stdout)} if to_terminal else {}
    text = REPORTS[options.form](answer, **looks)
    if options.output_file is not None:
        write_whole(options.output_file, text)
    else:
        sys.stdout.write(text)
    return 0 if answer.passes else 1
