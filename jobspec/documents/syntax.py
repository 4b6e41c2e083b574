"""Broken YAML: the stream is cut into documents, and libyaml's errors are said in terms of what the user wrote."""

from __future__ import annotations

from itertools import islice

from jobspec.diagnostics.record import Record
from jobspec.documents.libyaml import CParser, MarkedYAMLError, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any


TEMPLATE_HINT = "if this is a template, fill it in first: `{{ ... }}` and `{% ... %}` are not YAML"
QUESTION = "found '?' in a plain scalar"
TAG = "found ',' after a tag"
SLASH = "found '/' after a backslash"
_SENTENCES = {
    "found character '\\t' that cannot start any token": ("indented with a tab: YAML allows spaces only", "indent with spaces"),
    "found a tab character that violates indentation": ("indented with a tab: YAML allows spaces only", "indent with spaces"),
    "found character that cannot start any token": ("unexpected character at the start of a value", "put the value in quotes"),
    "mapping values are not allowed in this context": (
        "unexpected `:`: the line is indented too far, or a value with `: ` in it needs quotes",
        "",
    ),
    "did not find expected '-' indicator": (
        "expected `- `: this line is indented like the items of the list above",
        "check the indentation",
    ),
    "did not find expected key": (
        "inconsistent indentation: this line does not fit the lines above",
        "check the indentation, and quotes that are still open",
    ),
    "could not find expected ':'": ("expected `:` after this key, or quotes around this string", "write `key: value`"),
    "found unexpected end of stream": ("unclosed quote: the string that begins here does not end", "close the quotes"),
    "did not find expected ',' or ']'": (
        "unclosed list: expected `,` or `]`",
        "close it, or put a `,` between its items",
    ),
    "did not find expected ',' or '}'": (
        "unclosed mapping: expected `,` or `}`",
        "close it, or put a `,` between its entries",
    ),
    "did not find expected node content": ("missing value", ""),
    "did not find expected <document start>": ("unexpected text after the end of the document", "begin another document with `---`"),
    "did not find expected alphabetic or numeric character": (
        "`&` or `*` without a name",
        "put the value in quotes if a string is meant",
    ),
    "block sequence entries are not allowed in this context": ("a list cannot begin here", "begin it on a new line"),
    "found undefined tag handle": ("undeclared prefix of a tag", "remove the tag"),
    "found invalid Unicode character escape code": ("invalid Unicode escape", ""),
    "found unknown escape character": ("unknown escape after `\\`", "use single quotes, in which `\\` is only itself"),
    QUESTION: ("unquoted `?` inside `[...]` or `{...}`: the YAML parser of Kubernetes refuses it", "put it in quotes"),
    SLASH: ("invalid escape `\\/`: the YAML parser of Kubernetes refuses it", "write `/`"),
    TAG: ("`,` right after a tag: the YAML parser of Kubernetes takes it as part of the tag", "put a space between them"),
    "control characters are not allowed": ("a control character that YAML does not allow", "remove it, or write it as an escape"),
}
#: What is reported where the key, list, mapping or string begins, not where the parser gave up.
_FROM_THE_START = (
    "could not find expected ':'",
    "found unexpected end of stream",
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
    SLASH,
)


#: What libyaml says of a text nested more than 1,000 levels deep, from PyYAML 6.0.4 on.
NESTING = "exceeded maximum nesting depth"


class Start(Record):
    """A place in a text, with line and column from 0 like the parser's own marks."""

    line: int
    column: int


def complaint(error: Exception, text: str) -> tuple[Any, str, str]:
    """Return mark, message and hint for a parser's *error* in a *text*."""
    if isinstance(error, MarkedYAMLError):
        problem = str(error.problem)
        begins = problem in _FROM_THE_START and error.context_mark
        start = begins or error.problem_mark or error.context_mark
        assert start
    else:
        problem = str(getattr(error, "reason", error))
        before = text.encode()[: getattr(error, "position", 0)].decode(errors="ignore")
        start = Start(before.count("\n"), len(before) - before.rfind("\n") - 1)
    line = "".join(text.splitlines()[start.line : start.line + 1])
    if problem == "found character that cannot start any token" and line[start.column : start.column + 1] == "\t":
        problem = "found character '\\t' that cannot start any token"
    message, hint = _SENTENCES.get(problem, (problem, ""))
    if "{{" in line or "{%" in line:
        hint = TEMPLATE_HINT
    elif (before_marker := f"\n{text}".partition("\n<<<<<<< ")[0]) != f"\n{text}":
        start = Start(before_marker.count("\n"), 0)
        message, hint = "unresolved merge conflict", "resolve it in the sources; `jobspec render` resolves those in rendered files"
    return start, message, hint


