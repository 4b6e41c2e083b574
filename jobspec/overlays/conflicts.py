"""Find conflicts: the settings of two overlays that cannot both hold.

A setting has an address: a path in which an item of a keyed list has its keys as its step. Two overlays conflict where they
set one address to different values, or where one sets or removes a value as a whole and the other changes the inside of it.
The order in which they are applied does not matter.
"""

from __future__ import annotations

from jobspec import data
from jobspec.diagnostics import Diagnostic, Key, Mark, Path, spell
from jobspec.documents.marked_tree import MarkedTree
from jobspec.overlays.flags import text_after
from jobspec.overlays.merge import APPEND, chosen, identity, is_removal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.schemas.shapes import Shape

_NULL = "null"
_OPEN = "an empty mapping"  # which does not conflict with what other overlays set inside
_ONE_OF = Key("one of")  # the last step of the address of a choice among fields that exclude each other


class OverlayValue:
    """One value that an overlay sets: its address, the value, and its place in the overlay."""

    __slots__ = ("address", "mark", "value")

    def __init__(self, address: Path, value: str, mark: Mark) -> None:
        self.address = address
        self.value = value
        """The value as JSON."""
        self.mark = mark


def settings_of(patch: MarkedTree, shape: Shape | None, address: Path) -> Iterator[OverlayValue]:
    """The settings of a patch."""
    value = patch.value
    if isinstance(value, dict) and APPEND in value:
        yield from _appended(value[APPEND].value, shape, address)
    elif isinstance(value, dict):
        if not value:
            yield OverlayValue(address, _OPEN, patch.place())
        for name in chosen(patch, shape):
            yield OverlayValue((*address, _ONE_OF), name, value[name].place())
        for name, child in value.items():
            step = Key(name) if shape and shape.fields is None else name
            yield from settings_of(child, shape.at((name,)) if shape else None, (*address, step))
    elif isinstance(value, list) and shape and shape.merge:
        yield from _keyed(value, shape, address)
    else:
        yield OverlayValue(address, _text(patch), patch.place())


def settings_of_flags(flags: MarkedTree, address: Path) -> Iterator[OverlayValue]:
    """The settings of flags: each in both lists that can hold the flag, since replacing either list undoes it."""
    for flag, value in flags.value.items():
        for name in ("command", "args"):
            yield OverlayValue((*address, name, Key(flag)), data.as_json(text_after(value)), value.place())


def _keyed(items: list[MarkedTree], shape: Shape, address: Path) -> Iterator[OverlayValue]:
    for item in items:
        name = identity(item, shape)
        mount = item.get("mountPath") if shape.merge == ["name"] else None
        if mount:  # entries of a TrainJob have one mount for each volume, and overlays remove mounts by their path
            yield OverlayValue((*address, Key(str(mount.value))), _NULL if is_removal(item) else "a mount", item.place())
        if name and is_removal(item):
            yield OverlayValue((*address, Key(",".join(name))), _NULL, item.place())
        elif name:
            yield from settings_of(item, shape.items, (*address, Key(",".join(name))))


def _appended(items: list[MarkedTree], shape: Shape | None, address: Path) -> Iterator[OverlayValue]:
    if shape and shape.merge:
        yield from _keyed(items, shape, address)
    else:
        for item in items:
            yield OverlayValue((*address, APPEND, _text(item)), _text(item), item.place())


def _text(tree: MarkedTree) -> str:
    return data.as_json(tree.data())


def conflicting(earlier: Sequence[OverlayValue], later: Sequence[OverlayValue]) -> Iterator[tuple[OverlayValue, OverlayValue]]:
    """Each of the later settings that conflicts with an earlier one, with that; of those inside of one earlier setting, the first."""
    exact: dict[Path, list[OverlayValue]] = {}
    inside: dict[Path, list[OverlayValue]] = {}
    for setting in earlier:
        exact.setdefault(setting.address, []).append(setting)
        for length in range(len(setting.address)):
            inside.setdefault(setting.address[:length], []).append(setting)
    reported: set[OverlayValue] = set()
    for setting in later:
        address = setting.address
        around = [other for length in range(len(address)) for other in exact.get(address[:length], ()) if other.value != _OPEN]
        here = [other for other in exact.get(address, ()) if other.value != setting.value]
        within = inside.get(address, ()) if setting.value != _OPEN else ()
        for other in (*around, *here, *within):
            if other not in reported:
                yield other, setting
            if other in around:
                reported.add(other)
            break


def conflict(earlier: OverlayValue, later: OverlayValue, names: tuple[str, str]) -> Diagnostic:
    """The diagnostic of a conflict, with both places; *names* are those of the earlier and the later overlay."""
    first, second = names
    what = str(later.address[-1])
    if later.address == earlier.address and later.address[-1] is _ONE_OF:
        message = f"`{second}` gives `{later.address[-2]}` a `{later.value}`, and `{first}` a `{earlier.value}`: it has one of them only"
    elif earlier.address == later.address:
        message = f"`{second}` {_sets(later, what)}, and `{first}` {_sets(earlier, what)}"
    elif len(earlier.address) < len(later.address):
        message = f"`{second}` changes the inside of `{earlier.address[-1]}`, which `{first}` {_sets(earlier, '')} as a whole"
    else:
        message = f"`{second}` {_sets(later, what)} as a whole, of which `{first}` changes the inside"
    outer = min(earlier.address, later.address, key=len)
    field = spell(outer[:-1] if outer[-1] is _ONE_OF else outer)
    hint = "leave one of them out" + _way_to_override(earlier, later, names)
    return Diagnostic("overlay-conflict", f"{message} (in {earlier.mark})", later.mark, field=field, hint=hint)


def _way_to_override(earlier: OverlayValue, later: OverlayValue, names: tuple[str, str]) -> str:
    """How one of two overlays can override the other; an overlay that comes with jobspec cannot be edited."""
    first, second = names
    if later.mark.file != data.overlay_label(second):
        return f", or set `override: true` in `{second}`"
    if earlier.mark.file != data.overlay_label(first):
        return f", or apply `{first}` after `{second}` and set `override: true` in it"
    return ""


def _sets(setting: OverlayValue, name: str) -> str:
    what = f" `{name}`" if name else ""
    if setting.value == _NULL:
        return f"removes{what}"
    return f"sets{what} to {setting.value}" if name else "sets"
