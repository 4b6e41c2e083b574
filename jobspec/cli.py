"""The command line: arguments, exit codes, and the one place where errors end."""

from __future__ import annotations

import errno
import io
import os
import sys

from jobspec import __version__
from jobspec.commands import COMMANDS, module_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.session.options import Options, of_environment, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

#: Errors of writing to a stream, which name no file.
_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}

#: Commands and options that judge nothing: a reader that closes the pipe early has all that was wanted.
_SHOWING = {"explain", "list", "schema", "completion", "-h", "--help", "--version"}

_EXIT_CODES = """\
exit codes:
  0  clean
  1  errors were found
  2  could not run: wrong arguments, a missing file, an unwritable folder, an unreachable server
  3  a bug of jobspec
"""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    code = None
    try:
        _write_utf8()
        code = _run(arguments)
        if not sys.stdout.closed:
            sys.stdout.flush()
        return code
    except JobspecError as error:
        return _cannot(str(error))
    except BrokenPipeError:  # the reader has what was wanted, such as `head`
        _close_stdout()
        showed = not arguments or _SHOWING & {arguments[0], arguments[-1]}
        return code if code is not None else 0 if showed else 2
    except OSError as error:
        _close_stdout()
        where = error.filename or ("cannot write the output" if error.errno in _OF_WRITING else "")
        return _cannot(f"{where}: {error.strerror}" if where else f"a call of the system failed: {error.strerror}")
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
    except SystemExit as end:  # argparse has printed its help or an error
        return int(end.code or 0)
    return run(options)


def _cannot(why: str) -> int:
    if sys.stderr:
        sys.stderr.write(f"jobspec: {why}\n")
    return 2


def _write_utf8() -> None:
    """Write UTF-8 whatever the locale; bytes of paths that are not UTF-8 are written unchanged."""
    if sys.stdout is None:
        raise JobspecError("cannot write the output: standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _close_stdout() -> None:
    """Discard what is still buffered: it cannot be written, and Python must not try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _parse(arguments: Sequence[str]) -> tuple[Callable[[Options], int], Options]:
    """The function that runs the command, and its options; argparse is loaded only where `read` cannot take the command line."""
    command = arguments[0] if arguments else ""
    if command not in COMMANDS:
        _tell_commands(arguments)
    line = module_of(command)
    rest = list(arguments[1:])
    if hasattr(line, "options"):
        known = line.options()
        formats = next((each.choices for each in known if each.names[0] == "--output"), ())
        given = of_environment(rest, {each.names[0][2:]: each.repeatable for each in known}, formats, os.environ)
        if options := read([*given, *rest], known):
            return line.run, _with_given(options, given)
    from jobspec.session.arguments import parser_for

    parser = parser_for(f"jobspec {command}", COMMANDS[command])
    line.add_arguments(parser)
    by_name = {name[2:]: each for each in parser._actions for name in each.option_strings if name[:2] == "--"}
    formats = list(by_name["output"].choices or ()) if "output" in by_name else ()
    given = of_environment(rest, {name: isinstance(each.default, list) for name, each in by_name.items()}, formats, os.environ)
    of_program: dict[str, object] = {}
    if command == "capture" and "--" in rest:
        end = rest.index("--")
        rest, of_program = rest[:end], {"arguments": rest[end + 1 :]}
    mixed = command != "schema" and "--" not in rest  # argparse cannot mix paths and options beside these
    found = (parser.parse_intermixed_args if mixed else parser.parse_args)([*given, *rest])
    return line.run, _with_given(Options(**{**vars(found), **of_program}), given)


def _with_given(options: Options, given: Sequence[str]) -> Options:
    """The options, with the names of those that the environment has given."""
    return options.changed(by_environment=[each.partition("=")[0][2:] for each in given]) if given else options


def _tell_commands(arguments: Sequence[str]) -> NoReturn:
    """Print the help or the version, or refuse what is no command."""
    from jobspec.session.arguments import parser_for

    what = "check Kubernetes training jobs offline as the API server would, and render them from bases and overlays"
    commands = "".join(f"  {name:12}{does}\n" for name, does in COMMANDS.items())
    parser = parser_for("jobspec", what, epilog=f"commands:\n{commands}\n{_EXIT_CODES}")
    parser.add_argument("--version", action="version", version=f"jobspec {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="one of those below; `jobspec COMMAND --help` lists its options")
    if not arguments:
        parser.print_help()
        raise SystemExit(0)
    command = parser.parse_args(arguments[:1]).command
    from jobspec.kubernetes.problems import closest

    parser.error(f"unknown command `{command}`; {closest(command, COMMANDS) or '`jobspec --help` lists the commands'}")