def start_of_level(level: int, text: str) -> Any:
    """Return the mark where a text is first nested *level* levels deep.

    libyaml itself stops only at 1,000 levels, before it gives any event.
    """
    import yaml

    opening = (yaml.BlockSequenceStartToken, yaml.BlockMappingStartToken, yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)
    closing = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    depth = 0
    for token in yaml.scan(text):
        depth += isinstance(token, opening) - isinstance(token, closing)
        if depth == level:
            break
    return token.start_mark


# Cut a YAML stream before each `---`, so that a broken document leaves the others readable. Cut a stream of JSON before each object.
# Follows `YAMLOrJSONDecoder.Decode`, k8s.io/apimachinery pkg/util/yaml, 0.37.
def cut(text: str) -> Iterator[tuple[str, int]]:
    """Cut a text into its documents, each with the number of lines before it.

    Directives (`%YAML 1.1`) stay with the document after them.
    """
    start = line = 0
    for end in _starts_in_json(text) if _may_be_json(text) else _starts(text):
        yield text[start:end], line
        line += text.count("\n", start, end)
        start = end
    yield text[start:], line


def _may_be_json(text: str) -> bool:
    """True if a text may be a stream of JSON objects, each of which begins a line."""
    return text[:1] in "{ \t\r\n" and "\n{" in text and text.lstrip(" \t\r\n")[:1] == "{"


def _starts_in_json(text: str) -> Iterator[int]:
    """Return where the second and later objects of a JSON stream begin.

    If the text is no such stream, return where documents in YAML begin.
    """
    import re
    from json import JSONDecoder

    read, space = JSONDecoder().raw_decode, re.compile(r"[ \t\r\n]*")
    at, found = text.index("{"), list[int]()
    try:
        while at < len(text):
            found.append(at)
            behind = space.match(text, read(text, at)[1])
            at = behind.end() if behind else len(text)
            if at < len(text) and text[at - 1 : at + 1] != "\n{":
                return _starts(text)
    except (ValueError, RecursionError):
        return _starts(text)
    return iter(found[1:])


