"""Group things by what they have in common."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")
    K = TypeVar("K")


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Things by what they have in common, in the order in which that first appears."""
    return gathered((key(each), each) for each in things)


def gathered(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """The second parts of pairs by the first, in the order in which that first appears."""
    groups: dict[K, list[T]] = {}
    for key, each in pairs:
        groups.setdefault(key, []).append(each)
    return groups
