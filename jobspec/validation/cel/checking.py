"""The types of CEL expressions, found out as Kubernetes' server does: what does not fit is told by the first of it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from jobspec.validation.cel.signatures import FUNCTIONS, Type, list_of, map_of, optional_of
from jobspec.validation.cel.syntax import Call, Comprehension, ListOf, Literal, MapOf, Message, Name, Select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from jobspec.validation.cel.signatures import Overload
    from jobspec.validation.cel.syntax import Tree

    Fields = Mapping[str, Mapping[str, Type]]

BOOL, DYN, INT, NULL, STRING = (Type(name) for name in ("bool", "dyn", "int", "null", "string"))
_NAMED = {
    **{name: Type(name) for name in ("bool", "bytes", "double", "int", "string", "uint")},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "type": Type("type"),
    "optional_type": optional_of(DYN),
    "google.protobuf.Duration": Type("duration"),
    "google.protobuf.Timestamp": Type("timestamp"),
    "net.IP": Type("ip"),
    "net.CIDR": Type("cidr"),
}
_WRAPPERS = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
_MESSAGES = {
    **{name: kind for name, kind in _NAMED.items() if name.startswith("google.")},
    **{f"google.protobuf.{name}Value": DYN for name in _WRAPPERS},
    **{f"google.protobuf.{name}": DYN for name in ("Any", "Value")},
    "google.protobuf.ListValue": list_of(DYN),
    "google.protobuf.Struct": map_of(STRING, DYN),
}
_NEVER_NULL = ("bool", "bytes", "double", "int", "string", "uint", "list", "map", "type")


class Mistake(Exception):
    """An expression does not fit together; *at* is the part of it."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


