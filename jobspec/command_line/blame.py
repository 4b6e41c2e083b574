"""The command line of `jobspec blame`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import kind_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add("path", metavar="FILE", help="a file that a project renders, such as rendered/VARIANT/pytorchjob-NAME.yaml")
    what = "a field as messages spell it, or one around it; an item also by its name, an argument by its flag: args[--lr]"
    add("field", nargs="?", metavar="FIELD", help=f"{what}; `.` is every field, those that are gone, too; without it, the whole file")
    add("--project", metavar="PROJECT", help="the project's file; else the nearest jobspec.yaml above FILE that renders to its folder")
    declare(parser, [*kind_options(), Option("--output", "-o", choices=("text", "json"), what="the format of the answer")])


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import blame
    from jobspec.commands.inputs import Inputs

    inputs = Inputs([options.path], output=options.output, crds=options.crd, schema_locations=options.schema_location)
    return blame.run(inputs, options.field, project=options.project)
