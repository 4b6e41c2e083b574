"""Quantities as the server compares them: in thousandths, rounded up, and within the bounds of its numbers.

Follows `ParseQuantity`, `Quantity.Cmp`, `MilliValue` and `Value`, k8s.io/apimachinery pkg/api/resource, `SetDefaults_ResourceList`,
k8s.io/kubernetes pkg/apis/core/v1, and `IsHugePageResourceValueDivisible`, pkg/apis/core/helper, 1.36.
"""

from __future__ import annotations

from jobspec.quantities import quantity

_MILLION = 1_000_000
_MOST = ((1 << 63) - 1) * 1000
_LONGEST = 400
"""The longest exponent that is written out; longer ones count like this one."""


def amount_of(text: str) -> int:
    """The thousandths of a quantity, rounded away from zero."""
    found = quantity(_bounded(text))
    thousandths = -(-abs(found.nanos) // _MILLION)
    if found.format == "binary":
        thousandths = min(thousandths, _MOST)
    return thousandths if found.nanos >= 0 else -thousandths


def _bounded(text: str) -> str:
    """The text with an exponent that is not too long to be written out."""
    number, sign, exponent = text.strip().lower().partition("e")
    digits = exponent.lstrip("+-")
    if not sign or not digits.isdecimal() or int(digits) <= _LONGEST:
        return text
    return f"{number}e{'-' if exponent.startswith('-') else ''}{_LONGEST}"


def is_whole(text: str) -> bool:
    """Whether a quantity is a whole number to the server, which takes the thousandths of large ones for numbers of 64 bits."""
    thousandths = amount_of(text)
    if -(1 << 63) <= thousandths < 1 << 63:
        return thousandths % 1000 == 0
    return _is_short(text) or _of_64_bits(thousandths) % 1000 == 0


def _is_short(text: str) -> bool:
    """Whether the server keeps a quantity as a number of 64 bits and an exponent."""
    body = text.strip().lstrip("+-")
    number = body[: next((at for at, each in enumerate(body) if each not in ".0123456789"), len(body))]
    whole, _, fraction = number.partition(".")
    suffix = body[len(number) :]
    if suffix[1:] == "i":
        power = "KMGTPE".index(suffix[0]) * 10 + 10
        return not fraction and 15 - len(whole.lstrip("0")) - power * 3 // 10 - 1 >= 0
    return len(whole.lstrip("0")) + len(fraction) <= 18


def _of_64_bits(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def fits_pages(size: str, text: str) -> bool:
    """Whether a quantity is a multiple of a page's size, which has to be a whole number above zero."""
    from jobspec.validation.formats import is_parsed_quantity

    if not is_parsed_quantity(size) or amount_of(size) <= 0 or not is_whole(size):
        return False
    page = amount_of(size) // 1000
    return -(-amount_of(text) // 1000) % page == 0