class Checked:
    """What is known of an expression that fits together."""

    def __init__(self, tree: Tree, variables: Mapping[str, Type], fields: Fields) -> None:
        """Raises Mistake for one that does not; *fields* are those of the objects, by the names of their types."""
        self.tree = tree
        self.uses: set[str] = set()
        """The names of the variables that it speaks of, its own among them."""
        self._variables = [dict(variables)]
        self._fields = fields
        self._types: dict[int, Type] = {}
        self._known: dict[str, Type] = {}
        self._fresh = count()
        self.gives = self._settled(self._check(tree.root), to_dyn=True)

    def type_at(self, at: int) -> Type:
        """The type of a node, given by its number in the tree."""
        return self._settled(self._types[at], to_dyn=True)

    def _check(self, node: Any) -> Type:
        found = _CHECKS[type(node)](self, node)
        self._types[node.at] = found
        return found

    def _literal(self, node: Literal) -> Type:
        return Type(node.kind)

    def _name(self, node: Name) -> Type:
        found = self._named(node.name)
        if found is None:
            raise Mistake(node.at, f"there is no `{node.name}`")
        return found

    def _named(self, name: str) -> Type | None:
        for variables in reversed(self._variables):
            if name in variables:
                self.uses.add(name)
                return variables[name]
        return Type("type", (_NAMED[name],)) if name in _NAMED else None

    def _select(self, node: Select) -> Type:
        named = self._named(_qualified(node))
        if named is not None:
            return named
        field = self._field(node.at, self._check(node.operand), node.field)
        return BOOL if node.is_test else self._settled(field)

    def _field(self, at: int, operand: Type, name: str, *, optional: bool = False) -> Type:
        target = self._settled(operand)
        optional = optional or target.name == "optional"
        if target.name == "optional":
            target = target.inside[0]
        found = self._plain_field(at, target, name)
        return optional_of(found) if optional else found

    def _plain_field(self, at: int, target: Type, name: str) -> Type:
        if target.name == "map":
            return target.inside[1]
        if target.name in self._fields:
            if name not in self._fields[target.name]:
                raise Mistake(at, f"there is no field `{name}`")
            return self._fields[target.name][name]
        if _is_variable(target):
            self._assign(DYN, target)
        elif target != DYN:
            raise Mistake(at, f"`.{name}` needs an object or a map, not {target}")
        return DYN

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            operand, field = node.arguments
            if not isinstance(field, Literal) or field.kind != "string":
                raise Mistake(node.at, "`.?` needs the name of a field")
            return self._settled(self._field(node.at, self._check(operand), field.value, optional=True))
        takes = [self._check(each) for each in node.arguments]
        if node.target is None:
            return self._resolved(node, node.function, takes, is_member=False)
        qualified = f"{_qualified(node.target)}.{node.function}"
        if qualified in FUNCTIONS:
            return self._resolved(node, qualified, takes, is_member=False)
        return self._resolved(node, node.function, [self._check(node.target), *takes], is_member=True)

    def _resolved(self, node: Call, function: str, takes: list[Type], *, is_member: bool) -> Type:
        if function in ("_&&_", "_||_"):
            for argument, kind in zip(node.arguments, takes, strict=True):
                self._needs(argument, kind, BOOL)
            return BOOL
        if function not in FUNCTIONS:
            raise Mistake(node.at, f"there is no function `{function}`")
        gives: Type | None = None
        for overload in FUNCTIONS[function]:
            found = self._fits(overload, takes) if overload.is_member == is_member else None
            if found is not None:
                gives = found if gives is None or gives == found else DYN
        if gives is None:
            listed = ", ".join(str(self._settled(each, to_dyn=True)) for each in takes)
            raise Mistake(node.at, f"`{_spelt(function)}` does not take ({listed})")
        return gives

    def _fits(self, overload: Overload, takes: list[Type]) -> Type | None:
        """What an overload gives for arguments of these types, None where it does not take them."""
        own: dict[str, Type] = {}
        wanted = [self._instance(each, own) for each in overload.takes]
        gives = self._instance(overload.gives, own)
        return self._settled(gives) if self._assign_all(takes, wanted) else None

    def _instance(self, kind: Type, own: dict[str, Type]) -> Type:
        if len(kind.name) == 1:
            return own.setdefault(kind.name, self._variable())
        return Type(kind.name, tuple(self._instance(each, own) for each in kind.inside))

    def _variable(self) -> Type:
        return Type(f"?{next(self._fresh)}")

    def _list(self, node: ListOf) -> Type:
        kind: Type | None = None
        for index, item in enumerate(node.items):
            found = self._check(item)
            kind = self._joined(kind, self._present(item, found) if index in node.optional else found)
        return list_of(kind or self._variable())

    def _map(self, node: MapOf) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for key, value, optional in node.entries:
            keys = self._joined(keys, self._check(key))
            found = self._check(value)
            values = self._joined(values, self._present(value, found) if optional else found)
        return map_of(keys or self._variable(), values or self._variable())

    def _present(self, node: Any, kind: Type) -> Type:
        """The type of what an optional value is, where it is there."""
        settled = self._settled(kind)
        if settled.name not in ("optional", "dyn"):
            raise Mistake(node.at, f"an item with `?` is an optional value, not {settled}")
        return settled.inside[0] if settled.inside else settled

    def _joined(self, one: Type | None, other: Type) -> Type:
        if one is None:
            return other
        return _more_general(one, other) if self._assign(one, other) else DYN

    def _message(self, node: Message) -> Type:
        for value in node.values:
            self._check(value)
        if node.name not in _MESSAGES:
            raise Mistake(node.at, f"there is no `{node.name}`")
        return _MESSAGES[node.name]

    def _comprehension(self, node: Comprehension) -> Type:
        source, start = self._settled(self._check(node.source)), self._check(node.start)
        self._variables.append({node.result_name: start})
        self._variables.append(dict(zip(node.variables, self._looped(node, source), strict=True)))
        self._needs(node.condition, self._check(node.condition), BOOL)
        self._needs(node.step, self._check(node.step), start)
        self._variables.pop()
        result = self._settled(self._check(node.result))
        self._variables.pop()
        return result

    def _looped(self, node: Comprehension, source: Type) -> list[Type]:
        """The types of the variables of a loop."""
        pair = len(node.variables) == 2
        if source.name == "list":
            return [INT, source.inside[0]] if pair else [source.inside[0]]
        if source.name == "map":
            return list(source.inside[: len(node.variables)])
        if not _is_variable(source) and source != DYN:
            raise Mistake(node.source.at, f"only lists and maps can be gone through, not {source}")
        self._assign(DYN, source)
        return [DYN] * len(node.variables)

    def _needs(self, node: Any, found: Type, wanted: Type) -> None:
        if not self._assign(found, wanted):
            message = f"it has to be {self._settled(wanted, to_dyn=True)}, and is {self._settled(found, to_dyn=True)}"
            raise Mistake(node.at, message)

    def _assign(self, one: Type, other: Type) -> bool:
        return self._assign_all([one], [other])

    def _assign_all(self, some: Sequence[Type], others: Sequence[Type]) -> bool:
        """Whether types can stand for others, one by one; what is found out on the way is kept only where they can."""
        before = dict(self._known)
        fits = self._agree_all(some, others)
        if not fits:
            self._known = before
        return fits

    def _agree_all(self, some: Sequence[Type], others: Sequence[Type]) -> bool:
        return len(some) == len(others) and all(self._agree(one, other) for one, other in zip(some, others, strict=True))

    def _agree(self, one: Type, other: Type) -> bool:
        if _is_variable(other):
            fits, known = self._substituted(one, other)
            if fits or known:
                return fits
        if _is_variable(one):
            return self._substituted(other, one)[0]
        if DYN in (one, other):
            return True
        if NULL in (one, other):
            return one == other or (other if one == NULL else one).name not in _NEVER_NULL
        if one.name == "type":
            return other.name == "type"
        return one.name == other.name and self._agree_all(one.inside, other.inside)

    def _substituted(self, one: Type, variable: Type) -> tuple[bool, bool]:
        """Whether a variable can be a type, and whether something was known of it."""
        if one == variable:
            return True, True
        known = self._known.get(variable.name)
        if known is not None:
            if one == known:
                return True, True
            if not self._agree(one, known):
                return False, True
            wider = _more_general(one, known)
            if not self._occurs(variable, wider):
                self._known[variable.name] = wider
            return True, True
        if self._occurs(variable, one):
            return False, False
        self._known[variable.name] = one
        return True, False

    def _occurs(self, variable: Type, within: Type) -> bool:
        if variable == within:
            return True
        if _is_variable(within):
            known = self._known.get(within.name)
            return known is not None and self._occurs(variable, known)
        return any(self._occurs(variable, each) for each in within.inside)

    def _settled(self, kind: Type, *, to_dyn: bool = False) -> Type:
        """A type with what is known of the variables in it."""
        if _is_variable(kind):
            known = self._known.get(kind.name)
            return self._settled(known, to_dyn=to_dyn) if known is not None else DYN if to_dyn else kind
        return Type(kind.name, tuple(self._settled(each, to_dyn=to_dyn) for each in kind.inside)) if kind.inside else kind


