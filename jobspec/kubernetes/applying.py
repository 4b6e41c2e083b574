"""Apply a manifest to the object that an earlier apply made: what `kubectl apply` sends, client-side or server-side.

A client-side apply of a custom resource replaces whole lists; that of a built-in kind merges lists by their merge keys, as a server-side
apply does by the keys of the server's own schema.

Follows `CreateThreeWayJSONMergePatch`, k8s.io/apimachinery pkg/util/jsonmergepatch, `CreateThreeWayMergePatch`, pkg/util/strategicpatch,
and `Merge`, sigs.k8s.io/structured-merge-diff merge, as of Kubernetes 1.37.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from jobspec.schemas.shapes import Shape

    #: Where an apply is made.
    Side = Literal["client", "server"]
    #: The keys by which the items of a list are merged; none for a list that is replaced.
    KeysOf = Callable[[Shape], Sequence[str]]


def applied(live: Any, before: Any, now: Any, shape: Shape | None, side: Side, *, is_builtin: bool) -> Any:
    """Return an object after an apply.

    *live*: the object as it is; *before*: as it was applied last; *now*: as it is applied.
    """
    if side == "server":
        return _merged(live, before, now, shape, lambda each: each.keys)
    return _merged(live, before, now, shape, (lambda each: each.merge[:1]) if is_builtin else lambda _: ())


def _merged(live: Any, before: Any, now: Any, shape: Shape | None, keys_of: KeysOf) -> Any:
    if isinstance(live, dict) and isinstance(now, dict):
        before = before if isinstance(before, dict) else {}
        kept = {name: each for name, each in live.items() if name in now or name not in before}
        inside = {name: _merged(live.get(name), before.get(name), each, _child(shape, name), keys_of) for name, each in now.items()}
        return {**kept, **inside}
    keys = keys_of(shape) if shape and isinstance(live, list) and isinstance(now, list) else ()
    return _merged_items(live, before, now, shape, keys, keys_of) if keys and shape else now


def _merged_items(live: list[Any], before: Any, now: list[Any], shape: Shape, keys: Sequence[str], keys_of: KeysOf) -> list[Any]:
    """Return the items of a list merged by their keys; those that only *live* has stay."""
    old, new = _named(before if isinstance(before, list) else [], keys), _named(now, keys)
    there = _named(live, keys)
    kept = [name for name in there if name in new or name not in old]
    order = [*kept, *(name for name in new if name not in there)]
    return [_merged(there.get(name), old.get(name), new[name], shape.items, keys_of) if name in new else there[name] for name in order]


def _named(items: list[Any], keys: Sequence[str]) -> dict[tuple[Any, ...], Any]:
    """Return the items of a list by the values of their keys."""
    return {tuple(each.get(key) for key in keys): each for each in items if isinstance(each, dict)}


def _child(shape: Shape | None, name: str) -> Shape | None:
    return shape.at((name,)) if shape else None
