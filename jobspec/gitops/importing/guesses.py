"""The values that an overlay's parameters may have had, by what a job has in the places where the overlay puts them."""

from __future__ import annotations

from itertools import product

from jobspec.overlays.parameters import as_text, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree

    #: Values by parameter, each as its text; a parameter that is not in it has its default.
    Guess = Mapping[str, str]

_MOST = 256  # guesses for one overlay; beyond, the values are too many for the job to tell them


def guesses(parameters: MarkedTree | None, tree: MarkedTree, manifests: Iterable[Any]) -> list[Guess]:
    """What may have been given for the parameters that a part of an overlay uses; the guess that says least comes first."""
    found = [each for manifest in manifests for each in scalars_in(manifest)]
    used = _places(tree)
    names = [name for name in (parameters.value if parameters else {}) if name in used]
    choices = [[None, *_choices(parameters.value[name], used[name], found)] for name in names] if parameters else []
    every = product(*choices)
    said = [
        {name: value for name, value in zip(names, each, strict=True) if value is not None}
        for _, each in zip(range(_MOST), every, strict=False)
    ]
    return sorted(said, key=len)


def _choices(declaration: MarkedTree, keys: set[str], found: list[tuple[str, str]]) -> list[str]:
    """The values of a parameter that the job suggests: those that stand under every key under which the overlay puts it."""
    enum, kind, default = (declaration.get(name) for name in ("enum", "type", "default"))
    if enum:
        choices = enum.data()
    elif kind and kind.value == "boolean":
        choices = ["false", "true"]
    else:
        choices = [value for value in dict.fromkeys(value for _, value in found) if all((key, value) in found for key in keys)]
    return [each for each in choices if not default or each != as_text(default.value)]


def _places(tree: MarkedTree, key: str = "") -> dict[str, set[str]]:
    """By parameter, the keys under which an overlay puts its value."""
    found: dict[str, set[str]] = {}
    value = tree.value
    if isinstance(value, str) and "${" in value:
        for name in (piece for piece, is_name in pieces(value) if is_name):
            found.setdefault(name, set()).add(key)
    children = list(value.items()) if isinstance(value, dict) else [(key, each) for each in value] if isinstance(value, list) else []
    for step, child in children:
        inside = {name: set[str]() for name in child.value} if step == "$when" else _places(child, step)
        for name, keys in inside.items():
            found.setdefault(name, set()).update(keys)
    return found


def scalars_in(data: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Each scalar of a manifest as text, with the key that it stands under or the flag that it follows."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from scalars_in(value, name)
    elif isinstance(data, list):
        for before, value in zip(["", *data], data, strict=False):
            yield from scalars_in(value, key)
            if isinstance(value, str):
                flag, equals, said = value.partition("=")
                yield from [(flag, said)] if equals else []
                yield from [(before, value)] if isinstance(before, str) and before.startswith("-") else []
    elif data is not None:
        yield key, as_text(data)
