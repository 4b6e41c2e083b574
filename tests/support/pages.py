"""HTML pages read as browsers read them: elements with their attributes and texts, in a tree whose tags all end."""

from collections.abc import Iterator
from html.parser import HTMLParser

_VOID = frozenset(("meta", "input", "wbr", "use", "path", "rect"))


class Element:
    """An element of a page."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """The elements inside with a tag and attributes; `class_` is one of its classes."""
        return [each for each in self._inside() if each._is(tag, attributes)]

    def one(self, tag: str = "", **attributes: str) -> "Element":
        """The only one of these."""
        (found,) = self.all(tag, **attributes)
        return found

    def _is(self, tag: str, attributes: dict[str, str]) -> bool:
        own = self.attributes
        return (not tag or self.tag == tag) and all(
            value in own.get("class", "").split() if name == "class_" else own.get(name) == value for name, value in attributes.items()
        )

    def _inside(self) -> Iterator["Element"]:
        for each in self.children:
            if isinstance(each, Element):
                yield each
                yield from each._inside()

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(each if isinstance(each, str) else each.text for each in self.children)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.path = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.path[-1].children.append(element)
        if tag not in _VOID:
            self.path.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.path[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop().tag == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.path[-1].children.append(data)


def parsed(text: str) -> Element:
    """The tree of a page, whose tags all have to end where they should."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.path) == 1, reader.path[-1].tag
    return reader.path[0]
