"""The command line of `jobspec diff`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import inputs_of, kind_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.reports.formats import DIFF_FORMATS

    add = parser.add_argument
    add("ref", nargs="?", default="HEAD", metavar="REF", help="the commit to compare with, such as `main`; HEAD by default")
    add("--project", default="jobspec.yaml", metavar="FILE", help="the project, if it is not jobspec.yaml in the working folder")
    add("--prices", metavar="FILE", help="a price list, by which to tell what jobs cost at most")
    add("--exit-code", action="store_true", help="exit with 1 where the project renders to something else")
    options = [
        *kind_options(),
        Option("--output", "-o", choices=DIFF_FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import diff

    return diff.run(inputs_of(options), options.ref, project=options.project, prices=options.prices, exit_code=options.exit_code)
