"""Merge a patch into a value: mappings by key, lists by their merge keys, `null` removes; and find conflicts of two overlays.

Merge keys belong to the field and hold on every release. A list without them is replaced whole; `{$append: [...]}`
adds the items that are not there. In a list with merge keys, `{name: x, $remove: true}` removes the item with these keys.
Items that overlays add to a list follow those of the base, in the order of the overlays' names, so that the order in which
the overlays are applied does not matter. This is our own algorithm; Kubernetes' patches are in `kubernetes.strategic_merge`.
"""

from __future__ import annotations

from jobspec.apis.shipped import overlay_label
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Key, Mark, Path, spell
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.wording import as_json
from jobspec.documents.marked_tree import MarkedTree, by_rank, items, share_rank
from jobspec.kubernetes.problems import closest
from jobspec.overlays.flags import text_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.schemas.shapes import Shape


#: Lists whose items an overlay has to find in the base; only `$append` may bring new ones.
MUST_EXIST = frozenset(("containers", "initContainers", "ephemeralContainers"))


class EntryMerge:
    """A merge of one entry of an overlay, with the problems found so far."""

    def __init__(self, overlay: str, entry: int) -> None:
        self.overlay = overlay
        """The overlay's name."""
        self.entry = entry
        """Number of the entry in the overlay, which orders the items that the overlay adds."""
        self.problems: list[Diagnostic] = []

    def __call__(self, base: MarkedTree | None, patch: MarkedTree, shape: Shape | None, path: Path) -> MarkedTree:
        """Merge *patch* into *base*. *shape* knows the merge keys."""
        if isinstance(patch.value, dict):
            if APPEND in patch.value:
                return self._append(base, patch, shape, path)
            return self._mapping(base, patch, shape, path)
        if isinstance(patch.value, list):
            return self._list(base, patch, shape, path)
        return patch

    def _mapping(self, base: MarkedTree | None, patch: MarkedTree, shape: Shape | None, path: Path) -> MarkedTree:
        old = base if base and isinstance(base.value, dict) else patch.with_value({})
        excluded = excludes(patch, shape)
        merged = {name: child for name, child in old.value.items() if name not in excluded} if excluded else dict(old.value)
        for name, child in old.value.items() if excluded else ():
            if name in excluded and not child.mark.layer and shape and shape.name == "Volume":
                self._warn_other_volume(name, patch, path)
        for name, child in patch.value.items():
            if child.value is None:
                merged.pop(name, None)
                if shape and name in shape.required:
                    merged[name] = child  # the verdict on the result then points at this null
                continue
            there = merged.get(name)
            if (there is None or there.value is None) and only_removes(child):
                continue  # what is to be removed is not there, nor will be what it would stand in
            step, inner = below(shape, name)
            merged[name] = self(there, child, inner, (*path, step))
            if not merged[name].value and items(child) and not (shape and name in shape.required):
                del merged[name]  # its last item was removed
        return old.with_value(merged)

    def _list(self, base: MarkedTree | None, patch: MarkedTree, shape: Shape | None, path: Path) -> MarkedTree:
        if shape and shape.merge:
            if not patch.value:
                hint = "`null` removes the list"
                self._problem("invalid-overlay", f"an empty list changes nothing: items of `{path[-1]}` are merged", patch, path, hint)
            return self._keyed(base, patch, patch.value, shape, path, appending=False)
        new = patch.with_value(self._without_nulls(patch.value, shape, path))
        if base and items(base) and not base.mark.layer and base.data() != new.data():
            self._warn_replaced(patch, path)
        return new

    def _append(self, base: MarkedTree | None, patch: MarkedTree, shape: Shape | None, path: Path) -> MarkedTree:
        added = patch.value[APPEND]
        if shape and shape.merge:
            return self._keyed(base, patch, added.value, shape, path, appending=True)
        if path and path[-1] in ("args", "command"):
            hint = "use `flags`, which finds a flag anywhere, or write the whole list"
            self._problem("invalid-overlay", f"`$append` cannot add to `{path[-1]}`, whose items depend on each other", patch, path, hint)
            return base or patch.with_value([])
        kept = items(base)
        for number, item in enumerate(self._without_nulls(added.value, shape, path)):
            rank = (self.overlay, self.entry, number)
            same = [index for index, old in enumerate(kept) if old.data() == item.data()]
            if same:
                kept[same[0]] = share_rank(kept[same[0]], rank)
            else:
                kept.append(item.with_rank(rank))
        return _list_of(base, patch).with_value(by_rank(kept))

    def _without_nulls(self, values: list[MarkedTree], shape: Shape | None, path: Path) -> list[MarkedTree]:
        """Items that are added as a whole, without their removals."""
        return [self(None, item, shape.items if shape else None, (*path, number)) for number, item in enumerate(values)]

    def _keyed(
        self, base: MarkedTree | None, patch: MarkedTree, changes: list[MarkedTree], shape: Shape, path: Path, *, appending: bool
    ) -> MarkedTree:
        kept = items(base)
        names = [identity(item, shape) for item in kept]
        for number, (name, item) in enumerate(self._identified(changes, shape, path)):
            rank = (self.overlay, self.entry, item.rank[2] if item.rank else number)
            if is_removal(item):
                kept = [old for old, other in zip(kept, names, strict=True) if other != name]
                names = [other for other in names if other != name]
            elif name in names:
                index = len(names) - 1 - names[::-1].index(name)  # where a name stands twice, the last counts
                change = _without_keys(item, kept[index], shape)
                kept[index] = share_rank(self(kept[index], change, shape.items, (*path, index)), rank)
            elif path[-1] in MUST_EXIST and not appending:
                self._missing_container(item, names, path)
            else:
                names.append(name)
                kept.append(self(None, item, shape.items, (*path, len(kept))).with_rank(rank))
        return _list_of(base, patch).with_value(by_rank(kept))

    def _identified(self, changes: list[MarkedTree], shape: Shape, path: Path) -> Iterator[tuple[tuple[str, ...], MarkedTree]]:
        """Yield the items of a patch with the values of their keys.

        An item without keys, and a second item with the same keys, are problems.
        """
        seen = set()
        for item in changes:
            name = identity(item, shape)
            if name is None:
                keys = " and ".join(f"`{key}`" for key in shape.merge)
                self._problem("invalid-overlay", f"an item of `{path[-1]}` needs {keys}, which identify the items", item, path)
            elif name in seen:
                self._problem("invalid-overlay", f"duplicate item `{', '.join(name)}` of `{path[-1]}`", item, path)
            else:
                seen.add(name)
                yield name, item

    def _missing_container(self, item: MarkedTree, names: list[tuple[str, ...] | None], path: Path) -> None:
        wanted = item.get("name")
        assert wanted
        there = [name[0] for name in names if name]
        known = ", ".join(f"`{name}`" for name in there) or "none"
        hint = closest(wanted.value, there) or "to add a container, write `{$append: [...]}` instead of the list"
        message = f"the job has no container `{wanted.value}` in `{path[-1]}`; it has {known}"
        self._problem("missing-container", message, wanted, path, hint)

    def _warn_replaced(self, patch: MarkedTree, path: Path) -> None:
        message = f"`{path[-1]}` of the base is replaced as a whole"
        hint = "use `flags` to set single ones" if path[-1] in ("args", "command") else "write `{$append: [...]}` to add to it"
        self._problem("list-replaced", message, patch, path, hint, severity="warning")

    def _warn_other_volume(self, name: str, patch: MarkedTree, path: Path) -> None:
        message = f"`{name}` of a volume of the base is replaced: its mounts now use this one"
        hint = "rename the overlay's volume to keep both"
        self._problem("volume-replaced", message, patch, (*path, name), hint, severity="warning")

    def _problem(self, rule: str, message: str, tree: MarkedTree, path: Path, hint: str = "", *, severity: Severity = "error") -> None:
        self.problems.append(Diagnostic(rule, message, tree.place(), field=spell(path), severity=severity, hint=hint))


