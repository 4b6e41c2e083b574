"""The values of an object, each with an address at which the same value stands in an earlier state of the object.

An item of a list with merge keys is told by its keys, a word of a program's arguments by its flag, and an item of any other list by the
place where it was written; the last two hold as long as nobody replaces the list as a whole.
"""

from __future__ import annotations

from collections import Counter

from jobspec.diagnostics import Key, spell
from jobspec.documents.marked_tree import items, with_marks
from jobspec.overlays.flags import flags_of
from jobspec.overlays.merge import identity
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

    #: A step has the key, or the keys of an item; of an item without keys, its name among others, the place of its list and a number.
    Step = str | tuple[str, str, int]
    Address = tuple[Step, ...]


class Value:
    """A scalar, an empty mapping or list, or a list that can only be replaced as a whole."""

    __slots__ = ("address", "lists", "path", "tree")

    def __init__(self, path: Path, address: Address, tree: MarkedTree, lists: Sequence[Value]) -> None:
        self.path = path
        self.address = address
        self.tree = tree
        self.lists = lists
        """The lists around it that can only be replaced as a whole, the outermost first."""

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is inside it."""
        return not self.tree.value or not isinstance(self.tree.value, (dict, list))

    @property
    def is_name(self) -> bool:
        """Whether it is the name of a flag, of which only the value can be overridden."""
        return bool(self.address) and not isinstance(self.address[-1], str) and self.tree.value == self.names[-1]

    @property
    def joined_address(self) -> Address:
        """Of the name of a flag the address at which it stands together with its value; of others their own."""
        step = self.address[-1] if self.is_name else ""
        return self.address if isinstance(step, str) else (*self.address[:-1], (step[0], step[1], step[2] + 1))

    @property
    def field(self) -> str:
        """Its path as messages spell it."""
        return spell(self.path)

    @property
    def lasting_field(self) -> str:
        """The same with the names of items in place of their numbers, which change when an item goes."""
        steps = zip(self.path, self.address, self.names, strict=True)
        return spell(
            tuple(Key(name) if type(step) is int and (type(told) is str or name[0] == "-") else step for step, told, name in steps)
        )

    @property
    def place(self) -> str:
        """Where it was written, as text."""
        return str(self.tree.mark)

    @property
    def names(self) -> list[str]:
        """The steps of its address as text."""
        return [step if isinstance(step, str) else step[0] for step in self.address]

    def answers_to(self, field: str) -> bool:
        """Whether a field is this value or one around it; brackets and dots mean the same, and keys or a flag tell an item, too."""
        rest = field.replace("[", ".").replace("]", "").lstrip(".")
        for step, name in zip(map(str, self.path), self.names, strict=True):
            found = next((each for each in (name, step) if f"{rest}.".startswith(f"{each}.")), None)
            if not rest or found is None:
                return not rest
            rest = rest[len(found) + 1 :]
        return not rest


def values_of(document: Document, target: Target) -> list[Value]:
    """The values of an object."""
    shape = shapes.load(document.api_version, document.kind, target)
    return list(_inside(Value((), (), with_marks(document.data, document.marks), ()), shape))


def _inside(here: Value, shape: Shape | None) -> Iterator[Value]:
    tree = here.tree
    if here.is_leaf:
        yield here
    elif isinstance(tree.value, dict):
        for name, child in tree.value.items():
            step = Key(name) if shape and shape.fields is None else name
            inner = Value((*here.path, step), (*here.address, name), child, here.lists)
            yield from _inside(inner, shape.at((name,)) if shape else None)
    else:
        keys = [identity(item, shape) for item in items(tree)] if shape and shape.merge else []
        lists = here.lists
        if not keys or None in keys or len(set(keys)) < len(keys):
            yield here
            keys, lists = [], (*here.lists, here)
        steps: Sequence[Step] = [",".join(key) for key in keys if key] or list(_steps_without_keys(here))
        for number, (item, step) in enumerate(zip(items(tree), steps, strict=True)):
            yield from _inside(Value((*here.path, number), (*here.address, step), item, lists), shape.items if shape else None)


def _steps_without_keys(here: Value) -> Iterator[tuple[str, str, int]]:
    """The steps to the items of a list without keys."""
    seen: Counter[tuple[str, bool]] = Counter()
    words = items(here.tree)
    is_program = here.path[-1] in ("args", "command") and not any(isinstance(word.value, (dict, list)) for word in words)
    for word, flag in zip(words, flags_of(words) if is_program else [None] * len(words), strict=True):
        name = flag or (str(word.mark), False)
        yield name[0], here.place, 2 * seen[name] + name[1]
        seen[name] += 1
