"""Correlate the values of an updated object with those of the stored one.

Follows `CorrelatedObject`, k8s.io/apiserver pkg/cel/common, 0.36: items of list maps correlate by their keys, items of other lists do
not; `CachedDeepEqual` compares sets and other lists in their order. CEL rules compare sets and list maps in any order (`aligned`).
"""

from __future__ import annotations

from jobspec.apis.cel_rules import UNFIT
from jobspec.schemas.shapes import child_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.schemas.shapes import Shape


class Correlated:
    """A value with its defaults, and its counterpart in the stored object."""

    __slots__ = ("_is_same", "old", "shape", "value")

    def __init__(self, value: Any, old: Any, shape: Shape, *, is_same: bool | None = None) -> None:
        self.value = value
        self.old = old
        self.shape = shape
        self._is_same = is_same

    def inside(self, step: str | int) -> Correlated | None:
        """Return the correlated value of a field, map key or item; None without a counterpart."""
        return self._item(step) if isinstance(step, int) else self._field(step)

    def is_same(self) -> bool:
        """True if the value is equal to its counterpart."""
        if self._is_same is None:
            self._is_same = self._compare()
        return self._is_same

    def _field(self, name: str) -> Correlated | None:
        if not isinstance(self.value, dict) or not isinstance(self.old, dict) or name not in self.value or name not in self.old:
            return None
        child = child_of(self.shape, name)
        return None if child is None else Correlated(self.value[name], self.old[name], child)

    def _item(self, index: int) -> Correlated | None:
        items = self.shape.items
        if items is None or not isinstance(self.value, list) or not isinstance(self.old, list):
            return None
        before = _counterpart(self.value[index], self.old, self.shape)
        return None if before is None else Correlated(self.value[index], before, items)

    def _compare(self) -> bool:
        if isinstance(self.value, dict) and isinstance(self.old, dict):
            return len(self.value) == len(self.old) and all(self._is_same_at(name) for name in self.value)
        if isinstance(self.value, list) and isinstance(self.old, list) and self.shape.keys:
            return len(self.value) == len(self.old) and all(map(self._is_same_at, range(len(self.value))))
        return deep_equal(self.value, self.old)

    def _is_same_at(self, step: str | int) -> bool:
        inner = self.inside(step)
        return inner is not None and inner.is_same()


def aligned(old: Any, value: Any, shape: Shape | None) -> Any:
    """Return the old value, with its sets and list maps in the order of the new value.

    CEL rules ignore their order.
    """
    if shape is None:
        return old
    if isinstance(old, dict) and isinstance(value, dict):
        return {name: aligned(inner, value.get(name), child_of(shape, name)) for name, inner in old.items()}
    if not isinstance(old, list) or not isinstance(value, list) or shape.items is None:
        return old
    if shape.keys and any(_keys_of_item(item, shape) is None for item in (*old, *value)):
        return [UNFIT]  # an item without its keys is equal to nothing
    if len(old) != len(value) or not (shape.keys or shape.unique):
        return old
    sets = None if shape.keys else [next((each for each in old if deep_equal(each, item)), None) for item in value]
    found = [_counterpart(item, old, shape) for item in value] if sets is None else sets
    return old if None in found else [aligned(each, item, shape.items) for each, item in zip(found, value, strict=True)]


def _counterpart(item: Any, old: list[Any], shape: Shape) -> Any:
    """The item of a stored list map with the same keys; None without one."""
    wanted = _keys_of_item(item, shape)
    return None if wanted is None else next((each for each in old if _keys_of_item(each, shape) == wanted), None)


def _keys_of_item(item: Any, shape: Shape) -> list[tuple[type, Any]] | None:
    """Return the type and value of each key of an item.

    If the list is no list map, or the item lacks a key, return None.
    """
    if not shape.keys or not isinstance(item, dict) or any(item.get(key) is None for key in shape.keys):
        return None
    return [(type(item[key]), item[key]) for key in shape.keys]


def deep_equal(one: Any, other: Any) -> bool:
    """True if two values are equal in type and content, as Go's `reflect.DeepEqual` has it."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(deep_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(deep_equal, one, other))
    return bool(one == other)
