"""The CEL environment in which rules of other people's CRDs run: a library's, with the functions that Kubernetes adds.

A quantity, URL, address, network or version is a map of one text to CEL here, in a form such that equal ones are equal maps.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING

from cel_expr_python import cel

from jobspec.validation import formats, regex, text_formats

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Opaque = dict[str, str]

_EXTENSIONS = """\
extensions:
- name: sets
- name: two-var-comprehensions
- name: optional
- name: lists
- name: strings
  version: 2
"""
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_INT64 = 1 << 63
_FORMATS = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix"),
    *("dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"),
)


def _number(text: str) -> Decimal:
    """The number that a quantity's text stands for. Raises ValueError for what is none."""
    if not formats.is_parsed_quantity(text):
        raise ValueError(f"{text} is no quantity")
    if not any(digit in text for digit in "0123456789"):
        return Decimal(0)
    if text[-2:] in _BINARY:
        return Decimal(text[:-2]) * (1 << _BINARY[text[-2:]])
    if text[-1] in _DECIMAL:
        return Decimal(text[:-1]).scaleb(_DECIMAL[text[-1]])
    return Decimal(text)


def _quantity(text: str) -> Opaque:
    return _from_number(_number(text))


def _from_number(number: Decimal) -> Opaque:
    return {"quantity": format(number.normalize(), "f")}


def _url(text: str) -> Opaque:
    if not text_formats.is_uri(text):
        raise ValueError(f"{text} is no URL")
    return {"url": text}


def _ip(text: str) -> Opaque:
    if "%" in text or (text.lower().startswith("::ffff:") and "." in text):
        raise ValueError(f"{text} is no address without a zone or another inside")
    return {"ip": str(ip_address(text))}


def _cidr(text: str) -> Opaque:
    if "/" not in text or "%" in text:
        raise ValueError(f"{text} is no network")
    return {"cidr": str(ip_interface(text))}


def _semver(text: str) -> Opaque:
    import re

    number = r"(?:0|[1-9][0-9]*)"
    word = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    if not re.fullmatch(rf"{number}\.{number}\.{number}(?:-{word}(?:\.{word})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?", text):
        raise ValueError(f"{text} is no semantic version")
    return {"semver": text}


def _precedence(version: Opaque) -> tuple[Any, ...]:
    """What versions are ordered by: a release comes after what is before it."""
    numbers, _, before = version["semver"].partition("+")[0].partition("-")
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")] if before else []
    return (*map(int, numbers.split(".")), not before, parts)


def _order(value: Opaque) -> Any:
    return Decimal(value["quantity"]) if "quantity" in value else _precedence(value)


def _is_greater(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) > _order(other))


def _is_less(one: Opaque, other: Opaque) -> bool:
    return bool(_order(one) < _order(other))


def _compare(one: Opaque, other: Opaque) -> int:
    return _is_greater(one, other) - _is_less(one, other)


def _is(make: Callable[[str], Opaque]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            make(text)
        except (ValueError, ArithmeticError):
            return False
        return True

    return check


def _integer(quantity: Opaque) -> int:
    number = Decimal(quantity["quantity"])
    if number != int(number) or not -_INT64 <= number < _INT64:
        raise ValueError("cannot convert value to integer")
    return int(number)


def _is_integer(quantity: Opaque) -> bool:
    number = Decimal(quantity["quantity"])
    return number == int(number) and -_INT64 <= number < _INT64


def _sum_with(sign: int) -> Callable[[Opaque, Opaque | int], Opaque]:
    def add(one: Opaque, other: Opaque | int) -> Opaque:
        number = Decimal(other if isinstance(other, int) else other["quantity"])
        return _from_number(Decimal(one["quantity"]) + sign * number)

    return add


def _contains(network: Opaque, other: Opaque | str) -> bool:
    text = other if isinstance(other, str) else other.get("ip") or other["cidr"]
    outer, inner = ip_network(network["cidr"], strict=False), ip_network(text, strict=False)
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # both are of one version


def _part(name: str) -> Callable[[Opaque], str]:
    def part(url: Opaque) -> str:
        from urllib.parse import urlsplit

        parts = urlsplit(url["url"])
        host = parts.netloc.rpartition("@")[2]
        port = str(parts.port) if parts.port is not None else ""
        hostname = host.removesuffix(f":{port}").strip("[]") if port else host.strip("[]")
        return {"scheme": parts.scheme, "host": host, "hostname": hostname, "port": port, "path": parts.path}[name]

    return part


def _query(url: Opaque) -> dict[str, list[str]]:
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(url["url"]).query, keep_blank_values=True)