def below(shape: Shape | None, name: str) -> tuple[str, Shape | None]:
    """Return the step to a field of an object, or to a key of a map, and its value's shape."""
    return (Key(name) if shape and shape.fields is None else name), shape.at((name,)) if shape else None


def chosen(patch: MarkedTree, shape: Shape | None) -> list[str]:
    """Return the fields set by a patch that exclude each other."""
    return [name for name, child in patch.value.items() if shape and name in shape.one_of and child.value is not None]


def excludes(patch: MarkedTree, shape: Shape | None) -> set[str]:
    """Return the fields that a merge of the patch removes, such as other sources of a volume."""
    names = chosen(patch, shape) if shape and shape.one_of else ()
    return set(shape.one_of) - set(names) if shape and names else set()


def identity(item: MarkedTree, shape: Shape) -> tuple[str, ...] | None:
    """Return the key values of an item of a keyed list, with defaults filled in.

    If a key has no value, return None.
    """
    if not isinstance(item.value, dict):
        return None
    found: list[Any] = []
    for key in shape.merge:
        child = item.get(key)
        value = child.value if child else None
        if child and isinstance(value, list):
            value = child.data()
        if value is None and shape.items:
            known = shape.items.at((key,))
            value = known.default if known else None
        found.append(value)
    return None if None in found else tuple(map(str, found))


