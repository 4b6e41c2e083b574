"""Make text from files and paths safe to print: escape control characters and everything else that cannot be seen."""

from __future__ import annotations


def in_one_line(text: str) -> str:
    """Join the lines of a hint, whose YAML means the same on one line."""
    return " ".join(line.strip() for line in text.split("\n")) if "\n" in text else text


def visible(text: str) -> str:
    """Write a text as one line, with escapes for line breaks and invisible characters.

    Control characters are escaped, too. Bytes of a path that are not UTF-8, which Python stores as lone surrogates, are printed
    unchanged.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or "\udc80" <= each <= "\udcff" else _escape(each) for each in text)


def clean(text: str) -> str:
    """Write the visible text in strict UTF-8, as XML and SARIF need it.

    Bytes of a path that are not UTF-8 are replaced.
    """
    return visible(text).encode(errors="surrogateescape").decode(errors="replace")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
