"""The command line of `jobspec render`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import add_paths, input_options, inputs_of, kind_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def options() -> list[Option]:
    """Its options."""
    to = Option("--to", metavar="DIR", what="write one file for each resource into DIR, instead of a stream to standard output")
    only = Option("--only", metavar="VARIANT", repeatable=True, what="of a project, render this variant and leave the others; repeatable")
    check = Option("--check", what="of a project, write nothing, and fail with a diff where the rendered tree is another one")
    return [*input_options(), *kind_options(), to, only, check]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser, number="*"), options())


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import render

    return render.run(inputs_of(options), to=options.to, only=options.only, check=options.check)
