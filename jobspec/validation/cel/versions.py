"""Semantic versions in CEL: maps with the text of the version, build metadata removed.

Follows k8s.io/apiserver pkg/cel/library/semverlib.go, 1.36, and github.com/blang/semver.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Version = dict[str, str]

_NUMBER = "(?:0|[1-9][0-9]*)"
_WORD = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_WORD}(?:\.{_WORD})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_UINT64 = 1 << 64


def semver(text: str, lenient: bool = False) -> Version:  # noqa: FBT001, FBT002 (CEL has no keywords)
    """Parse a version; *lenient* also takes `v1.2` and `01.2.3`. Raises ValueError for other texts."""
    full = _completed(text) if lenient else text
    numbers = full.partition("+")[0].partition("-")[0]
    if not re.fullmatch(_VERSION, full, re.ASCII) or any(int(number) >= _UINT64 for number in numbers.split(".")):
        raise ValueError(f"{text} is no semantic version")
    return {"semver": full.partition("+")[0]}


def _completed(text: str) -> str:
    """A lenient version in its full form: three numbers without leading zeros."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise ValueError(f"{text} is too short for what stands after its numbers")
    return ".".join([*parts, "0", "0"][:3])


def _without_zeros(part: str) -> str:
    rest = part.lstrip("0") if len(part) > 1 else part
    return rest if rest[:1] in tuple("0123456789") or len(part) < 2 else f"0{rest}"


def precedence(version: Version) -> tuple[Any, ...]:
    """The sort key of a version: a pre-release comes before its release."""
    numbers, _, before = version["semver"].partition("-")
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")] if before else []
    return (*map(int, numbers.split(".")), not before, parts)
