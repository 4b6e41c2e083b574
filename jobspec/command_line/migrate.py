"""The command line of `jobspec migrate`."""

from __future__ import annotations

from jobspec.arguments import Option, declare
from jobspec.command_line.shared import add_paths, target_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.reports.formats import MIGRATION_FORMATS

    add = add_paths(parser).add_argument
    what = "TrainJob, for PyTorchJobs; or trainer=RELEASE, for TrainJobs and runtimes of another release"
    add("--to", metavar="KIND|RELEASE", required=True, help=what)
    add("--in-place", action="store_true", help="write the files again, all of them or none")
    add("--to-dir", metavar="DIR", help="write the files that change into a folder, under the same names")
    add("--diff", action="store_true", help="print what would change, and write nothing")
    add("--strict", action="store_true", help="write nothing and exit with 1 where anything is lost")
    add("--skip-unknown", action="store_true", help="skip documents that are no manifest or of an unknown kind")
    add("--gang-scheduler", metavar="NAME", help="the `--gang-scheduler-name` that training-operator was started with")
    options = [
        target_option("with --to TrainJob the releases to come from and to go to; else the trainer to come from; repeatable"),
        Option("--output", "-o", choices=MIGRATION_FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import migrate
    from jobspec.commands.inputs import Inputs

    writing = migrate.Writing(diff=options.diff, folder=options.to_dir, in_place=options.in_place)
    inputs = Inputs(
        options.paths,
        targets=options.target,
        output=options.output,
        output_file=options.output_file,
        skip_unknown=options.skip_unknown,
    )
    return migrate.run(inputs, to=options.to, writing=writing, strict=options.strict, gang_scheduler=options.gang_scheduler or "")
