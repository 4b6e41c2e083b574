"""Numbers and names of ports.

Follows `IsValidPortNum` and `IsValidPortName`, k8s.io/apimachinery pkg/util/validation, 0.36.
"""

from __future__ import annotations

from jobspec.validation.complaints import out_of_range
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_CHARACTERS = _LETTERS | frozenset("0123456789-")
MOST = 65535
_LONGEST_NAME = 15


def port_number(number: int, path: Path) -> Iterator[Problem]:
    """The problem of a number that no port has."""
    if not 1 <= number <= MOST:
        yield out_of_range(number, 1, MOST, path)


def port_name(name: str, path: Path) -> Iterator[Problem]:
    """The problem of a text that cannot name a port."""
    if why := bad_port_name(name):
        hint = f"leave the quotes out: `{name}`" if name.isascii() and name.isdecimal() else ""
        yield Problem("invalid-name", path, f"`{name}` is no name for a port: {why}", hint)


def bad_port_name(name: str) -> str:
    """Why a text cannot name a port; empty if it can."""
    if len(name.encode()) > _LONGEST_NAME:
        return f"it has {len(name.encode())} characters, more than {_LONGEST_NAME}"
    if not name or not _CHARACTERS.issuperset(name):
        return "it has to be of lower-case letters, digits and `-`"
    if _LETTERS.isdisjoint(name):
        return "it has no letter"
    is_hyphenated = "--" in name or name[0] == "-" or name[-1] == "-"
    return "a hyphen stands between two letters or digits" if is_hyphenated else ""
