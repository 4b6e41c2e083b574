"""Estimate what a CEL expression costs a server at most: by the sizes that a schema allows, or by those of given values.

Follows `Cost`, cel-go checker/cost.go 0.26 and 0.29 (with the estimates of ext/lists.go and ext/sets.go), and `CostEstimator`,
k8s.io/apiserver pkg/cel/library/cost.go, 1.34 to 1.37. A cost counts steps; it is the largest that is possible. A size counts the
characters of a text, the items of a list or the entries of a map. Numbers are those of 64 bits without a sign: what is larger is the
largest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from jobspec.apis.releases import is_at_least
from jobspec.kubernetes.cel.checking import CheckedExpression
from jobspec.kubernetes.cel.signatures import CelType, Overload
from jobspec.kubernetes.cel.syntax import Call, Comprehension, ListOf, Literal, MapOf, Message, Name, Select, walk

#: The steps from a value to one inside it: names of fields in CEL, `@items`, `@values` and `@keys`.
Steps = tuple[str, ...]

_LARGEST = (1 << 64) - 1
_SELECT, _LIST, _MAP, _MESSAGE = 1, 10, 30, 40
_PER_CHARACTER, _PER_CHARACTER_OF_PATTERN = 0.1, 0.25
_LONGEST_FORMAT, _LONGEST_PATTERN_OF_FORMAT = 64, 128
_ADDRESS_BYTES = 16
_SCALARS = ("bool", "double", "duration", "int", "timestamp", "uint")


class Declared(NamedTuple):
    """A value as its schema declares it: its type and its size."""

    kind: CelType
    most: int = 0
    """Its largest size: what the schema allows, or what a request has room for."""
    smallest: int = 1
    """The bytes of the shortest JSON text that it can be."""
    limit: str = ""
    """The keyword that limits its size; empty where its type does."""
    fields: Mapping[str, Declared] = {}
    items: Declared | None = None
    """The items of a list, or the values of a map."""

    def inside(self, step: str) -> Declared | None:
        """Return the value at a step."""
        if step in ("@items", "@values"):
            return self.items
        return _KEYS if step == "@keys" and self.kind.name == "map" else self.fields.get(step)

    def limited(self, most: int) -> int:
        """Its largest size if its schema had the limit *most*."""
        return most * 4 & _LARGEST if self.kind.name in ("string", "dyn") else most  # a character has up to 4 bytes in UTF-8


_KEYS = Declared(CelType("string"))


class Estimate(NamedTuple):
    """The estimated cost of an expression."""

    cost: int
    limits: dict[Steps, str]
    """The places whose size the cost may depend on, each with the keyword that limits it."""


def estimate(checked: CheckedExpression, declared: Declared, release: str, limits: Mapping[Steps, int]) -> Estimate:
    """Estimate the cost of an expression on a value, with *limits* for some places.

    The limits count as if the schemas of these places had them.
    """
    found = _Estimation(checked, declared, release, limits)
    return Estimate(found.cost(checked.tree.root), found.limits)


def most_for(checked: CheckedExpression, variables: Mapping[str, Any] | None, largest: int) -> int:
    """Return the most that an expression can cost a server if no value exceeds *largest*.

    *variables*: the values, by name; None if nothing else is known of them. A server counts `join` twice, and some lists by their making,
    which is not estimated: twice the estimate, and a little more, is never exceeded.
    """
    return _plus(_times(2, _Bound(checked, variables, largest).cost(checked.tree.root)), 100)


def _times(one: int, other: int) -> int:
    return min(one * other, _LARGEST)


def _plus(*numbers: int) -> int:
    return min(sum(numbers), _LARGEST)


def _scaled(number: int, factor: float) -> int:
    return min(ceil(float(number) * factor), _LARGEST)


class _Size(NamedTuple):
    """The smallest and the largest size of a value."""

    least: int
    most: int

    def plus(self, other: _Size) -> _Size:
        return _Size(_plus(self.least, other.least), _plus(self.most, other.most))

    def times(self, other: _Size) -> _Size:
        return _Size(_times(self.least, other.least), _times(self.most, other.most))

    def united(self, other: _Size) -> _Size:
        return _Size(min(self.least, other.least), max(self.most, other.most))


_UNKNOWN = _Size(0, _LARGEST)


def _exactly(number: int) -> _Size:
    return _Size(number, number)


class _Entries(NamedTuple):
    """The sizes of the keys and values of a list or a map that an expression makes."""

    is_list: bool
    key: _Size
    value: _Size


class _Path(NamedTuple):
    """A path of steps from a variable, as the slice of Go that it is upstream.

    Paths that begin with the same variable of a loop share one array: for three fields of `x`, the last one is that of all three, unless
    the array was full. Sizes are looked up by such paths, wrong ones among them.
    """

    array: list[str]
    length: int

    def to(self, step: str) -> _Path:
        is_full = not self.length & (self.length - 1)  # a power of two: `append` doubles the array
        array = self.array[: self.length] if is_full else self.array
        array[self.length : self.length + 1] = [step]
        return _Path(array, self.length + 1)


_NOWHERE = _Path([], 0)


class _Variable(NamedTuple):
    """A variable of a loop."""

    path: _Path
    size: _Size | None
    entries: _Entries | None


class _Operand(NamedTuple):
    """A target or an argument of a call."""

    node: Any
    kind: CelType
    path: _Path
    known: _Size | None

    @property
    def size(self) -> _Size:
        return self.known or _UNKNOWN

    def reading(self, factor: float = 1) -> int:
        """Return the cost of reading the value some times."""
        return _scaled(self.size.most, factor * _PER_CHARACTER)


class _Called(NamedTuple):
    """A call of one overload of a function; *costs* are those of the arguments."""

    of: _Estimation
    at: int
    overload: Overload
    target: _Operand | None
    arguments: list[_Operand]
    costs: list[int]

    @property
    def first(self) -> _Operand:
        """Return the target of a call of a member, or the first argument."""
        return self.target or self.arguments[0]

    def takes(self, *kinds: str) -> bool:
        """True if the overload's first argument is of one of these types."""
        return self.overload.takes[0].name in kinds

    def item(self) -> _Operand | None:
        """Return an item of the target; None if that is no list."""
        return self.of.item(self.first)


