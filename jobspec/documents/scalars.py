"""The value of a YAML scalar in Kubernetes, and which texts can be written without quotes.

Follows `resolve`, go.yaml.in/yaml/v2 resolve.go, v2.4.4, and `convertToJSONableObject`, sigs.k8s.io/yaml v1.6.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    Scalar = str | int | float | bool | None


_NAMESPACE: Final = "tag:yaml.org,2002:"
STR: Final = _NAMESPACE + "str"
BINARY: Final = _NAMESPACE + "binary"
_FLOAT: Final = _NAMESPACE + "float"
_TIMESTAMP: Final = _NAMESPACE + "timestamp"
_TYPES: Final = {
    _NAMESPACE + "bool": (bool,),
    _NAMESPACE + "int": (int,),
    _FLOAT: (int, float),
    _NAMESPACE + "null": (type(None),),
    _TIMESTAMP: (str,),
}
TAGS: Final = frozenset((STR, BINARY, *_TYPES, *(_NAMESPACE + name for name in ("map", "seq", "merge"))))  # all that go-yaml knows
WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_STARTS_NUMBER: Final = frozenset("+-.0123456789")
#: Characters that only text begins with, no number and none of the words above.
TEXT_BEGINS_WITH: Final = frozenset("abcdeghijklmpqrsuvwxzABCDEGHIJKLMPQRSUVWXZ/_$(")
_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_DIGITS: Final = {2: frozenset("01"), 8: frozenset("01234567"), 10: frozenset("0123456789"), 16: frozenset("0123456789abcdefABCDEF")}
_MAX_UINT64: Final = 2**64 - 1
_MAX_INT64: Final = 2**63 - 1
_MIN_INT64: Final = -(2**63)


def resolve(text: str) -> Scalar:
    """Return the JSON value of a plain scalar without a tag: `1.0` and `1e3` are integers."""
    return _through_json(native(text))


def resolve_tagged(text: str, tag: str) -> Scalar:
    """Return the JSON value of a scalar with a *tag*.

    Raises ValueError if the text is not of the tag's type.
    """
    if tag == BINARY:
        return _binary(text)
    if tag not in _TYPES:
        return text
    value = native(text)
    fits = is_timestamp(text) if tag == _TIMESTAMP else type(value) in _TYPES[tag]
    if tag == _FLOAT and isinstance(value, int) and fits:
        fits, value = value <= _MAX_INT64, float(value)
    if not fits:
        raise ValueError(f"`{text}` is not a valid {tag.rpartition(':')[2]}, as its tag says")
    return _through_json(value)


def key_text(text: str) -> str | None:
    """Return the JSON key of a plain scalar. If the server refuses it as a key, return None."""
    value = native(text)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_key(value)
    return None if value is None or value > _MAX_INT64 else str(value)


def is_timestamp(text: str) -> bool:
    """True if go-yaml reads the text as a timestamp. This matters only for `!!timestamp`."""
    import re
    from datetime import datetime

    time = r"(\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?"
    match = re.fullmatch(rf"(\d{{4}})-(\d\d?)-(\d\d?)(?: +{time}|[Tt]{time}(?:Z|[+-]\d\d:\d\d))?", text, re.ASCII)
    if not match:
        return False
    year, month, day, hour, minute, second = ([int(number) for number in match.groups() if number] + [0, 0, 0])[:6]
    try:
        datetime(year or 2000, month, day, hour, minute, second)  # the year 0, which Go knows, is a leap year too
    except ValueError:
        return False
    return True


def native(text: str) -> Scalar:
    """Return the value that Go has for a plain scalar before JSON.

    Integers go up to 2^64-1, and `1.0` is a float.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in _STARTS_NUMBER:
        return text
    plain = text
    if text[0] != ".":
        plain = text.replace("_", "")
        number = _integer(plain)
        if number is not None:
            return number
    real = _real(plain)
    return text if real is None else real


def _through_json(value: Scalar) -> Scalar:
    """Return a number after it was written to JSON and read back.

    If it has no fraction and fits 64 bits, it is an integer.
    """
    if isinstance(value, int):  # a boolean, too
        return value if value <= _MAX_INT64 else float(value)
    if not isinstance(value, float) or not value.is_integer() or abs(value) >= 1e21:
        return value
    digits, _, exponent = repr(value).removesuffix(".0").partition("e+")
    whole, _, fraction = digits.partition(".")
    written = int(whole + fraction.ljust(int(exponent or 0), "0"))
    return written if _MIN_INT64 <= written <= _MAX_INT64 else value


def _float_key(value: float) -> str:
    """Write a float as a key: the shortest text of the same number in 32 bits.

    Follows Go's `FormatFloat(value, 'g', -1, 32)`.
    """
    import struct

    if value != value:
        return ".nan"
    try:
        single = struct.pack("f", value)
    except OverflowError:
        single = struct.pack("f", float("inf") if value > 0 else float("-inf"))
    near = struct.unpack("f", single)[0]
    if near in (float("inf"), float("-inf")):
        return ".inf" if near > 0 else "-.inf"
    digits, text = next(found for found in ((n, f"{near:.{n}e}") for n in range(9)) if struct.pack("f", float(found[1])) == single)
    exponent = int(text.partition("e")[2])
    return f"{float(text):.{max(digits - exponent, 0)}f}" if -4 <= exponent < 6 else text


def _binary(text: str) -> str:
    import base64

    try:
        return base64.b64decode(text.replace("\n", ""), validate=True).decode(errors="replace")
    except ValueError:
        raise ValueError(f"`{text}` is not base64") from None


def _integer(text: str) -> int | None:
    """Parse an integer; 0x, 0o, 0b and a leading 0 choose the base.

    Follows Go's `strconv.ParseInt(text, 0, 64)`, else `ParseUint`.
    """
    if text.startswith(("0b-", "0b+")):  # go-yaml reads what follows `0b` once more, with a sign
        return _in_64_bits(text[2], text[3:], 2)
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    base = _BASES.get(digits[:2].lower())
    if base:
        return _in_64_bits(sign, digits[2:], base)
    if len(digits) > 1 and digits[0] == "0":
        return _in_64_bits(sign, digits[1:], 8)
    return _in_64_bits(sign, digits, 10)


def _in_64_bits(sign: str, digits: str, base: int) -> int | None:
    digits = digits.lstrip("0") or digits[:1]
    if not digits or len(digits) > 64 or not _DIGITS[base].issuperset(digits):
        return None
    value = int(sign + digits, base)
    return value if (_MIN_INT64 <= value <= _MAX_INT64 if sign else value <= _MAX_UINT64) else None


def _real(text: str) -> float | None:
    """Parse a decimal floating-point number that fits 64 bits: `1.`, `.5_0`, `-1e3`.

    For `inf`, `nan` and hexadecimal numbers, return None.
    """
    if text.strip("0123456789+-.eE_"):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return None if value in (float("inf"), float("-inf")) else value
