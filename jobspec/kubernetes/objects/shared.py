"""What the rules of several kinds share: bytes in base64, keys, percentages."""

from __future__ import annotations

from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.problems import (
    negative,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def decoded(value: Any) -> bytes:
    """Decode a value of a map of bytes: a base64 string, or a list of numbers.

    Any other value was reported before, and is empty.
    """
    from base64 import b64decode

    if isinstance(value, list):
        return bytes(each or 0 for each in value if each is None or (type(each) is int and 0 <= each < 256))
    try:
        return b64decode(value)
    except ValueError:
        return b""


def share_problems(value: Any, path: Path) -> Problems:
    """Yield the problems of a number of pods, or of a percentage of them.

    Follows `ValidatePositiveIntOrPercent` and `IsNotMoreThan100Percent`.
    """
    import re

    if isinstance(value, int):
        yield from negative(value, path)
    elif not re.fullmatch(r"[0-9]+%", value, re.ASCII):
        hint = f"write `{value}`, without quotes, or `{value}%`" if value.isdecimal() else ""
        yield Problem("wrong-format", path, f'`{path[-1]}`: expected a number of pods or a percentage such as `50%`, got "{value}"', hint)
    elif int(value[:-1]) > 100:
        yield Problem("out-of-range", path, f"`{path[-1]}` must not be more than 100%, got {value}")
