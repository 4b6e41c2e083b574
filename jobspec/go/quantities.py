"""Quantities as Kubernetes writes them: with the largest suffix that needs no fraction, in the format that they came in.

Follows `ParseQuantity`, `Quantity.Add` and `Quantity.CanonicalizeBytes`, k8s.io/apimachinery pkg/api/resource, 0.36.
"""

from __future__ import annotations

from jobspec.go.formats import is_parsed_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Format = Literal["binary", "decimal", "exponent"]


BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LETTERS = "EGKMPTikmnu"
_SUFFIXES = {power: suffix for suffix, power in DECIMAL.items()}
_NANO = 9
"""The power of ten that amounts are counted in: what is smaller is rounded away from zero."""
_ONE = 1_000_000_000
_ENDLESS = 10_000_000
"""The exponent that takes a server seconds; with a greater one, the request times out."""
_MAX_EXPONENT = 99
"""The longest exponent that is written out; with a longer one, a quantity stays as it is written."""
_COMPARED_DIGITS = 4


class Quantity:
    """An amount, and the format in which it is written."""

    __slots__ = ("format", "nanos")

    def __init__(self, nanos: int, form: Format) -> None:
        self.nanos = nanos
        self.format: Format = form

    def __add__(self, other: Quantity) -> Quantity:
        """Add two quantities, in the format of the first that is not zero."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def times(self, count: int) -> Quantity:
        """That many times the amount."""
        return Quantity(self.nanos * count, self.format)

    def rounded_up(self) -> int:
        """Return the least whole number that is as much."""
        return -(-self.nanos // _ONE)

    def __str__(self) -> str:
        whole, rest = divmod(self.nanos, _ONE)
        if self.format == "binary" and abs(self.nanos) >= 1024 * _ONE and not rest:
            return _binary(whole)
        return _decimal(self.nanos, exponent=self.format == "exponent")


def quantity(text: str) -> Quantity:
    """Return the quantity of a text. The text must be a valid quantity."""
    number, suffix = split_quantity(text.strip())
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction)
    if suffix in BINARY:
        return Quantity(_shifted(digits << BINARY[suffix], _NANO - len(fraction)), "binary")
    power = DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])
    return Quantity(_shifted(digits, _NANO + power - len(fraction)), "decimal" if suffix in DECIMAL else "exponent")


def quantity_of(value: Any) -> Quantity:
    """Return the quantity of any value.

    It is zero if Go does not parse the value, and for null, which Go decodes as zero.
    """
    text = str(value)
    return quantity(_bounded(text, _MAX_EXPONENT)) if is_parsed_quantity(text) else Quantity(0, "decimal")


def canonical_quantity(text: str) -> str:
    """Return a quantity in its canonical form: `1000m` is `1`, `0.5Gi` is `512Mi`.

    A text that Go does not parse is returned unchanged.
    """
    if not is_parsed_quantity(text):
        return text
    exponent = text.strip().lower().partition("e")[2].lstrip("+-")
    return text if exponent.isdecimal() and int(exponent) > _MAX_EXPONENT else str(quantity(text))


def comparable(value: Any) -> int | str:
    """Return a key to compare quantities by: the billionths of the quantity.

    If Go does not parse the text, or if its exponent has over four digits, return the text.
    """
    text = str(value)
    is_short = len(text.strip().lower().partition("e")[2].lstrip("+-")) <= _COMPARED_DIGITS
    if not is_short or not is_parsed_quantity(text):
        return text
    found, most = quantity(text), ((1 << 63) - 1) * _ONE
    return max(-most, min(found.nanos, most)) if found.format == "binary" else found.nanos


def exponent_of(text: str) -> int:
    """Return the decimal exponent of a quantity, cut to 32 bits as the server does.

    If there is no exponent, return 0.
    """
    if text.isdecimal():
        return 0
    exponent = text.lower().partition("e")[2].rstrip()
    digits = exponent.lstrip("+-").lstrip("0")
    if not digits.isdecimal() or len(digits) > 19:
        return 0
    return (int(digits) * (-1 if exponent[0] == "-" else 1) + 2**31) % 2**32 - 2**31


def is_endless(text: str) -> bool:
    """True if a quantity has so many digits that the server times out while it writes them."""
    return abs(exponent_of(text)) > _ENDLESS


def split_quantity(text: str) -> tuple[str, str]:
    """Split a quantity into its number, with sign and point, and its suffix.

    If there is no digit, the number is zero.
    """
    number = text.rstrip(_LETTERS)
    if number.isascii() and number.isdecimal():
        return number, text[len(number) :]
    suffix = text.lstrip("+-.0123456789")
    number = text[: len(text) - len(suffix)]
    return (number if any(each.isdigit() for each in number) else "0"), suffix


def _shifted(digits: int, power: int) -> int:
    """A number times a power of ten, rounded away from zero."""
    return _divided(digits, int(10**-power)) if power < 0 else digits * int(10**power)


def _binary(amount: int) -> str:
    suffix = ""
    for name in BINARY:
        if amount % 1024:
            break
        amount, suffix = amount // 1024, name
    return f"{amount}{suffix}"


def _decimal(nanos: int, *, exponent: bool) -> str:
    """A number with the largest suffix that leaves it whole."""
    power = -_NANO
    while nanos and nanos % 1000 == 0 and (exponent or power < max(_SUFFIXES)):
        nanos, power = nanos // 1000, power + 3
    if not nanos:
        return "0"
    suffix = _SUFFIXES[power] if not exponent else f"e{power}" if power else ""
    return f"{nanos}{suffix}"


# Quantities as the server compares them: in thousandths, rounded up, and within the bounds of its numbers.
#
# Follows `ParseQuantity`, `Quantity.Cmp`, `MilliValue` and `Value`, k8s.io/apimachinery pkg/api/resource, `SetDefaults_ResourceList`,
# k8s.io/kubernetes pkg/apis/core/v1, and `IsHugePageResourceValueDivisible`, pkg/apis/core/helper, 1.36.


_MILLION = 1_000_000
_MOST = ((1 << 63) - 1) * 1000
_MOST_DIGITS = 18
_WRAPPING = (0, 1, 2, 3, 6, 9)
"""The powers of ten by which the server multiplies without looking whether the product fits."""
_LONGEST = 100_000
"""The longest exponent that is written out; longer ones count like this one."""


def amount_of(text: str) -> int:
    """Return the thousandths of a quantity, rounded away from zero."""
    found = quantity(_bounded(text))
    thousandths = _divided(found.nanos, _MILLION)
    return max(-_MOST, min(thousandths, _MOST)) if found.format == "binary" else thousandths


def _bounded(text: str, longest: int = _LONGEST) -> str:
    """The text with its exponent, which is cut to 32 bits and not too long to be written out."""
    if "e" not in text.lower():
        return text
    exponent = exponent_of(text)
    if not exponent and not text.strip()[-1].isdigit():
        return text
    return f"{text.strip().lower().partition('e')[0]}e{max(-longest, min(exponent, longest))}"


def is_whole(text: str) -> bool:
    """True if a quantity is a whole number to the server.

    The server takes its thousandths for a 64-bit number.
    """
    return _in_64_bits(text, -3) % 1000 == 0


def fits_pages(size: str, text: str) -> bool:
    """True if a quantity is a multiple of a page's size.

    The size must be a whole number above zero. A size beyond 64 bits can count as zero, by which the server divides, and then breaks the
    connection.
    """
    if not is_parsed_quantity(size) or amount_of(size) <= 0 or not is_whole(size):
        return False
    page = _in_64_bits(size, 0)
    return page != 0 and _in_64_bits(text, 0) % page == 0


def whole_number(text: str) -> int:
    """Return the whole number of a quantity, rounded up, as `Value` gives it to operators.

    A text that Go does not parse is 0.

    Of what is too large for 64 bits, the last ones are left, or zero: `1e19` is none.
    """
    return _in_64_bits(text, 0) if is_parsed_quantity(text) else 0


def _in_64_bits(text: str, power: int) -> int:
    """Return a quantity divided by a power of ten, 0 or -3, as a 64-bit number.

    It is rounded away from zero. If it is too large, the last 64 bits are left, or zero, by the form in which the server keeps it.
    """
    thousandths = amount_of(text)
    number = thousandths if power == -3 else _divided(thousandths, 1000)
    if -(1 << 63) <= number < 1 << 63:
        return number
    scale = _scale_of(text)
    is_wrapped = scale is None or scale - power in _WRAPPING
    return (number + (1 << 63)) % (1 << 64) - (1 << 63) if is_wrapped else 0


def _divided(number: int, divisor: int) -> int:
    """A quotient, rounded away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _scale_of(text: str) -> int | None:
    """Return the power of ten that the server counts a quantity in.

    If the server does not keep the quantity as a 64-bit number, return None.
    """
    body = text.strip().lstrip("+-")
    number = body[: len(body) - len(body.lstrip(".0123456789"))]
    whole, _, fraction = number.partition(".")
    digits, suffix = len(whole.lstrip("0") or "0") + len(fraction), body[len(number) :]
    if suffix[1:] == "i":
        power = "KMGTPE".index(suffix[0]) * 10 + 10
        is_short = not fraction and 15 - digits - power * 3 // 10 - 1 >= 0
        return 0 if is_short and int(number or 0) << power < 1 << 63 else None
    power = (int(suffix[1:]) if suffix[1:] else DECIMAL[suffix]) - len(fraction)
    return max(power, -3) if digits <= _MOST_DIGITS and power >= -9 else None
