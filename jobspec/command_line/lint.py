"""The command line of `jobspec lint`."""

from __future__ import annotations

from jobspec.arguments import declare
from jobspec.command_line.shared import add_paths, choice_options, fix_options, input_options, inputs_of, kind_options, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Option, Options


def options() -> list[Option]:
    """Its options."""
    return [*input_options(), *kind_options(), *fix_options(), *choice_options()]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser), options())


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import lint

    return lint.run(
        inputs_of(options), fix=options.fix, diff=options.diff, settings=settings_of(options), write_baseline=options.write_baseline
    )
