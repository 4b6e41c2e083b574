"""Quantities in CEL: maps with a number, and a flag that says whether `isInteger` holds.

Follows k8s.io/apiserver pkg/cel/library/quantity.go and `ParseQuantity`, k8s.io/apimachinery pkg/api/resource, 1.36. The server stores a
quantity as a 64-bit integer and a power of ten if its text is short, and `isInteger` holds for such quantities only. The flag is 1 or
1.0: both are equal in CEL, so quantities with the same number are equal, whatever their flags.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from typing import TYPE_CHECKING

from jobspec.validation import formats

if TYPE_CHECKING:
    from collections.abc import Callable

    Quantity = dict[str, str | int | float]

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_INT64 = 1 << 63
_NANO = Decimal("1e-9")
_EXACT = Context(prec=4000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SHORT, _SHORT_BINARY = 18, 14  # digits


def quantity(text: str) -> Quantity:
    """Parse a quantity. Raises ValueError for other texts, also for a quantity with blanks around it."""
    if text.strip() != text or not formats.is_parsed_quantity(text):
        raise ValueError(f"{text} is no quantity")
    digits, suffix = _split(text)
    if not any(digit in digits for digit in "123456789"):
        return _made(Decimal(0), is_integer=True)
    if suffix in _BINARY:
        number = _EXACT.multiply(Decimal(digits), Decimal(1 << _BINARY[suffix]))
        number = min(max(number, Decimal(1 - _INT64)), Decimal(_INT64 - 1))
    else:
        number = _EXACT.scaleb(Decimal(digits), _exponent(suffix))
    return _made(_without_less_than_nano(number), is_integer=_is_held_as_integer(digits.lstrip("+-"), suffix, number))


def _split(text: str) -> tuple[str, str]:
    """The digits of a quantity, with sign and point, and its suffix."""
    end = next((index for index, character in enumerate(text) if character not in "+-.0123456789"), len(text))
    return text[:end], text[end:]


def _exponent(suffix: str) -> int:
    return _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])


def _without_less_than_nano(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    return number.quantize(_NANO, ROUND_UP, _EXACT) if isinstance(exponent, int) and exponent < -9 else number


def _is_held_as_integer(digits: str, suffix: str, number: Decimal) -> bool:
    whole, _, fraction = digits.lstrip("0").partition(".")
    length = max(len(whole), 1) + len(fraction)
    if suffix in _BINARY:
        return not fraction and length + _BINARY[suffix] * 3 // 10 <= _SHORT_BINARY and abs(number) < _INT64
    scale = _exponent(suffix) - len(fraction)
    return length <= _SHORT and scale >= 0 and number.adjusted() < 20 and abs(number) < _INT64


def _made(number: Decimal, *, is_integer: bool) -> Quantity:
    return {"quantity": str(number.normalize(_EXACT)), "integer": 1 if is_integer else 1.0}


def number_of(one: Quantity) -> Decimal:
    """The value of a quantity."""
    return Decimal(str(one["quantity"]))


def sign(one: Quantity) -> int:
    """The sign of a quantity: -1, 0 or 1."""
    return (number_of(one) > 0) - (number_of(one) < 0)


def is_integer(one: Quantity) -> bool:
    """Whether the server stores the quantity as an integer."""
    return isinstance(one["integer"], int)


def as_integer(one: Quantity) -> int:
    """The value of a quantity as an integer. Raises ValueError where it is not stored as one."""
    if not is_integer(one):
        raise ValueError("cannot convert value to integer")
    return int(number_of(one))


def as_float(one: Quantity) -> float:
    """The value of a quantity as a 64-bit float, rounded."""
    return float(number_of(one))


def sum_with(factor: int) -> Callable[[Quantity, Quantity | int], Quantity]:
    """A function that adds *factor* times a quantity or an integer to a quantity: `add` for 1, `sub` for -1."""

    def add(one: Quantity, other: Quantity | int) -> Quantity:
        more = _made(Decimal(other), is_integer=True) if isinstance(other, int) else other
        number = _EXACT.add(number_of(one), factor * number_of(more))
        return _made(number, is_integer=is_integer(one) and is_integer(more) and abs(number) < _INT64)

    return add
