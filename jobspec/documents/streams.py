"""Cut a YAML stream before each `---`, so that a broken document leaves the others readable, and JSON before each object.

Follows `YAMLOrJSONDecoder.Decode`, k8s.io/apimachinery pkg/util/yaml, 0.37.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


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
