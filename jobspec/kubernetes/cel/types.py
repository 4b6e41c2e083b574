"""Compile the CEL expressions of a schema: the CEL types of the schema's values, and the problems of an expression on them.

Follows `SchemaDeclType`, k8s.io/apiserver pkg/cel/common/schemas.go, and `Compile`, k8s.io/apiextensions-apiserver
pkg/apiserver/schema/cel/compilation.go, 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from jobspec.apis.releases import is_at_least
from jobspec.go import formats, regex, text_formats
from jobspec.go.values import FALSE_WORDS, TRUE_WORDS
from jobspec.kubernetes.cel.checking import CheckedExpression, CompileError, Fields
from jobspec.kubernetes.cel.cost import Declared, Estimate, Steps, estimate
from jobspec.kubernetes.cel.parsing import is_too_deep, parse
from jobspec.kubernetes.cel.paths import RESOURCE, spellings, without_literals
from jobspec.kubernetes.cel.signatures import BACKTICKS_SINCE, CONVERTIBLE, DYN, STRING, CelType, list_of, map_of, optional_of
from jobspec.kubernetes.cel.syntax import Call, ListOf, Literal, MapOf, children, walk

Schema = dict[str, Any]
_LARGEST_REQUEST = 3 << 20  # bytes
_QUOTES = 2
#: The types of texts with a format: the name, the largest size, and the bytes of the shortest text in JSON.
_TIMES = {"duration": ("duration", 32, 3), "date": ("timestamp", 12, 12), "date-time": ("timestamp", 32, 21)}
#: The types of scalars, with the bytes of the shortest value in JSON.
_SCALARS = {"boolean": ("bool", 4), "integer": ("int", 1), "number": ("double", 1)}


class Compilation(NamedTuple):
    """The result of compiling an expression."""

    error: str = ""
    """Why a server refuses the expression; empty where it does not."""
    uses_old_self: bool = False
    is_too_deep: bool = False
    """The expression was not compiled, because the CEL library cannot parse expressions so deep."""
    estimate: Callable[[Mapping[Steps, int]], Estimate] | None = None
    """Estimates what the expression costs, with the limits of some places assumed; None where it does not compile."""


def compile_text(
    text: str, variables: Mapping[str, CelType], fields: Fields, *, release: str = "", patches: bool = False
) -> CheckedExpression:
    """Compile a new expression as a server of the *release* does, by default of the newest one.

    Raises ValueError with the place and the server's words for an expression that does not compile, and RecursionError for one that is
    too deep for the CEL library.
    """
    try:
        tree = parse(text)
    except RuntimeError as error:
        first = str(error).splitlines()[0]
        raise RecursionError if is_too_deep(error) else ValueError(first.rpartition("<input>:")[2] or first) from None
    if release and not is_at_least(release, BACKTICKS_SINCE) and "`" in without_literals(text):
        raise ValueError(f"a name in backticks is for rules from Kubernetes {BACKTICKS_SINCE} on, and the target is {release}")
    try:
        checked = CheckedExpression(tree, variables, fields, release=release, patches=patches)
        validate(checked)
    except CompileError as error:
        raise ValueError(f"{tree.position(error.at)}: {error}") from None
    return checked


class SchemaTypes:
    """The CEL types of the values of a schema and of all schemas inside it."""

    def __init__(self, schema: Schema, release: str, *, is_resource: bool = True) -> None:
        self._release = release
        self._fields: dict[str, dict[str, CelType]] = {}
        self._declared: dict[int, Declared | None] = {}
        self._add(schema, is_resource=is_resource)

    def of(self, schema: Schema) -> SchemaTypes | None:
        """Return the types to compile the rules of an inner schema with.

        If CEL does not see the schema's values, since they have no type, return None. An inner schema outside of what CEL sees has types
        of its own.
        """
        types = self if id(schema) in self._declared else SchemaTypes(schema, self._release, is_resource=False)
        return types if types._declared[id(schema)] is not None else None

    def most_values(self, schema: Schema) -> int:
        """Return how many values of a schema a request has room for."""
        declared = self._declared[id(schema)]
        assert declared
        return _LARGEST_REQUEST // (declared.smallest + 1)

    def compile(self, text: str, schema: Schema, *, result: str, optional_old_self: bool, is_stored: bool = False) -> Compilation:
        """Compile an expression on a value of *schema*, whose result has to be of the type *result*.

        One that *is_stored* may call functions that came later, as a newer server may have stored it.
        """
        declared = self._declared[id(schema)]
        assert declared
        kind = declared.kind
        try:
            variables = {"self": kind, "oldSelf": optional_of(kind) if optional_old_self else kind}
            checked = compile_text(text, variables, self._fields, release="" if is_stored else self._release)
        except RecursionError:
            return Compilation(is_too_deep=True)
        except ValueError as error:
            return Compilation(str(error))
        uses_old_self = "oldSelf" in checked.variables
        if checked.result != CelType(result):
            return Compilation(f"it gives {checked.result}, not {result}", uses_old_self)
        return Compilation("", uses_old_self, estimate=partial(estimate, checked, declared, self._release))

    def _add(self, schema: Schema, *, is_resource: bool = False) -> Declared | None:
        """Add a schema and all schemas inside, and return what it declares.

        If CEL does not see its values, return None.
        """
        found = self._declare(schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource")))
        self._declared[id(schema)] = found
        return found

    def _declare(self, schema: Schema, *, is_resource: bool) -> Declared | None:
        if schema.get("x-kubernetes-int-or-string"):
            return _string_type(DYN, schema, 1)
        kind = schema.get("type")
        if kind == "array":
            items = self._add(schema["items"])
            return items and _sized(list_of(items.kind), schema, "maxItems", items, items.smallest + 1)
        if kind == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                values = self._add(schema["additionalProperties"])
                entry = 6  # bytes: two quotes, a colon and a comma around a key of two characters
                return values and _sized(map_of(STRING, values.kind), schema, "maxProperties", values, values.smallest + entry)
            return self._object(schema, is_resource=is_resource)
        if kind == "string":
            form = schema.get("format") or ""
            if form in _TIMES:
                name, most, smallest = _TIMES[form]
                return Declared(CelType(name), most, smallest)
            return _string_type(CelType("bytes") if form == "byte" else STRING, schema, _QUOTES)
        if kind not in _SCALARS:
            return None
        name, smallest = _SCALARS[kind]
        return Declared(CelType(name), 0, smallest)

    def _object(self, schema: Schema, *, is_resource: bool) -> Declared:
        own = CelType(f"object {len(self._fields)}")
        types = self._fields[own.name] = {}
        declared: dict[str, Declared] = {}
        smallest = 2  # {}
        for name, child in _fields_of(schema, self._release, is_resource=is_resource).items():
            found = self._add(child)
            if found is None:
                continue
            names = spellings(name)
            types |= dict.fromkeys(names, found.kind)
            declared |= dict.fromkeys(names[-1:], found)
            if name in (schema.get("required") or ()) and child.get("default") is None:
                smallest += len(name.encode()) + found.smallest + 4
        return Declared(own, 0, smallest, fields=declared)


#: The longest name of an object, and the longest beginning of one, which rules know from 1.37 on.
_LONGEST_NAMES = {"name": 253, "generateName": 252}


def _fields_of(schema: Schema, release: str, *, is_resource: bool) -> Schema:
    """Return the fields of an object.

    The fields that every object has are Kubernetes' own, unless the schema has all of them.
    """
    fields = schema.get("properties") or {}
    inside = (fields.get("metadata") or {}).get("properties") or {}
    texts = [fields.get("kind"), fields.get("apiVersion"), inside.get("name"), inside.get("generateName")]
    has_all = all(each and each.get("type") == "string" for each in texts)
    if not is_resource or has_all:
        return fields
    if not is_at_least(release, "1.37"):
        return {**fields, **RESOURCE}
    limits = {name: min((inside.get(name) or {}).get("maxLength") or longest, longest) for name, longest in _LONGEST_NAMES.items()}
    names = {name: {"type": "string", "maxLength": limit} for name, limit in limits.items()}
    return {**fields, **RESOURCE, "metadata": {"type": "object", "properties": names}}


def _string_type(kind: CelType, schema: Schema, smallest: int) -> Declared:
    longest, values = schema.get("maxLength"), schema.get("enum") or ()
    if longest is not None:
        found = Declared(kind, 0, smallest, "maxLength")
        return found._replace(most=found.limited(max(longest, 0)))
    if values and kind == STRING:
        return Declared(kind, max((len(each.encode()) for each in values if isinstance(each, str)), default=0), smallest)
    return Declared(kind, _LARGEST_REQUEST - _QUOTES, smallest, "maxLength")


def _sized(kind: CelType, schema: Schema, limit: str, items: Declared, bytes_of_each: int) -> Declared:
    """A list or a map: without a limit, it has as many items as a request has room for."""
    most = max(schema[limit], 0) if limit in schema else (_LARGEST_REQUEST - 2) // bytes_of_each
    return Declared(kind, most, 2, limit, items=items)


# The checks of an expression beyond types: constants, patterns, format strings, and lists and maps with items of one type.
#
# Follows `ValidateDurationLiterals`, `ValidateTimestampLiterals`, `ValidateRegexLiterals` and `ValidateHomogeneousAggregateLiterals`,
# cel-go cel/validator.go, and `stringFormatValidator`, cel-go ext/formatting.go.


_TAKE_PATTERN = ("matches", "find", "findAll")
_PRINTABLE = ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null", "dyn")
_CLAUSES = {
    "s": _PRINTABLE,
    **dict.fromkeys("do", ("int", "uint", "dyn")),
    **dict.fromkeys("fe", ("double", "string", "dyn")),
    "b": ("int", "uint", "bool", "dyn"),
    **dict.fromkeys("xX", ("int", "uint", "string", "bytes", "dyn")),
}


def validate(checked: CheckedExpression) -> None:
    """Check an expression whose types fit together.

    Raises CompileError for what a server refuses.
    """
    formatting = [node for node in walk(checked.tree.root) if isinstance(node, Call) and node.function == "format"]
    # the nodes in targets and arguments of `format`, whose lists may hold items of several types
    mixed = {part.at for call in formatting for inner in (call.target, *call.arguments) if inner is not None for part in walk(inner)}
    for node in walk(checked.tree.root):
        if isinstance(node, Literal) and node.kind == "double" and abs(node.value) == float("inf"):
            raise CompileError(node.at, "the number is too large")
        if isinstance(node, Call):
            _check_call(node, checked)
        elif isinstance(node, ListOf) and node.at not in mixed:
            _check_one_type([(item, index in node.optional) for index, item in enumerate(node.items)], checked)
        elif isinstance(node, MapOf) and node.at not in mixed:
            _check_one_type([(key, False) for key, _, _ in node.entries], checked)
            _check_one_type([(value, optional) for _, value, optional in node.entries], checked)


def _check_call(node: Call, checked: CheckedExpression) -> None:
    if node.function in _TAKE_PATTERN:
        _check_pattern(node)
    elif node.target is None and node.function in CONVERSIONS:
        fold(node)
    elif node.function == "format" and isinstance(node.target, Literal) and isinstance(node.arguments[0], ListOf):
        _check_format(node.target, node.arguments[0].items, checked)


def _check_pattern(node: Call) -> None:
    """Check a constant pattern.

    In `matches(text, pattern)`, a server takes both arguments for patterns.
    """
    patterns = [node.arguments[0]] if node.target is not None else node.arguments
    for each in map(fold, patterns):
        if each is not None and each.kind == "string" and (why := regex.complaint(each.value)):
            raise CompileError(each.at, f"invalid {node.function} argument: {why}")


def _check_one_type(items: Sequence[tuple[Any, bool]], checked: CheckedExpression) -> None:
    """Check that the items of a list, or the keys or values of a map, are of one type.

    Each comes with True if it is optional.
    """
    kinds = [_value_type(item, checked.type_at(item.at)) if optional else checked.type_at(item.at) for item, optional in items]
    for (item, _), kind in zip(items, kinds, strict=True):
        if kind != kinds[0]:
            raise CompileError(item.at, f"expected type '{kinds[0]}' but found '{kind}'")


def _value_type(item: Any, kind: CelType) -> CelType:
    if not kind.inside:
        raise CompileError(item.at, "an item with `?` is an optional value; the server crashes on another one")
    return kind.inside[0]


def _check_format(text: Literal, items: Sequence[Any], checked: CheckedExpression) -> None:
    used = 0
    for used, clause in enumerate(_clauses(text), start=1):
        if used > len(items):
            raise CompileError(text.at, f"the format has more than {len(items)} clauses than values")
        _check_clause(clause, items[used - 1], checked)
    if used < len(items):
        raise CompileError(text.at, f"the format has {used} clauses, and {len(items)} values are given")


def _clauses(text: Literal) -> Iterator[str]:
    """The letter of each clause of a format string, such as `d` for `%d`."""
    at = 0
    while (at := text.value.find("%", at)) >= 0:
        found = re.match(r"%(?:%|(?:\.[0-9]+)?([sdfebxXo]))", text.value[at:])
        if found is None:
            raise CompileError(text.at, f"`{text.value[at : at + 4]}` is not a clause of a format")
        if found[1]:
            yield found[1]
        at += found.end()


def _check_clause(letter: str, item: Any, checked: CheckedExpression) -> None:
    kind = checked.type_at(item.at)
    if kind.name not in _CLAUSES[letter]:
        raise CompileError(item.at, f"`%{letter}` does not take {kind}")
    if letter == "s" and isinstance(item, (ListOf, MapOf)):
        for each in children(item):
            _check_clause(letter, each, checked)


# Constant folding: what conversions make of constants, such as `duration('1h')`, and which of them fail.
#
# Follows `maybeOptimizeConstUnary`, cel-go interpreter/decorators.go, and `ConvertToType` of the types in cel-go common/types.


_INT64 = 1 << 63
_SECONDS = (-62_135_596_800, 253_402_300_799)  # of the years 1 to 9999
_BOOLEANS = (*TRUE_WORDS, *FALSE_WORDS)


def fold(node: Any) -> Literal | None:
    """Return the constant that a node folds to; None for other nodes.

    Constants are literals, conversions of constants, and lists and maps of constants. Raises CompileError for a conversion that fails.
    """
    if isinstance(node, Literal):
        return node
    if isinstance(node, (ListOf, MapOf)):
        is_constant = all(fold(part) is not None for part in children(node))
        return Literal(node.at, "list" if isinstance(node, ListOf) else "map", None) if is_constant else None
    if not isinstance(node, Call) or node.target is not None or node.function not in CONVERSIONS:
        return None
    constant = fold(node.arguments[0])
    if constant is None:
        return None
    try:
        if not {constant.kind, "A"} & set(CONVERTIBLE[node.function]):  # `dyn(...)` takes all, and hides them from the type checker
            raise ValueError
        return Literal(node.at, *CONVERSIONS[node.function](constant))
    except (ValueError, OverflowError):
        raise CompileError(constant.at, f"invalid {node.function} argument: {_describe(constant)}") from None


def _describe(one: Literal) -> str:
    if one.kind == "null":
        return "null"
    return f"a {one.kind}" if one.value is None else f'"{one.value}"' if isinstance(one.value, str) else str(one.value)


def _as_bool(one: Literal) -> tuple[str, Any]:
    if one.kind == "string" and one.value not in _BOOLEANS:
        raise ValueError
    return "bool", one.value if one.kind == "bool" else one.value[0] in "1tT"


def _as_whole(one: Literal, kind: str, least: int, most: int) -> tuple[str, Any]:
    if one.kind in ("duration", "timestamp"):
        return kind, 0
    if one.kind == "string" and not re.fullmatch(r"[+-]?[0-9]+" if least else r"[0-9]+", one.value):
        raise ValueError
    made = int(one.value)
    if not least <= made <= most or (one.kind == "double" and one.value < 0 and one.value <= least):
        raise OverflowError
    return kind, made


def _as_double(one: Literal) -> tuple[str, Any]:
    if one.kind != "string":
        return "double", float(one.value)
    if re.fullmatch(r"[+-]?inf(?:inity)?|nan", one.value, re.IGNORECASE):
        return "double", float(one.value)
    text = re.sub(r"(?<=[0-9a-fA-F])_(?=[0-9a-fA-F])", "", one.value)
    if re.fullmatch(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", text):
        return "double", float.fromhex(text)
    if not re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        raise ValueError
    made = float(text)
    if abs(made) == float("inf"):
        raise OverflowError
    return "double", made


def _as_text(one: Literal) -> tuple[str, Any]:
    """The text as Go writes it; of times and durations, one that means the same."""
    if one.kind == "bytes":
        return "string", one.value.decode()
    if one.kind == "bool":
        return "string", "true" if one.value else "false"
    if one.kind == "double":
        return "string", text_formats.go_float(one.value)
    if one.kind == "duration":
        return "string", one.value if one.value[-1].isalpha() else f"{one.value}s"
    if one.kind == "timestamp" and isinstance(one.value, int):
        from datetime import UTC, datetime

        return "string", datetime.fromtimestamp(one.value, UTC).isoformat()
    return "string", str(one.value)


def _as_duration(one: Literal) -> tuple[str, Any]:
    if one.kind == "int" or (one.kind == "string" and text_formats.go_nanoseconds(one.value) is None):
        raise ValueError
    return "duration", one.value


def _as_timestamp(one: Literal) -> tuple[str, Any]:
    seconds = _seconds(one.value) if one.kind == "string" else one.value if one.kind == "int" else 0
    if not _SECONDS[0] <= seconds <= _SECONDS[1]:
        raise OverflowError
    return "timestamp", one.value


def _seconds(text: str) -> int:
    """The whole seconds from 1970 to a time. Raises ValueError for a text that is no time."""
    from datetime import UTC, datetime

    found = re.fullmatch(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:[.,]\d+)?(?:Z|([+-])(\d+):(\d+))", text, re.ASCII)
    if not found or not formats.is_time(text) or found[1] == "0000":
        raise ValueError
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    ahead = int(f"{found[7]}1") * (int(found[8]) * 60 + int(found[9])) * 60 if found[7] else 0
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) - ahead


#: The type and the value that each conversion makes of a constant.
CONVERSIONS: dict[str, Callable[[Literal], tuple[str, Any]]] = {
    "bool": _as_bool,
    "bytes": lambda one: ("bytes", one.value.encode(errors="surrogatepass") if one.kind == "string" else one.value),
    "double": _as_double,
    "duration": _as_duration,
    "dyn": lambda one: (one.kind, one.value),
    "int": partial(_as_whole, kind="int", least=-_INT64, most=_INT64 - 1),
    "string": _as_text,
    "timestamp": _as_timestamp,
    "uint": partial(_as_whole, kind="uint", least=0, most=2 * _INT64 - 1),
}
