"""The inventory of a rendered tree: which files are ours, each with the hash of what was written.

It is sorted by path and says nothing of time or place, so that the same tree has the same inventory on every machine.
"""

from __future__ import annotations

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = ".jobspec-inventory"


class State:
    """A folder as it is found, compared with its inventory and with what is to be written."""

    __slots__ = ("edited", "foreign")

    def __init__(self, edited: list[str], foreign: list[str]) -> None:
        self.edited = edited
        """Paths of our files that somebody changed, stale ones too."""
        self.foreign = foreign
        """Paths of files that are not ours."""


def text_of(hashes: Mapping[str, str]) -> str:
    """The inventory of hashes by path."""
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(hashes.items()))


def parse(text: str) -> dict[str, str]:
    """The hashes by path. Raises ValueError for what is no inventory, such as one with two sides of a merge."""
    hashes = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        digest, blanks, path = line.partition("  ")
        if not blanks or len(digest) != 64 or not path:
            raise ValueError(line)
        hashes[path] = digest
    return hashes


def digest_of(content: bytes) -> str:
    """The hash of a file's content."""
    return sha256(content).hexdigest()


def ours(found: Mapping[str, bytes], hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a folder that are as they were written."""
    return {path: content for path, content in found.items() if path in hashes and digest_of(content) == hashes[path]}


def state_of(found: Mapping[str, bytes], hashes: Mapping[str, str], wanted: Mapping[str, bytes]) -> State:
    """What somebody else did to a folder that holds the files *found*; a file that is as *wanted* is ours whoever wrote it."""
    others = [path for path in sorted(found) if path != NAME and found[path] != wanted.get(path)]
    edited = [path for path in others if path in hashes and digest_of(found[path]) != hashes[path]]
    return State(edited, [path for path in others if path not in hashes])
