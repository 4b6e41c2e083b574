"""The functions that Kubernetes adds to CEL, and those of CEL that the library lacks, in Python.

Follows k8s.io/apiserver pkg/cel/library, 1.36, and cel-go ext/comprehensions.go for maps. A quantity, URL, IP address, network, version or
named format is a map to CEL here.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from jobspec.validation import regex, text_formats
from jobspec.validation.cel import addresses, named_formats, quantities, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Opaque = dict[str, Any]

#: The types of values at run time. The library takes no overload on `dyn` for them, so there is one overload for each.
RUNTIME_TYPES = ("bool", "bytes", "double", "duration", "int", "list", "map", "null", "string", "timestamp", "uint")
_KEYS = ("bool", "int", "string", "uint")


def _order(value: Opaque) -> Any:
    """The sort key of a quantity or a version."""
    return quantities.number_of(value) if "quantity" in value else versions.precedence(value)


def _is_greater(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) > _order(other))


def _is_less(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) < _order(other))


def _compare(one: Opaque, other: Opaque) -> int:
    return _is_greater(one, other) - _is_less(one, other)


def _is(make: Callable[..., Opaque]) -> Callable[..., bool]:
    """`isQuantity` and its like: whether a constructor takes the arguments."""

    def check(*arguments: Any) -> bool:
        try:
            make(*arguments)
        except (ValueError, ArithmeticError):
            return False
        return True

    return check


def _find(text: str, pattern: str) -> str:
    return next(iter(regex.find_all(pattern, text, 1)), "")


def _is_sorted(items: list[Any]) -> bool:
    return all(items[index] <= items[index + 1] for index in range(len(items) - 1))


def _sum(items: list[Any]) -> Any:
    return sum(items, start=timedelta()) if items and isinstance(items[0], timedelta) else sum(items)


def _nanoseconds(text: str) -> int:
    """The nanoseconds of a duration, passed as a string since Python's `timedelta` has microseconds only."""
    return int(Decimal(text.removesuffix("s")).scaleb(9))


def _index_in(items: list[Any], wanted: Any) -> int:
    """The first index of *wanted* in a list, -1 where it is not in it."""
    return next(_indices(items, wanted), -1)


def _last_index_in(items: list[Any], wanted: Any) -> int:
    return max(_indices(items, wanted), default=-1)


def _indices(items: list[Any], wanted: Any) -> Iterator[int]:
    return (index for index, item in enumerate(items) if isinstance(item, bool) == isinstance(wanted, bool) and item == wanted)


def _insert_all(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    """A map with further entries. Raises ValueError where one is there already."""
    if any(key in entries for key in more):
        raise ValueError("a key of the map would be set twice")
    return {**entries, **more}


def _insert(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    return _insert_all(entries, {key: value})


#: The signature and the implementation of each; a member function has the type of its target before the name.
FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    ("quantity(string) Quantity", quantities.quantity),
    ("isQuantity(string) bool", _is(quantities.quantity)),
    ("sign(Quantity) int", quantities.sign),
    ("Quantity.isInteger() bool", quantities.is_integer),
    ("Quantity.asInteger() int", quantities.as_integer),
    ("Quantity.asApproximateFloat() double", quantities.as_float),
    ("Quantity.add(Quantity) Quantity", quantities.sum_with(1)),
    ("Quantity.add(int) Quantity", quantities.sum_with(1)),
    ("Quantity.sub(Quantity) Quantity", quantities.sum_with(-1)),
    ("Quantity.sub(int) Quantity", quantities.sum_with(-1)),
    ("Quantity.isGreaterThan(Quantity) bool", _is_greater),
    ("Quantity.isLessThan(Quantity) bool", _is_less),
    ("Quantity.compareTo(Quantity) int", _compare),
    ("semver(string) Semver", versions.semver),
    ("semver(string, bool) Semver", versions.semver),
    ("isSemver(string) bool", _is(versions.semver)),
    ("isSemver(string, bool) bool", _is(versions.semver)),
    ("Semver.isGreaterThan(Semver) bool", _is_greater),
    ("Semver.isLessThan(Semver) bool", _is_less),
    ("Semver.compareTo(Semver) int", _compare),
    ("Semver.major() int", lambda one: versions.precedence(one)[0]),
    ("Semver.minor() int", lambda one: versions.precedence(one)[1]),
    ("Semver.patch() int", lambda one: versions.precedence(one)[2]),
    ("url(string) URL", addresses.url),
    ("isURL(string) bool", text_formats.is_uri),
    ("URL.getScheme() string", addresses.part("scheme")),
    ("URL.getHost() string", addresses.part("host")),
    ("URL.getHostname() string", addresses.part("hostname")),
    ("URL.getPort() string", addresses.part("port")),
    ("URL.getEscapedPath() string", addresses.part("path")),
    ("URL.getQuery() map", addresses.query),
    ("ip(string) IP", addresses.ip),
    ("isIP(string) bool", _is(addresses.ip)),
    ("ip.isCanonical(string) bool", addresses.is_canonical),
    ("ip.text(map) string", addresses.text_of),
    ("IP.family() int", addresses.family),
    ("IP.isUnspecified() bool", addresses.is_unspecified),
    ("IP.isLoopback() bool", addresses.is_loopback),
    ("IP.isLinkLocalMulticast() bool", addresses.is_link_local_multicast),
    ("IP.isLinkLocalUnicast() bool", addresses.is_link_local),
    ("IP.isGlobalUnicast() bool", addresses.is_global_unicast),
    ("cidr(string) CIDR", addresses.cidr),
    ("isCIDR(string) bool", _is(addresses.cidr)),
    ("CIDR.containsIP(IP) bool", addresses.contains_ip),
    ("CIDR.containsIP(string) bool", addresses.contains_ip),
    ("CIDR.containsCIDR(CIDR) bool", addresses.contains_cidr),
    ("CIDR.containsCIDR(string) bool", addresses.contains_cidr),
    ("CIDR.ip() IP", addresses.address_of),
    ("CIDR.prefixLength() int", addresses.prefix_length),
    ("CIDR.masked() CIDR", addresses.masked),
    ("string.find(string) string", _find),
    ("string.findAll(string) strings", lambda text, pattern: regex.find_all(pattern, text)),
    ("string.findAll(string, int) strings", lambda text, pattern, most: regex.find_all(pattern, text, most)),
    ("list.isSorted() bool", _is_sorted),
    ("list.sum() dyn", _sum),
    ("list.min() dyn", lambda items: min(items)),
    ("list.max() dyn", lambda items: max(items)),
    ("string.indexIn(string) int", str.find),
    ("string.lastIndexIn(string) int", str.rfind),
    *((f"list.indexIn({kind}) int", _index_in) for kind in RUNTIME_TYPES),
    *((f"list.lastIndexIn({kind}) int", _last_index_in) for kind in RUNTIME_TYPES),
    ("nanosecondsIn(string) int", _nanoseconds),
    ("mapInsert(map, map) map", _insert_all),
    *((f"mapInsert(map, {key}, {value}) map", _insert) for key in _KEYS for value in RUNTIME_TYPES),
    ("NamedFormat.validate(string) dyn", named_formats.validate),
    ("format.named(string) map", named_formats.named),
    *((f"format.{name}() NamedFormat", partial(named_formats.named, name)) for name in named_formats.FORMATS),
]
