"""The types of CEL, and the signatures of the functions that Kubernetes' CEL has.

Follows cel-go common/stdlib and ext, k8s.io/apiserver pkg/cel/environment/base.go (`baseOpts`) and pkg/cel/library, 1.30 to 1.37.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

Version = dict[str, str]


class CelType(NamedTuple):
    """A type of CEL, and the types inside it.

    Further kinds of names: one letter is a type parameter of a signature, `?1` a type variable, `object 1` the type of one object.
    """

    name: str
    inside: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        """As the server writes it."""
        name = _WRITTEN.get(self.name) or self.name.partition(" ")[0]
        return f"{name}({', '.join(map(str, self.inside))})" if self.inside else name


_WRITTEN = {
    "optional": "optional_type",
    "quantity": "kubernetes.Quantity",
    "semver": "kubernetes.Semver",
    "url": "kubernetes.URL",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "format": "kubernetes.NamedFormat",
    "authorizer": "kubernetes.authorization.Authorizer",
    "pathCheck": "kubernetes.authorization.PathCheck",
    "groupCheck": "kubernetes.authorization.GroupCheck",
    "resourceCheck": "kubernetes.authorization.ResourceCheck",
    "decision": "kubernetes.authorization.Decision",
}


BOOL, DYN, INT, NULL, STRING = (CelType(name) for name in ("bool", "dyn", "int", "null", "string"))


class Overload(NamedTuple):
    """One signature of a function. The first type of a member function is its target's."""

    is_member: bool
    takes: tuple[CelType, ...]
    result: CelType


VARIABLES = "variables"
"""What policies name their variables by, as in `variables.name`."""
OF_VARIABLES = CelType("kubernetes.variables")
"""The type of that name, whose fields are the variables."""
PATCH_TYPE = "@type"
"""The key of the name of its type in what expressions of mutating policies construct."""


