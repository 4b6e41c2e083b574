r"""Parse texts that libyaml, the parser of PyYAML, reads differently than go-yaml.

Follows `yaml_parser_scan_plain_scalar`, `yaml_parser_scan_tag` and `yaml_parser_scan_flow_scalar`, go.yaml.in/yaml/v2 scannerc.go,
v2.4.4. Inside `[...]` and `{...}`, go-yaml ends plain text at a `?`, which is then an error; a `:` right before `,`, `]` or `}` is part
of the text; a `,` right after a tag is part of the tag. In double quotes, it accepts `\'` but not `\/`. A byte order mark is text except
at the beginning.
"""

from __future__ import annotations

from itertools import islice

from jobspec.documents.libyaml import CParser, MarkedYAMLError, events
from jobspec.documents.syntax import QUESTION, SLASH, TAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
