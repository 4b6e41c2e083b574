"""The Pod Security levels of a namespace, by its labels.

Follows `PolicyToEvaluate`, k8s.io/pod-security-admission api, 0.36.3.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
LATEST = 1_000_000
"""The minor version that `latest` stands for: after all that a label can usefully name."""
_TOO_MANY = 2**63
"""The first number that the server's own numbers do not reach."""


class Level:
    """A level of Pod Security in a version."""

    __slots__ = ("minor", "name")

    def __init__(self, name: str, minor: int) -> None:
        self.name = name
        self.minor = minor

    def __str__(self) -> str:
        return f"{self.name}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"


class Levels:
    """The levels of a namespace: what its pods have to keep, and what the server warns of."""

    __slots__ = ("enforce", "warn")

    def __init__(self, enforce: Level, warn: Level) -> None:
        self.enforce = enforce
        self.warn = warn


def levels_of(labels: Mapping[str, Any]) -> Levels:
    """The levels that labels name. A wrong level of `enforce` counts as the strictest; one of `warn` as none."""
    enforce = _level(labels, "enforce", otherwise="restricted")
    warn = _level(labels, "warn", otherwise="privileged")
    said = labels.get(f"{PREFIX}enforce")
    if f"{PREFIX}warn" not in labels and said in LEVELS and said != "privileged":
        return Levels(enforce, Level(enforce.name, warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor))
    return Levels(enforce, warn)


def _level(labels: Mapping[str, Any], mode: str, *, otherwise: str) -> Level:
    name, version = labels.get(PREFIX + mode, "privileged"), labels.get(f"{PREFIX}{mode}-version", "latest")
    minor = _minor(version)
    return Level(name if name in LEVELS else otherwise, LATEST if minor is None else minor)


def _minor(version: Any) -> int | None:
    """The minor version of `v1.30` or `latest`, None for any other text."""
    if version == "latest":
        return LATEST
    digits = version[3:] if isinstance(version, str) and version.startswith("v1.") else ""
    is_number = digits.isascii() and digits.isdigit() and (digits == "0" or not digits.startswith("0"))
    return min(int(digits), LATEST - 1) if is_number and int(digits) < _TOO_MANY else None


def label_problems(labels: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of a namespace's labels that name levels: the server refuses the namespace."""
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            message = f"a Pod Security level is one of `privileged`, `baseline` and `restricted`, not `{level}`"
            yield Problem("unsupported-choice", ("metadata", "labels", Key(PREFIX + mode)), message)
        if version is not None and _minor(version) is None:
            message = f"a version of Pod Security is `latest`, or such as `v1.30`, not `{version}`"
            yield Problem("wrong-format", ("metadata", "labels", Key(f"{PREFIX}{mode}-version")), message)
