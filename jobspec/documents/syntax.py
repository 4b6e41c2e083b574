"""Broken YAML: the stream is cut into documents, and libyaml's errors are said in terms of what the user wrote."""

from __future__ import annotations

from jobspec.documents.libyaml import MarkedYAMLError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


TEMPLATE_HINT = "if this is a template, fill it in first: `{{ ... }}` and `{% ... %}` are not YAML"
QUESTION = "found '?' in a plain scalar"
TAG = "found ',' after a tag"
SLASH = "found '/' after a backslash"
_SENTENCES = {
    "found character '\\t' that cannot start any token": ("a tab stands where YAML wants spaces", "indent with spaces"),
    "found character that cannot start any token": ("a character that cannot begin a value", "put the value in quotes"),
    "mapping values are not allowed in this context": (
        "a `:` follows where no key can stand: the line is indented too far, or a value with `: ` in it needs quotes",
        "",
    ),
    "did not find expected '-' indicator": (
        "this line ends the list above it, but stands as deep as the list's items",
        "check the indentation",
    ),
    "did not find expected key": (
        "this line is indented unlike the lines above it",
        "check the indentation, and quotes that are still open",
    ),
    "could not find expected ':'": ("what begins here is a key without `:`, or text without quotes", "write `key: value`"),
    "found unexpected end of stream": ("the text that begins here has no closing quote", "close the quotes"),
    "did not find expected ',' or ']'": (
        "the list that begins here goes on without `,` or `]`",
        "close it, or put a `,` between its items",
    ),
    "did not find expected ',' or '}'": (
        "the mapping that begins here goes on without `,` or `}`",
        "close it, or put a `,` between its entries",
    ),
    "did not find expected node content": ("a value is missing here", ""),
    "did not find expected <document start>": ("more text follows the end of the document", "begin another document with `---`"),
    "did not find expected alphabetic or numeric character": ("an `&` or `*` without a name", "put the value in quotes if text is meant"),
    "block sequence entries are not allowed in this context": ("a list cannot begin here", "begin it on a line of its own"),
    "found undefined tag handle": ("the prefix of this tag is not declared", "leave the tag out"),
    "found invalid Unicode character escape code": ("an escape for a character that does not exist", ""),
    "found unknown escape character": ("an unknown escape after `\\`", "use single quotes, in which `\\` is only itself"),
    QUESTION: ("text with a `?` stands without quotes inside `[...]` or `{...}`, where Kubernetes lets no `?` be", "put it in quotes"),
    SLASH: ("the text that begins here has `\\/` in it, an escape that Kubernetes does not know", "write `/`"),
    TAG: ("a `,` stands right after this tag, which Kubernetes takes for a part of it", "put a space between them"),
    "control characters are not allowed": ("a control character that YAML does not allow", "remove it, or write it as an escape"),
}
_FROM_THE_START = frozenset(sentence for sentence, _ in _SENTENCES.values() if "begins here" in sentence)


class Start:
    """A place in a text, with line and column from 0 like the parser's own marks."""

    __slots__ = ("column", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column


def complaint(error: Exception, text: str) -> tuple[Any, str, str]:
    """Mark, message and hint for a parser's *error* in a *text*."""
    if isinstance(error, MarkedYAMLError):
        problem = str(error.problem)
        begins = _SENTENCES.get(problem, ("", ""))[0] in _FROM_THE_START and error.context_mark
        start = begins or error.problem_mark or error.context_mark
        assert start
    else:
        problem = str(getattr(error, "reason", error))
        before = text.encode()[: getattr(error, "position", 0)].decode(errors="ignore")
        start = Start(before.count("\n"), len(before) - before.rfind("\n") - 1)
    line = _line(text, start.line)
    if problem == "found character that cannot start any token" and line[start.column : start.column + 1] == "\t":
        problem = "found character '\\t' that cannot start any token"
    message, hint = _SENTENCES.get(problem, (problem, ""))
    if "{{" in line or "{%" in line:
        hint = TEMPLATE_HINT
    elif "\n<<<<<<< " in text:
        hint = "resolve the merge conflict"
    return start, message, hint


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number] if number < len(lines) else ""


# Cut a YAML stream before each `---`, so that a broken document leaves the others readable.


def cut(text: str) -> Iterator[tuple[str, int]]:
    """Each piece of the text, with the number of lines before it. Directives (`%YAML 1.1`) stay with the document after them."""
    start = line = 0
    while (end := _next_start(text, start)) >= 0:
        yield text[start:end], line
        line += text.count("\n", start, end)
        start = end
    yield text[start:], line


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
