"""Two states of one object of a given kind: which value was what before, and whether it stayed the same.

The server lets a value be wrong that an update does not touch. To it, a value is the same where all inside is; in a list map, items are
told by their keys. What the schema says nothing of can never be told to be the same.
"""

from __future__ import annotations

from jobspec.validation.given.complete import child_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]


class Correlated:
    """A value that has a counterpart in the state before."""

    def __init__(self, value: Any, old: Any, schema: Schema, *, is_same: bool | None = None) -> None:
        self.value = value
        self.old = old
        self._schema = schema
        self._is_same = is_same

    def inside(self, step: str | int) -> Correlated | None:
        """What is at a step further in; None where nothing can be told to be its counterpart."""
        return self._item(step) if isinstance(step, int) else self._field(step)

    def is_same(self) -> bool:
        """Whether the value is what it was before."""
        if self._is_same is None:
            self._is_same = self._compare()
        return self._is_same

    def is_untouched(self, path: Path) -> bool:
        """Whether the value at *path* from here, or one around it, is what it was before."""
        at: Correlated | None = self
        for step in path:
            assert at
            at = at.inside(step)
            if at is None:
                return False
            if at.is_same():
                return True
        return self.is_same()

    def _field(self, name: str) -> Correlated | None:
        if not isinstance(self.value, dict) or not isinstance(self.old, dict) or name not in self.value or name not in self.old:
            return None
        child = child_of(self._schema, name)
        return None if child is None else Correlated(self.value[name], self.old[name], child)

    def _item(self, index: int) -> Correlated | None:
        items = self._schema.get("items")
        if not items or not isinstance(self.value, list) or not isinstance(self.old, list):
            return None
        before = counterpart(self.value[index], self.old, self._schema)
        return None if before is None else Correlated(self.value[index], before, items)

    def _compare(self) -> bool:
        if isinstance(self.value, dict) and isinstance(self.old, dict):
            return len(self.value) == len(self.old) and all(self._is_same_at(name) for name in self.value)
        if isinstance(self.value, list) and isinstance(self.old, list) and self._schema.get("x-kubernetes-list-type") == "map":
            return len(self.value) == len(self.old) and all(map(self._is_same_at, range(len(self.value))))
        return same(self.value, self.old)

    def _is_same_at(self, step: str | int) -> bool:
        inner = self.inside(step)
        return inner is not None and inner.is_same()


def correlated(value: dict[str, Any], old: dict[str, Any], schema: Schema) -> Correlated:
    """A whole object and its state before, which is never the same: the server itself has written to its metadata."""
    return Correlated(value, old, schema, is_same=False)


def counterpart(item: Any, old: list[Any], schema: Schema) -> Any:
    """The item of a stored list map that has the same keys; None where nothing can be told to be that."""
    if schema.get("x-kubernetes-list-type") != "map":
        return None
    keys = schema["x-kubernetes-list-map-keys"]
    wanted = _keys(item, keys)
    return None if wanted is None else next((each for each in old if _keys(each, keys) == wanted), None)


def _keys(item: Any, keys: list[str]) -> list[tuple[type, Any]] | None:
    """The values of an item's keys, each with its type; None where one is missing."""
    if not isinstance(item, dict) or any(item.get(key) is None for key in keys):
        return None
    return [(type(item[key]), item[key]) for key in keys]


def aligned(old: Any, value: Any, schema: Schema) -> Any:
    """The old value with its list maps and sets in the order of the new one's, since to rules two orders of one set are equal."""
    if isinstance(old, dict) and isinstance(value, dict):
        return {name: aligned(inner, value.get(name), child_of(schema, name) or {}) for name, inner in old.items()}
    if not isinstance(old, list) or not isinstance(value, list) or not schema.get("items"):
        return old
    kind = schema.get("x-kubernetes-list-type")
    found = [_match(item, old, schema) if kind in ("map", "set") else None for item in value]
    if kind not in ("map", "set") or len(old) != len(value) or any(item is None for item in found):
        return old
    return [aligned(each, item, schema["items"]) for each, item in zip(found, value, strict=True)]


def _match(item: Any, old: list[Any], schema: Schema) -> Any:
    if schema.get("x-kubernetes-list-type") == "map":
        return counterpart(item, old, schema)
    return next((each for each in old if same(each, item)), None)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in type and content."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
