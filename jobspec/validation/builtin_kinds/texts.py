"""What the rules of several kinds say and read in the same way: fixed fields, bytes in base64, percentages."""

from __future__ import annotations

from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path


def fixed(path: Path, message: str, hint: str = "put back what was there, or make another object") -> Problem:
    """An update changes what cannot change."""
    return Problem("immutable-field", path, message, hint)


def decoded(value: Any) -> bytes:
    """The bytes of a value of a map of bytes: text in base64, or a list of numbers. What is neither has been told before, and is empty."""
    from base64 import b64decode

    if isinstance(value, list):
        return bytes(each or 0 for each in value if each is None or (type(each) is int and 0 <= each < 256))
    try:
        return b64decode(value)
    except ValueError:
        return b""


def bad_data_key(key: str) -> str:
    """Why a text cannot be a key of a ConfigMap or a Secret (`IsConfigMapKey`); empty if it can."""
    import re

    if len(key) > 253:
        return f"it has {len(key)} characters, more than 253"
    if not re.fullmatch(r"[-._a-zA-Z0-9]+", key):
        return "keys are of letters, digits, `-`, `_` and `.`"
    return "it cannot be `.`, nor begin with `..`" if key == "." or key.startswith("..") else ""


def share_problems(value: Any, path: Path) -> Iterator[Problem]:
    """The problems of a number of pods, or of their share (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`)."""
    import re

    if isinstance(value, int):
        if value < 0:
            yield Problem("out-of-range", path, f"`{path[-1]}` cannot be negative, as {value} is")
    elif not re.fullmatch(r"[0-9]+%", value, re.ASCII):
        hint = f"write `{value}`, without quotes, or `{value}%`" if value.isdecimal() else ""
        yield Problem("wrong-format", path, f'`{path[-1]}` is a number of pods or a percentage such as `50%`, not "{value}"', hint)
    elif int(value[:-1]) > 100:
        yield Problem("out-of-range", path, f"`{path[-1]}` cannot be more than 100%, as {value} is")
