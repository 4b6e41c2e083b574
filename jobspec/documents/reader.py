"""YAML text to documents, decoded as a Kubernetes API server decodes it.

The rules are those of sigs.k8s.io/yaml (strict) over go.yaml.in/yaml v2.4.4, `decode.go`; libyaml, which both they and
PyYAML's parser descend from, does the parsing.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents import scalars
from jobspec.documents.document import Document, Marks
from jobspec.documents.libyaml import CParser, YAMLError, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.documents.document import Children

_OTHER_BREAKS = "\x85\u2028\u2029"  # lines to a parser of YAML 1.1, and to nobody else
_READ_OTHERWISE = ("?", "!", ":,", ":]", ":}", "\\/", "\\'", "\ufeff")  # where `go_scanner` has to look
MAX_DEPTH = 128  # the deepest place of any known schema is at 23


class _Node:
    """A mapping or list with the events of its children: what marks are made of when somebody asks."""

    __slots__ = ("children", "event")

    def __init__(self, event: Any, children: dict[str, tuple[Any, Any]] | list[Any]) -> None:
        self.event = event
        self.children = children


class _Failure(Exception):
    """The document cannot be decoded."""

    def __init__(self, rule: str, message: str, mark: Any, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.mark = mark
        self.hint = hint


def read(text: str, *, file: str, layer: str = "") -> tuple[list[Document], list[Diagnostic]]:
    """The documents of a file's *text* and the problems of its YAML; a document that cannot be decoded is left out."""
    documents: list[Document] = []
    problems: list[Diagnostic] = []
    index = 0
    for chunk, first_line in chunks(text.removeprefix("\ufeff")):
        places = _Places(file, layer, first_line, chunk)
        index = _read_chunk(chunk, places, index, documents, problems)
    return documents, problems


def _builder(chunk: str, places: _Places) -> _Builder:
    if any(each in chunk for each in _READ_OTHERWISE):
        from jobspec.documents.go_scanner import Source

        return _Builder(Source(chunk, is_later=places.first_line > 0).next, places)
    return _Builder(CParser(chunk).get_event, places)


def _read_chunk(chunk: str, places: _Places, index: int, documents: list[Document], problems: list[Diagnostic]) -> int:
    """Add what a piece of text holds from an *index* on; gives the index of what comes after it."""
    try:
        builder = _builder(chunk, places)
        for data, node in builder.documents():
            problems += builder.take_problems(index)
            if data is not None:
                documents.append(Document(data, places.later(node), file=places.file, index=index))
                index += 1
        return index
    except _Failure as failure:
        problem = Diagnostic(failure.rule, failure.message, places.mark(failure.mark), document=index, hint=failure.hint)
    except YAMLError as error:
        from jobspec.documents.syntax import complaint

        start, message, hint = complaint(error, chunk)
        problem = Diagnostic("yaml-syntax", message, places.mark(start), document=index, hint=hint)
    problems.append(problem)
    return index + 1


def chunks(text: str) -> Iterator[tuple[str, int]]:
    """The text cut before each `---`, so that a broken document leaves the others readable; with the first line of each piece."""
    if "\n---" not in text:
        yield text, 0
        return
    start = line = 0
    while (end := _next_document(text, start)) >= 0:
        yield text[start:end], line
        line += text.count("\n", start, end)
        start = end
    yield text[start:], line


def _next_document(text: str, start: int) -> int:
    at = start
    while (at := text.find("\n---", at)) >= 0:
        at += 1
        if (len(text) == at + 3 or text[at + 3] in " \t\r\n") and not _only_directives(text[start:at]):
            return at
    return -1


