"""YAML text to documents, decoded as Kubernetes' clients and servers decode it.

Follows `decoder.unmarshal`, go.yaml.in/yaml/v2 decode.go, v2.4.4, in strict mode but for merge keys (see below), and
`yamlToJSONTarget`, sigs.k8s.io/yaml v1.6. libyaml, which go-yaml and PyYAML's parser descend from, does the parsing.
"""

from __future__ import annotations

from jobspec.apis.kinds import CUSTOM_RESOURCE_DEFINITION
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Marks
from jobspec.diagnostics.record import Record
from jobspec.documents.decoded_texts import keep, known
from jobspec.documents.decoding import AROUND, MAX_BYTES, SURELY_SMALL
from jobspec.documents.document import KUSTOMIZATIONS, Document, ParsedMarks
from jobspec.documents.libyaml import (
    AliasEvent,
    CParser,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    YAMLError,
)
from jobspec.documents.node_marks import Piece, mark_of, marks_of, nearest_marks
from jobspec.documents.scalars import TAGS, TEXT_BEGINS_WITH, key_text, resolve, resolve_tagged
from jobspec.documents.shared_parts import shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.documents.decoded_texts import Decoded
    from jobspec.documents.document import Nodes, SameMarks
    from jobspec.documents.merged_keys import CountingKey, Problem
    from jobspec.documents.node_marks import Form


#: What go-yaml reads differently than libyaml: anywhere, and, besides tags before commas, in `[...]` and `{...}` alone.
_READ_DIFFERENTLY = ("\\/", "\\'", "\ufeff")


_DIFFERENT_INSIDE = ("?", ":,", ":]", ":}")


_LONG = 1 << 14  # characters; to parse a shorter text takes a millisecond


MAX_DEPTH = 128  # the deepest place of any known schema is at 23


_BEFORE_JSON = ("{", " ", "\t", "\r", "\n")


_TOO_DEEP = f"more than {MAX_DEPTH} levels of nesting"


def read(text: str, *, file: str, layer: str = "", first_line: int = 0, form: Form = "manifest") -> tuple[list[Document], list[Diagnostic]]:
    """Return the documents of a file's *text*, and the problems of its YAML.

    A document that cannot be decoded is left out. *first_line*: the number of lines before the text, if the text is a part of the file.

    *form*: `patch` for a patch of kustomize, which takes one of equal keys.
    """
    documents: list[Document] = []
    problems: list[Diagnostic] = []
    index = 0
    for piece in pieces(text.removeprefix("\ufeff"), file=file, layer=layer, first_line=first_line, form=form):
        index = read_piece(piece, index, documents, problems)
    return documents, problems


def pieces(text: str, *, file: str, layer: str = "", first_line: int = 0, form: Form = "manifest") -> Iterator[Piece]:
    """Cut a text into the parts that are parsed one by one."""
    if not first_line and file.rpartition("/")[2] in KUSTOMIZATIONS:
        form = "file of a kustomization"
    if "\n---" not in text and text[:1] not in _BEFORE_JSON:
        yield Piece(text, first_line, file, layer, form)
        return
    from jobspec.documents.streams import cut

    for part, lines in cut(text):
        yield Piece(part, first_line + lines, file, layer, form)


def read_piece(piece: Piece, index: int, documents: list[Document], problems: list[Diagnostic]) -> int:
    """Add the documents and problems of a piece to *documents* and *problems*.

    Documents are numbered from *index*. Returns the index of the next document.
    """
    if piece.form not in ("file of a kustomization", "patch"):
        return _read_form(piece, index, documents, problems)
    found: list[Document] = []
    wrong: list[Diagnostic] = []
    last = _read_form(piece, index, found, wrong)
    if form := _other_form(piece, found, wrong):
        found, wrong = [], []
        last = _read_form(Piece(piece.text, piece.first_line, piece.file, piece.layer, form), index, found, wrong)
    documents += found
    problems += wrong
    return last


