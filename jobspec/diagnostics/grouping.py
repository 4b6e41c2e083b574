"""Group things by what they have in common."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")
    K = TypeVar("K")


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group things by their *key*. Keys are in the order of their first things."""
    return gathered((key(each), each) for each in things)


def gathered(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Group the second parts of pairs by the first, in the order of the first parts."""
    groups: dict[K, list[T]] = {}
    for key, each in pairs:
        groups.setdefault(key, []).append(each)
    return groups
