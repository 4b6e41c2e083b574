"""A problem: what is wrong at a path of an object. `verdict` turns problems into diagnostics, which have lines."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.remedies import Change


class Problem:
    """What is wrong at a path: with its value, or with its key (*at_key*), as of an unknown field."""

    __slots__ = ("at_key", "belongs", "hint", "meant", "message", "path", "remedy", "rule")

    def __init__(
        self,
        rule: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        at_key: bool = False,
        meant: str = "",
        belongs: str = "",
        remedy: Change | None = None,
    ) -> None:
        self.rule = rule
        self.path = path
        self.message = message
        self.hint = hint
        """What to do about it, for people; code does not use it."""
        self.at_key = at_key
        self.meant = meant
        """Of an unknown field: the known field that it seems to misspell."""
        self.belongs = belongs
        """Of an unknown field: the path, from the same object, of the field that it belongs in, such as `spec.resources`."""
        self.remedy = remedy
        """What mends it, where the hint is certain."""


def value_at(data: Any, path: Path) -> Any:
    """The value at a path that exists."""
    for step in path:
        data = data[step]
    return data


def name_of(path: Path) -> str:
    """The name of the value at *path* in a message: `image`, `containers[0]`, or `the manifest` for the empty path."""
    if not path:
        return "the manifest"
    if isinstance(path[-1], int):
        return f"`{path[-2] if len(path) > 1 else ''}[{path[-1]}]`"
    return f"`{path[-1]}`"