def _other_form(piece: Piece, documents: Sequence[Document], problems: Sequence[Diagnostic]) -> Form | None:
    """Return the form in which kustomize reads a piece otherwise than a manifest.

    If there is none, return None.
    """
    first = documents[0] if documents else None
    has_equal_keys = any(each.rule == "duplicate-key" for each in problems)
    if first is None:
        return None
    if piece.form == "patch":
        form: Form = "JSON patch" if isinstance(first.data, list) else "merge patch"
        return form if has_equal_keys else None
    if first.index or not first.is_kustomization:
        return None
    from jobspec.documents.kustomization_fields import has_other_case

    return "kustomization" if has_equal_keys or has_other_case(first.data) else None


#: Which of equal keys counts for kustomize.
_COUNTING: Mapping[Form, CountingKey] = {"kustomization": "last", "merge patch": "first", "JSON patch": "last"}


def _read_form(piece: Piece, index: int, documents: list[Document], problems: list[Diagnostic]) -> int:
    """Do what `read_piece` does, in the form that the piece has."""
    if len(piece.text) > 2 * MAX_BYTES and (problem := _over_text_limit(piece, index)):
        problems.append(problem)
        return index + 1
    if piece.form not in _COUNTING and (met := known(piece.text)) is not None:
        documents += [
            Document(data, _MarksLater(piece, number), file=piece.file, index=index + at, has_merges=has_merges, has_aliases=has_aliases)
            for at, (number, data, has_merges, has_aliases) in enumerate(met)
        ]
        return index + len(met)
    found: list[Decoded] = []
    is_sound, node = True, None
    try:
        for number, each in enumerate(_parsed(piece)):
            data, node = each.data, each.node
            problems += _diagnostics(each.problems, piece, index)
            is_sound = is_sound and not each.problems
            if data is not None:
                if _is_definition(data):
                    data = shared(data)
                marks = _MarksLater(piece, number, node)
                document = Document(data, marks, file=piece.file, index=index, has_merges=each.has_merges, has_aliases=each.has_aliases)
                too_large = list(_over_limit(document)) if len(piece.text) > SURELY_SMALL else []
                problems += too_large
                is_sound = is_sound and not too_large
                documents += [document] if not too_large or document.kind.endswith("List") else []
                found.append((number, data, document.has_merges, document.has_aliases))
                index += 1
        if is_sound and piece.form not in _COUNTING:
            keep(piece.text, found, node)
        return index
    except _Failure as failure:
        problem = Diagnostic(failure.rule, failure.message, mark_of(piece, failure.mark), document=index, hint=failure.hint)
    except YAMLError as error:
        from jobspec.documents.syntax import NESTING, complaint, start_of_level

        if getattr(error, "problem", "") == NESTING:
            start, rule, message, hint = start_of_level(MAX_DEPTH + 1, piece.text), "too-deep", _TOO_DEEP, ""
        else:
            rule, (start, message, hint) = "yaml-syntax", complaint(error, piece.text)
        problem = Diagnostic(rule, message, mark_of(piece, start), document=index, hint=hint)
    problems.append(problem)
    return index + 1


def _is_definition(data: Any) -> bool:
    return type(data) is dict and data.get("kind") == CUSTOM_RESOURCE_DEFINITION[1]


def _over_text_limit(piece: Piece, index: int) -> Diagnostic | None:
    """The problem of a text that is too large for any one object; a List may be larger."""
    if any("List" in part for part in (piece.text[:AROUND], piece.text[-AROUND:])):
        return None
    message = "the document is far over 3 MiB, the API server's limit for one object"
    return Diagnostic("too-large", message, Mark(piece.file, piece.first_line + 1, 1, layer=piece.layer), document=index)


