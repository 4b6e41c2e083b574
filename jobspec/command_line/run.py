"""The command line of `jobspec run`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import add_paths, input_options, inputs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    command = Option("--command", metavar="COMMAND", what="what each pod runs in place of its container's `command`; the `args` stay")
    kill = Option("--kill", metavar="POD@TIME", repeatable=True, what="kill the process of a pod once, such as worker-1@30s; repeatable")
    declare(add_paths(parser), [*input_options(), command, kill])


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import run

    return run.run(inputs_of(options), command=options.command, kills=options.kill)
