"""`jobspec completion`: generate a shell completion script."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

import shtab

from jobspec.commands import COMMANDS, module_of
from jobspec.diagnostics.diagnostic import SEVERITIES
from jobspec.session.arguments import parser_for
from jobspec.session.options import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "put it where the shell reads it, such as `jobspec completion bash > ~/.local/share/bash-completion/completions/jobspec`"
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "powershell"), help=what)


def run(options: Options) -> int:
    """Print the script for a shell, by the parser of the whole command line."""
    whole = parser_for("jobspec", "")
    commands = whole.add_subparsers()
    for name, what in COMMANDS.items():
        module_of(name).add_arguments(commands.add_parser(name, help=what))
    _name_values(whole)
    sys.stdout.write(f"{shtab.complete(whole, shell=options.shell).rstrip()}\n")
    return 0


#: What shtab completes an argument with, by its metavar.
_COMPLETED: dict[object, object] = {**dict.fromkeys(("PATH", "FILE", "PROJECT"), shtab.FILE), "DIR": shtab.DIRECTORY}


def _name_values(parser: ArgumentParser) -> None:
    """Mark the arguments that are files, folders or severities, so that shtab completes them; to argparse they are strings."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _name_values(command)
        elif action.metavar == "SEVERITY":
            setattr(action, "choices", SEVERITIES)  # noqa: B010 (it is refused with better words where its command runs)
        elif action.metavar in _COMPLETED:
            setattr(action, "complete", _COMPLETED[action.metavar])  # noqa: B010 (argparse does not know it, and shtab looks for it)