def _over_limit(document: Document) -> Iterator[Diagnostic]:
    """Yield a problem for each object over the API server's limit, as clients send it.

    Objects are the document, or the items of a list.
    """
    from json import dumps

    items = document.data.get("items") if isinstance(document.data, dict) and document.kind.endswith("List") else None
    objects = enumerate(items) if isinstance(items, list) else [(None, document.data)]
    for number, data in objects:
        sent = dumps(data, ensure_ascii=False, separators=(",", ":"))
        size = len(sent.encode(errors="surrogatepass")) + 5 * sum(map(sent.count, "<>&"))  # Go escapes these
        if size > MAX_BYTES:
            message = f"the object is {size / (1 << 20):.1f} MiB as JSON; the API server's limit is 3 MiB"
            yield document.problem("too-large", message, () if number is None else ("items", number))


def _parsed(piece: Piece) -> Iterator[_ParsedDocument]:
    """Return the documents of a piece, as go-yaml would parse it.

    Most texts that go-yaml may read differently have no `[...]` or `{...}` with content: what libyaml makes of them is the same.
    """
    text = piece.text
    by_go = any(each in text for each in _READ_DIFFERENTLY)
    if not by_go and (any(each in text for each in _DIFFERENT_INSIDE) or _has_tag_before_comma(text)):
        try:
            return iter(list(_Decoder(piece, CParser(text).get_event, takes_flow=False).documents()))
        except (_FlowError, _Failure, YAMLError):
            by_go = True
    next_event: Callable[[], Any] = CParser(text).get_event
    if by_go:
        from jobspec.documents.go_yaml import Events

        next_event = Events(text, is_later=piece.first_line > 0).next
    return _Decoder(piece, next_event).documents()


def _beginning(piece: Piece, key: str | int) -> Node | None:
    """Return the first document of a long piece up to a key, to find the place of its value.

    If only parsing all of the text would tell the place, return None.
    """
    text = piece.text
    if len(text) < _LONG or piece.form in _COUNTING or any(each in text for each in _READ_DIFFERENTLY):
        return None
    try:
        return _Decoder(piece, CParser(text).get_event, takes_flow=False).beginning(key)
    except (_FlowError, _Failure, YAMLError):
        return None


def _has_tag_before_comma(text: str) -> bool:
    return any("," in tag.split(maxsplit=1)[0] for tag in text.split("!")[1:] if tag[:1].strip())


class _MarksLater(ParsedMarks):
    """A callable that makes the marks of a document from its nodes.

    It is pickled as text, which is parsed again on use.
    """

    __slots__ = ("_begun", "_node", "_number", "_piece")

    def __init__(self, piece: Piece, number: int, node: Any = None) -> None:
        self._piece = piece
        self._number = number
        """Counts the documents of the piece."""
        self._node = node
        self._begun: Node | None = None
        """The first part of the node of a long document."""

    def __call__(self) -> Marks:
        return marks_of(self._piece, self._parsed())

    def nearest(self, path: Path) -> Marks:
        """Return the marks of the value at *path*, or of the innermost value around it that exists, without those of values beside it."""
        node = self._up_to(path[0]) if path and self._node is None and not self._number else None
        return nearest_marks(self._piece, node or self._parsed(), path)

    def _up_to(self, key: str | int) -> Node | None:
        """Return the node of the document up to a key.

        If what is parsed already ends before the key, return None.
        """
        if self._begun is None:
            self._begun = _beginning(self._piece, key)
        return self._begun if self._begun and key in self._begun.children else None

    def _parsed(self) -> Any:
        """Return the node of the document."""
        if self._node is None:
            self._node = [each.node for _, each in zip(range(self._number + 1), _parsed(self._piece), strict=False)][-1]
        return self._node

    def same_marks(self, other: ParsedMarks, name: str, other_name: str) -> SameMarks | None:
        if self._node is not None or not isinstance(other, _MarksLater) or self._number != other._number:
            return None
        here, there = self._piece, other._piece
        if not name or not other_name or there.has_other_breaks or "\r" in there.text:
            return None
        if here.text.split(name) != there.text.split(other_name):
            return None
        lines, moved = there.text.split("\n"), here.first_line - there.first_line

        def column(line: int, there_column: int) -> int:
            """Return the column here of a column in the other text. If it is inside of the name, return 0."""
            text, shift = lines[line - there.first_line - 1], 0
            start = text.find(other_name)
            while 0 <= start < there_column - 1:
                end = start + len(other_name)
                if there_column - 1 < end:
                    return 0
                shift += len(name) - len(other_name)
                start = text.find(other_name, end)
            return there_column + shift

        def same_mark(mark: Mark) -> Mark | None:
            if mark.file != there.file:
                return None
            start, end = column(mark.line, mark.column), column(mark.end_line, mark.end_column)
            return Mark(here.file, mark.line + moved, start, mark.end_line + moved, end, here.layer) if start and end else None

        return same_mark

    def forget(self) -> None:
        self._node = self._begun = None

    def __reduce__(self) -> tuple[type[_MarksLater], tuple[Piece, int]]:
        return _MarksLater, (self._piece, self._number)


