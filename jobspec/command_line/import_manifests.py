"""The command line of `jobspec import`."""

from __future__ import annotations

from jobspec.arguments import declare
from jobspec.command_line.shared import add_paths, target_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = add_paths(parser).add_argument
    add("--to", metavar="DIR", default="base", help="the folder for the bases, below the working folder; `base` by default")
    declare(parser, [target_option("make a new project for this release, not for the newest; repeatable")])
    add("--skip-unknown", action="store_true", help="skip documents that are no manifest or of an unknown kind")
    add("--preview", action="store_true", help="write nothing, and print what would be written, as a diff")


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import import_manifests
    from jobspec.commands.inputs import Inputs

    inputs = Inputs(options.paths, targets=options.target, skip_unknown=options.skip_unknown)
    return import_manifests.run(inputs, to=options.to, preview=options.preview)
