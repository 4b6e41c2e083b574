"""The type checker for CEL expressions.

Follows cel-go checker/checker.go (`Check`). It stops at the first error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from jobspec.apis.releases import is_at_least
from jobspec.kubernetes.cel.signatures import (
    BOOL,
    DYN,
    FUNCTIONS,
    INT,
    NULL,
    SINCE,
    STRING,
    TWO_VARIABLES_SINCE,
    CelType,
    Overload,
    list_of,
    map_of,
    optional_of,
)
from jobspec.kubernetes.cel.syntax import Call, Comprehension, ListOf, Literal, MapOf, Message, Name, Select, SyntaxTree

Fields = Mapping[str, Mapping[str, CelType]]


#: The types that an expression can name.
_TYPE_NAMES = {
    **{name: CelType(name) for name in ("bool", "bytes", "double", "int", "string", "uint")},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "type": CelType("type"),
    "optional_type": optional_of(DYN),
    "google.protobuf.Duration": CelType("duration"),
    "google.protobuf.Timestamp": CelType("timestamp"),
    "net.IP": CelType("ip"),
    "net.CIDR": CelType("cidr"),
}
_WRAPPERS = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
#: The protobuf messages that an expression can construct.
_MESSAGES = {
    **{name: kind for name, kind in _TYPE_NAMES.items() if name.startswith("google.")},
    **{f"google.protobuf.{name}Value": DYN for name in _WRAPPERS},
    **{f"google.protobuf.{name}": DYN for name in ("Any", "Value")},
    "google.protobuf.ListValue": list_of(DYN),
    "google.protobuf.Struct": map_of(STRING, DYN),
}


class CompileError(Exception):
    """An error in an expression; *at* is the number of the node."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


_PATCH_TEXTS = ("op", "path", "from")


def is_patch_type(name: str) -> bool:
    """True if a name is that of a type of changes in mutating policies.

    Such types are `JSONPatch`, `Object`, `Object.spec` and so on.
    """
    return name in ("JSONPatch", "Object") or name.startswith("Object.")


def _undeclared(at: int, name: str) -> CompileError:
    return CompileError(at, f"undeclared reference to '{name}' (in container '')")


def _mismatch(at: int, wanted: CelType, found: CelType) -> CompileError:
    return CompileError(at, f"expected type '{wanted}' but found '{found}'")


class Resolved(NamedTuple):
    """The meaning of a call: the function, the target of a member, the fitting overloads."""

    function: str
    target: Any
    overloads: list[Overload]


_OPTIONAL_SELECT = Overload(False, (DYN, STRING), optional_of(DYN))
_LOGICAL = Overload(False, (BOOL, BOOL), BOOL)