def _find(text: str, pattern: str) -> str:
    return next(iter(regex.find_all(pattern, text, 1)), "")


def _is_sorted(items: list[Any]) -> bool:
    return all(items[index] <= items[index + 1] for index in range(len(items) - 1))


def _sum(items: list[Any]) -> Any:
    import datetime

    return sum(items, start=datetime.timedelta()) if items and isinstance(items[0], datetime.timedelta) else sum(items)


#: The types of signatures. The last are Kubernetes' own: names to a check of types, maps to a rule that runs.
_TYPES = {
    "string": cel.Type.STRING,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "bool": cel.Type.BOOL,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
    "dyn": cel.Type.DYN,
    "strings": cel.Type.List(cel.Type.STRING),
}
_OPAQUE = {name: cel.Type.AbstractType(f"kubernetes.{name}") for name in ("Quantity", "URL", "IP", "CIDR", "Semver", "NamedFormat")}

#: Each function that Kubernetes adds, and what does it; where nothing stands, rules with it cannot be run.
_FUNCTIONS: list[tuple[str, Callable[..., Any] | None]] = [
    ("quantity(string) Quantity", _quantity),
    ("isQuantity(string) bool", _is(_quantity)),
    ("Quantity.sign() int", lambda one: (_order(one) > 0) - (_order(one) < 0)),
    ("Quantity.isInteger() bool", _is_integer),
    ("Quantity.asInteger() int", _integer),
    ("Quantity.asApproximateFloat() double", lambda one: float(one["quantity"])),
    ("Quantity.add(Quantity) Quantity", _sum_with(1)),
    ("Quantity.add(int) Quantity", _sum_with(1)),
    ("Quantity.sub(Quantity) Quantity", _sum_with(-1)),
    ("Quantity.sub(int) Quantity", _sum_with(-1)),
    ("Quantity.isGreaterThan(Quantity) bool", _is_greater),
    ("Quantity.isLessThan(Quantity) bool", _is_less),
    ("Quantity.compareTo(Quantity) int", _compare),
    ("semver(string) Semver", _semver),
    ("semver(string, bool) Semver", None),
    ("isSemver(string) bool", _is(_semver)),
    ("isSemver(string, bool) bool", None),
    ("Semver.isGreaterThan(Semver) bool", _is_greater),
    ("Semver.isLessThan(Semver) bool", _is_less),
    ("Semver.compareTo(Semver) int", _compare),
    ("Semver.major() int", lambda one: _precedence(one)[0]),
    ("Semver.minor() int", lambda one: _precedence(one)[1]),
    ("Semver.patch() int", lambda one: _precedence(one)[2]),
    ("url(string) URL", _url),
    ("isURL(string) bool", text_formats.is_uri),
    ("URL.getScheme() string", _part("scheme")),
    ("URL.getHost() string", _part("host")),
    ("URL.getHostname() string", _part("hostname")),
    ("URL.getPort() string", _part("port")),
    ("URL.getEscapedPath() string", _part("path")),
    ("URL.getQuery() map", _query),
    ("ip(string) IP", _ip),
    ("isIP(string) bool", _is(_ip)),
    ("ip.isCanonical(string) bool", lambda text: _ip(text)["ip"] == text),
    ("IP.family() int", lambda one: ip_address(one["ip"]).version),
    ("IP.isUnspecified() bool", lambda one: ip_address(one["ip"]).is_unspecified),
    ("IP.isLoopback() bool", lambda one: ip_address(one["ip"]).is_loopback),
    ("IP.isLinkLocalMulticast() bool", None),
    ("IP.isLinkLocalUnicast() bool", lambda one: ip_address(one["ip"]).is_link_local),
    ("IP.isGlobalUnicast() bool", None),
    ("cidr(string) CIDR", _cidr),
    ("isCIDR(string) bool", _is(_cidr)),
    ("CIDR.containsIP(IP) bool", _contains),
    ("CIDR.containsIP(string) bool", _contains),
    ("CIDR.containsCIDR(CIDR) bool", _contains),
    ("CIDR.containsCIDR(string) bool", _contains),
    ("CIDR.ip() IP", lambda one: {"ip": one["cidr"].partition("/")[0]}),
    ("CIDR.prefixLength() int", lambda one: int(one["cidr"].partition("/")[2])),
    ("CIDR.masked() CIDR", lambda one: {"cidr": str(ip_network(one["cidr"], strict=False))}),
    ("string.find(string) string", _find),
    ("string.findAll(string) strings", lambda text, pattern: regex.find_all(pattern, text)),
    ("string.findAll(string, int) strings", lambda text, pattern, most: regex.find_all(pattern, text, most)),
    ("list.isSorted() bool", _is_sorted),
    ("list.sum() dyn", _sum),
    ("list.min() dyn", lambda items: min(items)),
    ("list.max() dyn", lambda items: max(items)),
    ("NamedFormat.validate(string) dyn", None),
    *((f"format.{name}() NamedFormat", None) for name in _FORMATS),
    ("format.named(string) dyn", None),
]


