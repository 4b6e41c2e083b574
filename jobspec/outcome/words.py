"""The words of a command line, as argparse reads them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence


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


def file_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rpartition("/")[2]


def is_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: it begins with `-`, and is no negative number, nor a dash alone."""
    return word[:1] == "-" and len(word) > 1 and not word[1:].replace(".", "", 1).isdecimal()