def cut_of_kinds(text: str, kinds: Iterable[str], words: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each piece that seems to be of one of some kinds, with the lines and bytes before.

    The piece has the name of the kind behind `kind`, or an alias there, and, if there are *words*, one of them.
    """
    import re

    names = f"(?:{'|'.join(kinds)})\\b"
    is_of_kind = re.compile(rf"kind\W+{names}|{_BEFORE_KIND}{names}|{_KIND}\*").search
    if not is_of_kind(text):
        return
    at = 0
    for piece, line in cut(text):
        if is_of_kind(piece) and (not words or any(word in piece for word in words)):
            yield piece, line, at
        at += len(piece.encode())


def kinds_in(content: bytes) -> frozenset[str]:
    """Return the words behind each `kind` in a text in UTF-8.

    The kind of every document in the text is among these words.
    """
    import re

    found = {*re.findall(rb"kind(?=\W+(\w+))", content), *re.findall(rf"{_BEFORE_KIND}(\w+)".encode(), content)}
    for alias in set(re.findall(rf"{_KIND}\*([^\s,}}\]]+)".encode(), content)):
        found |= {*re.findall(rb"&" + re.escape(alias) + rb"\s+[\"']?(\w+)", content)}
    return frozenset(each.decode() for each in found)


_KIND = r"kind[\"']?\s*:\s*"
_BEFORE_KIND = rf"{_KIND}(?:[&!]\S*\s+|#[^\n]*\n\s*)+[\"']?"
"""Matches a field `kind` up to its value, if an anchor, a tag or a comment is before the value."""


def _starts(text: str) -> Iterator[int]:
    """Yield where the documents behind the first one begin."""
    start = 0
    while (start := _next_start(text, start)) >= 0:
        yield start


def _next_start(text: str, start: int) -> int:
    """Where the next document begins behind *start*, -1 where none does."""
    at = start
    while (at := text.find("\n---", at)) >= 0:
        at += 1
        if (len(text) == at + 3 or text[at + 3] in " \t\r\n") and not _only_directives(text[start:at]):
            return at
    return -1


def _only_directives(piece: str) -> bool:
    """Whether the lines before a `---` are directives."""
    if "%" not in piece:
        return False
    lines = [line for line in piece.rpartition("\n...")[2].splitlines() if line.strip() and not line.startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


# Parse texts that libyaml, the parser of PyYAML, reads differently than go-yaml.
#
# Follows `yaml_parser_scan_plain_scalar`, `yaml_parser_scan_tag` and `yaml_parser_scan_flow_scalar`, go.yaml.in/yaml/v2 scannerc.go,
# v2.4.4. Inside `[...]` and `{...}`, go-yaml ends plain text at a `?`, which is then an error; a `:` right before `,`, `]` or `}` is part
# of the text; a `,` right after a tag is part of the tag. In double quotes, it accepts `\'` but not `\/`. A byte order mark is text except
# at the beginning.


_BYTE_ORDER_MARK = "\ufeff"
_MAX_CHANGES = 100  # of a text, each at the cost of reading it again


class Events:
    """The events of a text, as go-yaml would parse it.

    Characters that only libyaml refuses are replaced for the parser by unused ones, and put back into the events.
    """

    def __init__(self, text: str, *, is_later: bool) -> None:
        unused = islice((character for character in map(chr, range(0xE000, 0xF900)) if character not in text), 3)
        self._hidden = dict(zip((_BYTE_ORDER_MARK, ":", "\\"), unused, strict=False))
        self._text = self._without_marks(text, is_later=is_later)
        self._has_marks = self._text != text
        self._parser = CParser(self._text)
        self._count = 0
        self._changes = 0
        self._depth = 0

    def next(self) -> Any:
        """Return the next event. Raises the parser's error if go-yaml refuses the text, too."""
        while True:
            try:
                event = self._parser.get_event()
            except MarkedYAMLError as error:
                self._hide(error)
                continue
            self._count += 1
            return self._checked(event)

    def _without_marks(self, text: str, *, is_later: bool) -> str:
        """The text with its byte order marks replaced, but for one at the start of a document."""
        if _BYTE_ORDER_MARK not in self._hidden:
            return text
        start, _, rest = text.partition("\n")
        kept = len(start) + 2 if is_later and rest.startswith(_BYTE_ORDER_MARK) else 0
        return text[:kept] + text[kept:].replace(_BYTE_ORDER_MARK, self._hidden[_BYTE_ORDER_MARK])

    def _hide(self, error: Any) -> None:
        """Replace the character that an error is about, and parse again up to it.

        If go-yaml has the error, too, raise it.
        """
        at = error.problem_mark.index if error.problem_mark else 0
        two = self._text[at : at + 2]
        reads_on = (error.problem == "found unexpected ':'" and two in (":,", ":]", ":}")) or (
            error.problem == "found unknown escape character" and two == "\\'"
        )
        if not reads_on or two[0] not in self._hidden or self._changes == _MAX_CHANGES:
            raise error
        self._text = self._text[:at] + self._hidden[two[0]] + self._text[at + 1 :]
        self._changes += 1
        self._parser = CParser(self._text)
        for _ in range(self._count):
            self._parser.get_event()

    def _checked(self, event: Any) -> Any:
        kind = type(event)
        if kind is events.ScalarEvent:
            if self._depth or event.style == '"':
                self._check(event)
            for character, other in self._hidden.items() if self._changes or self._has_marks else ():
                event.value = event.value.replace(other, "" if character == "\\" else character)
        elif kind in (events.SequenceStartEvent, events.MappingStartEvent):
            self._depth += bool(self._depth or event.flow_style)
        elif kind in (events.SequenceEndEvent, events.MappingEndEvent):
            self._depth -= bool(self._depth)
        return event

    def _check(self, scalar: Any) -> None:
        """Raise an error for a scalar that only go-yaml refuses."""
        start, end = scalar.start_mark.index, scalar.end_mark.index
        problem = ""
        if scalar.style == '"' and "\\/" in self._text[start:end].replace("\\\\", ""):
            problem = SLASH
        elif self._depth and not scalar.style and "?" in scalar.value:
            problem = QUESTION
        elif self._depth and scalar.tag and not scalar.style and not scalar.value and self._text[end] == ",":
            problem = TAG
        if problem:
            raise MarkedYAMLError(problem=problem, problem_mark=scalar.start_mark)
