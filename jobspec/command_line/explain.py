"""The command line of `jobspec explain`."""

from __future__ import annotations

from jobspec.arguments import declare
from jobspec.command_line.shared import target_option
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add(
        "name",
        nargs="?",
        metavar="RULE|KIND.PATH",
        help="a rule, the name in brackets behind a message; or a field, such as TrainJob.spec.trainer, as messages spell it, too; "
        "without it, all rules are listed",
    )
    declare(parser, [target_option("explain the field as of this release, not of the newest; repeatable")])
    add("--recursive", action="store_true", help="print the names and types of all fields below, nothing else")
    add("--markdown", action="store_true", help="print the pages of all rules as Markdown, which is docs/rules.md")


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import explain

    if options.name and options.markdown:
        raise JobspecError("--markdown is for all rules: leave the name out")
    return explain.run(options.name, targets=options.target, recursive=options.recursive, markdown=options.markdown)
