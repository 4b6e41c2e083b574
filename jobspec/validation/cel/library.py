"""The CEL environment in which rules of other people's CRDs run: a library's, with the functions that Kubernetes adds.

A quantity, URL, address, network, version or named format is a map to CEL here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cel_expr_python import cel

from jobspec.validation import regex, text_formats
from jobspec.validation.cel import addresses, named_formats, quantities, versions
from jobspec.validation.cel.rewriting import rewritten
from jobspec.validation.cel.syntax import EXTENSIONS

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
    import datetime

    return sum(items, start=datetime.timedelta()) if items and isinstance(items[0], datetime.timedelta) else sum(items)


def _place_in(items: list[Any] | str, wanted: Any) -> int:
    """Where something stands in a list or text for the first time, -1 where it does not."""
    return items.find(wanted) if isinstance(items, str) else next(_places(items, wanted), -1)


def _last_place_in(items: list[Any] | str, wanted: Any) -> int:
    return items.rfind(wanted) if isinstance(items, str) else max(_places(items, wanted), default=-1)


def _places(items: list[Any], wanted: Any) -> Iterator[int]:
    return (index for index, item in enumerate(items) if isinstance(item, bool) == isinstance(wanted, bool) and item == wanted)


def _named(name: str) -> Callable[[], Opaque]:
    return lambda: {"format": name}


#: The types of signatures; the last are Kubernetes' own.
_TYPES = {
    "string": cel.Type.STRING,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "bool": cel.Type.BOOL,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
    "dyn": cel.Type.DYN,
    "strings": cel.Type.List(cel.Type.STRING),
    **dict.fromkeys(("Quantity", "URL", "IP", "CIDR", "Semver", "NamedFormat"), cel.Type.MAP),
}

_PLACED = ("bool", "double", "int", "list", "map", "string")

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
    ("string.placeOf(string) int", _place_in),
    ("string.lastPlaceOf(string) int", _last_place_in),
    *((f"list.placeOf({name}) int", _place_in) for name in _PLACED),
    *((f"list.lastPlaceOf({name}) int", _last_place_in) for name in _PLACED),
    ("NamedFormat.validate(string) dyn", named_formats.validate),
    *((f"format.{name}() NamedFormat", _named(name)) for name in named_formats.FORMATS),
]


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
        overloads.setdefault(key, cel.Overload(call, _TYPES[result], [_TYPES[each] for each in takes], is_member, does))
    return [cel.FunctionDecl(name, list(overloads.values())) for name, overloads in made.items()]


@cache
def environment() -> cel.Env:
    """Where rules run: `self` and `oldSelf` may be anything, and types count when they do."""
    variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
    config = cel.NewEnvConfigFromYaml(f"{EXTENSIONS}- name: bindings\n")
    return cel.NewEnv(config=config, variables=variables, functions=_declared())


class Program:
    """A rule or an expression, ready to run."""

    def __init__(self, text: str) -> None:
        """Raises RuntimeError with the library's words for a text that it cannot compile."""
        text = rewritten(text)
        try:
            self._expression = environment().compile(text)
        except RuntimeError as error:
            if not _is_about_numbers(str(error)):
                raise
            self._expression = environment().compile(text, disable_check=True)

    def run(self, variables: dict[str, Any]) -> Any:
        """The value for *variables*. Raises ValueError with CEL's words where there is none."""
        answer = self._expression.eval(data=variables)
        if answer.type() == cel.Type.ERROR:
            raise ValueError(str(answer.value()))
        return answer.plain_value()


def _is_about_numbers(complaint: str) -> bool:
    """Whether the library misses nothing but a comparison of an integer with a fraction, which Kubernetes has."""
    import re

    missing = re.findall(r"no matching overload for '(\S+)' applied to '\((\w+), (\w+)\)'", complaint)
    numbers = {"int", "uint", "double"}
    return len(missing) == complaint.count("ERROR:") and all(
        operator in ("_<_", "_<=_", "_>_", "_>=_") and {one, other} <= numbers for operator, one, other in missing
    )