class _Failure(Exception):
    """The document cannot be decoded."""

    def __init__(self, rule: str, message: str, mark: Any, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.mark = mark
        self.hint = hint


class _FlowError(Exception):
    """The document has a `[...]` or `{...}` with content, which go-yaml may read differently."""


class _ParsedDocument(Record):
    """A document as it was parsed, with its node and its problems."""

    data: Any
    node: Any
    problems: Sequence[Problem]
    has_merges: bool
    has_aliases: bool


def _diagnostics(problems: Sequence[Problem], piece: Piece, index: int) -> list[Diagnostic]:
    """Return the diagnostics of problems in the document at *index*."""
    found = [Diagnostic(rule, message, mark_of(piece, mark), document=index, hint=hint) for rule, message, mark, hint in problems]
    if piece.form not in _COUNTING:
        return found
    return [each.changed(severity="warning", stage="render") if each.rule == "duplicate-key" else each for each in found]


class _Decoder:
    """Decodes the parser's events to the documents of a piece."""

    def __init__(self, piece: Piece, next_event: Callable[[], Any], *, takes_flow: bool = True) -> None:
        """*takes_flow*: raise no _FlowError."""
        self.next = next_event
        self.piece = piece
        self.takes_flow = takes_flow
        self.counting = _COUNTING.get(piece.form, "")
        """Which of equal keys counts, if kustomize reads them; the others are a warning then."""

    def documents(self) -> Iterator[_ParsedDocument]:
        while type(event := self.next()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                self.begin(event)
                data, node = self.value(self.next(), 0)
                self.next()  # the end of the document; an error before it makes the document unreadable
                if self.piece.form == "kustomization":
                    from jobspec.documents.kustomization_fields import name_fields

                    data, node, dropped = name_fields(data, node, self.line)
                    self.problems += dropped
                yield _ParsedDocument(data, node, self.problems, self.has_merges, self.aliased > 0)

    def begin(self, start: Any) -> None:
        """Begin a document."""
        _check_version(start)
        self.anchors: dict[str, tuple[Any, Any, int] | None] = {}
        self.decoded = 1
        self.aliased = 0
        self.has_merges = False
        self.problems: list[Problem] = []

    def beginning(self, wanted: str | int) -> Node | None:
        """Return the first document up to a key of it.

        If it is no mapping with that key, or if keys are merged, return None.
        """
        while type(event := self.next()) is not DocumentStartEvent:
            if type(event) is StreamEndEvent:
                return None
        self.begin(event)
        start = self.next()
        if type(start) is not MappingStartEvent or start.flow_style:
            return None
        nodes: Nodes = {}
        while type(event := self.next()) is ScalarEvent and not _is_merge(event):
            key = self.key(event, 0)
            _, node = self.value(self.next(), 1)
            nodes.setdefault(key, (event, node))
            if key == wanted:
                return Node(start, nodes)
        return None

    def value(self, event: Any, depth: int) -> tuple[Any, Any]:
        self.decoded += 1
        kind = type(event)
        if kind is ScalarEvent:
            value = _scalar_value(event)
            if event.anchor:
                self.anchors[event.anchor] = value, event, 1
            return value, event
        if kind is AliasEvent:
            return self.alias(event)
        if depth == MAX_DEPTH:
            raise _Failure("too-deep", _TOO_DEEP, event.start_mark)
        _check_tag(event)
        if event.flow_style and not self.takes_flow:
            return self.empty_flow(event, kind)
        before = self.decoded
        if event.anchor:
            self.anchors[event.anchor] = None
        value, node = self.mapping(event, depth) if kind is MappingStartEvent else self.sequence(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = value, node, self.decoded - before + 1
        return value, node

    def empty_flow(self, start: Any, kind: Any) -> tuple[Any, Node]:
        """Decode `[]` or `{}`. Raises _FlowError if it has content."""
        if type(self.next()) not in (SequenceEndEvent, MappingEndEvent) or start.anchor:
            raise _FlowError
        nodes: Any = {} if kind is MappingStartEvent else []
        return type(nodes)(), Node(start, nodes)

    def sequence(self, start: Any, depth: int) -> tuple[list[Any], Node]:
        values: list[Any] = []
        nodes = []
        while type(event := self.next()) is not SequenceEndEvent:
            node = event
            if (value := _surely_text(event)) is None:
                value, node = self.value(event, depth + 1)
            else:
                self.decoded += 1
            values.append(value)
            nodes.append(node)
        return values, Node(start, nodes)

    def mapping(self, start: Any, depth: int) -> tuple[dict[str, Any], Node]:
        data: dict[str, Any] = {}
        nodes: Nodes = {}
        while type(event := self.next()) is not MappingEndEvent:
            if (key := _surely_text(event)) is None:
                if _is_merge(event):
                    self.merge(event, depth, data, nodes)
                    continue
                key = self.key(event, depth)
            else:
                self.decoded += 1
            node = self.next()
            if (value := _surely_text(node)) is None:
                value, node = self.value(node, depth + 1)
            else:
                self.decoded += 1
            if key not in data or self.overrides(key, event, nodes[key][0]):
                data[key] = value
                nodes[key] = event, node
        return data, Node(start, nodes)

    def overrides(self, key: str, event: Any, first: Any) -> bool:
        """Return True if a second *key* replaces the first one.

        If no merge added the first one, report a problem.
        """
        from jobspec.documents.merged_keys import MergedKey, duplicate, is_same

        if type(first) is MergedKey and is_same(key, event, first):
            return True
        self.problems.append(duplicate(key, event, self.line(first), self.counting))
        return self.counting == "last"

    def line(self, event: Any) -> int:
        """Return the line in the file where an event begins."""
        return mark_of(self.piece, event.start_mark).line

    def key(self, event: Any, depth: int) -> str:
        if type(event) is not ScalarEvent:
            _, node = self.value(event, depth + 1)
            if type(node) is not ScalarEvent:
                from jobspec.documents.syntax import TEMPLATE_HINT

                hint = TEMPLATE_HINT if type(event) is MappingStartEvent and event.flow_style else "write the key as a string"
                raise _Failure("unsupported-value", "a key must be a string, not a mapping or list", event.start_mark, hint)
            return _key(node, event)
        self.decoded += 1
        key = _key(event, event)
        if event.anchor:
            self.anchors[event.anchor] = _scalar_value(event), event, 1
        return key

    def merge(self, key: Any, depth: int, data: dict[str, Any], nodes: Nodes) -> None:
        """Add the entries of the mappings that a `<<` merges."""
        self.has_merges = True
        event = self.next()
        value, node = self.value(event, depth + 1)
        listed = type(event) is SequenceStartEvent  # go-yaml accepts no alias of a list here
        values, parts = (value, node.children) if listed else ([value], [node])
        if not all(isinstance(value, dict) for value in values):
            raise _Failure("yaml-syntax", "the merge key `<<` needs a mapping or a list of mappings", key.start_mark)
        from jobspec.documents.merged_keys import add

        merged = zip(values, (part.children for part in parts), strict=True)
        self.problems += add(key, merged, data, nodes, self.line)

    def alias(self, event: Any) -> tuple[Any, Any]:
        if event.anchor not in self.anchors:
            raise _Failure("yaml-syntax", f"unknown alias: no anchor `&{event.anchor}` before it", event.start_mark)
        found = self.anchors[event.anchor]
        if found is None:
            raise _Failure("recursive-alias", f"the alias `*{event.anchor}` is inside of its own anchor", event.start_mark)
        value, node, weight = found
        self.decoded += weight
        self.aliased += weight
        if self.aliased > 100 and self.decoded > 1000 and self.aliased > self.decoded * _allowed_alias_ratio(self.decoded):
            raise _Failure("excessive-aliasing", f"the aliases expand to more than {self.aliased:,} values", event.start_mark)
        return value, node


def _allowed_alias_ratio(decoded: int) -> float:
    """The share of values that may come from aliases, as in go-yaml's `allowedAliasRatio`."""
    low, high = 400_000, 4_000_000
    return 0.99 - 0.89 * (min(max(decoded, low), high) - low) / (high - low)


def _surely_text(event: Any) -> Any:
    """Return the value of a scalar that is certainly a string, by its first character.

    For other scalars, which may be strings, too, return None.
    """
    if type(event) is ScalarEvent and event.value[:1] in TEXT_BEGINS_WITH and not event.tag and not event.anchor:
        return event.value
    return None


def _is_merge(event: Any) -> bool:
    return type(event) is ScalarEvent and event.value == "<<" and (event.implicit[0] or event.tag == "tag:yaml.org,2002:merge")


def _check_version(start: Any) -> None:
    if start.version not in (None, (1, 1)):
        version = ".".join(str(number) for number in start.version)
        raise _Failure("yaml-syntax", f"Kubernetes does not read YAML {version}, only 1.1", start.start_mark, "remove the %YAML line")


def _key(scalar: Any, place: Any) -> str:
    """The key of a *scalar*; *place* is its event, or that of its alias."""
    if scalar.tag is None:
        key = key_text(scalar.value) if scalar.implicit[0] else scalar.value
    else:
        value = _scalar_value(scalar)
        key = value if isinstance(value, str) else key_text(scalar.value)
    if key is None:
        what = f"`{scalar.value}`" if scalar.value else "empty"
        raise _Failure("unsupported-value", f"a key cannot be {what}", place.start_mark, "put the key in quotes")
    return key


def _scalar_value(event: Any) -> Any:
    if event.tag is None:
        value = resolve(event.value) if event.implicit[0] else event.value
    else:
        _check_tag(event)
        try:
            value = resolve_tagged(event.value, event.tag)
        except ValueError as error:
            raise _Failure("unknown-tag", f"{error}", event.start_mark, "remove the tag") from None
    if type(value) is float and value - value != 0:
        raise _Failure(
            "unsupported-value", f"`{event.value}` cannot be represented in JSON", event.start_mark, "put it in quotes if a string is meant"
        )
    return value


def _check_tag(event: Any) -> None:
    """Refuse an unknown tag of YAML's namespace (`!!x`); Kubernetes ignores other tags (`!x`)."""
    tag = event.tag
    if tag and tag.startswith("tag:yaml.org,2002:") and tag not in TAGS:
        name = tag.rpartition("2002:")[2]
        raise _Failure("unknown-tag", f"Kubernetes has no YAML type `!!{name}`", event.start_mark, "write the plain value")


class Node:
    """A mapping or list as it is written: its first event, and the nodes inside.

    The node of a scalar is its event.
    """

    __slots__ = ("children", "event")

    def __init__(self, event: Any, children: Nodes | list[Any]) -> None:
        self.event = event
        self.children = children
