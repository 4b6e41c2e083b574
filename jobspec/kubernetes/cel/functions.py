"""The functions that Kubernetes adds to CEL, and those of CEL that the library lacks, in Python.

Follows k8s.io/apiserver pkg/cel/library, 1.36, and cel-go ext/comprehensions.go for maps. A quantity, URL, IP address, network, version or
named format is a map to CEL here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import partial
from ipaddress import IPv4Address, ip_address, ip_interface, ip_network
from itertools import pairwise
from typing import Any

from jobspec.go import formats, regex, text_formats
from jobspec.go.quantities import BINARY, DECIMAL, split_quantity
from jobspec.kubernetes import metadata
from jobspec.kubernetes.cel import signatures

Opaque = dict[str, Any]
Address = dict[str, str]
Quantity = dict[str, str | int | float]
Check = Callable[[str], str]


#: The types of values at run time. The library takes no overload on `dyn` for them, so there is one overload for each.
RUNTIME_TYPES = ("bool", "bytes", "double", "duration", "int", "list", "map", "null", "string", "timestamp", "uint")
_KEYS = ("bool", "int", "string", "uint")


def _order(value: Opaque) -> Any:
    """The sort key of a quantity or a version."""
    return number_of(value) if "quantity" in value else signatures.precedence(value)


def _compare(one: Opaque, other: Opaque) -> int:
    return bool(_order(one) > _order(other)) - bool(_order(one) < _order(other))


def _takes(make: Callable[..., Opaque], *arguments: Any) -> bool:
    """`isQuantity` and its like: whether a constructor takes the arguments."""
    try:
        make(*arguments)
    except (ValueError, ArithmeticError):
        return False
    return True


def _sum(items: list[Any]) -> Any:
    return sum(items, start=timedelta()) if items and isinstance(items[0], timedelta) else sum(items)


def _indices(items: list[Any], wanted: Any) -> Iterator[int]:
    return (index for index, item in enumerate(items) if isinstance(item, bool) == isinstance(wanted, bool) and item == wanted)


def _insert_all(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    """A map with further entries. Raises ValueError where one is there already."""
    if any(key in entries for key in more):
        raise ValueError("a key of the map would be set twice")
    return {**entries, **more}


def ip(text: str) -> Address:
    """Parse an IP address.

    Raises ValueError for other texts, and for addresses with a zone or an embedded IPv4 address.
    """
    address = ip_address(text)
    if formats.plain_address(text) is None:
        raise ValueError(f"{text} has a zone, or another address inside")
    return {"ip": str(address)}


def is_global_unicast(one: Address) -> bool:
    """True if an address is global unicast as Go has it: private addresses are."""
    address = ip_address(one["ip"])
    return not (address == _BROADCAST or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def cidr(text: str) -> Address:
    """Parse a network such as `10.0.0.1/8`. Its host bits are kept.

    Raises ValueError for other texts.
    """
    address, _, length = text.partition("/")
    ip(address)
    if not re.fullmatch("0|[1-9][0-9]*", length, re.ASCII):
        raise ValueError(f"{text} has no length of a prefix")
    return {"cidr": str(ip_interface(text))}


def contains_ip(network: Address, other: Address | str) -> bool:
    """True if a network contains an address."""
    found = ip(other) if isinstance(other, str) else other
    return ip_address(found["ip"]) in ip_network(network["cidr"], strict=False)


def contains_cidr(network: Address, other: Address | str) -> bool:
    """True if a network contains another network."""
    found = cidr(other) if isinstance(other, str) else other
    outer, inner = ip_network(network["cidr"], strict=False), ip_network(found["cidr"], strict=False)
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # both are of one version


def url(text: str) -> Address:
    """Parse a URL. Raises ValueError for other texts."""
    if not text_formats.is_uri(text):
        raise ValueError(f"{text} is not a URL")
    return {"url": text}


def part(name: str, one: Address) -> str:
    """One part of a URL, by the name of its function."""
    from urllib.parse import urlsplit

    parts = urlsplit(one["url"])
    host = parts.netloc.rpartition("@")[2]
    hostname, _, port = host.rpartition(":") if re.search(r":[0-9]*$", host) and not host.endswith("]") else (host, "", "")
    names = {"Scheme": parts.scheme, "Host": host, "Hostname": hostname.strip("[]"), "Port": port, "EscapedPath": _escaped(parts.path)}
    return names[name]


def _escaped(path: str) -> str:
    from urllib.parse import quote, unquote_to_bytes

    if re.fullmatch(r"[A-Za-z0-9\-_.~!$&'()*+,;=:@\[\]%/]*", path):
        return path
    return quote(unquote_to_bytes(path), safe="/$&+,:;=@-_.~")


def query(one: Address) -> dict[str, list[str]]:
    """Return the query parameters of a URL, each with its values."""
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(one["url"]).query, keep_blank_values=True)


# Quantities in CEL: maps with a number, and a flag that says whether `isInteger` holds.
#
# Follows k8s.io/apiserver pkg/cel/library/quantity.go and `ParseQuantity`, k8s.io/apimachinery pkg/api/resource, 1.36. The server stores a
# quantity as a 64-bit integer and a power of ten if its text is short, and `isInteger` holds for such quantities only. The flag is 1 or
# 1.0: both are equal in CEL, so quantities with the same number are equal, whatever their flags.


_INT64 = 1 << 63
_NANO = Decimal("1e-9")
_EXACT = Context(prec=4000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SHORT, _SHORT_BINARY = 18, 14  # digits


def quantity(text: str) -> Quantity:
    """Parse a quantity. Raises ValueError for other texts, and for blanks around a quantity."""
    if text.strip() != text or not formats.is_parsed_quantity(text):
        raise ValueError(f"{text} is not a quantity")
    digits, suffix = split_quantity(text)
    if not any(digit in digits for digit in "123456789"):
        return _made(Decimal(0), is_integer=True)
    if suffix in BINARY:
        number = _EXACT.multiply(Decimal(digits), Decimal(1 << BINARY[suffix]))
        number = min(max(number, Decimal(1 - _INT64)), Decimal(_INT64 - 1))
    else:
        number = _EXACT.scaleb(Decimal(digits), _exponent(suffix))
    exponent = number.as_tuple().exponent
    rounded = number.quantize(_NANO, ROUND_UP, _EXACT) if isinstance(exponent, int) and exponent < -9 else number
    return _made(rounded, is_integer=_is_held_as_integer(digits.lstrip("+-"), suffix, number))


def _exponent(suffix: str) -> int:
    return DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])


def _is_held_as_integer(digits: str, suffix: str, number: Decimal) -> bool:
    whole, _, fraction = digits.lstrip("0").partition(".")
    length = max(len(whole), 1) + len(fraction)
    if suffix in BINARY:
        return not fraction and length + BINARY[suffix] * 3 // 10 <= _SHORT_BINARY and abs(number) < _INT64
    scale = _exponent(suffix) - len(fraction)
    return length <= _SHORT and scale >= 0 and number.adjusted() < 20 and abs(number) < _INT64


def _made(number: Decimal, *, is_integer: bool) -> Quantity:
    return {"quantity": str(number.normalize(_EXACT)), "integer": 1 if is_integer else 1.0}


def number_of(one: Quantity) -> Decimal:
    """Return the value of a quantity."""
    return Decimal(str(one["quantity"]))


def is_integer(one: Quantity) -> bool:
    """True if the server stores the quantity as an integer."""
    return isinstance(one["integer"], int)


def as_integer(one: Quantity) -> int:
    """Return the value of a quantity as an integer.

    Raises ValueError if the server does not store it as one.
    """
    if not is_integer(one):
        raise ValueError("cannot convert value to integer")
    return int(number_of(one))


def add(factor: int, one: Quantity, other: Quantity | int) -> Quantity:
    """Return the sum of a quantity and *factor* times another one, or an integer."""
    more = _made(Decimal(other), is_integer=True) if isinstance(other, int) else other
    number = _EXACT.add(number_of(one), factor * number_of(more))
    return _made(number, is_integer=is_integer(one) and is_integer(more) and abs(number) < _INT64)


# The named formats of CEL, such as `format.dns1123Label()`.
#
# Follows k8s.io/apiserver pkg/cel/library/format.go, 1.36.


_TEXTS = ("uri", "uuid", "byte", "date", "datetime")


def _as_format(name: str) -> Check:
    return lambda text: "" if text_formats.CHECKS[name](text) else f"it has not the format `{name}`"


#: The check of each format: why a text is not of that format, empty where it is.
FORMATS: dict[str, Check] = {
    "dns1123Label": metadata.bad_label_name,
    "dns1123Subdomain": metadata.bad_subdomain,
    "dns1035Label": metadata.bad_dns1035_label,
    "qualifiedName": metadata.bad_qualified_name,
    "dns1123LabelPrefix": lambda text: metadata.bad_label_name(metadata.masked(text)),
    "dns1123SubdomainPrefix": lambda text: metadata.bad_subdomain(metadata.masked(text)),
    "dns1035LabelPrefix": lambda text: metadata.bad_dns1035_label(metadata.masked(text)),
    "labelValue": metadata.bad_label_value,
    **{name: _as_format(name) for name in _TEXTS},
}


def named(name: str) -> dict[str, str]:
    """Return the format of that name as a value of CEL, empty for an unknown name."""
    return {"format": name} if name in FORMATS else {}


def validate(format_: dict[str, str], text: str) -> list[str]:
    """Return why a text is not of a format; empty if it is."""
    why = FORMATS[format_["format"]](text)
    return [why] if why else []


#: The signature and the implementation of each; a member function has the type of its target before the name.
FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    ("quantity(string) Quantity", quantity),
    ("isQuantity(string) bool", partial(_takes, quantity)),
    ("sign(Quantity) int", lambda one: (number_of(one) > 0) - (number_of(one) < 0)),
    ("Quantity.isInteger() bool", is_integer),
    ("Quantity.asInteger() int", as_integer),
    ("Quantity.asApproximateFloat() double", lambda one: float(number_of(one))),
    *((f"Quantity.add({other}) Quantity", partial(add, 1)) for other in ("Quantity", "int")),
    *((f"Quantity.sub({other}) Quantity", partial(add, -1)) for other in ("Quantity", "int")),
    *((f"semver(string{lenient}) Semver", signatures.semver) for lenient in ("", ", bool")),
    *((f"isSemver(string{lenient}) bool", partial(_takes, signatures.semver)) for lenient in ("", ", bool")),
    *((f"{kind}.isGreaterThan({kind}) bool", lambda one, other: _order(one) > _order(other)) for kind in ("Quantity", "Semver")),
    *((f"{kind}.isLessThan({kind}) bool", lambda one, other: _order(one) < _order(other)) for kind in ("Quantity", "Semver")),
    *((f"{kind}.compareTo({kind}) int", _compare) for kind in ("Quantity", "Semver")),
    ("Semver.major() int", lambda one: signatures.precedence(one)[0]),
    ("Semver.minor() int", lambda one: signatures.precedence(one)[1]),
    ("Semver.patch() int", lambda one: signatures.precedence(one)[2]),
    ("url(string) URL", url),
    ("isURL(string) bool", text_formats.is_uri),
    *((f"URL.get{name}() string", partial(part, name)) for name in ("Scheme", "Host", "Hostname", "Port", "EscapedPath")),
    ("URL.getQuery() map", query),
    ("ip(string) IP", ip),
    ("isIP(string) bool", partial(_takes, ip)),
    ("ip.isCanonical(string) bool", lambda text: ip(text)["ip"] == text),
    ("ip.text(map) string", lambda one: one.get("ip") or one["cidr"]),
    ("IP.family() int", lambda one: ip_address(one["ip"]).version),
    ("IP.isUnspecified() bool", lambda one: ip_address(one["ip"]).is_unspecified),
    ("IP.isLoopback() bool", lambda one: ip_address(one["ip"]).is_loopback),
    ("IP.isLinkLocalMulticast() bool", lambda one: formats.is_link_local_multicast(ip_address(one["ip"]))),
    ("IP.isLinkLocalUnicast() bool", lambda one: ip_address(one["ip"]).is_link_local),
    ("IP.isGlobalUnicast() bool", is_global_unicast),
    ("cidr(string) CIDR", cidr),
    ("isCIDR(string) bool", partial(_takes, cidr)),
    *((f"CIDR.containsIP({other}) bool", contains_ip) for other in ("IP", "string")),
    *((f"CIDR.containsCIDR({other}) bool", contains_cidr) for other in ("CIDR", "string")),
    ("CIDR.ip() IP", lambda one: {"ip": one["cidr"].partition("/")[0]}),
    ("CIDR.prefixLength() int", lambda one: int(one["cidr"].partition("/")[2])),
    ("CIDR.masked() CIDR", lambda one: {"cidr": str(ip_network(one["cidr"], strict=False))}),
    ("string.find(string) string", lambda text, pattern: next(iter(regex.find_all(pattern, text, 1)), "")),
    ("string.findAll(string) strings", lambda text, pattern: regex.find_all(pattern, text)),
    ("string.findAll(string, int) strings", lambda text, pattern, most: regex.find_all(pattern, text, most)),
    ("list.isSorted() bool", lambda items: all(one <= other for one, other in pairwise(items))),
    ("list.sum() dyn", _sum),
    ("list.min() dyn", lambda items: min(items)),
    ("list.max() dyn", lambda items: max(items)),
    ("string.indexIn(string) int", str.find),
    ("string.lastIndexIn(string) int", str.rfind),
    *((f"list.indexIn({kind}) int", lambda items, wanted: next(_indices(items, wanted), -1)) for kind in RUNTIME_TYPES),
    *((f"list.lastIndexIn({kind}) int", lambda items, wanted: max(_indices(items, wanted), default=-1)) for kind in RUNTIME_TYPES),
    # passed as a text, since Python's `timedelta` has microseconds only
    ("nanosecondsIn(string) int", lambda text: int(Decimal(text.removesuffix("s")).scaleb(9))),
    ("mapInsert(map, map) map", _insert_all),
    *(
        (f"mapInsert(map, {key}, {value}) map", lambda entries, name, inner: _insert_all(entries, {name: inner}))
        for key in _KEYS
        for value in RUNTIME_TYPES
    ),
    ("NamedFormat.validate(string) dyn", validate),
    ("format.named(string) map", named),
    *((f"format.{name}() NamedFormat", partial(named, name)) for name in FORMATS),
    ("jsonpatch.escapeKey(string) string", lambda key: key.replace("~", "~0").replace("/", "~1")),
]


# IP addresses, networks (CIDR) and URLs in CEL.
#
# Follows k8s.io/apiserver pkg/cel/library ip.go, cidr.go and urls.go, 1.36. Each value is a map with one string, which is the same for
# equal values.


_BROADCAST = IPv4Address("255.255.255.255")
