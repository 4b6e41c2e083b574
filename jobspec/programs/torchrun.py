"""The options of torchrun, and a command line's.

Follows `get_args_parser`, torch torch/distributed/run.py, 2.15. `-` and `_` are the same in its options, and a beginning that is that of
one option alone is enough.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any


_TEXT: Mapping[str, Any] = {"type": "string"}
_INTEGER: Mapping[str, Any] = {"type": "integer"}
_SWITCH: Mapping[str, Any] = {"type": "boolean"}
#: Option -> what it takes, in the manner of a contract.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        (
            *("--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id", "--rdzv-conf", "--event-log-handler"),
            *("--role", "--log-dir", "--redirects", "--tee", "--log-line-prefix-template", "--local-ranks-filter"),
            *("--duplicate-stdout-filters", "--duplicate-stderr-filters", "--master-addr", "--local-addr", "--logs-specs"),
            *("--signals-to-handle",),
        ),
        _TEXT,
    ),
    **dict.fromkeys(("--max-restarts", "--node-rank", "--master-port", "--shutdown-timeout"), _INTEGER),
    "--monitor-interval": {"type": "number"},
    "--start-method": {"enum": ["spawn", "fork", "forkserver"]},
    "--numa-binding": {"enum": ["node", "socket", "exclusive", "core-complex"]},
    "--print-completion": {},
    **dict.fromkeys(("--standalone", "--module", "--no-python", "--run-path", "--virtual-local-rank", "--help"), _SWITCH),
}
#: The switch that `python -m torch.distributed.launch` has besides.
OF_LAUNCH = "--use-env"
#: The programs that start the processes of a node.
NAMES = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
_ALL = (*OPTIONS, OF_LAUNCH)
_SWITCHES = frozenset((*(name for name, each in OPTIONS.items() if each is _SWITCH), OF_LAUNCH))
#: Python's own switches whose value is the next word.
_SWITCHES_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_SHORT = {"-m": "--module", "-r": "--redirects", "-t": "--tee", "-h": "--help"}


def length_of_start(words: Sequence[str]) -> int:
    """How many words of a command line start torchrun: 1, or 3 of `python -m torch.distributed.run`; 0 where something else starts."""
    if words and file_name(words[0]) in NAMES:
        return 1
    start = length_of_python(words)
    return start + 2 if start and words[start : start + 1] == ["-m"] and "".join(words[start + 1 : start + 2]) in NAMES else 0


def options_of(words: Sequence[str]) -> Iterator[CommandWord]:
    """What torchrun is told by the words behind its name, up to its script; an option that it does not have counts as one with a value."""
    for each in read(words, meant, _SWITCHES, unknown_take_values=True):
        if each.name[:1] != "-":
            return
        yield each


def meant(option: str) -> str:
    """The full name of an option as it is written: with `_` for `-`, in its short form, or by a beginning that no other has; else empty."""
    found = _meant(option)
    return found[0] if len(found) == 1 else ""


def is_unknown(option: str, *, is_launch: bool) -> bool:
    """Whether torchrun has no option of this name or beginning; short ones, which can hold their value as in `-r3`, are left out."""
    return option.startswith("--") and (not _meant(option) or (meant(option) == OF_LAUNCH and not is_launch))


def _meant(option: str) -> list[str]:
    if not option.startswith("--"):
        return [_SHORT[option]] if option in _SHORT else []
    spelt = option.replace("_", "-")
    return [spelt] if spelt in _ALL else [each for each in _ALL if each.startswith(spelt)]


# The words of a command line, as argparse reads them.


class CommandWord:
    """A word of a command line, and its value."""

    __slots__ = ("at", "is_joined", "name", "option", "value", "value_at")

    def __init__(self, at: int, name: str, option: str, value: str | None, *, value_at: int, is_joined: bool) -> None:
        self.at = at
        """The number of the word."""
        self.name = name
        self.option = option
        """The option that the name means; empty where it means none."""
        self.value = value
        """None of a switch, and where none follows."""
        self.value_at = value_at
        """The number of the word that the value stands in."""
        self.is_joined = is_joined
        """Whether the value is written behind a `=`."""


def read(
    words: Sequence[str], meaning: Callable[[str], str], switches: Collection[str], *, unknown_take_values: bool = False
) -> Iterator[CommandWord]:
    """The words one by one, up to one of which nobody knows before the pod runs how it will be read.

    *meaning* of a name is the option that it means, or nothing; *switches* are options without a value.
    """
    at = 0
    while at < len(words):
        name, joined, value = words[at].partition("=")
        if "$(" in name or name == "--":
            return
        option = meaning(name)
        takes_value = option not in switches if option else unknown_take_values and name.startswith("--")
        follows = takes_value and not joined and at + 1 < len(words) and not is_flag(words[at + 1])
        value_at = at + 1 if follows else at
        said = words[value_at] if follows else value if joined else None
        yield CommandWord(at, name, option, said, value_at=value_at, is_joined=bool(joined))
        at = value_at + 1


def starts_python(words: Sequence[str]) -> bool:
    """Whether the first word of a command line is Python."""
    return bool(words) and file_name(words[0]).rstrip("0123456789.") == "python"


def length_of_python(words: Sequence[str]) -> int:
    """How many words of a command line are Python and its own switches, before `-m`, `-c` or a script; 0 where something else starts."""
    if not starts_python(words):
        return 0
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "-c", "-m"):
        at += 2 if words[at] in _SWITCHES_WITH_VALUE else 1
    return at


def file_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rpartition("/")[2]


def is_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: it begins with `-`, and is no negative number, nor a dash alone."""
    return word[:1] == "-" and len(word) > 1 and not word[1:].replace(".", "", 1).isdecimal()