_CHECKS: dict[type, Callable[[Checked, Any], Type]] = {
    Literal: Checked._literal,
    Name: Checked._name,
    Select: Checked._select,
    Call: Checked._call,
    ListOf: Checked._list,
    MapOf: Checked._map,
    Message: Checked._message,
    Comprehension: Checked._comprehension,
}


def _qualified(node: Any) -> str:
    """A chain of names as one with dots, empty where it is no such chain."""
    if isinstance(node, Name):
        return node.name
    inner = _qualified(node.operand) if isinstance(node, Select) and not node.is_test else ""
    return f"{inner}.{node.field}" if inner else ""


def _spelt(function: str) -> str:
    """A function as it is written in an expression: `==` for `_==_`."""
    return function if function[0].isalpha() else function.lstrip("@").replace("_", "")


def _is_variable(kind: Type) -> bool:
    return kind.name.startswith("?")


def _more_general(one: Type, other: Type) -> Type:
    return one if _is_general(one, other) else other


def _is_general(one: Type, other: Type) -> bool:
    """Whether a type says no more than another one that agrees with it."""
    if one == DYN or _is_variable(one):
        return True
    if other == DYN or _is_variable(other) or one.name != other.name:
        return False
    if one.name == "type":
        return True
    return len(one.inside) == len(other.inside) and all(map(_is_general, one.inside, other.inside))
