"""Documents to YAML text that every reader understands the same way.

The text is the one that libyaml emits. Most of a manifest are mappings, lists and plain scalars, which are written here, in a fraction of
the time; libyaml spells the texts that need quotes or lines of their own.
"""

from __future__ import annotations

import io
from functools import lru_cache

from jobspec.documents.libyaml import CEmitter, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Add = Callable[[str], None]

_WIDTH = 2**30  # never fold a line
_LONGEST_KEPT = 10_000  # characters of a text that is kept for the next time
_LONGEST_KEY = 128  # bytes of a key that stands on one line with its value
_PLAIN_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/$(0123456789-.")
_PLAIN = _PLAIN_START | frozenset(":@%+=,)~^;?*&! ")
_NUMBER_LIKE = frozenset("0123456789abcdefABCDEF_.,:+-xXoOtTzZ ")
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"))


def write(documents: Iterable[Any]) -> str:
    """Write *documents* as block YAML with `---` between them. Keys keep their order.

    Every scalar reads back as the same type and value under the YAML 1.1 rules of Kubernetes and under YAML 1.2.
    """
    text: list[str] = []
    document: list[str] = []
    for number, data in enumerate(documents):
        document = []
        is_block = isinstance(data, (dict, list)) and data
        if number:
            text.append("---\n" if is_block else "--- ")
        _write_value(data, "", "\n" if is_block else "\n  ", document.append)
        text += [*document, "\n"]
    blocks = [piece for piece in document if piece[:1] == "|"]
    if blocks and blocks[-1].startswith("|+"):
        text.append("...\n")
    return "".join(text)


def _write_value(value: Any, lead: str, indent: str, add: Add) -> None:
    """Write a value that begins on the line of the *lead*; *indent* begins its other lines."""
    if isinstance(value, str):
        text = _string(value)
        if text[0] == "|":  # a block of lines becomes a piece of its own
            add(lead)
            add(text.replace("\n  ", indent))
        else:
            add(f"{lead}{text}")
    elif value and isinstance(value, dict):
        _mapping(value, lead, indent, add)
    elif value and isinstance(value, list):
        _write_list(value, lead, indent, add)
    else:
        add(f"{lead}{_plain_number(value)}")


def _mapping(data: dict[str, Any], lead: str, indent: str, add: Add) -> None:
    inner = f"{indent}  "
    for key, child in data.items():
        name = _key(key)
        if name[0] == "?":
            _write_value(child, f"{lead}{name}{indent}: ", inner, add)
        elif isinstance(child, str) and (text := _string(child))[0] != "|":
            add(f"{lead}{name} {text}")
        elif child and isinstance(child, dict):
            add(f"{lead}{name}")
            _mapping(child, inner, inner, add)
        elif child and isinstance(child, list):
            add(f"{lead}{name}")
            _write_list(child, indent, indent, add)
        else:
            _write_value(child, f"{lead}{name} ", inner, add)
        lead = indent


def _write_list(items: list[Any], lead: str, indent: str, add: Add) -> None:
    inner = f"{indent}  "
    for item in items:
        _write_value(item, f"{lead}- ", inner, add)
        lead = indent


def _plain_number(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if isinstance(value, int) or "." in text else text.replace("e", ".0e")  # most YAML 1.1 readers read `1e+22` as text


def _string(text: str) -> str:
    """A text as it stands in a document; the lines of a block are indented by two blanks."""
    return _known_text(text) if len(text) < _LONGEST_KEPT else _spelt(text)


def _spelt(text: str) -> str:
    if text.isalnum() and text.isascii():  # such as `1` and `yes`
        return text if is_plain(text) else f'"{text}"'
    return text if is_plain(text) else _emitted(_scalar_event(text, "|" if _is_block(text) else '"'))


_known_text = lru_cache(maxsize=4096)(_spelt)  # the variants of a project have most of their texts in common


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    """Write a key with its colon.

    If the key is long or has several lines, it is behind a `?`, and the colon is on the next line.
    """
    plain = is_plain(text)
    if plain and len(text) <= _LONGEST_KEY:
        return f"{text}:"
    mapping = events.MappingStartEvent(None, None, True, flow_style=False)
    line = _emitted(mapping, _scalar_event(text, None if plain else '"'), _scalar_event("x", None), events.MappingEndEvent())
    return line.removesuffix(" x").removesuffix("\n:")


def _emitted(*content: Any) -> str:
    """Emit a document with libyaml, without its last line feed."""
    stream = io.StringIO()
    emitter = CEmitter(stream, width=_WIDTH, allow_unicode=True)
    for event in (events.StreamStartEvent(), events.DocumentStartEvent(explicit=False), *content, events.DocumentEndEvent(explicit=False)):
        emitter.emit(event)
    return stream.getvalue().removesuffix("\n")


def _scalar_event(text: str, style: str | None) -> Any:
    return events.ScalarEvent(None, None, (True, True), text, style=style)


def _is_block(text: str) -> bool:
    """True if a text of several lines can be written below a `|`.

    Blanks at its ends must not get lost, and unprintable characters must not be hidden.
    """
    return "\n" in text and text[0] not in " \n" and all(line.isprintable() and not line.endswith(" ") for line in text.split("\n"))


def is_plain(text: str) -> bool:
    """True if *text* can be written without quotes.

    All readers of YAML 1.1 and 1.2, and people, then read it as text.
    """
    if not text or text[0] not in _PLAIN_START or text[-1] in " :" or not _PLAIN.issuperset(text):
        return False
    if ": " in text or " #" in text or text.startswith(("- ", "---", "...")) or text == "-":
        return False
    bare = text.lstrip("+-._")  # an underscore may stand among the digits of a YAML 1.1 number
    if not bare or bare.lower() in _RESERVED:
        return False
    return not (bare[0].isdigit() and _NUMBER_LIKE.issuperset(text))
