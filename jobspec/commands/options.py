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
    """The values of a command line, as attributes; those that are named here, commands without such an option have, too."""

    paths: Sequence[str] = ()
    overlay: Sequence[str] = ()
    set: Sequence[str] = ()
    target: Sequence[str] = ()
    crd: Sequence[str] = ()
    schema_location: Sequence[str] = ()
    output = "text"
    output_file: str | None = None
    skip_unknown = False
    admission = True
    outcome = True
    build = True
    helm: Sequence[str] = ()
    values: Sequence[str] = ()
    substitute: Sequence[str] = ()
    set_env: Sequence[str] = ()
    changed_since: str | None = None
    closed_world = False
    markdown = False

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


# Options that several commands have, and the values of them.


def add_paths(parser: ArgumentParser, *, number: str = "+") -> ArgumentParser:
    """Declare the paths of manifests, and give the parser back."""
    what = "a file, a folder of *.yaml, *.yml and *.json files, or - for standard input"
    parser.add_argument("paths", nargs=number, metavar="PATH", help=what)
    return parser


def target_option(what: str) -> Option:
    """The option that chooses a release; *what* is its help."""
    return Option("--target", metavar="OPERATOR=RELEASE", repeatable=True, what=what)


def input_options() -> list[Option]:
    """The options that say how files are judged and reported."""
    from jobspec.reports.formats import FORMATS

    return [
        *journey_options(),
        Option("--output", "-o", choices=FORMATS, what="the format of the report"),
        Option("--output-file", metavar="FILE", what="write the report into a file, whole or not at all"),
    ]


def journey_options() -> list[Option]:
    """The options that say how files become documents and are judged."""
    return [
        Option("--overlay", metavar="NAME", repeatable=True, what="apply this overlay to every job: a shipped name, or a path; repeatable"),
        Option("--set", metavar="OVERLAY.NAME=VALUE", repeatable=True, what="give a parameter of an overlay a value; repeatable"),
        target_option("judge by this release, not by the newest; repeatable"),
        Option("--skip-unknown", what="skip documents that are no manifest or of an unknown kind, and count them"),
        Option("--no-admission", dest="admission", what="skip the operators' webhooks, as on a cluster without them"),
        Option(
            "--closed-world",
            what="report an error, not a warning, for a runtime that is in none of the files and not shipped with the trainer",
        ),
    ]


def repository_options() -> list[Option]:
    """The options that say what becomes of files before they are applied."""
    return [
        Option("--no-build", dest="build", what="judge the files of kustomizations as they are, and not what kustomize builds of them"),
        Option("--helm", metavar="CHART", repeatable=True, what="judge what helm renders of this chart, offline; repeatable"),
        Option("--values", metavar="FILE", repeatable=True, what="a file of values for the charts of --helm; repeatable"),
        Option(
            "--substitute",
            metavar="NAME=VALUE",
            repeatable=True,
            what="fill in the placeholder ${NAME} as Flux does, with its defaults and functions; repeatable",
        ),
        Option("--set-env", metavar="FILE", repeatable=True, what="fill in the placeholders of a file of NAME=VALUE lines; repeatable"),
    ]


def kind_options() -> list[Option]:
    """The options that bring schemas of further kinds."""
    return [
        Option(
            "--crd",
            metavar="PATH",
            repeatable=True,
            what="judge objects by the CustomResourceDefinitions in this file or folder, before our own schemas; repeatable",
        ),
        Option(
            "--schema-location",
            metavar="TEMPLATE",
            repeatable=True,
            what="JSON Schemas of kinds that jobspec has none of: a folder, or a path with kubeconform's {{.ResourceKind}}; repeatable",
        ),
    ]


def fix_options() -> list[Option]:
    """The options that have files mended."""
    return [
        Option("--fix", what="first mend in the files what has one certain remedy, such as a misspelt field"),
        Option("--diff", what="show what --fix would change, and write nothing"),
        Option("--markdown", what="read the manifests in Markdown pages of folders, too; in a page that is named they always are"),
    ]


def choice_options() -> list[Option]:
    """The options that choose which findings are reported, and which of them fail."""

    def add(name: str, metavar: str, what: str, *, repeatable: bool = False) -> Option:
        return Option(name, metavar=metavar, what=what, repeatable=repeatable)

    return [
        add("--select", "RULE,...", "tell of these rules or stages alone, besides what cannot be read; repeatable", repeatable=True),
        add("--ignore", "RULE,...", "do not tell of these rules or stages; repeatable", repeatable=True),
        add("--fail-on", "SEVERITY", "exit with 1 on an error (the default), on a warning, too, or on an info, too"),
        add("--changed-since", "REF", "report on files that changed since this Git ref, and on what depends on them, alone"),
        add("--baseline", "FILE", "do not tell what this baseline has, and tell which of its entries are stale"),
        add("--write-baseline", "FILE", "write all that is found as a baseline, and succeed"),
        add("--contract", "IMAGE=FILE", "check the flags of this image's program by a JSON Schema of them; repeatable", repeatable=True),
    ]
