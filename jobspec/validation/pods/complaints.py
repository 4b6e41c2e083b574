"""Problems of pods and of workloads that several rules have in the same words, which are loaded with the first problem."""

from __future__ import annotations

from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path

_MAX_ID = (1 << 31) - 1


def missing(field: str, around: dict[str, Any], path: Path, hint: str = "") -> Problem:
    """A required field is absent or empty."""
    from jobspec.validation.complaints import missing_by_code

    return missing_by_code(field, around, path, hint)


def unsupported(value: str, choices: Sequence[str], path: Path) -> Problem:
    """A text is none of the choices."""
    from jobspec.validation.complaints import unsupported_choice

    return unsupported_choice(value, choices, path)


def outside(value: float, least: int | None, most: int | None, path: Path) -> Problem:
    """A number is below *least* or above *most*."""
    from jobspec.validation.complaints import out_of_range

    return out_of_range(value, least, most, path)


def wrong_size(size: int, what: str, bound: str, limit: int, path: Path) -> Problem:
    """A text, list or object has too few or too many characters, items or fields; *bound* is `least` or `most`."""
    from jobspec.validation import complaints

    return complaints.wrong_size(size, what, bound, limit, path)


def describe(value: Any) -> str:
    """A value and its type in words."""
    from jobspec.validation import wording

    return wording.describe(value)


def listed(names: Iterable[str]) -> str:
    """Names in backticks, with commas between them."""
    from jobspec.validation import wording

    return wording.listed(names)


def closest(name: Any, known: Iterable[str]) -> str:
    """A suggestion for a misspelt name; empty if no known name is near."""
    from jobspec.validation import wording

    return wording.closest(name, known)


def duplicate(value: str, what: str, path: Path) -> Problem:
    """*what*, such as "a container", has its value a second time."""
    return Problem("duplicate-item", path, f"there is {what} `{value}` already", "give it another name, or remove one of the two")


def excluded(path: Path, message: str, hint: str = "leave it out") -> Problem:
    """A field that others exclude."""
    return Problem("conflicting-values", path, message, hint)


def wrong_name(value: str, what: str, why: str, path: Path) -> Problem:
    """A text is no name for *what*, such as "a container"."""
    return Problem("invalid-name", path, f"`{value}` is no name for {what}: {why}")


def near(value: str, known: Iterable[str]) -> str:
    """A suggestion for a name that is not known: a near one, or all where they are few."""
    from jobspec.validation.wording import closest, listed

    names = sorted(set(known) - {""})
    if suggestion := closest(value, names):
        return suggestion
    return f"there is {listed(names)}" if 0 < len(names) <= 5 else ""


def negative(value: Any, path: Path) -> Iterator[Problem]:
    """The problem of a number below zero."""
    if value < 0:
        yield Problem("out-of-range", path, f"`{path[-1]}` cannot be negative, as {value} is")


def wrong_id(value: int, path: Path) -> Iterator[Problem]:
    """The problem of a number that is no ID of a user or a group."""
    if not 0 <= value <= _MAX_ID:
        yield Problem("out-of-range", path, f"IDs of users and groups are from 0 to {_MAX_ID:,}, and {value} is not")
