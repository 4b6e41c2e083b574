"""A problem: what the validator finds wrong with an object, before it becomes a diagnostic with a line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path


class Problem:
    """What is wrong at a path: about its key (a field that should not be there) or about its value."""

    __slots__ = ("at_key", "belongs", "hint", "meant", "message", "path", "rule")

    def __init__(
        self, rule: str, path: Path, message: str, hint: str = "", *, at_key: bool = False, meant: str = "", belongs: str = ""
    ) -> None:
        self.rule = rule
        self.path = path
        self.message = message
        self.hint = hint
        """What to do about it, for people alone: no code reads it."""
        self.at_key = at_key
        self.meant = meant
        """Of an unknown field: the field that it is a misspelling of."""
        self.belongs = belongs
        """Of an unknown field: the field beside it, such as `spec` or `spec.resources`, inside which it would be known."""


def name_of(path: Path) -> str:
    """What a sentence calls the value at *path*: its field, `containers[0]`, or the object as a whole."""
    if not path:
        return "the manifest"
    if isinstance(path[-1], int):
        return f"`{path[-2] if len(path) > 1 else ''}[{path[-1]}]`"
    return f"`{path[-1]}`"
