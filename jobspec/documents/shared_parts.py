"""Share the parts of data: those that are equal are one value.

CRDs have the same schemas again and again, such as that of a container. In the CRDs of Argo Workflows, 1,600 of 60,000 differ.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_MOST = 1 << 15  # parts: twice as many as the CRDs of a large repository have
_parts: dict[tuple[Any, ...], Any] = {}
"""The parts by what they hold: scalars, and the identities of the parts inside."""
_own: dict[int, Any] = {}
"""The same parts by their identity."""


def shared(value: T) -> T:
    """Return an equal value whose equal parts are one value. Nobody may change it."""
    if len(_parts) > _MOST:
        _parts.clear()
        _own.clear()
    found: T = _shared(value)
    return found


def is_shared(value: object) -> bool:
    """True if the parts of a value are shared."""
    return id(value) in _own


def _shared(value: Any) -> Any:
    if id(value) in _own:
        return value
    made: Any
    if type(value) is dict:
        made = {name: _shared(inner) if type(inner) in (dict, list) else inner for name, inner in value.items()}
        key: tuple[Any, ...] = (dict, *[(name, _key_of(inner)) for name, inner in made.items()])
    elif type(value) is list:
        made = [_shared(inner) if type(inner) in (dict, list) else inner for inner in value]
        key = (list, *map(_key_of, made))
    else:
        return value
    found = _parts.get(key)
    if found is None:
        found = _parts[key] = _own[id(made)] = made
    return found


def _key_of(value: Any) -> Any:
    kind = type(value)
    return value if kind is str else id(value) if kind in (dict, list) else (kind, repr(value))
