"""What an overlay sets, by address, and whether two overlays can both have their way.

An address is a path in which the items of keyed lists stand under their keys. Two overlays conflict where they set one
address differently, or where one sets or removes as a whole what the other reaches into. That does not depend on the
order in which they are laid.
"""

from __future__ import annotations

import json

from jobspec.diagnostics import Diagnostic
from jobspec.overlays.merge import APPEND, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.overlays.tree import Tree
    from jobspec.shapes import Shape

    Address = tuple[str, ...]

_OPEN = "open"  # set to exist, with whatever others put inside


class Setting:
    """One thing that an overlay sets: where, to what, and the place that says so."""

    __slots__ = ("address", "layer", "mark", "override", "value")

    def __init__(self, address: Address, value: str, mark: Mark, layer: str, *, override: bool) -> None:
        self.address = address
        self.value = value
        """The value as JSON, `open` for an empty mapping or keyed list, into which others may set."""
        self.mark = mark
        self.layer = layer
        self.override = override


def flatten(patch: Tree, shape: Shape | None, address: Address = ()) -> Iterator[tuple[Address, str, Mark]]:
    """Everything that a patch sets."""
    value = patch.value
    if isinstance(value, dict) and APPEND in value:
        yield from _appended(value[APPEND], shape, address)
    elif isinstance(value, dict):
        if not value:
            yield address, _OPEN, patch.place()
        for name, child in value.items():
            yield from flatten(child, shape.at((name,)) if shape else None, (*address, name))
    elif isinstance(value, list) and shape and shape.merge:
        yield from _keyed(value, shape, address)
        if not value:
            yield address, _OPEN, patch.place()
    else:
        yield address, _text(patch), patch.place()


def flatten_flags(flags: Tree, address: Address) -> Iterator[tuple[Address, str, Mark]]:
    """What flags set: each under both lists that it may stand in, since replacing either would undo it."""
    for flag, value in flags.value.items():
        text = _text(value)
        for name in ("command", "args"):
            yield (*address, name, flag), text, value.place()


def conflicts(earlier: list[Setting], later: list[Setting]) -> Iterator[tuple[Setting, Setting]]:
    """Pairs that cannot both hold."""
    by_address: dict[Address, list[Setting]] = {}
    for setting in earlier:
        for length in range(len(setting.address) + 1):
            by_address.setdefault(setting.address[:length], []).append(setting)
    exact: dict[Address, list[Setting]] = {}
    for setting in earlier:
        exact.setdefault(setting.address, []).append(setting)
    for setting in later:
        if setting.override:
            continue
        around = [each for length in range(len(setting.address)) for each in exact.get(setting.address[:length], [])]
        inside = by_address.get(setting.address, [])
        for other in (*around, *inside):
            if other.layer != setting.layer and _clash(other, setting):
                yield other, setting
                break


def _clash(one: Setting, other: Setting) -> bool:
    if one.address == other.address:
        return one.value != other.value
    outer = one if len(one.address) < len(other.address) else other
    return outer.value != _OPEN


def report(earlier: Setting, later: Setting) -> Diagnostic:
    """The conflict in words, with both places."""
    name = later.address[-1]
    if earlier.address == later.address:
        what = f"`{later.layer}` sets `{name}` to {_shown(later)}, and `{earlier.layer}` to {_shown(earlier)}"
    else:
        what = f"`{later.layer}` sets `{name}` within what `{earlier.layer}` sets or removes as a whole, or the other way round"
    field = ".".join(later.address).replace(".[", "[")
    hint = f"give one of them up, or say `override: true` in `{later.layer}`"
    return Diagnostic("overlay-conflict", f"{what} (in {earlier.mark})", later.mark, field=field, hint=hint)


def _shown(setting: Setting) -> str:
    return {"null": "nothing", _OPEN: "a mapping"}.get(setting.value, setting.value)


def _keyed(items: list[Tree], shape: Shape, address: Address) -> Iterator[tuple[Address, str, Mark]]:
    for item in items:
        name = identity(item, shape)
        if name is not None:
            yield from flatten(item, shape.items, (*address, f"[{','.join(name)}]"))


def _appended(items: Tree, shape: Shape | None, address: Address) -> Iterator[tuple[Address, str, Mark]]:
    if not isinstance(items.value, list):
        return
    if shape and shape.merge:
        yield from _keyed(items.value, shape, address)
    else:
        for item in items.value:
            yield (*address, APPEND, _text(item)), _text(item), item.place()


def _text(tree: Tree) -> str:
    data: Any = tree.data()
    return json.dumps(data, sort_keys=True, ensure_ascii=False)
