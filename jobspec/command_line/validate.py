"""The command line of `jobspec validate`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import add_paths, choice_options, fix_options, input_options, inputs_of, kind_options, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def options() -> list[Option]:
    """Its options."""
    return [
        *input_options(),
        *kind_options(),
        Option(
            "--from",
            dest="stored",
            metavar="PATH",
            exclusive=True,
            what="judge updates of the objects in this file or folder; all other objects are new",
        ),
        Option("--from-ref", dest="ref", metavar="REF", exclusive=True, what="judge updates of the objects in the same files at a Git ref"),
        Option("--no-outcome", dest="outcome", what="stop at the server's own answer, and do not tell what becomes of accepted jobs"),
        *fix_options(),
        *choice_options(),
    ]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser), options())


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import validate

    return validate.run(
        inputs_of(options),
        stored=options.stored,
        ref=options.ref,
        outcome=options.outcome,
        fix=options.fix,
        diff=options.diff,
        settings=settings_of(options),
        write_baseline=options.write_baseline,
    )
