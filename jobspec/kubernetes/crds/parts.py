"""Check each part of CRDs' schemas once. Equal parts are one value, as `shared` makes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from jobspec.diagnostics.problems import Problems

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 1 << 14  # schemas: as many as those of a large repository have different parts


def once_for_each(find: Callable[P, R]) -> Callable[P, R]:
    """Call a function once for each schema, by its identity, and for what it meets."""
    known: dict[tuple[Any, ...], tuple[Any, R]] = {}

    @wraps(find)
    def found(*given: P.args, **named: P.kwargs) -> R:
        schema, *met = given
        key = (id(schema), *met, *named.items())
        if key not in known:
            result = find(*given, **named)
            if len(known) >= _MOST:
                known.clear()
            known[key] = schema, result  # with the schema, whose identity no other value has then
            return result
        return known[key][1]

    return found


def unless_sound(find: Callable[P, Problems]) -> Callable[P, Problems]:
    """Call a function of a schema and its path, unless it has found no problem there before.

    What else the schema meets is a part of the key. Problems have paths, so that those of a schema are found at each place.
    """
    sound: dict[tuple[Any, ...], Any] = {}

    @wraps(find)
    def found(*given: P.args, **named: P.kwargs) -> Problems:
        schema, _, *met = given
        key = (id(schema), *met, *named.items())
        if key in sound:
            return
        is_sound = True
        for each in find(*given, **named):
            is_sound = False
            yield each
        if is_sound:
            if len(sound) >= _MOST:
                sound.clear()
            sound[key] = schema  # whose identity no other value has then

    return found
