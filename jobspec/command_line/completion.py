"""The command line of `jobspec completion`."""

from __future__ import annotations

from jobspec.arguments import parser_for
from jobspec.command_line import COMMANDS, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "put it where the shell reads it, such as `jobspec completion bash > ~/.local/share/bash-completion/completions/jobspec`"
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help=what)


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import completion

    whole = parser_for("jobspec", "")
    commands = whole.add_subparsers()
    for name, (what, _) in COMMANDS.items():
        command_line(name).add_arguments(commands.add_parser(name, help=what))
    return completion.run(whole, options.shell)