def _declared(*, typed: bool) -> list[cel.FunctionDecl]:
    """The functions with their signatures, to check types with, or with what does them."""
    import re

    types = _TYPES | (_OPAQUE if typed else dict.fromkeys(_OPAQUE, cel.Type.MAP))
    made: dict[str, dict[str, cel.Overload]] = {}
    for signature, does in _FUNCTIONS:
        call, _, result = signature.rpartition(" ")
        found = re.fullmatch(r"(.+?)\((.*)\)", call)
        assert found
        receiver, _, name = found[1].rpartition(".")
        is_member = receiver in types
        takes = ([receiver] if is_member else []) + (found[2].split(", ") if found[2] else [])
        if typed or does:
            key = ", ".join(types[each].name() for each in takes)
            overloads = made.setdefault(name if is_member else found[1], {})
            place = (call, types[result], [types[each] for each in takes], is_member)
            overloads.setdefault(key, cel.Overload(*place) if typed or does is None else cel.Overload(*place, does))
    return [cel.FunctionDecl(name, list(overloads.values())) for name, overloads in made.items()]


@cache
def environment() -> cel.Env:
    """Where rules run: `self` and `oldSelf` may be anything, and types count when they do."""
    variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
    config = cel.NewEnvConfigFromYaml(f"{_EXTENSIONS}- name: bindings\n")
    return cel.NewEnv(config=config, variables=variables, functions=_declared(typed=False))


def typed_environment(own: cel.Type, *, optional: bool) -> cel.Env:
    """Where types are checked: `self` and `oldSelf` are of one type; with *optional*, `cel.bind` can make the latter an optional."""
    config = cel.NewEnvConfigFromYaml(_EXTENSIONS + ("- name: bindings\n" if optional else ""))
    variables = {"self": own, "oldSelf": own}
    return cel.NewEnv(_pool(), config=config, variables=variables, functions=_declared(typed=True))


def _pool() -> Any:
    from google.protobuf import descriptor_pool

    return descriptor_pool.Default()


class Program:
    """A rule or an expression, ready to run."""

    def __init__(self, text: str) -> None:
        """Raises RuntimeError with the library's words for a text that it cannot compile."""
        try:
            self._expression = environment().compile(text)
        except RuntimeError as error:
            if not is_about_numbers(str(error)):
                raise
            self._expression = environment().compile(text, disable_check=True)

    def run(self, variables: dict[str, Any]) -> Any:
        """The value for *variables*. Raises ValueError with CEL's words where there is none."""
        answer = self._expression.eval(data=variables)
        if answer.type() == cel.Type.ERROR:
            raise ValueError(str(answer.value()))
        return answer.plain_value()


def is_about_numbers(complaint: str) -> bool:
    """Whether the library misses nothing but a comparison of an integer with a fraction, which Kubernetes has."""
    import re

    missing = re.findall(r"no matching overload for '(\S+)' applied to '\((\w+), (\w+)\)'", complaint)
    numbers = {"int", "uint", "double"}
    return len(missing) == complaint.count("ERROR:") and all(
        operator in ("_<_", "_<=_", "_>_", "_>=_") and {one, other} <= numbers for operator, one, other in missing
    )
