"""Check the string formats of custom resources.

Follows k8s.io/kube-openapi pkg/validation/strfmt (default.go, date.go, time.go, duration.go) with its copy of govalidator, and Go's
`mail.ParseAddress`, `url.ParseRequestURI` and `net.ParseMAC`, 1.36. Dashes in the name of a format are ignored; unknown formats are not
checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_GO_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
#: The words for a unit of a duration, of which the last one can go on as it likes (`seconds`), and the unit's length.
_UNITS = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 10**3,
    ("ms", "milli"): 10**6,
    ("s", "sec"): 10**9,
    ("m", "min"): 60 * 10**9,
    ("h", "hr", "hour"): 3600 * 10**9,
    ("d", "day"): 86400 * 10**9,
    ("w", "wk", "week"): 7 * 86400 * 10**9,
}
_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:[]<>\"")
_USER_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:~!$&'()*+,;=%@")
_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]+"
_ADDRESS = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\x00-\x08\x0a-\x1f]|\\.)+")@(?:{_ATOM}(?:\.{_ATOM})*|\[[!-Z^-~]*\])'
_WORD = rf'(?:{_ATOM}|"(?:[^"\\]|\\.)*"|\.)'
_MAILBOX = rf"\s*(?:{_ADDRESS}|(?:{_WORD}\s*)*<\s*{_ADDRESS}\s*>)\s*(?:\([^()]*\)\s*)?"
_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s-?[0-9a-f]{12}"
_COLOR_PART = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_CARD = r"(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})"


def _whole(pattern: str, *, any_case: bool = False) -> Callable[[str], bool]:
    """A check that a pattern matches the whole text; character classes are those of ASCII."""
    return lambda text: re.fullmatch(pattern, text, re.ASCII | (re.IGNORECASE if any_case else 0)) is not None


def is_date(text: str) -> bool:
    """True if the text is an existing day, such as `2026-01-31`."""
    from datetime import date

    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    try:
        return match is not None and bool(date(int(match[1]) or 2000, int(match[2]), int(match[3])))
    except ValueError:
        return False


def is_date_time(text: str) -> bool:
    """True if the text is a day and a time with a time zone."""
    day, _, time = text.lower().partition("t")
    match = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", time.partition("t")[0], re.ASCII)
    return is_date(day) and match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def nanoseconds(text: str) -> int | None:
    """Return the length of a duration in Go's form (`1h30m`) or in words (`2 days`).

    For other texts, return None.
    """
    found = go_nanoseconds(text)
    return _duration_in_words(text) if found is None else found


def go_nanoseconds(text: str) -> int | None:
    """Return the length of a duration in Go's form. For other texts, return None."""
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return 0
    if not re.fullmatch(r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+", body, re.ASCII):
        return None
    total = 0
    for number, fraction, unit in re.findall(r"(\d*)(\.\d*)?(ns|us|µs|μs|ms|s|m|h)", body, re.ASCII):
        digits = fraction[1:] if fraction else ""
        total += int(number or 0) * _GO_UNITS[unit] + int(digits or 0) * _GO_UNITS[unit] // 10 ** len(digits)
    limit = 1 << 63
    if total > limit or (total == limit and text[0] != "-"):
        return None
    return -total if text[0] == "-" else total


def _duration_in_words(text: str) -> int | None:
    total = 0
    known = False
    for number, unit in re.findall(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)", text):
        if int(number) >= 1 << 63:
            return None
        for names, size in _UNITS.items():
            if unit.lower() in names or unit.lower().startswith(names[-1]):
                known = True
                total += int(number) * size
    return total if known else None


def is_uri(text: str) -> bool:
    """True if the text is an absolute URI or an absolute path (`url.ParseRequestURI`)."""
    if text == "*":
        return True
    if not text or text.startswith(":") or any(ord(character) < 0x20 or character == "\x7f" for character in text):
        return False
    match = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):", text)
    rest = (text[match.end() :] if match else text).partition("?")[0]
    if not rest.startswith("/"):
        return match is not None
    if match and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and _is_escaped(slash + path)
    return _is_escaped(rest)


def _is_escaped(text: str) -> bool:
    return not re.search(r"%(?![0-9A-Fa-f]{2})", text)


def _is_authority(text: str) -> bool:
    user, at, host = text.rpartition("@")
    if at and not (_USER_CHARACTERS.issuperset(user) and _is_escaped(user)):
        return False
    if host.startswith("["):
        address, bracket, port = host[1:].rpartition("]")
        address, _, zone = address.partition("%25")
        return bool(bracket) and is_ipv6(address) and _is_port(port) and _is_escaped(zone)
    name, colon, port = host.rpartition(":")
    return _is_host(name if colon else host) and (not colon or _is_port(colon + port))


def _is_port(text: str) -> bool:
    return re.fullmatch(r"(?::[0-9]*)?", text) is not None


def _is_host(text: str) -> bool:
    """True if the text is a host name for a URL.

    It has `_HOST_CHARACTERS`, any characters beyond ASCII, and escapes of those.
    """
    plain = re.sub(r"%[89A-Fa-f][0-9A-Fa-f]", "", text)
    return all(character in _HOST_CHARACTERS or character > "\x7f" for character in plain)


