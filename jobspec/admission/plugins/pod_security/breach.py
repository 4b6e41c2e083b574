"""A breach: what a pod has or lacks, against a check of Pod Security, and where."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from jobspec.diagnostics import Path

    Data = dict[str, Any]
    #: The places at which the metadata and spec of a pod break a rule.
    Find = Callable[[Data, Data], Iterable["Breach"]]


class Breach:
    """One place of a pod that breaks a check: `forbids ...` or `wants ...`, and what to write instead."""

    __slots__ = ("hint", "path", "why")

    def __init__(self, path: Path, why: str, hint: str = "") -> None:
        self.path = path
        self.why = why
        self.hint = hint


class Check:
    """A check of a level: the first minor version of each of its forms, the name under which the server reports it."""

    __slots__ = ("forms", "name", "reason", "replaces")

    def __init__(self, name: str, reason: str, forms: dict[int, Find], *, replaces: str = "") -> None:
        self.name = name
        self.reason = reason
        self.forms = forms
        self.replaces = replaces
        """The check of the level `baseline` that `restricted` leaves out, since this one is stricter."""

    def at(self, minor: int) -> Find | None:
        """The form that the check has at a minor version, None before its first."""
        since = [each for each in self.forms if each <= minor]
        return self.forms[max(since)] if since else None
