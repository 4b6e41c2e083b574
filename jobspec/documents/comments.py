"""The comments and aliases in YAML text."""

from __future__ import annotations

from jobspec.documents.libyaml import CParser, YAMLError
from jobspec.documents.pieces import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def comments_of(text: str) -> list[str]:
    """The comments of a text in their order, each from its `#` to the end of its line."""
    return [comment for piece, _ in cut(text) for comment in _comments(piece)]


def lost(before: str, *after: str) -> list[str]:
    """The comments of one text that stand in none of the others, in their order; one that stands twice has to be there twice."""
    from collections import Counter

    kept = Counter(comment for text in after for comment in comments_of(text))
    missing = []
    for comment in comments_of(before):
        kept[comment] -= 1
        if kept[comment] < 0:
            missing.append(comment)
    return missing


def has_alias(text: str) -> bool:
    """Whether a value of a text stands for one that is written elsewhere, so that to change either changes both."""
    try:
        return "*" in text and any(token.id == "<alias>" for piece, _ in cut(text) for token in _tokens(piece))
    except YAMLError:
        return True


def _comments(piece: str) -> Iterator[str]:
    end = 0
    try:
        for token in _tokens(piece):
            start, stop = token.start_mark.index, token.end_mark.index
            yield from _in_gap(piece[end:start])
            header = piece[start:stop].partition("\n")[0] if piece[start : start + 1] in ("|", ">") else ""
            yield from _in_gap(header)
            end = stop
    except YAMLError:  # what go-yaml takes and libyaml does not; a comment alone in its line is one nevertheless
        yield from (line.strip() for line in piece[end:].split("\n") if line.lstrip().startswith("#"))
    else:
        yield from _in_gap(piece[end:])


def _tokens(piece: str) -> Iterator[Any]:
    parser = CParser(piece)
    while parser.check_token():
        yield parser.get_token()


def _in_gap(gap: str) -> Iterator[str]:
    """The comments between two tokens, where each `#` begins one."""
    for line in gap.split("\n"):
        _, mark, comment = line.partition("#")
        if mark:
            yield f"#{comment}".rstrip()
