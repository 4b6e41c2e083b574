"""The command line: arguments, exit codes, and the one place where errors end."""

from __future__ import annotations

import sys

from jobspec import __version__
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter, Namespace, _SubParsersAction
    from collections.abc import Sequence

    from jobspec.commands.inputs import Inputs

_EXIT_CODES = """\
exit codes:
  0  clean
  1  the input is at fault
  2  could not run as asked: arguments, a missing file, an unwritable folder
  3  a bug of jobspec
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except JobspecError as error:
        sys.stderr.write(f"jobspec: {error}\n")
        return 2
    except BrokenPipeError:
        _close_stdout()
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:
        import traceback

        traceback.print_exc()
        sys.stderr.write("jobspec: this is a bug of jobspec; please report it with the lines above and the file that caused it\n")
        return 3


def _run(options: Namespace) -> int:
    if options.command == "validate":
        from jobspec.commands import validate

        return validate.run(_inputs(options))
    if options.command == "render":
        from jobspec.commands import render

        return render.run(_inputs(options), to=options.to)
    if options.command == "explain":
        from jobspec.commands import explain

        return explain.run(options.rule)
    from jobspec.commands import schema

    return schema.check() if options.action == "check" else schema.export(options.folder)


def _inputs(options: Namespace) -> Inputs:
    from jobspec.commands.inputs import Inputs

    return Inputs(
        options.paths,
        overlays=options.overlay,
        sets=options.set,
        targets=options.target,
        output=options.output,
        skip_unknown=options.skip_unknown,
    )


def _close_stdout() -> None:
    """Whoever read our output has gone; nothing more can be written, and Python must not try at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser(
        prog="jobspec",
        description="Configure and check Kubernetes training jobs: layered overlays, and an API server's verdict offline.",
        epilog=_EXIT_CODES,
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action="version", version=f"jobspec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", prog="jobspec")
    _add_inputs(_add(commands, "validate", "say what an API server would say to manifests"))
    render = _add(commands, "render", "lay overlays on jobs, check the result and write it")
    _add_inputs(render)
    render.add_argument("--to", metavar="DIR", help="write one file for each resource into DIR, instead of a stream to standard output")
    explain = _add(commands, "explain", "say what a rule is about")
    explain.add_argument("rule", metavar="RULE", help="the name in brackets behind a message")
    schema = _add(commands, "schema", "write or check the schemas that follow from the models")
    actions = schema.add_subparsers(dest="action", required=True, metavar="ACTION", prog="jobspec schema")
    _add(actions, "check", "fail where a schema is not what the models give")
    _add(actions, "export", "write all schemas").add_argument("folder", metavar="DIR", help="where to")
    return parser


def _add(commands: _SubParsersAction[ArgumentParser], name: str, what: str) -> ArgumentParser:
    description = f"{what[0].upper()}{what[1:]}."
    return commands.add_parser(name, help=what, description=description, formatter_class=_formatter)


def _formatter(prog: str) -> HelpFormatter:
    """A formatter with a width of ours; to find one, argparse's own loads three compression libraries on every start."""
    import os
    from argparse import RawDescriptionHelpFormatter

    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=width - 2)


def _add_inputs(command: ArgumentParser) -> None:
    add = command.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a folder of *.yaml, *.yml and *.json files, or - for standard input")
    add(
        "--overlay",
        action="append",
        default=[],
        metavar="NAME",
        help="lay this overlay on every job: a shipped name, or a path; repeatable",
    )
    add("--set", action="append", default=[], metavar="OVERLAY.NAME=VALUE", help="give a parameter of an overlay a value; repeatable")
    add(
        "--target",
        action="append",
        default=[],
        metavar="OPERATOR=RELEASE",
        help="the release to judge by, the newest by default; repeatable",
    )
    add("--skip-unknown", action="store_true", help="pass by documents that are no manifest or of an unknown kind, and count them")
    add("-o", "--output", choices=("text", "json"), default="text", help="the format of the report")
