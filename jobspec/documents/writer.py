"""Documents to YAML text that every reader understands the same way."""

from __future__ import annotations

import io
from functools import lru_cache

from jobspec.documents.libyaml import CEmitter, events
from jobspec.documents.scalars import is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_WIDTH = 2**30  # never fold a line


def write(documents: Iterable[Any]) -> str:
    """The *documents*' data as block YAML with `---` between them; keys keep their order.

    Every scalar reads back as the same type and value under the YAML 1.1 rules of Kubernetes and under YAML 1.2.
    """
    stream = io.StringIO()
    emitter = CEmitter(stream, width=_WIDTH, allow_unicode=True)
    emitter.emit(events.StreamStartEvent())
    for number, data in enumerate(documents):
        emitter.emit(events.DocumentStartEvent(explicit=number > 0))
        _emit(data, emitter.emit)
        emitter.emit(events.DocumentEndEvent(explicit=False))
    emitter.emit(events.StreamEndEvent())
    return stream.getvalue()


def _emit(value: Any, emit: Callable[[Any], None]) -> None:
    if isinstance(value, dict):
        emit(events.MappingStartEvent(None, None, True, flow_style=not value))
        for key, child in value.items():
            emit(_key(key))
            _emit(child, emit)
        emit(events.MappingEndEvent())
    elif isinstance(value, list):
        emit(events.SequenceStartEvent(None, None, True, flow_style=not value))
        for child in value:
            _emit(child, emit)
        emit(events.SequenceEndEvent())
    elif isinstance(value, str):
        emit(_text(value))
    else:
        emit(events.ScalarEvent(None, None, (True, False), _plain(value)))


def _plain(value: float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if isinstance(value, int) or "." in text else text.replace("e", ".0e")  # most YAML 1.1 readers read `1e+22` as text


def _text(text: str) -> Any:
    if is_plain(text):
        return events.ScalarEvent(None, None, (True, False), text)
    return events.ScalarEvent(None, None, (False, True), text, style="|" if _is_block(text) else '"')


@lru_cache(maxsize=1000)  # the same few fields are in all manifests
def _key(text: str) -> Any:
    if is_plain(text):
        return events.ScalarEvent(None, None, (True, False), text)
    return events.ScalarEvent(None, None, (False, True), text, style='"')


def _is_block(text: str) -> bool:
    """Whether text of several lines can be written below a `|` without losing blanks at its ends or hiding unprintable characters."""
    return "\n" in text and text[0] not in " \n" and all(line.isprintable() and not line.endswith(" ") for line in text.split("\n"))
