"""Check times, quantities, bytes and addresses: in custom resources as the CRD's schema does, in typed objects as Go's parsers do.

Follows `ParseQuantity`, k8s.io/apimachinery pkg/api/resource, `Time.UnmarshalJSON` and `MicroTime.UnmarshalJSON`, k8s.io/apimachinery
pkg/apis/meta/v1, `time.Parse`, and `base64.StdEncoding`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    Address = IPv4Address | IPv6Address

_SUFFIXES = frozenset(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E"))
#: The blanks that Go trims around a quantity in JSON; others (tabs, line breaks, U+2028) are escaped there, and not trimmed.
_BLANKS = " \u0085\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def is_quantity(text: str) -> bool:
    """True if the text matches the quantity pattern that CRDs carry.

    That is a decimal number, then a suffix or an exponent.
    """
    body = text[1:] if text[:1] in ("+", "-") else text
    number, rest = _leading_number(body)
    if not number or rest in _SUFFIXES or rest[:1] not in ("e", "E"):
        return bool(number) and rest in _SUFFIXES
    exponent, after = _leading_number(rest[2:] if rest[1:2] in ("+", "-") else rest[1:])
    return bool(exponent) and not after


def _leading_number(text: str) -> tuple[str, str]:
    """The leading number of a text, and the rest; the number is empty without a digit."""
    rest = text.lstrip("0123456789")
    if rest.startswith("."):
        rest = rest[1:].lstrip("0123456789")
    number = text[: len(text) - len(rest)]
    return ("", text) if number in ("", ".") else (number, rest)


def is_parsed_quantity(text: str) -> bool:
    """True if `ParseQuantity` accepts the text, as typed objects need.

    `ParseQuantity` accepts `.` and `Gi` as zeros.
    """
    number, suffix = _leading_number(text)
    if number and suffix in _SUFFIXES:
        return True
    import re

    trimmed = text.strip(_BLANKS)
    match = re.fullmatch(r"[+-]?\d*(?:\.\d*)?([eEinumkKMGTP]*(?:[+-]?\d*))", trimmed, re.ASCII)
    if not match or not trimmed:
        return False
    suffix = match[1]
    exponent = re.fullmatch(r"[eE]([+-]?)0*(\d{1,19})", suffix, re.ASCII)
    return suffix in _SUFFIXES or (exponent is not None and -(2**63) <= int(exponent[1] + exponent[2]) < 2**63)


def is_time(text: str) -> bool:
    """True if `time.Parse(time.RFC3339, text)` accepts the text."""
    import re
    from datetime import datetime

    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))", text, re.ASCII)
    if not match:
        return False
    year, month, day, hour, minute, second, hours, minutes = (int(number or 0) for number in match.groups())
    try:
        datetime(year or 2000, month, day, hour, minute, second)  # the year 0, which Go knows, is a leap year too
    except ValueError:
        return False
    return hours <= 24 and minutes <= 60


def is_micro_time(text: str) -> bool:
    """True if `time.Parse` accepts the text as a time with exactly six digits after the second."""
    import re

    return is_time(text) and re.search(r"[.,]\d{6}(?:Z|[+-]\d\d:\d\d)$", text, re.ASCII) is not None


def is_base64(text: str) -> bool:
    """True if `base64.StdEncoding` decodes the text. Line breaks do not count."""
    import re

    joined = text.replace("\n", "").replace("\r", "")
    return re.fullmatch(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", joined) is not None


def is_date_time(text: str) -> bool:
    """True if the text has the format `date-time` of custom resources.

    The format differs from RFC 3339 in details.
    """
    from jobspec.go import text_formats

    return text_formats.is_date_time(text)


#: The checks of formats in the schema of a CRD, and in typed objects.
CHECKS = {"date-time": is_date_time, "quantity": is_quantity}
TYPED_CHECKS = {"date-time": is_time, "quantity": is_parsed_quantity, "micro-time": is_micro_time, "byte": is_base64}
EXAMPLES = {
    "date-time": "a time such as `2026-01-31T12:00:00Z`",
    "quantity": "a quantity such as `2`, `500m` or `8Gi`",
    "micro-time": "a time such as `2026-01-31T12:00:00.000000Z`",
    "byte": "bytes in base64",
}


def address(text: str) -> Address | None:
    """Parse an IP address. For other texts and for an address with a zone, return None."""
    from ipaddress import ip_address

    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def sloppy_address(text: str) -> Address | None:
    """Parse an IP address. The numbers of an IPv4 address may begin with zeros.

    C reads such numbers as octal ones.
    """
    parts = text.split(".")
    is_padded = len(parts) == 4 and all(part.isdecimal() and part.isascii() for part in parts)
    return address(".".join(part.lstrip("0") or "0" for part in parts) if is_padded else text)


def plain_address(text: str) -> Address | None:
    """Parse an IP address. For an IPv4 address written as IPv6, return None.

    Programs read such an address differently.
    """
    found = address(text)
    return None if getattr(found, "ipv4_mapped", None) else found


def is_link_local_multicast(found: Address) -> bool:
    """True if an address is for link-local multicast: 224.0.0.0/24, or ff02::/16 with any flags."""
    packed = found.packed
    return packed[:3] == b"\xe0\x00\x00" if found.version == 4 else packed[0] == 0xFF and packed[1] & 15 == 2
