"""The options of a command, declared once and read in two ways.

`read` takes plain command lines, as people and hooks write them. Mistakes, `--help` and all others are left to argparse, which takes as
long to load as a verdict.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter
    from collections.abc import Sequence
    from typing import Any


class Option:
    """One option: its names, the longest first, its help text, and the values that it takes."""

    __slots__ = ("choices", "default", "dest", "exclusive", "metavar", "names", "repeatable", "what")

    def __init__(
        self,
        *names: str,
        what: str,
        dest: str = "",
        metavar: str = "",
        repeatable: bool = False,
        choices: Sequence[str] = (),
        exclusive: bool = False,
    ) -> None:
        self.names = names
        self.what = what
        self.dest = dest or names[0][2:].replace("-", "_")
        self.metavar = metavar
        """The name of the value in help texts; an option without it and without choices takes no value."""
        self.repeatable = repeatable
        self.exclusive = exclusive
        """Whether it excludes the other options of the command that are so."""
        self.choices = choices
        """The values that it takes; the first one is its default."""
        self.default: Any = choices[0] if choices else None
        if not self.takes_value:
            self.default = names[0].startswith("--no-")

    @property
    def takes_value(self) -> bool:
        """Whether the option takes a value, and is no plain switch."""
        return bool(self.metavar or self.choices)


class Options:
    """The values of a command line, as attributes."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def read(arguments: Sequence[str], options: Sequence[Option]) -> Options | None:
    """The values of a plain command line of paths and options; None where argparse has to read it."""
    values: dict[str, Any] = {option.dest: [] if option.repeatable else option.default for option in options}
    paths: list[str] = []
    known = {name: option for option in options for name in option.names}
    rest = iter(arguments)
    for argument in rest:
        if argument[:1] != "-" or argument == "-":
            paths.append(argument)
            continue
        name, has_value, value = argument.partition("=")
        option = known.get(name)
        if option is None or (has_value and not option.takes_value):
            return None
        if not option.takes_value:
            values[option.dest] = not option.default
            continue
        if not has_value:
            value = next(rest, "-")
            if value[:1] == "-":
                return None
        if option.choices and value not in option.choices:
            return None
        if option.repeatable:
            values[option.dest].append(value)
        else:
            values[option.dest] = value
    if not paths or sum(option.exclusive and values[option.dest] is not None for option in options) > 1:
        return None
    return Options(paths=paths, **values)


def declare(parser: ArgumentParser, options: Sequence[Option]) -> None:
    """Add the same options to a parser of argparse."""
    group = parser.add_mutually_exclusive_group() if any(option.exclusive for option in options) else parser
    for option in options:
        add = group.add_argument if option.exclusive else parser.add_argument
        if not option.takes_value:
            action = "store_false" if option.default else "store_true"
            add(*_shortest_first(option), dest=option.dest, action=action, help=option.what)
        else:
            add(
                *_shortest_first(option),
                dest=option.dest,
                action="append" if option.repeatable else "store",
                default=[] if option.repeatable else option.default,
                choices=option.choices or None,
                metavar=option.metavar or None,
                help=option.what,
            )


def _shortest_first(option: Option) -> list[str]:
    return sorted(option.names, key=len)


def parser_for(prog: str, what: str, *, epilog: str | None = None) -> ArgumentParser:
    """A parser of argparse for a program that does *what*."""
    from argparse import ArgumentParser

    return ArgumentParser(prog=prog, description=f"{what[:1].upper()}{what[1:]}.", epilog=epilog, formatter_class=formatter)


def formatter(prog: str) -> HelpFormatter:
    """A formatter with a known width: argparse finds one by `shutil`, which loads three compression libraries."""
    from argparse import RawDescriptionHelpFormatter

    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=width - 2)
