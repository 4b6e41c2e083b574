"""The parsers that argparse makes of options: their help, and what is wrong with a command line."""

from __future__ import annotations

import sys

from jobspec.diagnostics.record import Record
from jobspec.session.options import Option
from jobspec.session.terminal import width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, NoReturn


_FEW = 4  # choices


#: The headings of a help text of many options, and the names of those below each; others have none.
_HEADINGS = {
    "which files": "changed-since helm helm-set helm-set-file markdown no-build no-cache set-env skip-unknown substitute values within",
    "the cluster that they are checked for": (
        "closed-world cluster contract crd from from-ref no-admission no-outcome schema-location target"
    ),
    "overlays": "overlay set",
    "fixes": "diff fix fix-lists fix-only unsafe-fixes",
    "the report": "baseline fail-on ignore output output-file page prices select statistics verbose write-baseline",
}
_MANY = 15  # options, from which on help texts have headings, and usages do not list them


class Help(Record):
    """The beginning of the help of a command of many options, and what the help leaves out."""

    examples: Sequence[tuple[str, str]] = ()
    """Command lines, each with what it does."""
    used_most: str = ""
    """The names of the options that people use first."""
    not_shown: str = ""
    """The names of options that are taken like the others, and mean little to this command."""


def declare(parser: ArgumentParser, options: Sequence[Option], *, paths: str = "[PATH ...]", shown: Help | None = None) -> None:
    """Add options to a parser of argparse.

    *paths*: the end of the usage. If there are many options, the usage does not list them.
    """
    groups: dict[str, Any] = {}
    shown = shown or Help()
    if shown.examples:
        parser.description = f"{parser.description}\n\nexamples:\n{_examples(shown.examples)}"
    if len(options) >= _MANY:
        parser.usage = f"%(prog)s [OPTION ...] {paths}"
        parser.epilog = "Each finding ends with its rule in brackets;\n`jobspec explain RULE` says why, and what to do."
        most = dict.fromkeys(shown.used_most.split(), parser.add_argument_group("used most")) if shown.used_most else {}
        for heading, below in _HEADINGS.items():
            groups |= dict.fromkeys(below.split(), parser.add_argument_group(heading))
        groups |= most
        first = [each for name in most for each in options if _long_name(each) == name]
        options = [*first, *(each for each in options if each not in first)]
    hidden = shown.not_shown.split()
    from argparse import SUPPRESS

    alone: Any = None
    for option in options:
        name = _long_name(option)
        group = groups.get(name, parser)
        if option.exclusive:
            group = alone = alone or group.add_mutually_exclusive_group()
        add, names = group.add_argument, sorted(option.names, key=len)
        if not option.takes_value:
            action = "store_false" if option.default else "store_true"
            add(*names, dest=option.dest, action=action, help=SUPPRESS if name in hidden else option.what)
        else:
            is_long = len(option.choices) > _FEW or option.into_files  # which would stand in each usage, and twice in the help
            add(
                *names,
                dest=option.dest,
                action="append" if option.repeatable else "store",
                default=[] if option.repeatable else option.default,
                choices=_Choices(option) if option.choices else None,
                metavar="FORMAT" if is_long else option.metavar or None,
                help=SUPPRESS if name in hidden else _help_of(option, is_long=is_long),
            )


def _examples(examples: Sequence[tuple[str, str]]) -> str:
    """Return the lines of examples. If they fit the width, each has what it does beside the command, and below it otherwise."""
    wide = max(len(line) for line, _ in examples)
    beside = [f"  {line:{wide}}  {does}" for line, does in examples]
    return "\n".join(beside if max(map(len, beside)) <= width_of(sys.stdout) else [f"  {line}\n      {does}" for line, does in examples])


def _help_of(option: Option, *, is_long: bool) -> str:
    return f"{option.what}; FORMAT is one of {', '.join(option.choices)}" if is_long else option.what


def _long_name(option: Option) -> str:
    return option.names[0].removeprefix("--")