#: The cost of a call without its arguments, and the size of its result; None for what costs as much as any call.
_Found = tuple[int, _Size | None] | None


class _Estimation:
    """The state of an estimation of an expression's cost: paths and sizes of nodes."""

    def __init__(self, checked: CheckedExpression, declared: Declared, release: str, limits: Mapping[Steps, int]) -> None:
        self.release = release
        self.limits: dict[Steps, str] = {}
        self._checked = checked
        self._declared = declared
        self._assumed = limits
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, _Size] = {}
        self._entries: dict[int, _Entries] = {}
        self._scopes: list[dict[str, _Variable]] = []

    def cost(self, node: Any) -> int:
        return _COSTS[type(node)](self, node)

    def _name(self, node: Name) -> int:
        variable = self._variable(node.name)
        self._paths[node.at] = variable.path if variable else _Path([node.name], 1)
        return _SELECT

    def _select(self, node: Select) -> int:
        if node.at in self._checked.names:
            self._paths[node.at] = _Path([node.field], 1)
            return _SELECT
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        self._paths[node.at] = self._to(self._path(node.operand), node.field)
        kind = self._checked.type_at(node.operand.at).name
        return _plus(cost, _SELECT) if kind == "map" or kind.startswith("object ") else cost

    def _list(self, node: ListOf) -> int:
        cost = _plus(*map(self.cost, node.items), _LIST)
        self._entries[node.at] = _Entries(True, _Size(1, 1), self._size_of_any(node.items))
        return cost

    def _map(self, node: MapOf) -> int:
        cost = _plus(*(self.cost(part) for key, value, _ in node.entries for part in (key, value)), _MAP)
        keys, values = (self._size_of_any([entry[index] for entry in node.entries]) for index in (0, 1))
        self._entries[node.at] = _Entries(False, keys, values)
        return cost

    def _size_of_any(self, nodes: Iterable[Any]) -> _Size:
        sizes = [self._size(node) or _UNKNOWN for node in nodes]
        return _Size(min(size.least for size in sizes), max(size.most for size in sizes)) if sizes else _Size(0, 0)

    def _comprehension(self, node: Comprehension) -> int:
        before = _plus(self.cost(node.source), self.cost(node.start))
        result = _Variable(self._path(node.start), self._size(node.start), self._entries_of(node.start))
        self._scopes.append({node.result_name: result})
        loops = not _is_binding(node)
        each = self._cost_of_each(node) if loops else 0
        cost = _plus(before, self.cost(node.result))
        self._scopes.pop()
        if not loops:
            self._set(node.at, self._size(node.result), self._entries_of(node.result))
            return cost
        number = self._size(node.source) or _UNKNOWN
        if isinstance(node.start, Literal):
            self._set(node.at, self._size(node.start), None)
        elif isinstance(node.start, (ListOf, MapOf)):
            self._set(node.at, number, self._entries_of(node.step))
        return _plus(cost, _times(number.most, each))

    def _cost_of_each(self, node: Comprehension) -> int:
        """The cost of a loop for one item."""
        entries, path = self._entries_of(node.source), self._path(node.source)
        is_list = entries.is_list if entries else self._checked.type_at(node.source.at).name == "list"
        key, value = (entries.key, entries.value) if entries else (None, None)
        if len(node.variables) == 1:
            variables = [_Variable(self._to(path, "@items" if is_list else "@keys"), value if is_list else key, None)]
        else:
            variables = [_Variable(self._to(path, "@indices" if is_list else "@keys"), key, None)]
            variables.append(_Variable(self._to(path, "@items" if is_list else "@values"), value, None))
        self._scopes.append(dict(zip(node.variables, variables, strict=True)))
        cost = _plus(self.cost(node.condition), self.cost(node.step))
        self._scopes.pop()
        return cost

    def _call(self, node: Call) -> int:
        if node.function == "dyn" and node.target is None:
            cost = _plus(self.cost(node.arguments[0]), 1)
            self._set(node.at, self._size(node.arguments[0]), self._entries_of(node.arguments[0]))
            return cost
        costs, arguments = [], []
        for each in node.arguments:
            costs.append(self.cost(each))
            arguments.append(self._operand(each))
        function, target, overloads = self._checked.calls[node.at]
        cost_of_target = self.cost(target) if target is not None else 0
        operand = self._operand(target) if target is not None else None
        most, size = 0, None
        for overload in overloads:
            called = _Called(self, node.at, overload, operand, arguments, costs)
            cost, found = self._cost_of_call(function, called)
            most = max(most, cost)
            size = size.united(found) if size and found else size or found
            if function == "_[_]" and overload.takes[0].name in ("list", "map"):
                entries = self._entries_of(node.arguments[0])
                size = entries and entries.value
                self._paths[node.at] = self._to(self._path(node.arguments[0]), "@items" if called.takes("list") else "@values")
            size = size or self._size(node)
        self._set(node.at, size, None)
        return _plus(cost_of_target, most)

    def _cost_of_call(self, function: str, called: _Called) -> tuple[int, _Size | None]:
        if function == "_?_:_":
            return self._conditional(called)
        found = _CALLS[function](called) if function in _CALLS else None
        cost, size = found or (1, None)
        return _plus(cost, *called.costs) if function not in ("_&&_", "_||_") else _plus(*called.costs), size

    def _operand(self, node: Any) -> _Operand:
        path = self._path(node)
        is_result = path.length > 0 and path.array[0] in ("__result__", "@result")
        return _Operand(node, self._checked.type_at(node.at), _NOWHERE if is_result else path, self._size(node))

    def _variable(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _path(self, node: Any) -> _Path:
        variable = self._variable(node.name) if isinstance(node, Name) else None
        return variable.path if variable else self._paths.get(node.at, _NOWHERE)

    def _to(self, path: _Path, step: str) -> _Path:
        return path.to(step)

    def _set(self, at: int, size: _Size | None, entries: _Entries | None) -> None:
        if size is not None:
            self._sizes[at] = size
        if entries is not None:
            self._entries[at] = entries

    def _entries_of(self, node: Any) -> _Entries | None:
        variable = self._variable(node.name) if isinstance(node, Name) else None
        return self._entries.get(node.at, variable.entries if variable else None)

    def _size(self, node: Any) -> _Size | None:
        if node.at in self._sizes:
            return self._sizes[node.at]
        if (number := _written_size(node)) is not None:
            return _exactly(number)
        if (declared := self._declared_size(self._path(node))) is not None:
            self._sizes[node.at] = declared
            return declared
        kind = self._checked.type_at(node.at)
        if kind.name in _SCALARS or (kind.name == "optional" and kind.inside[0].name in _SCALARS):
            return _Size(1, 1)
        variable = self._variable(node.name) if isinstance(node, Name) else None
        return variable.size if variable else None

    def _declared_size(self, path: _Path) -> _Size | None:
        """Return the size of the value at a path.

        The first step is a variable, and counts as `self`.
        """
        if not path.length:
            return None
        steps = tuple(path.array[1 : path.length])
        found: Declared | None = self._declared
        for step in steps:
            found = found.inside(step) if found else None
        if found is None:
            return None
        if found.limit:
            self.limits[steps] = found.limit
        return _Size(0, min(found.most, found.limited(self._assumed[steps])) if steps in self._assumed else found.most)

    def join_entries(self, at: int, one: _Operand, other: _Operand) -> None:
        """Give a node the entries that cover those of several operands."""
        entries, others = self._entries_of(one.node), self._entries_of(other.node)
        if entries and others:
            self._entries[at] = _Entries(entries.is_list, entries.key.united(others.key), entries.value.united(others.value))

    def item(self, operand: _Operand) -> _Operand | None:
        """Return an item of an operand that is a list; None of any other."""
        if not operand.kind.inside:
            return None
        array, length = operand.path
        path = _Path([*array[:length], "@items"], length + 1) if length else operand.path
        return _Operand(None, operand.kind.inside[0], path, self._declared_size(path))

    def _conditional(self, called: _Called) -> tuple[int, _Size | None]:
        _, one, other = called.arguments
        self.join_entries(called.at, one, other)
        cost, *costs = called.costs
        return _plus(cost, max(costs)), one.size.united(other.size)


class _Bound(_Estimation):
    """An estimation for given values.

    An unknown size counts as that of the largest text, list or map.
    """

    def __init__(self, checked: CheckedExpression, variables: Mapping[str, Any] | None, largest: int) -> None:
        super().__init__(checked, _KEYS, "1.37", {})  # which estimates all that costs something
        self._variables = variables
        self._values: dict[int, list[Any]] = {}
        """The values that a node can have, where they are known and no path leads to them."""
        self._largest = max(largest, *(_written_size(each) or 0 for each in walk(checked.tree.root)))

    def cost(self, node: Any) -> int:
        cost = super().cost(node)
        return _plus(cost, _SELECT) if isinstance(node, Select) else cost  # which costs a server nothing in a value of unknown type

    def _comprehension(self, node: Comprehension) -> int:
        cost = super()._comprehension(node)
        if _is_filter(node):  # whose items are items of its source
            self._paths[node.at] = self._path(node.source)
        return cost

    def _call(self, node: Call) -> int:
        cost = super()._call(node)
        function, target, _ = self._checked.calls.get(node.at, (node.function, node.target, ()))
        operands = [*([target] if target is not None else []), *node.arguments]
        if function in _OPTIONAL_SELECTS and isinstance(operands[1], Literal):
            self._paths[node.at] = self._to(self._path(operands[0]), operands[1].value)
        elif function in _SAME or (function == "orValue" and not _written_size(operands[1])):
            self._paths[node.at] = self._path(operands[0])
        elif function in ("_+_", "_?_:_"):
            several = [self._values_at(self._path(each)) for each in operands[-2:]]
            if None not in several:
                self._values[node.at] = [value for each in several for value in each or ()]
                self._paths[node.at] = _Path([f"@{node.at}"], 1)
            return cost
        if (known := self._declared_size(self._path(node))) is not None:
            self._sizes[node.at] = known
        return cost

    def item(self, operand: _Operand) -> _Operand:
        found = super().item(operand)
        if found is None or found.kind.name not in ("string", "bytes", *_SCALARS):
            return _Operand(None, CelType("string"), _NOWHERE, self._any_size())  # a server reads what is inside, too
        entries = self._entries_of(operand.node)
        return found._replace(known=found.known or (entries.value if entries else self._any_size()))

    def _cost_of_call(self, function: str, called: _Called) -> tuple[int, _Size | None]:
        cost, size = super()._cost_of_call(function, called)
        return cost, self._any_size() if function == "flatten" else size

    def _size(self, node: Any) -> _Size:
        return super()._size(node) or self._any_size()

    def _any_size(self) -> _Size:
        return _Size(0, max(self._largest, *(each.most for each in self._sizes.values()), 0))

    def _declared_size(self, path: _Path) -> _Size | None:
        found = self._values_at(path)
        return None if found is None else _Size(0, max(map(_size_of, found), default=1))

    def _values_at(self, path: _Path) -> list[Any] | None:
        """Return the values at a path; None if they are not known."""
        first, *steps = path.array[: path.length] or [""]
        if first[:1] == "@" and first[1:].isdigit():
            found = self._values[int(first[1:])]
        elif self._variables is None or first not in self._variables:
            return None
        else:
            found = [self._variables[first]]
        for step in steps:
            found = [inner for each in found for inner in _inside(each, step)]
        return found

    def _to(self, path: _Path, step: str) -> _Path:
        """A path with an array of its own, since wrong sizes would be too small."""
        return _Path([*path.array[: path.length], step], path.length + 1)


def largest_in(value: Any) -> int:
    """Return the size of the largest text, list or map in a value."""
    most, seen = 1, [value]
    for each in seen:
        if isinstance(each, dict):
            seen += each
            seen += each.values()
        elif isinstance(each, list):
            seen += each
        elif not isinstance(each, (bytes, str)):
            continue
        if len(each) > most:
            most = len(each)
    return most


def _size_of(value: Any) -> int:
    return len(value) if isinstance(value, (bytes, dict, list, str)) else 1


def _inside(value: Any, step: str) -> Iterable[Any]:
    """Return the values at a step from a value of unknown type."""
    if not step.startswith("@"):
        return (value[step],) if isinstance(value, dict) and step in value else ()
    return (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()


#: Functions that select a field where there is one, and functions whose result is their first operand.
_OPTIONAL_SELECTS = ("_?._", "_[?_]")
_SAME = ("dyn", "value")


def _is_filter(node: Comprehension) -> bool:
    """True if a comprehension keeps those items of a list that meet a condition."""
    if not (isinstance(node.start, ListOf) and not node.start.items and isinstance(node.step, Call) and node.step.function == "_?_:_"):
        return False
    added = node.step.arguments[1]
    last = added.arguments[-1] if isinstance(added, Call) and added.function == "_+_" else None
    return isinstance(last, ListOf) and [isinstance(each, Name) and each.name == node.variables[0] for each in last.items] == [True]


def _is_binding(node: Comprehension) -> bool:
    """Whether a comprehension only binds a value to a name, as `optMap` does."""
    return (
        isinstance(node.source, ListOf)
        and not node.source.items
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.result_name != "__result__"
    )


def _written_size(node: Any) -> int | None:
    """The size of a constant, or of a list or a map that is written in the expression."""
    if isinstance(node, Literal):
        return len(node.value) if node.kind in ("string", "bytes") else 1
    if isinstance(node, ListOf):
        return len(node.items)
    return len(node.entries) if isinstance(node, MapOf) else None


_COSTS: dict[type, Callable[[_Estimation, Any], int]] = {
    Literal: lambda *_: 0,
    Name: _Estimation._name,
    Select: _Estimation._select,
    Call: lambda self, node: self._call(node),
    ListOf: _Estimation._list,
    MapOf: _Estimation._map,
    Message: lambda self, node: _plus(*map(self.cost, node.values), _MESSAGE),
    Comprehension: lambda self, node: self._comprehension(node),
}


# The estimates of calls.


def _reads(factor: float = 1, *, keeps_size: bool = False) -> Callable[[_Called], _Found]:
    """Return the cost function of reading a text, the target or first argument, some times.

    The result may be as long as the text.
    """
    return lambda called: (called.first.reading(factor), called.first.size if keeps_size else None)


def _sum(called: _Called) -> _Found:
    """`+`: texts, bytes and lists."""
    if not called.takes("string", "bytes", "list"):
        return None
    one, other = called.arguments
    called.of.join_entries(called.at, one, other)
    size = one.size.plus(other.size)
    return 1 if called.takes("list") else _scaled(size.most, _PER_CHARACTER), size


def _compared(called: _Called) -> _Found:
    """`==`, `!=` and the order of texts and bytes: the shorter one is read."""
    if not called.takes("A", "string", "bytes"):
        return None
    return min(each.reading() for each in called.arguments), None


def _equal(called: _Called) -> _Found:
    one, other = called.arguments
    if one.kind == other.kind and one.kind.name in ("ip", "cidr", "quantity", "semver"):
        return 1, None
    if one.kind == other.kind and one.kind.name == "format":
        return _scaled(_LONGEST_FORMAT, _PER_CHARACTER), None
    if one.kind == other.kind and one.kind.name == "url":
        return other.reading() if other.known else 1, None
    return _compared(called)


def _matches(called: _Called) -> _Found:
    """Return the cost of matching a pattern in a text.

    Before 1.37, the function `matches`, other than the member, costs as much as any call.
    """
    if called.target is None and not is_at_least(called.of.release, "1.37"):
        return None
    text = _scaled(_plus(called.first.size.most, 1), _PER_CHARACTER)
    pattern = called.arguments[0 if called.target else 1]
    return _times(text, _scaled(pattern.size.most, _PER_CHARACTER_OF_PATTERN)), None


def _finds(called: _Called) -> _Found:
    found = _matches(called)
    return found and (found[0], _Size(0, called.first.size.most))


def _walks(called: _Called) -> _Found:
    """The cost of reading each item of a list with its text, or a text."""
    item = called.item()
    if item is None:
        return called.first.reading(), None
    each = _plus(1, item.reading()) if item.kind.name in ("string", "bytes") else 1
    return _times(called.first.size.most, each), None


def _replaces(called: _Called) -> _Found:
    text, old, new = called.first.size, called.arguments[0].size, called.arguments[1].size
    shortest = _replaced(text.least, old.most, new.least, is_kept=old.most <= new.least)
    longest = _replaced(text.most, old.least, new.most, is_kept=new.most <= old.least)
    return called.first.reading(2), _Size(shortest, longest)


def _replaced(text: int, old: int, new: int, *, is_kept: bool) -> int:
    """Return the size of a text in which all occurrences of a part are replaced.

    An empty part occurs between all characters.
    """
    if old == 0:
        return _plus(_times(_plus(text, 1), new), text)
    return text if is_kept else _times(min(ceil(float(text) / float(old)), _LARGEST), new)


def _splits(called: _Called) -> _Found:
    most = called.first.size.most
    limit = called.arguments[1].node if len(called.arguments) > 1 else None
    if isinstance(limit, Literal) and limit.kind == "int":
        most = limit.value & _LARGEST
    return called.first.reading(2), _Size(0, most)


def _joins(called: _Called) -> _Found:
    number, item = called.first.size, called.item()
    size = number.times(item.size) if item else _Size(0, 0)
    if called.arguments:
        between = _Size(max(number.least - 1, 0), max(number.most - 1, 0))
        size = size.plus(called.arguments[0].size.times(between))
    return _scaled(size.most, _PER_CHARACTER), size


def _contains_address(called: _Called) -> tuple[int, None]:
    """The cost of comparing two addresses; one given as a string is parsed."""
    compared = _scaled(2 * _ADDRESS_BYTES, _PER_CHARACTER)
    return _plus(compared, called.arguments[0].reading() if called.overload.takes[1].name == "string" else 0), None


def _contains_network(called: _Called) -> _Found:
    """The cost of comparing two addresses, and the lengths of the prefixes."""
    return _plus(_contains_address(called)[0], _scaled(_ADDRESS_BYTES, _PER_CHARACTER), 1), None


def _quotes(called: _Called) -> _Found:
    size = called.arguments[0].size
    longer = _Size(size.least + 2 & _LARGEST, size.most * 2 + 2 & _LARGEST)  # which overflows, as upstream
    return called.arguments[0].reading(), longer


def _as_bytes(called: _Called) -> _Found:
    size = called.arguments[0].size
    return (called.arguments[0].reading(), _Size(size.least, size.most * 4 & _LARGEST)) if called.takes("string") else None


def _as_text(called: _Called) -> _Found:
    size = called.arguments[0].size
    return (called.arguments[0].reading(), _Size(size.least // 4, size.most)) if called.takes("bytes") else None


def _makes(size: _Size, factor: float = 1) -> _Found:
    """The cost of making a list of a size, each item of which costs *factor*."""
    return _plus(_scaled(size.most, factor), 1, _LIST), size


def _literal_int(operand: _Operand, default: int) -> int:
    node = operand.node
    return max(node.value, 0) if isinstance(node, Literal) and node.kind == "int" else default


def _slices(called: _Called) -> _Found:
    start, end = called.arguments
    return _makes(_exactly(_literal_int(end, called.first.size.most) - _literal_int(start, 0) & _LARGEST))


def _squared(called: _Called) -> _Found:
    """Return the cost of comparing each item of a list with each other one.

    This is for `distinct` and `sort`; in `sortBy`, keys are compared.
    """
    size = (called.arguments[0] if called.arguments else called.first).size
    kind = called.overload.takes[-1].inside[0].name
    return _makes(size.times(size), 2 + _PER_CHARACTER if kind in ("string", "bytes") else 2)


def _compares_sets(factor: float, called: _Called) -> _Found:
    return _plus(_scaled(_times(*(each.size.most for each in called.arguments)), factor), 1), None


#: What calls of functions cost; calls of all others cost 1.
_CALLS: dict[str, Callable[[_Called], _Found]] = {
    "_+_": _sum,
    "_==_": _equal,
    "_!=_": _compared,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _compared),
    "@in": lambda called: (called.arguments[1].size.most, None) if called.overload.takes[1].name == "list" else None,
    "bytes": _as_bytes,
    "string": _as_text,
    "format": _reads(),
    "strings.quote": _quotes,
    **dict.fromkeys(("startsWith", "endsWith"), lambda called: (called.arguments[0].reading(), None)),
    "contains": lambda called: (_times(called.first.reading(), called.arguments[0].reading()), None),
    "matches": _matches,
    **dict.fromkeys(("find", "findAll"), _finds),
    **dict.fromkeys(("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf"), _walks),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _reads(keeps_size=True)),
    "replace": _replaces,
    "split": _splits,
    "join": _joins,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _reads()),
    "ip": lambda called: None if called.takes("cidr") else (called.first.reading(), None),
    "ip.isCanonical": _reads(2),
    "containsIP": _contains_address,
    "containsCIDR": _contains_network,
    "validate": lambda called: (
        _scaled(called.arguments[0].reading(), _LONGEST_PATTERN_OF_FORMAT * _PER_CHARACTER_OF_PATTERN),
        None,
    ),
    "slice": _slices,
    "lists.range": lambda called: _makes(_exactly(_literal_int(called.arguments[0], _LARGEST))),
    "reverse": lambda called: _makes(called.first.size),
    "flatten": lambda called: _makes(called.first.size, float(_literal_int(called.arguments[0], _LARGEST) if called.arguments else 1)),
    **dict.fromkeys(("distinct", "sort", "@sortByAssociatedKeys"), _squared),
    **{f"sets.{name}": partial(_compares_sets, factor) for name, factor in (("contains", 1), ("intersects", 1), ("equivalent", 2))},
}
