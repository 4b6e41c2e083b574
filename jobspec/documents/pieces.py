"""Cut a YAML stream before each `---`, so that a broken document leaves the others readable."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


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