class CheckedExpression:
    """An expression whose types fit together: its type, each node's type, and its variables."""

    def __init__(
        self,
        tree: SyntaxTree,
        variables: Mapping[str, CelType],
        fields: Fields,
        *,
        release: str = "",
        lenient: bool = False,
        patches: bool = False,
    ) -> None:
        """Check *tree*. *fields*: the fields of each object type, by its name.

        Raises CompileError if types do not fit together.
        """
        self.tree = tree
        self._lenient = lenient
        self._release = release
        self._patches = patches
        self.variables: set[str] = set()
        """The names of the variables that the expression uses, those of its loops among them."""
        self.names: set[int] = set()
        """The selects that are no fields but names of types, such as `net.IP`, by their numbers."""
        self.calls: dict[int, Resolved] = {}
        """What each call means, by its number."""
        self._scopes = [dict(variables)]
        self._fields = fields
        self._types: dict[int, CelType] = {}
        self._substitutions = Substitutions()
        self.result = self._substitutions.substitute(self._check(tree.root), unknown_as_dyn=True)

    def type_at(self, at: int) -> CelType:
        """Return the type of a node, by its number in the tree."""
        return self._known(self._types[at])

    def _known(self, kind: CelType) -> CelType:
        return self._substitutions.substitute(kind, unknown_as_dyn=True)

    def _check(self, node: Any) -> CelType:
        found = _CHECKS[type(node)](self, node)
        self._types[node.at] = found
        return found

    def _name(self, node: Name) -> CelType:
        found = self._lookup(node.name)
        if found is None:
            raise _undeclared(node.at, node.name)
        return found

    def _lookup(self, name: str) -> CelType | None:
        """The type of a variable, or of the name of a type; None for other names."""
        for variables in reversed(self._scopes):
            if name in variables:
                self.variables.add(name)
                return variables[name]
        return CelType("type", (_TYPE_NAMES[name],)) if name in _TYPE_NAMES else None

    def _select(self, node: Select) -> CelType:
        named = self._lookup(_qualified_name(node))
        if named is not None:
            self.names.add(node.at)
            return named
        field = self._field(node.at, self._check(node.operand), node.field)
        return BOOL if node.is_test else self._substitutions.substitute(field)

    def _field(self, at: int, operand: CelType, name: str, *, optional: bool = False) -> CelType:
        """Return the type of a field.

        If the object is optional, or with *optional*, the type is that of an optional value.
        """
        target = self._substitutions.substitute(operand)
        optional = optional or target.name == "optional"
        if target.name == "optional":
            target = target.inside[0]
        found = self._field_of(at, target, name)
        return optional_of(found) if optional else found

    def _field_of(self, at: int, target: CelType, name: str) -> CelType:
        if target.name == "map":
            return target.inside[1]
        if target.name in self._fields:
            if name not in self._fields[target.name]:
                raise CompileError(at, f"undefined field '{name}'")
            return self._fields[target.name][name]
        if self._patches and is_patch_type(target.name):
            return STRING if target.name == "JSONPatch" and name in _PATCH_TEXTS else DYN
        if is_type_variable(target):
            self._is_assignable(DYN, target)
        elif target != DYN:
            raise CompileError(at, f"type '{target}' does not support field selection")
        return DYN

    def _call(self, node: Call) -> CelType:
        if node.function == "_?._":
            operand, field = node.arguments
            if not isinstance(field, Literal) or field.kind != "string":
                raise CompileError(node.at, "unsupported optional field selection: it needs the name of a field")
            self.calls[node.at] = Resolved(node.function, None, [_OPTIONAL_SELECT])
            self._check(field)
            return self._substitutions.substitute(self._field(node.at, self._check(operand), field.value, optional=True))
        arguments = [self._check(each) for each in node.arguments]
        if node.target is None:
            return self._resolve_overload(node, node.function, arguments, is_member=False)
        qualified = f"{_qualified_name(node.target)}.{node.function}"
        if qualified in FUNCTIONS and (qualified != "jsonpatch.escapeKey" or self._patches):
            return self._resolve_overload(node, qualified, arguments, is_member=False)
        return self._resolve_overload(node, node.function, [self._check(node.target), *arguments], is_member=True)

    def _resolve_overload(self, node: Call, function: str, arguments: list[CelType], *, is_member: bool) -> CelType:
        """Return the type of a call's result.

        If overloads with different results accept the arguments, it is `dyn`.
        """
        if function in ("_&&_", "_||_"):
            for argument, kind in zip(node.arguments, arguments, strict=True):
                self._require(argument, kind, BOOL)
            self.calls[node.at] = Resolved(function, None, [_LOGICAL])
            return BOOL
        if function not in FUNCTIONS:
            raise _undeclared(node.at, node.function)
        self._require_release(node, f"`{function.lstrip('@')}`", SINCE.get(function))
        results = [(each, self._overload_result(each, arguments)) for each in FUNCTIONS[function] if each.is_member == is_member]
        found = [result for _, result in results if result is not None]
        overloads = [each for each, result in results if result is not None]
        self.calls[node.at] = Resolved(function, node.target if is_member else None, overloads)
        if not found:
            target, *listed = [str(self._known(each)) for each in arguments] if is_member else ["", *map(str, map(self._known, arguments))]
            applied = f"{target}.({', '.join(listed)})" if is_member else f"({', '.join(listed)})"
            raise CompileError(node.at, f"found no matching overload for '{function}' applied to '{applied}'")
        return found[0] if all(result == found[0] for result in found) else DYN

    def _require_release(self, node: Any, what: str, since: str | None) -> None:
        if since and self._release and not is_at_least(self._release, since):
            raise CompileError(node.at, f"{what} is for rules from Kubernetes {since} on, and the target is {self._release}")

    def _overload_result(self, overload: Overload, arguments: list[CelType]) -> CelType | None:
        """Return the type of an overload's result for arguments of these types.

        If the overload does not accept the arguments, return None.
        """
        *parameters, result = self._substitutions.instantiate((*overload.takes, overload.result))
        if not self._substitutions.are_assignable(arguments, parameters):
            return None
        return self._substitutions.substitute(result, unknown_as_dyn=self._lenient)

    def _list(self, node: ListOf) -> CelType:
        kind: CelType | None = None
        for index, item in enumerate(node.items):
            found = self._check(item)
            kind = self._substitutions.join(kind, self._value_type(item, found) if index in node.optional else found)
        return list_of(kind or self._unknown())

    def _map(self, node: MapOf) -> CelType:
        keys: CelType | None = None
        values: CelType | None = None
        for key, value, optional in node.entries:
            keys = self._substitutions.join(keys, self._check(key))
            found = self._check(value)
            values = self._substitutions.join(values, self._value_type(value, found) if optional else found)
        return map_of(keys or self._unknown(), values or self._unknown())

    def _unknown(self) -> CelType:
        return DYN if self._lenient else self._substitutions.new_variable()

    def _value_type(self, node: Any, kind: CelType) -> CelType:
        """The type of the value inside an optional value."""
        found = self._substitutions.substitute(kind)
        if found.name not in ("optional", "dyn"):
            raise _mismatch(node.at, optional_of(found), found)
        return found.inside[0] if found.inside else found

    def _message(self, node: Message) -> CelType:
        patch = self._patches and is_patch_type(node.name)
        if not patch and node.name not in _MESSAGES:
            raise _undeclared(node.at, node.name)
        for name, value in zip(node.fields, node.values, strict=True):
            found = self._check(value)
            if patch and node.name == "JSONPatch" and name in _PATCH_TEXTS and not self._is_assignable(STRING, found):
                message = f"expected type of field '{name}' is 'string' but provided type is '{self._known(found)}'"
                raise CompileError(node.at, message)
        return CelType(node.name) if patch else _MESSAGES[node.name]

    def _comprehension(self, node: Comprehension) -> CelType:
        if len(node.variables) == 2:
            self._require_release(node, "a loop with two variables", TWO_VARIABLES_SINCE)
        source, start = self._substitutions.substitute(self._check(node.source)), self._check(node.start)
        self._scopes.append({node.result_name: start})
        self._scopes.append(dict(zip(node.variables, self._loop_variable_types(node, source), strict=True)))
        self._require(node.condition, self._check(node.condition), BOOL)
        self._require(node.step, self._check(node.step), start)
        self._scopes.pop()
        result = self._substitutions.substitute(self._check(node.result))
        self._scopes.pop()
        return result

    def _loop_variable_types(self, node: Comprehension, source: CelType) -> list[CelType]:
        pair = len(node.variables) == 2
        if source.name == "list":
            return [INT, source.inside[0]] if pair else [source.inside[0]]
        if source.name == "map":
            return list(source.inside[: len(node.variables)])
        if not is_type_variable(source) and source != DYN:
            message = f"expression of type '{source}' cannot be range of a comprehension (must be list, map, or dynamic)"
            raise CompileError(node.source.at, message)
        self._is_assignable(DYN, source)
        return [DYN] * len(node.variables)

    def _require(self, node: Any, found: CelType, wanted: CelType) -> None:
        if not self._is_assignable(found, wanted):
            raise _mismatch(node.at, self._known(wanted), self._known(found))

    def _is_assignable(self, one: CelType, other: CelType) -> bool:
        return self._substitutions.are_assignable([one], [other])