def is_hostname(text: str) -> bool:
    """True if the text is a host name. Letters and symbols of any script are allowed."""
    from unicodedata import category

    def masked(character: str) -> str:
        if character.isascii() and character.isalnum():
            return "0" if character.isdigit() else "a"
        if character in "-.":
            return character
        return {"L": "l", "S": "s"}.get(category(character)[0], "!")

    mask = "".join(map(masked, text))
    fits = re.fullmatch(r"[a0ls](?:-?[a0ls]{0,62})?|(?:[a0ls](?:[-a0ls]{0,61}[a0ls])?\.)+[al]{2,63}", mask)
    return fits is not None and len(text.encode()) <= 255 and all(len(part.encode()) <= 63 for part in text.split("."))


def is_ipv4(text: str) -> bool:
    """True if the text is an IPv4 address, or an IPv4-mapped IPv6 address.

    Leading zeros are allowed.
    """
    return "." in text and (_is_dotted(text) or _is_hex_address(text))


def is_ipv6(text: str) -> bool:
    """True if the text is an IPv6 address without a zone."""
    return _is_hex_address(text) and not re.search(r"(?:^|[:.])0[0-9]+(?=\.)|\.0[0-9]+$", text)


def _is_dotted(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(re.fullmatch("[0-9]+", part) and int(part) <= 255 for part in parts)


def _is_hex_address(text: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address

    plain = re.sub(r"0+(?=[0-9]+(?:\.|$))", "", text) if "." in text else text
    try:
        return ":" in text and "%" not in text and bool(IPv6Address(plain))
    except AddressValueError:
        return False


def is_cidr(text: str) -> bool:
    """True if the text is an address with a prefix length."""
    address, slash, length = text.partition("/")
    most = 32 if _is_dotted(address) else 128 if _is_hex_address(address) else -1
    return bool(slash) and re.fullmatch("[0-9]+", length) is not None and int(length) <= most


def is_mac(text: str) -> bool:
    """True if the text is a hardware address of 6, 8 or 20 bytes.

    The bytes are separated by colons, dashes or dots.
    """
    for pattern in ("[0-9a-f]{2}(?::[0-9a-f]{2})*", "[0-9a-f]{2}(?:-[0-9a-f]{2})*", r"[0-9a-f]{4}(?:\.[0-9a-f]{4})*"):
        if re.fullmatch(pattern, text, re.IGNORECASE | re.ASCII):
            return len(re.sub("[-:.]", "", text)) in (12, 16, 40)
    return False


def is_isbn10(text: str) -> bool:
    """True if the text is an ISBN of ten digits."""
    digits = re.sub(r"[\t\n\f\r -]", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """True if the text is an ISBN of thirteen digits."""
    digits = re.sub(r"[\t\n\f\r -]", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    """True if the digits in the text are a credit card number with a valid check digit."""
    digits = re.sub("[^0-9]", "", text)
    if not re.fullmatch(_CARD, digits):
        return False
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


_is_short_name = _whole("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_is_long_name = _whole(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

#: The check of each format, by its name without dashes.
CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _whole("[0-9a-fA-F]{24}"),
    "byte": _whole("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": is_cidr,
    "creditcard": is_credit_card,
    "date": is_date,
    "datetime": is_date_time,
    "duration": lambda text: nanoseconds(text) is not None,
    "email": _whole(_MAILBOX),
    "hexcolor": _whole("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": is_mac,
    "password": lambda _: True,
    "rgbcolor": _whole(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "ssn": lambda text: len(text) == 11 and _whole(r"\d{3}[- ]?\d{2}[- ]?\d{4}")(text),
    "uri": is_uri,
    "uuid": _whole(_UUID % ("[0-9a-f]", "[0-9a-f]{4}"), any_case=True),
    "uuid3": _whole(_UUID % ("3", "[0-9a-f]{4}"), any_case=True),
    "uuid4": _whole(_UUID % ("4", "[89ab][0-9a-f]{3}"), any_case=True),
    "uuid5": _whole(_UUID % ("5", "[89ab][0-9a-f]{3}"), any_case=True),
}

#: A format in words, for messages.
EXAMPLES = {
    "byte": "a base64 string",
    "cidr": "a network such as `10.0.0.0/8`",
    "date": "a day such as `2026-01-31`",
    "datetime": "a time such as `2026-01-31T12:00:00Z`",
    "duration": "a duration such as `1h30m`",
    "email": "an e-mail address",
    "hostname": "a host's name such as `example.com`",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "mac": "a MAC address",
    "uri": "a URI such as `https://example.com/`",
    "uuid": "a UUID",
}


def go_float(number: float) -> str:
    """Write a number as Go's `%g` and `%v` do: in the fewest digits.

    It has an exponent from `1e+06` on.
    """
    from decimal import Decimal

    digits, exponent = Decimal(repr(number)).normalize(), Decimal(repr(number)).adjusted()
    if not digits.is_finite() or not digits or -4 <= exponent < 6:
        return f"{digits:f}"
    return f"{digits.scaleb(-exponent):f}e{exponent:+03d}"
