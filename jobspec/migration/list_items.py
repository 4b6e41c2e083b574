"""Where the items of a `v1` List stand in a text, and which of them have an anchor that is used outside of them."""

from __future__ import annotations

from jobspec.documents.libyaml import AliasEvent, CParser, MappingStartEvent, SequenceStartEvent, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


class WrittenValue:
    """A value as it is written, from its first character, or that of its anchor, to its last one; and the values inside."""

    __slots__ = ("anchor", "children", "end", "in_flow", "is_alias", "start", "text")

    def __init__(self, event: Any, children: Sequence[WrittenValue], end: int) -> None:
        self.start: int = event.start_mark.index
        self.end = end
        self.children = children
        """The items of a list; of a mapping its keys and values by turns."""
        self.anchor: str | None = event.anchor
        self.is_alias = isinstance(event, AliasEvent)
        self.in_flow = bool(getattr(event, "flow_style", False))
        """Whether it is written in brackets or braces, as in JSON."""
        self.text: str = getattr(event, "value", "")
        """The text of a scalar."""


class Items:
    """The items of a List in a text."""

    __slots__ = ("in_flow", "items", "users")

    def __init__(self, root: WrittenValue) -> None:
        values = dict(zip((each.text for each in root.children[::2]), root.children[1::2], strict=True))
        found = values.get("items", root)
        self.items = [] if found is root else list(found.children)
        """Empty where the list itself stands elsewhere, and has an alias here."""
        self.in_flow = found.in_flow
        """Whether the list is written in brackets."""
        self.users = list(_users(root, self.items))
        """For each alias of an anchor in an item: the number of that item, and of the one with the alias; None outside of all."""


def items_in(piece: str) -> Items:
    """The items of the List in a piece of text that has been read before."""
    parser = CParser(piece)
    event = parser.get_event()
    while not isinstance(event, MappingStartEvent):
        event = parser.get_event()
    return Items(_written(parser, event, piece))


def _written(parser: Any, event: Any, piece: str) -> WrittenValue:
    if not isinstance(event, MappingStartEvent | SequenceStartEvent):
        end = event.end_mark.index
        is_block = getattr(event, "style", None) in ("|", ">")
        return WrittenValue(event, (), len(piece[:end].rstrip(" \r\n")) if is_block else end)
    children = []
    while not isinstance(inner := parser.get_event(), events.MappingEndEvent | events.SequenceEndEvent):
        children.append(_written(parser, inner, piece))
    last = inner.end_mark.index if event.flow_style or not children else children[-1].end
    return WrittenValue(event, children, last)


def _users(root: WrittenValue, items: Sequence[WrittenValue]) -> Iterator[tuple[int, int | None]]:
    number_of = {id(inner): number for number, each in enumerate(items) for inner in _all(each)}
    owners: dict[str | None, int | None] = {}
    for each in _all(root):
        number = number_of.get(id(each))
        if not each.is_alias:
            owners |= {each.anchor: number} if each.anchor else {}
        elif (owner := owners.get(each.anchor)) not in (None, number):
            assert owner is not None
            yield owner, number


def _all(written: WrittenValue) -> Iterator[WrittenValue]:
    yield written
    for each in written.children:
        yield from _all(each)