def _without_keys(item: MarkedTree, there: MarkedTree, shape: Shape) -> MarkedTree:
    """Remove the keys by which an item found the item *there* from the first one.

    The keys of the item *there* stay.
    """
    keys = [key for key in shape.merge if (own := there.get(key)) and (said := item.get(key)) and own.data() == said.data()]
    return item.with_value({name: child for name, child in item.value.items() if name not in keys})


def _list_of(base: MarkedTree | None, patch: MarkedTree) -> MarkedTree:
    """The tree that gives the merged list its place: the base if it is a list, else the patch."""
    return base if base and isinstance(base.value, list) else patch


# The directives of overlays: `$when`, `$append` for lists without keys, and `$remove` for items of lists with keys.
WHEN = "$when"
APPEND = "$append"
REMOVE = "$remove"


def is_removal(item: MarkedTree) -> bool:
    """True if an item of a list is of the form `{name: DEBUG, $remove: true}`."""
    return isinstance(item.value, dict) and REMOVE in item.value


def only_removes(patch: MarkedTree) -> bool:
    """True if a patch only removes."""
    if isinstance(patch.value, dict):
        return bool(patch.value) and all(map(only_removes, patch.value.values()))
    return patch.value is None or (bool(items(patch)) and all(map(is_removal, items(patch))))