_CHECKS: dict[type, Callable[[CheckedExpression, Any], CelType]] = {
    Literal: lambda _, node: CelType(node.kind),
    Name: CheckedExpression._name,
    Select: CheckedExpression._select,
    Call: CheckedExpression._call,
    ListOf: CheckedExpression._list,
    MapOf: CheckedExpression._map,
    Message: CheckedExpression._message,
    Comprehension: CheckedExpression._comprehension,
}


def _qualified_name(node: Any) -> str:
    """`a.b.c` for a chain of selects on a name, empty for any other node."""
    if isinstance(node, Name):
        return node.name
    inner = _qualified_name(node.operand) if isinstance(node, Select) and not node.is_test else ""
    return f"{inner}.{node.field}" if inner else ""


# Decide which CEL types are assignable to which, and infer type variables.
#
# Follows cel-go checker/types.go (`internalIsAssignable`, `isValidTypeSubstitution`, `mostGeneral`, `substitute`) and checker/mapping.go.


_NOT_NULLABLE = ("bool", "bytes", "double", "int", "string", "uint", "list", "map", "type")


class Substitutions:
    """The types that type variables are bound to."""

    def __init__(self) -> None:
        self._types: dict[str, CelType] = {}
        self._numbers = count()

    def new_variable(self) -> CelType:
        """Return a new type variable, not bound to a type."""
        return CelType(f"?{next(self._numbers)}")

    def instantiate(self, signature: Sequence[CelType]) -> list[CelType]:
        """Return the types of a signature with new type variables for its parameters."""
        parameters: dict[str, CelType] = {}
        return [self._instantiate(each, parameters) for each in signature]

    def _instantiate(self, kind: CelType, parameters: dict[str, CelType]) -> CelType:
        if len(kind.name) == 1:
            return parameters.setdefault(kind.name, self.new_variable())
        return CelType(kind.name, tuple(self._instantiate(each, parameters) for each in kind.inside))

    def substitute(self, kind: CelType, *, unknown_as_dyn: bool = False) -> CelType:
        """Replace the bound variables in a type by their types.

        An unbound variable stays, or becomes `dyn`.
        """
        if is_type_variable(kind):
            known = self._types.get(kind.name)
            if known is not None:
                return self.substitute(known, unknown_as_dyn=unknown_as_dyn)
            return DYN if unknown_as_dyn else kind
        return (
            CelType(kind.name, tuple(self.substitute(each, unknown_as_dyn=unknown_as_dyn) for each in kind.inside)) if kind.inside else kind
        )

    def are_assignable(self, some: Sequence[CelType], others: Sequence[CelType]) -> bool:
        """True if types are assignable to others, pair by pair.

        If all are, the type variables stay bound.
        """
        before = dict(self._types)
        assignable = self._pairs_are_assignable(some, others)
        if not assignable:
            self._types = before
        return assignable

    def join(self, one: CelType | None, other: CelType) -> CelType:
        """Return the more general one of two types.

        If neither type is assignable to the other, return `dyn`.
        """
        if one is None:
            return other
        return _most_general(one, other) if self.are_assignable([one], [other]) else DYN

    def _pairs_are_assignable(self, some: Sequence[CelType], others: Sequence[CelType]) -> bool:
        return len(some) == len(others) and all(self._is_assignable(one, other) for one, other in zip(some, others, strict=True))

    def _is_assignable(self, one: CelType, other: CelType) -> bool:
        if is_type_variable(other):
            is_valid, is_known = self._is_valid_substitution(one, other)
            if is_valid or is_known:
                return is_valid
        if is_type_variable(one):
            return self._is_valid_substitution(other, one)[0]
        if DYN in (one, other):
            return True
        if NULL in (one, other):
            return one == other or (other if one == NULL else one).name not in _NOT_NULLABLE
        if one.name == "type":
            return other.name == "type"
        return one.name == other.name and self._pairs_are_assignable(one.inside, other.inside)

    def _is_valid_substitution(self, one: CelType, variable: CelType) -> tuple[bool, bool]:
        """Whether a type variable can be bound to a type, and whether it is bound already."""
        if one == variable:
            return True, True
        known = self._types.get(variable.name)
        if known is not None:
            return self._is_valid_with_known(one, variable, known), True
        if self._is_referenced_in(variable, one):
            return False, False
        self._types[variable.name] = one
        return True, False

    def _is_valid_with_known(self, one: CelType, variable: CelType, known: CelType) -> bool:
        if one != known:
            if not self._is_assignable(one, known):
                return False
            wider = _most_general(one, known)
            if not self._is_referenced_in(variable, wider):
                self._types[variable.name] = wider
        return True

    def _is_referenced_in(self, variable: CelType, within: CelType) -> bool:
        if variable == within:
            return True
        if is_type_variable(within):
            known = self._types.get(within.name)
            return known is not None and self._is_referenced_in(variable, known)
        return any(self._is_referenced_in(variable, each) for each in within.inside)


def is_type_variable(kind: CelType) -> bool:
    """True if a type is a type variable."""
    return kind.name.startswith("?")


def _most_general(one: CelType, other: CelType) -> CelType:
    return one if _is_equal_or_less_specific(one, other) else other


def _is_equal_or_less_specific(one: CelType, other: CelType) -> bool:
    if one == DYN or is_type_variable(one):
        return True
    if other == DYN or is_type_variable(other) or one.name != other.name:
        return False
    if one.name == "type":
        return True
    return len(one.inside) == len(other.inside) and all(map(_is_equal_or_less_specific, one.inside, other.inside))
