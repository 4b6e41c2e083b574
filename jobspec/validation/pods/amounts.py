"""Quantities as the server compares them: in thousandths, rounded up, and within the bounds of its numbers.

Follows `ParseQuantity`, `Quantity.Cmp`, `MilliValue` and `Value`, k8s.io/apimachinery pkg/api/resource, `SetDefaults_ResourceList`,
k8s.io/kubernetes pkg/apis/core/v1, and `IsHugePageResourceValueDivisible`, pkg/apis/core/helper, 1.36.
"""

from __future__ import annotations

from jobspec.quantities import exponent_of, quantity

_MILLION = 1_000_000
_MOST = ((1 << 63) - 1) * 1000
_MOST_DIGITS = 18
_WRAPPING = (0, 1, 2, 3, 6, 9)
"""The powers of ten by which the server multiplies without looking whether the product fits."""
_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST = 100_000
"""The longest exponent that is written out; longer ones count like this one."""


def amount_of(text: str) -> int:
    """The thousandths of a quantity, rounded away from zero."""
    found = quantity(_bounded(text))
    thousandths = -(-abs(found.nanos) // _MILLION)
    if found.format == "binary":
        thousandths = min(thousandths, _MOST)
    return thousandths if found.nanos >= 0 else -thousandths


def _bounded(text: str) -> str:
    """The text with its exponent, which is cut to 32 bits and not too long to be written out."""
    if "e" not in text.lower():
        return text
    exponent = exponent_of(text)
    if not exponent and not text.strip()[-1].isdigit():
        return text
    return f"{text.strip().lower().partition('e')[0]}e{max(-_LONGEST, min(exponent, _LONGEST))}"


def is_whole(text: str) -> bool:
    """Whether a quantity is a whole number to the server, which takes its thousandths for a number of 64 bits."""
    return _in_64_bits(text, -3) % 1000 == 0


def fits_pages(size: str, text: str) -> bool:
    """Whether a quantity is a multiple of a page's size, which has to be a whole number above zero.

    A size beyond 64 bits can count as zero, by which the server divides, and then breaks the connection.
    """
    from jobspec.validation.formats import is_parsed_quantity

    if not is_parsed_quantity(size) or amount_of(size) <= 0 or not is_whole(size):
        return False
    page = _in_64_bits(size, 0)
    return page != 0 and _in_64_bits(text, 0) % page == 0


def _in_64_bits(text: str, power: int) -> int:
    """A quantity divided by a power of ten, 0 or -3, as a number of 64 bits, rounded away from zero.

    Of what is too large, the last 64 bits are left, or zero, by the form in which the server keeps it.
    """
    thousandths = amount_of(text)
    number = thousandths if power == -3 else _rounded(thousandths)
    if -(1 << 63) <= number < 1 << 63:
        return number
    scale = _scale_of(text)
    if scale is None or scale - power in _WRAPPING:
        return (number + (1 << 63)) % (1 << 64) - (1 << 63)
    return 0


def _rounded(thousandths: int) -> int:
    return -(-thousandths // 1000) if thousandths >= 0 else thousandths // 1000


def _scale_of(text: str) -> int | None:
    """The power of ten that the server counts a quantity in; None for one that it does not keep as a number of 64 bits."""
    body = text.strip().lstrip("+-")
    number = body[: next((at for at, each in enumerate(body) if each not in ".0123456789"), len(body))]
    whole, _, fraction = number.partition(".")
    digits, suffix = len(whole.lstrip("0") or "0") + len(fraction), body[len(number) :]
    if suffix[1:] == "i":
        power = "KMGTPE".index(suffix[0]) * 10 + 10
        is_short = not fraction and 15 - digits - power * 3 // 10 - 1 >= 0
        return 0 if is_short and int(number or 0) << power < 1 << 63 else None
    power = (int(suffix[1:]) if suffix[1:] else _POWERS[suffix]) - len(fraction)
    return max(power, -3) if digits <= _MOST_DIGITS and power >= -9 else None
