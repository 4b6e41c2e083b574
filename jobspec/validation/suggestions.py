"""Find the field that an unknown one was meant for, or the place where it belongs."""

from __future__ import annotations

from functools import lru_cache

from jobspec.validation.wording import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.shapes import Shape

_RESOURCES = ("cpu", "memory", "storage")


@lru_cache(maxsize=1000)  # one mistake is often in many files
def where_instead(name: str, shape: Shape) -> tuple[str, str, str]:
    """For an unknown field: a hint, the field that it misspells, and the path of the field that it belongs in; empty if not known."""
    assert shape.fields is not None
    exact = [each for each in shape.fields if each.lower() == name.lower()]
    if exact:
        return did_you_mean(exact[0]), exact[0], ""
    if any(character != " " and not character.isprintable() for character in name):
        return "the name holds a character that cannot be seen; type it anew", "", ""
    place, hint = _inside(name, shape, "", 2)
    if place:
        return hint, "", place
    near = nearest(name, shape.fields)
    return (did_you_mean(near), near, "") if near else ("", "", "")


def _inside(name: str, shape: Shape, path: str, depth: int) -> tuple[str, str]:
    """The path below a shape that has a field *name*, or resource quantities if that is a resource, and the hint; empty if none has."""
    places = [(f"{path}{child}", inner) for child, inner in (shape.fields or {}).items() if not inner.meta]
    for place, inner in places:
        nested = inner.items or inner.values or inner
        if nested.fields and name in nested.fields:
            kind = "an item of " if inner.items else "an entry of " if inner.values else ""
            return place, f"`{name}` belongs in {kind}`{place}`"
        if nested.format == "quantity" and inner.values and ("/" in name or name in _RESOURCES):
            return place, f"`{name}` belongs in `{place}`"
    deeper = (_inside(name, inner, f"{place}.", depth - 1) for place, inner in places if depth > 1)
    return next((found for found in deeper if found[0]), ("", ""))
