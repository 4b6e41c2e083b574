"""Quantities as Kubernetes writes them: with the largest suffix that needs no fraction, in the format that they came in.

Follows `ParseQuantity`, `Quantity.Add` and `Quantity.CanonicalizeBytes`, k8s.io/apimachinery pkg/api/resource, 0.36.
"""

from __future__ import annotations

from fractions import Fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Format = Literal["binary", "decimal", "exponent"]

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}


class Quantity:
    """An amount, and the format in which it is written."""

    __slots__ = ("amount", "format")

    def __init__(self, amount: Fraction, form: Format) -> None:
        self.amount = amount
        self.format: Format = form

    def plus(self, other: Quantity) -> Quantity:
        """The sum, in the format of the first that is not zero."""
        return Quantity(self.amount + other.amount, self.format if self.amount else other.format)

    def __str__(self) -> str:
        if self.format == "binary" and abs(self.amount) >= 1024 and self.amount.denominator == 1:
            return _binary(int(self.amount))
        return _decimal(self.amount, exponent=self.format == "exponent")


def quantity(text: str) -> Quantity:
    """The quantity of a text that is one."""
    number, suffix = _split(text.strip())
    if suffix in _BINARY:
        return Quantity(Fraction(number) * 2 ** _BINARY[suffix], "binary")
    if suffix in _DECIMAL:
        return Quantity(Fraction(number) * Fraction(10) ** _DECIMAL[suffix], "decimal")
    return Quantity(Fraction(number) * Fraction(10) ** int(suffix[1:]), "exponent")


def canonical_quantity(text: str) -> str:
    """A quantity in its canonical form: `1000m` is `1`, `0.5Gi` is `512Mi`."""
    return str(quantity(text))


def _split(text: str) -> tuple[str, str]:
    """The number of a quantity, and its suffix; without a digit it is zero."""
    end = next((at for at, each in enumerate(text) if each not in "+-.0123456789"), len(text))
    return (text[:end] if any(each.isdigit() for each in text[:end]) else "0"), text[end:]


def _binary(amount: int) -> str:
    suffix = ""
    for name in _BINARY:
        if amount % 1024:
            break
        amount, suffix = amount // 1024, name
    return f"{amount}{suffix}"


def _decimal(amount: Fraction, *, exponent: bool) -> str:
    """A number with a decimal suffix, rounded up to nano."""
    nanos = int(-(-amount * 10**9 // 1))
    power = -9
    while nanos and nanos % 1000 == 0 and power < 18:
        nanos, power = nanos // 1000, power + 3
    if not nanos:
        return "0"
    suffix = _SUFFIXES[power] if not exponent else f"e{power}" if power else ""
    return f"{nanos}{suffix}"
