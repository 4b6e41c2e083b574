"""Turn a merge patch into a JSON patch, which changes the items of lists in place.

Items are found by their index in the base, so that a `test` operation before says which item is meant: kustomize fails if another one is
there. Follows RFC 6902.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobspec.repository.merge_keys import as_pod, keys_of
from jobspec.schemas.shapes import Shape

_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_Operation = dict[str, Any]


class Inexpressible(Exception):
    """A patch has a directive that no operation of a JSON patch stands for."""


def operations_of(patch: Mapping[str, Any], base: Mapping[str, Any], shape: Shape | None) -> list[_Operation]:
    """Return the operations that do to a base what a merge patch means if the items of lists merge by their keys.

    Raises Inexpressible if the patch has directives other than to delete.
    """
    return list(_in_object(patch, base, (), shape))


def _in_object(patch: Mapping[str, Any], base: Mapping[str, Any], path: tuple[str, ...], shape: Shape | None) -> Iterator[_Operation]:
    shape = as_pod(patch, base, shape)
    for key, value in patch.items():
        here, below = (*path, key), shape and shape.at((key,))
        if here in _IDENTITY:
            continue
        if key.startswith("$"):
            raise Inexpressible
        if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            yield from [{"op": "remove", "path": _pointer(here)}] if key in base else []
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            yield from _in_object(value, base[key], here, below)
        elif isinstance(value, list) and isinstance(base.get(key), list) and (keys := keys_of(base[key], below)):
            yield from _in_list(value, base[key], here, below, keys)
        elif key not in base or base[key] != value:
            yield {"op": "replace" if key in base else "add", "path": _pointer(here), "value": _plain(value)}


def _in_list(patch: list[Any], base: list[Any], path: tuple[str, ...], shape: Shape | None, keys: list[str]) -> Iterator[_Operation]:
    removed: list[int] = []
    for item in patch:
        if not isinstance(item, dict) or not all(key in item for key in keys):
            raise Inexpressible
        at = next((n for n, each in enumerate(base) if all(each[key] == item[key] for key in keys)), None)
        if item.get("$patch") == "delete":
            removed += [] if at is None else [at]
        elif at is None:
            yield {"op": "add", "path": _pointer((*path, "-")), "value": _plain(item)}
        elif changes := list(_in_object(item, base[at], (*path, str(at)), shape and shape.items)):
            yield from (_test(path, at, key, item) for key in keys)
            yield from changes
    for at in sorted(removed, reverse=True):  # from the end, so that no index moves
        yield from (_test(path, at, key, base[at]) for key in keys)
        yield {"op": "remove", "path": _pointer((*path, str(at)))}


def _test(path: tuple[str, ...], at: int, key: str, item: Mapping[str, Any]) -> _Operation:
    return {"op": "test", "path": _pointer((*path, str(at), key)), "value": item[key]}


def _plain(value: Any) -> Any:
    """Return a value that a patch adds, without the fields that it removes. Raises Inexpressible if it has directives."""
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            raise Inexpressible
        return {key: _plain(each) for key, each in value.items() if each is not None}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _pointer(path: tuple[str, ...]) -> str:
    return "".join(f"/{each.replace('~', '~0').replace('/', '~1')}" for each in path)