def _only_directives(piece: str) -> bool:
    """Whether what stands before a `---` are directives (`%YAML 1.1`), which belong to the document after it."""
    if "%" not in piece:
        return False
    lines = [line for line in piece.rpartition("\n...")[2].splitlines() if line.strip() and not line.startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


class _Places:
    """Turns the parser's marks into ours."""

    def __init__(self, file: str, layer: str, first_line: int, text: str) -> None:
        self.file = file
        self.layer = layer
        self.first_line = first_line
        self.broken_text = "" if text.isascii() or not any(each in text for each in _OTHER_BREAKS) else text
        """The text where the parser counts more lines than there are."""

    def mark(self, start: Any, end: Any = None) -> Mark:
        end = end or start
        first = self.first_line + 1
        if self.broken_text:
            start, end = self._counted(start), self._counted(end)
        return Mark(self.file, start.line + first, start.column + 1, end.line + first, end.column + 1, self.layer)

    def _counted(self, mark: Any) -> Any:
        """A mark in the lines that everybody else counts."""
        from jobspec.documents.syntax import Start

        index = getattr(mark, "index", None)
        if index is None:
            return mark
        return Start(self.broken_text.count("\n", 0, index), index - self.broken_text.rfind("\n", 0, index) - 1)

    def later(self, node: Any) -> Any:
        return lambda: self.marks(node, None)

    def marks(self, node: Any, key: Any) -> Marks:
        key_mark = key and self.mark(key.start_mark, key.end_mark)
        if not isinstance(node, _Node):
            return Marks(self.mark(node.start_mark, node.end_mark), key_mark)
        mark = self.mark(node.event.start_mark)
        return Marks(mark, key_mark, lambda: self._inside(node))

    def _inside(self, node: _Node) -> Children:
        if isinstance(node.children, dict):
            return {name: self.marks(child, key) for name, (key, child) in node.children.items()}
        return [self.marks(child, None) for child in node.children]


class _Builder:
    """Builds the data of each document of a stream from the parser's events."""

    def __init__(self, source: Callable[[], Any], places: _Places) -> None:
        self.next = source
        self.places = places
        self.problems: list[tuple[str, str, Any]] = []

    def take_problems(self, index: int) -> list[Diagnostic]:
        taken = [Diagnostic(rule, message, self.places.mark(mark), document=index) for rule, message, mark in self.problems]
        self.problems = []
        return taken

    def documents(self) -> Iterator[tuple[Any, Any]]:
        while type(event := self.next()) is not events.StreamEndEvent:
            if type(event) is events.DocumentStartEvent:
                _check_version(event)
                self.anchors: dict[str, tuple[Any, Any, int] | None] = {}
                self.decoded = 1
                self.aliased = 0
                value = self.value(self.next(), 0)
                self.next()  # the document's end, without which it is none
                yield value

    def value(self, event: Any, depth: int) -> tuple[Any, Any]:
        self.decoded += 1
        kind = type(event)
        if kind is events.ScalarEvent:
            value = _scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = value, event, 1
            return value, event
        if kind is events.AliasEvent:
            return self.alias(event)
        if depth == MAX_DEPTH:
            raise _Failure("too-deep", f"more than {MAX_DEPTH} levels of nesting", event.start_mark)
        _check_tag(event)
        before = self.decoded
        if event.anchor:
            self.anchors[event.anchor] = None
        value, node = self.mapping(event, depth) if kind is events.MappingStartEvent else self.sequence(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = value, node, self.decoded - before + 1
        return value, node

    def sequence(self, start: Any, depth: int) -> tuple[list[Any], _Node]:
        values = []
        nodes = []
        while type(event := self.next()) is not events.SequenceEndEvent:
            value, node = self.inner(event, depth)
            values.append(value)
            nodes.append(node)
        return values, _Node(start, nodes)

    def inner(self, event: Any, depth: int) -> tuple[Any, Any]:
        """The value inside a mapping or list; most are text, and need no further look."""
        text = _surely_text(event)
        if text is None:
            return self.value(event, depth + 1)
        self.decoded += 1
        return text, event

    def mapping(self, start: Any, depth: int) -> tuple[dict[str, Any], _Node]:
        data: dict[str, Any] = {}
        nodes: dict[str, tuple[Any, Any]] = {}
        while type(event := self.next()) is not events.MappingEndEvent:
            key = _surely_text(event)
            if key is not None:
                self.decoded += 1
            elif _is_merge(event):
                self.merge(event, depth, data, nodes)
                continue
            else:
                key = self.key(event, depth)
            value, node = self.inner(self.next(), depth)
            self.put(key, event, value, node, data, nodes)
        return data, _Node(start, nodes)

    def put(self, key: str, event: Any, value: Any, node: Any, data: dict[str, Any], nodes: dict[str, tuple[Any, Any]]) -> None:
        if key in data:
            first = self.places.mark(nodes[key][0].start_mark)
            written = getattr(event, "value", key)  # an alias has none
            what = f"`{key}`" if written in (key, "<<") else f"`{written}`, which is the key `{key}`,"
            self.problems.append(("duplicate-key", f"{what} stands twice in this mapping, first in line {first.line}", event.start_mark))
        else:
            data[key] = value
            nodes[key] = event, node

    def key(self, event: Any, depth: int) -> str:
        if type(event) is not events.ScalarEvent:
            _, node = self.value(event, depth + 1)
            if type(node) is not events.ScalarEvent:
                from jobspec.documents.syntax import TEMPLATE_HINT

                hint = TEMPLATE_HINT if type(event) is events.MappingStartEvent and event.flow_style else "write the key as text"
                raise _Failure("unsupported-value", "a key cannot be a mapping or list", event.start_mark, hint)
            return _key(node, event)
        self.decoded += 1
        key = _key(event, event)
        if event.anchor:
            self.anchors[event.anchor] = _scalar(event), event, 1
        return key

    def merge(self, key: Any, depth: int, data: dict[str, Any], nodes: dict[str, tuple[Any, Any]]) -> None:
        """`<<`: the entries of other mappings. In strict decoding they, too, may set a key only once."""
        event = self.next()
        value, node = self.value(event, depth + 1)
        listed = type(event) is events.SequenceStartEvent  # an alias of a list will not do
        values, parts = (value, node.children) if listed else ([value], [node])
        if not all(isinstance(value, dict) for value in values):
            raise _Failure("yaml-syntax", "the merge key `<<` takes a mapping or a list of mappings", key.start_mark)
        for value, part in zip(reversed(values), reversed(parts), strict=True):
            for name, (_, child) in part.children.items():
                self.put(name, key, value[name], child, data, nodes)

    def alias(self, event: Any) -> tuple[Any, Any]:
        if event.anchor not in self.anchors:
            raise _Failure("yaml-syntax", f"no anchor `&{event.anchor}` stands before this alias", event.start_mark)
        found = self.anchors[event.anchor]
        if found is None:
            raise _Failure("recursive-alias", f"the alias `*{event.anchor}` stands inside the value that it names", event.start_mark)
        value, node, weight = found
        self.decoded += weight
        self.aliased += weight
        if self.aliased > 100 and self.decoded > 1000 and self.aliased > self.decoded * _allowed_alias_ratio(self.decoded):
            raise _Failure("excessive-aliasing", f"the aliases stand for more than {self.aliased:,} values", event.start_mark)
        return value, node


def _allowed_alias_ratio(decoded: int) -> float:
    """The share of values that may come from aliases, as in go-yaml's `allowedAliasRatio`."""
    low, high = 400_000, 4_000_000
    return 0.99 - 0.89 * (min(max(decoded, low), high) - low) / (high - low)


def _surely_text(event: Any) -> str | None:
    """The text of a scalar that is nothing else, by its quotes or by how it begins; None where more has to be looked at."""
    if type(event) is not events.ScalarEvent or event.tag or event.anchor:
        return None
    text: str = event.value
    return text if not event.implicit[0] or text[:1] in scalars.TEXT_BEGINS_WITH else None


def _is_merge(event: Any) -> bool:
    return type(event) is events.ScalarEvent and event.value == "<<" and (event.implicit[0] or event.tag == "tag:yaml.org,2002:merge")


def _check_version(start: Any) -> None:
    if start.version not in (None, (1, 1)):
        version = ".".join(str(number) for number in start.version)
        raise _Failure("yaml-syntax", f"Kubernetes does not read YAML {version}, only 1.1", start.start_mark, "leave the %YAML line out")


def _key(scalar: Any, place: Any) -> str:
    """The text of the key that a *scalar* is at a *place*."""
    if scalar.tag is None:
        key = scalars.key_text(scalar.value) if scalar.implicit[0] else scalar.value
    else:
        value = _scalar(scalar)
        key = value if isinstance(value, str) else scalars.key_text(scalar.value)
    if key is None:
        what = f"`{scalar.value}`" if scalar.value else "empty"
        raise _Failure("unsupported-value", f"a key cannot be {what}", place.start_mark, "write the key as text, in quotes")
    return key


def _scalar(event: Any) -> Any:
    if event.tag is None:
        value = scalars.resolve(event.value) if event.implicit[0] else event.value
    else:
        _check_tag(event)
        try:
            value = scalars.resolve_tagged(event.value, event.tag)
        except ValueError as error:
            raise _Failure("unknown-tag", f"{error}", event.start_mark, "leave the tag out") from None
    if type(value) is float and value - value != 0:
        raise _Failure("unsupported-value", f"`{event.value}` has no JSON form", event.start_mark, "write it in quotes if text is meant")
    return value


def _check_tag(event: Any) -> None:
    """Kubernetes ignores an application's own tags (`!x`); a type of YAML's namespace that it does not know is refused here."""
    tag = event.tag
    if tag and tag.startswith("tag:yaml.org,2002:") and tag not in scalars.TAGS:
        name = tag.rpartition("2002:")[2]
        raise _Failure("unknown-tag", f"Kubernetes has no YAML type `!!{name}`", event.start_mark, "write the plain value")