# Check the removals in a patch: `{name: DEBUG, $remove: true}` needs the keys of the list, and takes nothing else.
def wrong_removals(patch: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    """Return a problem for each removal that does not name an item by its keys alone.

    *shape* knows the keys.
    """
    return _wrong_removals(patch, shape, path) if _removes(patch) else iter(())


def _removes(patch: MarkedTree) -> bool:
    """Whether there is a removal in a patch; most have none."""
    value = patch.value
    if isinstance(value, dict):
        return REMOVE in value or any(map(_removes, value.values()))
    return isinstance(value, list) and any(map(_removes, value))


def _wrong_removals(patch: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    patch = patch.get(APPEND) or patch
    if isinstance(patch.value, dict):
        for name, child in patch.value.items():
            step, inner = below(shape, name)
            yield from _wrong_removals(child, inner, (*path, step))
    for number, item in enumerate(items(patch)):
        if is_removal(item):
            yield from _wrong_removal(item, shape, path)
        else:
            yield from _wrong_removals(item, shape.items if shape else None, (*path, number))


def _wrong_removal(item: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    name, field = path[-1], spell(path)
    if shape is None or not shape.merge:
        message, hint = f"`$remove` needs items with keys, and `{name}` has none", "write the whole list, or `null`"
        yield Diagnostic("invalid-overlay", message, item.place(), field=field, hint=hint)
        return
    keys = " and ".join(f"`{key}`" for key in shape.merge)
    if identity(item, shape) is None:
        yield Diagnostic("invalid-overlay", f"`$remove` in `{name}` needs {keys} beside it", item.place(), field=field)
    for other in [each for each in item.value if each not in (*shape.merge, REMOVE)]:
        message = f"`$remove` removes the whole item, and can only be combined with {keys}"
        mark = item.value[other].key or item.value[other].mark
        yield Diagnostic("invalid-overlay", message, mark, field=field, hint=f"remove `{other}`")


# Find conflicts: the settings of two overlays that cannot both hold.
#
# A setting has an address: a path in which an item of a keyed list has its keys as its step. Two overlays conflict where they
# set one address to different values, or where one sets or removes a value as a whole and the other changes the inside of it.
# The order in which they are applied does not matter.


_NULL = "null"
_OPEN = "an empty mapping"  # which does not conflict with what other overlays set inside
_ONE_OF = Key("one of")  # the last step of the address of a choice among fields that exclude each other


class OverlayValue(Record):
    """One value that an overlay sets: its address, the value, and its place in the overlay."""

    address: Path
    value: str
    """The value as JSON."""
    mark: Mark


def settings_of(patch: MarkedTree, shape: Shape | None, address: Path) -> Iterator[OverlayValue]:
    """Yield the settings of a patch."""
    value = patch.value
    if isinstance(value, dict) and APPEND in value:
        yield from _appended(value[APPEND].value, shape, address)
    elif isinstance(value, dict):
        if not value:
            yield OverlayValue(address, _OPEN, patch.place())
        for name in chosen(patch, shape):
            yield OverlayValue((*address, _ONE_OF), name, value[name].place())
        for name, child in value.items():
            step, inner = below(shape, name)
            yield from settings_of(child, inner, (*address, step))
    elif isinstance(value, list) and shape and shape.merge:
        yield from _keyed(value, shape, address)
    else:
        yield OverlayValue(address, _as_json(patch), patch.place())


def settings_of_flags(flags: MarkedTree, address: Path) -> Iterator[OverlayValue]:
    """Yield the settings of flags, each in both lists that can hold the flag.

    To replace either list undoes the setting.
    """
    for flag, value in flags.value.items():
        for name in ("command", "args"):
            yield OverlayValue((*address, name, Key(flag)), as_json(text_after(value)), value.place())


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
            yield OverlayValue((*address, APPEND, _as_json(item)), _as_json(item), item.place())


def _as_json(tree: MarkedTree) -> str:
    return as_json(tree.data())


def conflicting(earlier: Sequence[OverlayValue], later: Sequence[OverlayValue]) -> Iterator[tuple[OverlayValue, OverlayValue]]:
    """Yield pairs of conflicting settings, the earlier first.

    Each later setting is in one pair at most. If several later settings are inside one earlier setting, only the first is in a pair.
    """
    exact = gathered((each.address, each) for each in earlier)
    inside = gathered((each.address[:length], each) for each in earlier for length in range(len(each.address)))
    reported: set[int] = set()
    for setting in later:
        address = setting.address
        around = [other for length in range(len(address)) for other in exact.get(address[:length], ()) if other.value != _OPEN]
        here = [other for other in exact.get(address, ()) if other.value != setting.value]
        deeper = inside.get(address, ()) if setting.value != _OPEN else ()
        for other in (*around, *here, *deeper):
            if id(other) not in reported:
                yield other, setting
            if other in around:
                reported.add(id(other))
            break


def conflict(earlier: OverlayValue, later: OverlayValue, names: tuple[str, str]) -> Diagnostic:
    """Return the diagnostic of a conflict, with both places.

    *names*: the names of the earlier and the later overlay.
    """
    first, second = names
    what = str(later.address[-1])
    if later.address == earlier.address and later.address[-1] is _ONE_OF:
        message = (
            f"`{second}` gives `{later.address[-2]}` a `{later.value}`, and `{first}` a `{earlier.value}`: only one of them is possible"
        )
    elif earlier.address == later.address:
        message = f"`{second}` {_sets(later, what)}, and `{first}` {_sets(earlier, what)}"
    elif len(earlier.address) < len(later.address):
        message = f"`{second}` changes the inside of `{earlier.address[-1]}`, which `{first}` {_sets(earlier, '')} as a whole"
    else:
        message = f"`{second}` {_sets(later, what)} as a whole, of which `{first}` changes the inside"
    outer = min(earlier.address, later.address, key=len)
    field = spell(outer[:-1] if outer[-1] is _ONE_OF else outer)
    hint = "remove one of them" + _way_to_override(earlier, later, names)
    return Diagnostic("overlay-conflict", f"{message} (in {earlier.mark})", later.mark, field=field, hint=hint)


def _way_to_override(earlier: OverlayValue, later: OverlayValue, names: tuple[str, str]) -> str:
    """Return how one of two overlays can override the other.

    A shipped overlay cannot be edited.
    """
    first, second = names
    if later.mark.file != overlay_label(second):
        return f", or set `override: true` in `{second}`"
    if earlier.mark.file != overlay_label(first):
        return f", or apply `{first}` after `{second}` and set `override: true` in it"
    return ""


def _sets(setting: OverlayValue, name: str) -> str:
    what = f" `{name}`" if name else ""
    if setting.value == _NULL:
        return f"removes{what}"
    return f"sets{what} to {setting.value}" if name else "sets"
