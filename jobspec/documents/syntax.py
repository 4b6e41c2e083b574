"""Broken YAML: libyaml's errors are said in terms of what the user wrote."""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.documents.libyaml import MarkedYAMLError

TYPE_CHECKING = False
if TYPE_CHECKING:
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
