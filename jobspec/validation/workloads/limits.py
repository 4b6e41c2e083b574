"""Limits of numbers that only the server's Go code knows.

Follows `ValidateNonnegativeField`, k8s.io/apimachinery pkg/api/validation, 0.36, and `ValidatePositiveIntOrPercent`,
`IsNotMoreThan100Percent` and `getIntOrPercentValue`, k8s.io/kubernetes pkg/apis/apps/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import outside
from jobspec.validation.problem import Problem, name_of
from jobspec.validation.reading import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_DIGITS = frozenset("0123456789")


def negative_numbers(data: dict[str, Any], names: Iterable[str], path: Path) -> Iterator[Problem]:
    """The problems of fields that cannot be negative, and are."""
    for name in names:
        value = number(data, name)
        if value is not None and value < 0:
            yield outside(value, 0, None, (*path, name))


def is_percentage(value: Any) -> bool:
    """Whether a value is a percentage: digits and a percent sign."""
    return isinstance(value, str) and value.endswith("%") and len(value) > 1 and _DIGITS.issuperset(value[:-1])


def amount(value: Any) -> int:
    """The number of a count or percentage, 0 for other texts."""
    if isinstance(value, str):
        digits = value[:-1] if is_percentage(value) else value
        whole = digits[1:] if digits[:1] in ("+", "-") else digits
        return int(digits) if whole and _DIGITS.issuperset(whole) else 0
    return 0 if isinstance(value, bool) or not isinstance(value, int | float) else int(value)


def count_or_percentage(value: Any, path: Path, *, most: int | None = 100) -> Iterator[Problem]:
    """The problems of a count of pods, or of a percentage of them that is *most* percent."""
    if isinstance(value, str) and not is_percentage(value):
        hint = f"leave the quotes out: `{value}`" if value.isascii() and value.isdecimal() else ""
        yield Problem("wrong-format", path, f'{name_of(path)} takes a number, or a percentage such as `25%`, not the text "{value}"', hint)
    elif isinstance(value, str):
        if most is not None and amount(value) > most:
            yield Problem("out-of-range", path, f"{name_of(path)} takes at most {most} percent, not {value}")
    elif amount(value) < 0:
        yield outside(value, 0, None, path)
