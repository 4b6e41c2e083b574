"""The CEL environment in which rules of other people's CRDs run: a library's, with the functions that Kubernetes adds.

A quantity, URL, address, network, version or named format is a map to CEL here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING

from cel_expr_python import cel
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from jobspec.validation import regex, text_formats
from jobspec.validation.cel import addresses, named_formats, quantities, versions
from jobspec.validation.cel.adapting import adapted
from jobspec.validation.cel.checking import CheckedExpression, CompileError
from jobspec.validation.cel.signatures import DYN
from jobspec.validation.cel.syntax import EXTENSIONS, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Opaque = dict[str, Any]


def _order(value: Opaque) -> Any:
    return quantities.number_of(value) if "quantity" in value else versions.precedence(value)


def _is_greater(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) > _order(other))


def _is_less(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) < _order(other))


def _compare(one: Opaque, other: Opaque) -> int:
    return _is_greater(one, other) - _is_less(one, other)


def _is(make: Callable[..., Opaque]) -> Callable[..., bool]:
    def check(*given: Any) -> bool:
        try:
            make(*given)
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
    """The length of a duration, which is given as a string, since Python's own type holds no nanoseconds."""
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


#: The types that a value may have when a rule is evaluated: the library does not take an overload on `dyn` for them.
_KINDS = ("bool", "bytes", "double", "duration", "int", "list", "map", "null", "string", "timestamp", "uint")
_KEYS = ("bool", "int", "string", "uint")
#: The types in signatures; the last are Kubernetes' own.
_TYPES = {
    **{kind: getattr(cel.Type, kind.upper()) for kind in _KINDS},
    "dyn": cel.Type.DYN,
    "strings": cel.Type.List(cel.Type.STRING),
    **dict.fromkeys(("Quantity", "URL", "IP", "CIDR", "Semver", "NamedFormat"), cel.Type.MAP),
}

#: Each function that Kubernetes adds, and what does it.
_FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
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
    *((f"list.indexIn({kind}) int", _index_in) for kind in _KINDS),
    *((f"list.lastIndexIn({kind}) int", _last_index_in) for kind in _KINDS),
    ("nanosecondsIn(string) int", _nanoseconds),
    ("mapInsert(map, map) map", _insert_all),
    *((f"mapInsert(map, {key}, {value}) map", _insert) for key in _KEYS for value in _KINDS),
    ("NamedFormat.validate(string) dyn", named_formats.validate),
    ("format.named(string) map", named_formats.named),
    *((f"format.{name}() NamedFormat", partial(named_formats.named, name)) for name in named_formats.FORMATS),
]


def _returning(does: Callable[..., Any]) -> Callable[..., Any]:
    """The function with durations and times as the library takes them back: as messages of protobuf, also inside lists and maps."""
    return lambda *arguments: _as_returned(does(*arguments))


def _as_returned(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_returned(each) for each in value]
    if isinstance(value, dict):
        return {key: _as_returned(each) for key, each in value.items()}
    if isinstance(value, timedelta):
        made = Duration()
        made.FromTimedelta(value)
        return made
    if isinstance(value, datetime):
        moment = Timestamp()
        moment.FromDatetime(value)
        return moment
    return value


def _declared() -> list[cel.FunctionDecl]:
    """The functions with their signatures and what does them."""
    import re

    made: dict[str, dict[str, cel.Overload]] = {}
    for signature, does in _FUNCTIONS:
        call, _, result = signature.rpartition(" ")
        found = re.fullmatch(r"(.+?)\((.*)\)", call)
        assert found
        receiver, _, name = found[1].rpartition(".")
        is_member = receiver in _TYPES
        takes = ([receiver] if is_member else []) + (found[2].split(", ") if found[2] else [])
        key = ", ".join(_TYPES[each].name() for each in takes)
        overloads = made.setdefault(name if is_member else found[1], {})
        overloads.setdefault(key, cel.Overload(call, _TYPES[result], [_TYPES[each] for each in takes], is_member, _returning(does)))
    return [cel.FunctionDecl(name, list(overloads.values())) for name, overloads in made.items()]


@cache
def environment() -> cel.Env:
    """Where rules run: `self` and `oldSelf` may be anything, and types count when they do."""
    variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
    config = cel.NewEnvConfigFromYaml(f"{EXTENSIONS}- name: bindings\n")
    return cel.NewEnv(config=config, variables=variables, functions=_declared())


class Program:
    """A CEL expression, ready to be evaluated."""

    def __init__(self, text: str) -> None:
        """Raises RuntimeError, with the reason, for an expression that cannot be compiled."""
        tree = parse(text, environment())
        try:
            checked = CheckedExpression(tree, {"self": DYN, "oldSelf": DYN}, {})
        except CompileError as error:
            raise RuntimeError(f"{tree.position(error.at)}: {error}") from None
        self._expression = environment().deserialize(adapted(tree, checked))

    def run(self, variables: dict[str, Any]) -> Any:
        """The value of the expression for *variables*. Raises ValueError with the library's message where the evaluation fails."""
        try:
            answer = self._expression.eval(data=variables)
            value = answer.value() if answer.type() == cel.Type.ERROR else answer.plain_value()
        except (RuntimeError, TypeError) as error:  # the library cannot evaluate it, or its value is none that Python has
            raise ValueError(str(error)) from None
        if answer.type() == cel.Type.ERROR:
            raise ValueError(str(value))
        return value
