"""The command line of `jobspec expand`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import add_paths, inputs_of, journey_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def options() -> list[Option]:
    """Its options."""
    forms = ("auto", "table", "yaml", "json")
    return [
        *journey_options(),
        Option("--output", "-o", dest="form", choices=forms, what="a table on a terminal and YAML elsewhere (auto), or one of these"),
        Option("--defaults", what="add what the API server fills in, as `kubectl get` will show it"),
        Option(
            "--gang-scheduler",
            metavar="NAME",
            what="expand as a training-operator with this `--gang-scheduler-name` does: volcano, or a scheduler of scheduler-plugins",
        ),
        Option("--origin", what="write behind each line of YAML where it comes from"),
    ]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser), options())


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import expand

    return expand.run(
        inputs_of(options), form=options.form, defaults=options.defaults, origin=options.origin, gang_scheduler=options.gang_scheduler or ""
    )
