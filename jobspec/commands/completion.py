"""`jobspec completion`: print what has a shell complete commands, options and files."""

from __future__ import annotations

import sys

import shtab

from jobspec.choice.settings import SEVERITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, ArgumentParser

_FILES = ("PATH", "FILE", "PROJECT")


def run(parser: ArgumentParser, shell: str) -> int:
    """Print the script for a shell, by the parser of the whole command line."""
    _name_values(parser)
    sys.stdout.write(f"{shtab.complete(parser, shell=shell).rstrip()}\n")
    return 0


def _name_values(parser: ArgumentParser) -> None:
    """Say of each argument that is a file, a folder or a severity that it is one; argparse knows no more of it than a text."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _name_values(command)
        elif action.metavar == "SEVERITY":
            setattr(action, "choices", SEVERITIES)  # noqa: B010 (it is refused with better words where its command runs)
        elif what := _what(action):
            setattr(action, "complete", what)  # noqa: B010 (an attribute that argparse does not know, and shtab looks for)


def _what(action: Action) -> object:
    if action.metavar in _FILES:
        return shtab.FILE
    return shtab.DIRECTORY if action.metavar == "DIR" else None