def list_of(inside: CelType) -> CelType:
    """Return the type of lists with items of a type."""
    return CelType("list", (inside,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps with keys and values of two types."""
    return CelType("map", (key, value))


def declared_type(kind: CelType) -> CelType:
    """Return the type of a variable by the type of its expression.

    Anything but scalars, lists and maps becomes `dyn`.
    """
    if kind.name in ("list", "map"):
        return CelType(kind.name, tuple(map(declared_type, kind.inside)))
    return kind if kind.name in _DECLARED else DYN


_DECLARED = ("bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")


def optional_of(inside: CelType) -> CelType:
    """Return the type of optional values."""
    return CelType("optional", (inside,))


_NUMBERS = ("int", "uint", "double")
_ORDERED = (*_NUMBERS, "bool", "duration", "timestamp", "string", "bytes")
#: What an order compares, pair by pair.
_COMPARED = (
    ("bool", "bool"),
    *((one, other) for one in _NUMBERS for other in (one, *(kind for kind in ("double", "int", "uint") if kind != one))),
    *((kind, kind) for kind in ("string", "bytes", "timestamp", "duration")),
)
_FORMATS = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix"),
    *("dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"),
)
#: The types that each conversion takes.
CONVERTIBLE = {
    "bool": ("bool", "string"),
    "bytes": ("bytes", "string"),
    "double": ("double", "int", "string", "uint"),
    "duration": ("duration", "int", "string"),
    "dyn": ("A",),
    "int": ("int", "double", "duration", "string", "timestamp", "uint"),
    "string": ("string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint", "ip", "cidr"),
    "timestamp": ("timestamp", "int", "string"),
    "uint": ("uint", "double", "int", "string"),
}
_OF_TIMES = (
    *("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
_SIZED = ("bytes", "list<A>", "map<A, B>", "string")
#: Name, parameters and result of each overload; a member function has the type of its target before the name. The overloads of a function
#: are in upstream's order: the first one that fits decides what an unbound type is.
_SIGNATURES = [
    *(f"{name}({taken}) {name}" for name, types in CONVERTIBLE.items() for taken in types),
    "type(A) type<A>",
    "_?_:_(bool, A, A) A",
    "!_(bool) bool",
    "@not_strictly_false(bool) bool",
    *(f"{name}(A, A) bool" for name in ("_==_", "_!=_")),
    *(f"{name}({one}, {other}) bool" for name in ("_<_", "_<=_", "_>_", "_>=_") for one, other in _COMPARED),
    *(f"_+_({kind}, {kind}) {kind}" for kind in ("bytes", "double", "duration")),
    "_+_(duration, timestamp) timestamp",
    "_+_(timestamp, duration) timestamp",
    *(f"_+_({kind}, {kind}) {kind}" for kind in ("int", "list<A>", "string", "uint")),
    *(f"_-_({kind}, {kind}) {kind}" for kind in ("double", "duration", "int")),
    "_-_(timestamp, duration) timestamp",
    "_-_(timestamp, timestamp) duration",
    "_-_(uint, uint) uint",
    *(f"{name}({kind}, {kind}) {kind}" for name in ("_*_", "_/_") for kind in ("double", "int", "uint")),
    *(f"_%_({kind}, {kind}) {kind}" for kind in ("int", "uint")),
    *(f"-_({kind}) {kind}" for kind in ("double", "int")),
    "@in(A, list<A>) bool",
    "@in(A, map<A, B>) bool",
    "_[_](list<A>, int) A",
    "_[_](map<A, B>, A) B",
    "_[_](optional<list<A>>, int) optional<A>",
    "_[_](optional<map<A, B>>, A) optional<B>",
    *(f"_[?_]({taken}, int) optional<A>" for taken in ("list<A>", "optional<list<A>>")),
    *(f"_[?_]({taken}, A) optional<B>" for taken in ("map<A, B>", "optional<map<A, B>>")),
    *(f"size({kind}) int" for kind in _SIZED),
    *(f"{kind}.size() int" for kind in _SIZED),
    "matches(string, string) bool",
    *(f"string.{name}(string) bool" for name in ("matches", "contains", "startsWith", "endsWith")),
    *(f"timestamp.{name}({zone}) int" for name in _OF_TIMES for zone in ("", "string")),
    *(f"duration.{name}() int" for name in _OF_TIMES[6:]),
    # texts
    "string.charAt(int) string",
    *(f"list<A>.{name}(A) int" for name in ("indexOf", "lastIndexOf")),
    *(f"string.{name}(string{start}) int" for name in ("indexOf", "lastIndexOf") for start in ("", ", int")),
    *(f"string.{name}() string" for name in ("lowerAscii", "upperAscii", "trim")),
    *(f"string.replace(string, string{most}) string" for most in ("", ", int")),
    *(f"string.split(string{most}) list<string>" for most in ("", ", int")),
    *(f"string.substring(int{end}) string" for end in ("", ", int")),
    *(f"list<string>.join({between}) string" for between in ("", "string")),
    "string.format(list<dyn>) string",
    "strings.quote(string) string",
    "string.find(string) string",
    *(f"string.findAll(string{most}) list<string>" for most in ("", ", int")),
    # lists
    "list<A>.slice(int, int) list<A>",
    "list<list<A>>.flatten() list<A>",
    "list<dyn>.flatten(int) list<dyn>",
    *(f"list<{kind}>.sort() list<{kind}>" for kind in _ORDERED),
    *(f"list<A>.@sortByAssociatedKeys(list<{kind}>) list<A>" for kind in _ORDERED),
    "lists.range(int) list<int>",
    *(f"list<A>.{name}() list<A>" for name in ("reverse", "distinct")),
    *(f"list<A>.{name}() optional<A>" for name in ("first", "last")),
    *(f"list<{kind}>.isSorted() bool" for kind in _ORDERED),
    *(f"list<{kind}>.sum() {kind}" for kind in (*_NUMBERS, "duration")),
    *(f"list<{kind}>.{name}() {kind}" for name in ("min", "max") for kind in _ORDERED),
    *(f"sets.{name}(list<A>, list<A>) bool" for name in ("contains", "equivalent", "intersects")),
    "cel.@mapInsert(map<A, B>, A, B) map<A, B>",
    "cel.@mapInsert(map<A, B>, map<A, B>) map<A, B>",
    # optional values
    *(f"optional.{name}(A) optional<A>" for name in ("of", "ofNonZeroValue")),
    "optional.none() optional<A>",
    "optional.unwrap(list<optional<A>>) list<A>",
    "list<optional<A>>.unwrapOpt() list<A>",
    "optional<A>.value() A",
    "optional<A>.hasValue() bool",
    "optional<A>.or(optional<A>) optional<A>",
    "optional<A>.orValue(A) A",
    # Kubernetes' own
    "quantity(string) quantity",
    "isQuantity(string) bool",
    "sign(quantity) int",
    *(f"{kind}.{name}({kind}) bool" for kind in ("quantity", "semver") for name in ("isGreaterThan", "isLessThan")),
    *(f"{kind}.compareTo({kind}) int" for kind in ("quantity", "semver")),
    "quantity.asApproximateFloat() double",
    "quantity.asInteger() int",
    "quantity.isInteger() bool",
    *(f"quantity.{name}({other}) quantity" for name in ("add", "sub") for other in ("quantity", "int")),
    *(f"semver(string{lenient}) semver" for lenient in ("", ", bool")),
    *(f"isSemver(string{lenient}) bool" for lenient in ("", ", bool")),
    *(f"semver.{name}() int" for name in ("major", "minor", "patch")),
    "url(string) url",
    "isURL(string) bool",
    *(f"url.{name}() string" for name in ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")),
    "url.getQuery() map<string, list<string>>",
    "ip(string) ip",
    *(f"{name}(string) bool" for name in ("isIP", "ip.isCanonical", "isCIDR")),
    "ip.family() int",
    *(f"ip.{name}() bool" for name in ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")),
    "cidr(string) cidr",
    *(f"cidr.containsIP({other}) bool" for other in ("string", "ip")),
    *(f"cidr.containsCIDR({other}) bool" for other in ("string", "cidr")),
    "cidr.ip() ip",
    "cidr.prefixLength() int",
    "cidr.masked() cidr",
    *(f"format.{name}() format" for name in _FORMATS),
    "format.named(string) optional<format>",
    "format.validate(string) optional<list<string>>",
    # of admission policies, which ask whether somebody may do something
    "authorizer.path(string) pathCheck",
    "authorizer.group(string) groupCheck",
    "authorizer.serviceAccount(string, string) authorizer",
    "groupCheck.resource(string) resourceCheck",
    *(f"resourceCheck.{name}(string) resourceCheck" for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")),
    *(f"{kind}.check(string) decision" for kind in ("pathCheck", "resourceCheck")),
    *(f"decision.{name}() bool" for name in ("errored", "allowed")),
    *(f"decision.{name}() string" for name in ("error", "reason")),
    "jsonpatch.escapeKey(string) string",
]
#: Functions with a dot in their names that are no members.
_QUALIFIED = ("strings.quote", "lists.range", "ip.isCanonical", "format.named", "jsonpatch.escapeKey")
_NAMESPACES = ("sets", "cel")


def _is_qualified(call: str) -> bool:
    space, _, name = call.partition(".")
    return call in _QUALIFIED or space in _NAMESPACES or (space == "optional") or (space == "format" and name in _FORMATS)


def parsed_type(text: str) -> CelType:
    """Return the type that a text such as `map<string, dyn>` names.

    Names of Kubernetes' types begin with a capital letter.
    """
    name, _, inside = text.removesuffix(">").partition("<")
    prefix = "kubernetes." if len(name) > 1 and name[0].isupper() else ""
    return CelType(prefix + name, tuple(map(parsed_type, split_types(inside))))


def split_types(text: str) -> list[str]:
    """Split a list of types at its commas. Commas in angle brackets do not count."""
    found, depth = [""], 0
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found if each.strip()]


def _table() -> dict[str, list[Overload]]:
    table: dict[str, list[Overload]] = {}
    for signature in _SIGNATURES:
        call, _, taken = signature.partition("(")
        arguments, _, result = taken.rpartition(") ")
        target, _, name = ("", "", call) if _is_qualified(call) else call.rpartition(".")
        takes = tuple(map(parsed_type, ([target] if target else []) + split_types(arguments)))
        table.setdefault(name, []).append(Overload(bool(target), takes, parsed_type(result)))
    return table


FUNCTIONS = _table()
#: The release of Kubernetes from which on new rules can call a function, which is the one after it came; all others are older than 1.30.
SINCE = {
    **dict.fromkeys(("ip", "isIP", "ip.isCanonical", "cidr", "isCIDR"), "1.31"),
    **dict.fromkeys((*(f"format.{name}" for name in _FORMATS), "format.named"), "1.32"),
    **dict.fromkeys(("cel.@mapInsert", "optional.unwrap", "unwrapOpt", "first", "last"), "1.33"),
    **dict.fromkeys(("semver", "isSemver"), "1.34"),
    **dict.fromkeys(("slice", "flatten", "sort", "@sortByAssociatedKeys", "lists.range", "reverse", "distinct"), "1.35"),
}
#: The release from which on `all` and its like can have two variables.
TWO_VARIABLES_SINCE = "1.33"
#: The release from which on the name of a field can be written in backticks.
BACKTICKS_SINCE = "1.37"


# Semantic versions in CEL: maps with the text of the version, build metadata removed.
#
# Follows k8s.io/apiserver pkg/cel/library/semverlib.go, 1.36, and github.com/blang/semver.


_NUMBER = "(?:0|[1-9][0-9]*)"
_WORD = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_WORD}(?:\.{_WORD})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_UINT64 = 1 << 64


def semver(text: str, lenient: bool = False) -> Version:  # noqa: FBT001, FBT002 (CEL has no keywords)
    """Parse a version. *lenient* also accepts `v1.2` and `01.2.3`.

    Raises ValueError for other texts.
    """
    full = _completed(text) if lenient else text
    numbers = full.partition("+")[0].partition("-")[0]
    if not re.fullmatch(_VERSION, full, re.ASCII) or any(int(number) >= _UINT64 for number in numbers.split(".")):
        raise ValueError(f"{text} is not a semantic version")
    return {"semver": full.partition("+")[0]}


def _completed(text: str) -> str:
    """A lenient version in its full form: three numbers without leading zeros."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise ValueError(f"{text} is too short for what follows its numbers")
    return ".".join([*parts, "0", "0"][:3])


def _without_zeros(part: str) -> str:
    rest = part.lstrip("0") if len(part) > 1 else part
    return rest if rest[:1] in tuple("0123456789") or len(part) < 2 else f"0{rest}"


def precedence(version: Version) -> tuple[Any, ...]:
    """Return the sort key of a version: a pre-release comes before its release."""
    numbers, _, before = version["semver"].partition("-")
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")] if before else []
    return (*map(int, numbers.split(".")), not before, parts)
