"""Text from files and paths as something that can be seen, and that no terminal obeys."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text as one line: line breaks, control characters and what else cannot be seen stand in it as escapes.

    A path's bytes that are no UTF-8, which Python holds as lone surrogates, stay: they go out as they came in.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or "\udc80" <= each <= "\udcff" else _escape(each) for each in text)


def clean(text: str) -> str:
    """The same, in characters that XML and strict UTF-8 can hold: other bytes of a path are lost."""
    return visible(text).encode(errors="surrogateescape").decode(errors="replace")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
