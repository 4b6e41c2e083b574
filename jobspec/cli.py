"""The command line: arguments, exit codes, and the one place where errors end."""

from __future__ import annotations

import gc
import io
import sys

from jobspec import __version__, documents
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter, Namespace
    from collections.abc import Callable, Sequence

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
    if arguments is None:
        documents.alone = True
    gc.disable()  # a command lives for moments; looking for cycles costs it more than they hold
    try:
        _speak_utf8()
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except JobspecError as error:
        return _cannot(str(error))
    except BrokenPipeError:  # whoever read has enough
        _close_stdout()
        return 2
    except OSError as error:
        _close_stdout()
        return _cannot(f"cannot write the output: {error.strerror}")
    except KeyboardInterrupt:
        return 130
    except Exception:
        import traceback

        traceback.print_exc()
        sys.stderr.write("jobspec: this is a bug of jobspec; please report it with the lines above and the file that caused it\n")
        return 3


def _run(arguments: Sequence[str]) -> int:
    try:
        run, options = _parse(arguments)
    except SystemExit as end:  # argparse has told its help, or what is wrong
        return int(end.code or 0)
    return run(options)


def _cannot(why: str) -> int:
    if sys.stderr:
        sys.stderr.write(f"jobspec: {why}\n")
    return 2


def _speak_utf8() -> None:
    """YAML and JSON are UTF-8 whatever the terminal's language; a path's odd bytes go out as they came in."""
    if sys.stdout is None:
        raise JobspecError("cannot write the output: standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _close_stdout() -> None:
    """Nothing more can be written, and Python must not try at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _validate(options: Namespace) -> int:
    from jobspec.commands import validate

    return validate.run(_inputs(options))


def _render(options: Namespace) -> int:
    from jobspec.commands import render

    return render.run(_inputs(options), to=options.to)


def _explain(options: Namespace) -> int:
    from jobspec.commands import explain

    return explain.run(options.name, targets=options.target, recursive=options.recursive)


def _schema(options: Namespace) -> int:
    from jobspec.commands import schema

    if options.action == "crd":
        return schema.crd(options.kinds, everything=options.all, targets=options.target, output=options.output)
    if options.action == "kustomize":
        return schema.kustomize(options.base, targets=options.target)
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


def _parse(arguments: Sequence[str]) -> tuple[Callable[[Namespace], int], Namespace]:
    """What runs the command, and its options; only its own parser is made, since argparse takes as long for one as a verdict."""
    command = arguments[0] if arguments else ""
    if command in _COMMANDS:
        what, add_arguments, run = _COMMANDS[command]
        return run, add_arguments(_parser(f"jobspec {command}", what)).parse_args(arguments[1:])
    parser = _parser("jobspec", "configure and check Kubernetes training jobs: layered overlays, and an API server's verdict offline")
    parser.epilog = "commands:\n" + "".join(f"  {name:10}{what}\n" for name, (what, *_) in _COMMANDS.items()) + f"\n{_EXIT_CODES}"
    parser.add_argument("--version", action="version", version=f"jobspec {__version__}")
    parser.add_argument(
        "command", choices=list(_COMMANDS), metavar="COMMAND", help="one of those below; `jobspec COMMAND --help` tells its options"
    )
    parser.parse_args(arguments)
    raise AssertionError(arguments)  # without a known command, parse_args has ended the program


def _parser(prog: str, what: str) -> ArgumentParser:
    from argparse import ArgumentParser

    return ArgumentParser(prog=prog, description=f"{what[0].upper()}{what[1:]}.", formatter_class=_formatter)


def _formatter(prog: str) -> HelpFormatter:
    """A formatter with a width of ours; to find one, argparse's own loads three compression libraries on every start."""
    import os
    from argparse import RawDescriptionHelpFormatter

    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=width - 2)


def _validate_arguments(parser: ArgumentParser) -> ArgumentParser:
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a folder of *.yaml, *.yml and *.json files, or - for standard input")
    add(
        "--overlay",
        action="append",
        default=[],
        metavar="NAME",
        help="lay this overlay on every job: a shipped name, or a path; repeatable",
    )
    add("--set", action="append", default=[], metavar="OVERLAY.NAME=VALUE", help="give a parameter of an overlay a value; repeatable")
    _add_target(parser, "judge by this release, not by the newest; repeatable")
    add("--skip-unknown", action="store_true", help="pass by documents that are no manifest or of an unknown kind, and count them")
    add("-o", "--output", choices=("text", "json"), default="text", help="the format of the report")
    return parser


def _render_arguments(parser: ArgumentParser) -> ArgumentParser:
    _validate_arguments(parser)
    parser.add_argument("--to", metavar="DIR", help="write one file for each resource into DIR, instead of a stream to standard output")
    return parser


def _explain_arguments(parser: ArgumentParser) -> ArgumentParser:
    add = parser.add_argument
    add(
        "name",
        metavar="RULE|KIND.PATH",
        help="a rule, the name in brackets behind a message; or a field, such as TrainJob.spec.trainer, as messages spell it, too",
    )
    _add_target(parser, "explain the field as of this release, not of the newest; repeatable")
    add("--recursive", action="store_true", help="print the names and types of all fields below, nothing else")
    return parser


def _add_target(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--target", action="append", default=[], metavar="OPERATOR=RELEASE", help=what)


def _schema_arguments(parser: ArgumentParser) -> ArgumentParser:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", prog="jobspec schema")

    def action(name: str, what: str) -> ArgumentParser:
        return actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", formatter_class=_formatter)

    crd = action("crd", "print the CustomResourceDefinitions of kinds, as `kubectl apply` takes them")
    crd.add_argument("kinds", nargs="*", metavar="KIND", help="PyTorchJob, TrainJob and so on, in upper or lower case")
    crd.add_argument("--all", action="store_true", help="every kind of the operators")
    _add_target(crd, "the CRD of this release, not of the newest; repeatable")
    crd.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="json is compact: one line for each kind")
    kustomize = action("kustomize", "print an OpenAPI document by which kustomize merges the lists of these kinds as overlays do")
    kustomize.add_argument("--base", metavar="FILE", help="the document to add them to, instead of the one of the cluster at hand")
    _add_target(kustomize, "the fields of this release, not of the newest; repeatable")
    action("export", "write all schemas").add_argument("folder", metavar="DIR", help="where to")
    action("check", "fail where a committed schema is not what the models give")
    return parser


#: Each command: what it does, its arguments, and what runs it.
_COMMANDS = {
    "validate": ("say what an API server would say to manifests", _validate_arguments, _validate),
    "render": ("lay overlays on jobs, check the result and write it", _render_arguments, _render),
    "explain": ("say what a rule is about, or a field of a kind", _explain_arguments, _explain),
    "schema": ("print CRDs, write schemas for editors and kustomize, check them", _schema_arguments, _schema),
}