class _Choices:
    """The choices of an option for argparse, which lists them and asks whether a value is among them."""

    def __init__(self, option: Option) -> None:
        self._option = option

    def __contains__(self, value: object) -> bool:
        return self._option.allows(str(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._option.choices)


def parser_for(prog: str, what: str, *, epilog: str | None = None) -> ArgumentParser:
    """Return a parser of argparse for a program that does *what*.

    The parser reports a mistake in one line, with the option that was meant.
    """
    from argparse import ArgumentParser

    class Parser(ArgumentParser):
        def error(self, message: str) -> NoReturn:
            if unknown := _unknown_option(message, self._option_string_actions):
                self.exit(2, f"{prog}: {unknown}\n")
            if message.startswith(_OWN):
                self.exit(2, f"{prog}: {message}\n")
            if message == f"{_INCOMPLETE}: ACTION":
                self.print_help(sys.stderr)
                self.exit(2)
            if message.startswith(_INCOMPLETE):
                super().error(message)  # with the usage
            self.exit(2, f"{prog}: {_unknown_value(message) or f'{message}; see `{prog} --help`'}\n")

    return Parser(prog=prog, description=f"{what[:1].upper()}{what[1:]}.", epilog=epilog, formatter_class=formatter)


_OWN = "unknown command "
_INCOMPLETE = "the following arguments are required"


def _unknown_option(message: str, known: Iterable[str]) -> str:
    """What to say where argparse does not know an option: it, and the one that it seems to mean; empty for other messages."""
    start = "unrecognized arguments: "
    option = message.removeprefix(start).split(" ")[0].partition("=")[0]
    if not message.startswith(start) or not option.startswith("-"):
        return ""
    from jobspec.kubernetes.problems import closest

    meant = closest(option, known)
    return f"unknown option `{option}`{f'; {meant}' if meant else ''}"


def _unknown_value(message: str) -> str:
    """What to say where argparse does not know a value of an option: it, and the one that it seems to mean; empty for other messages."""
    option, _, rest = message.removeprefix("argument ").partition(": invalid choice: ")
    value, _, known = rest.partition(" (choose from ")
    if not known:
        return ""
    from jobspec.kubernetes.problems import closest

    choices = [each.strip(" ')") for each in known.split(",")]
    said = value.strip("'")
    name = said.partition("=")[0]
    listed = ", ".join(choices)
    if name in choices:
        return f"{option}: `{said}`: this command takes a format without a file; write `-o {name} > FILE`"
    return f"{option}: unknown value `{name}`; {closest(name, choices) or f'the values are {listed}'}"


def formatter(prog: str) -> HelpFormatter:
    """Return a formatter of the help with a known width.

    Without a known width, argparse finds one by `shutil`, which loads three compression libraries.
    """
    from argparse import HelpFormatter

    class Formatter(HelpFormatter):
        def _fill_text(self, text: str, width: int, indent: str) -> str:
            return "\n".join(broken for line in text.splitlines() for broken in _broken(indent + line, width))

    return Formatter(prog, width=width_of(sys.stdout) - 2)


def _broken(line: str, width: int) -> list[str]:
    """Break a line of a help text between words. A line such as `name   what it does` is continued below what it does."""
    if len(line) <= width:
        return [line]
    import re
    from textwrap import wrap

    start = re.match(r" *(?:\S+ {2,})?", line)
    indent = " " * len(start[0] if start else "")
    return wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# Options that several commands have, and the values of them.


def add_paths(parser: ArgumentParser, *, by_default: str = "", optional: bool = False) -> ArgumentParser:
    """Declare the paths of manifests, and return the parser.

    *by_default*: what is taken without a path.
    """
    what = "a file, a folder (*.yaml, *.yml, *.json), or - for standard input"
    what += f"; by default {by_default}" if by_default else ""
    parser.add_argument("paths", nargs="*" if by_default or optional else "+", metavar="PATH", help=what)
    return parser
