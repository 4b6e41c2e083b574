"""The comments and aliases in YAML text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import accumulate

from jobspec.documents.libyaml import YAMLError, tokens_of
from jobspec.documents.streams import cut

#: The tokens before the first value of a document.
_BEFORE_VALUES = ("<stream start>", "<document start>", "<directive>", "<block mapping start>", "<block sequence start>", "?")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of a file: its text from the `#` to the end of its line, and where it stands."""

    text: str
    line: int
    column: int
    """Both count from 1."""
    _: KW_ONLY
    first_of_document: bool
    """Whether no value stands before it in its document."""
    is_alone: bool
    """Whether nothing stands before it in its line."""


def comments_of(text: str) -> list[str]:
    """Return the comments of a text in their order, each from `#` to the end of its line."""
    return [comment.text for comment in placed_comments(text)]


def placed_comments(text: str, before: int = 0) -> Iterator[Comment]:
    """Yield the comments of a text in their order, with their places in the file.

    *before*: the number of lines in the file before the text.
    """
    for piece, first_line in cut(text.removeprefix("\ufeff")):
        starts = list(accumulate((len(line) + 1 for line in piece.split("\n")), initial=0))
        for at, comment, is_first in _comments(piece):
            line = bisect_right(starts, at)
            start = starts[line - 1]
            is_alone = not piece[start:at].strip()
            yield Comment(comment, before + first_line + line, at - start + 1, first_of_document=is_first, is_alone=is_alone)


def lost(before: str, *after: str) -> list[str]:
    """Return the comments of *before* that are missing from the texts *after*, in their order.

    A comment that is repeated in *before* must be repeated as often in *after*.
    """
    from collections import Counter

    kept = Counter(comment for text in after for comment in comments_of(text))
    missing = []
    for comment in comments_of(before):
        kept[comment] -= 1
        if kept[comment] < 0:
            missing.append(comment)
    return missing


def anchors_and_aliases(piece: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the anchors and aliases of one document: name, place, and True for an alias.

    Raises YAMLError if the document cannot be parsed.
    """
    for token in tokens_of(piece) if "*" in piece else ():
        if token.id in ("<anchor>", "<alias>"):
            yield token.value, token.start_mark.index, token.id == "<alias>"


def has_alias(text: str) -> bool:
    """True if the text has an alias, so that changing one value may change another value."""
    try:
        return any(is_alias for piece, _ in cut(text) for _, _, is_alias in anchors_and_aliases(piece))
    except YAMLError:
        return True


#: A comment: where it begins in a piece, its text, and whether no value stands before it.
_Found = tuple[int, str, bool]


def _comments(piece: str) -> Iterator[_Found]:
    end, is_first = 0, True
    try:
        for token in tokens_of(piece):
            start, stop = token.start_mark.index, token.end_mark.index
            yield from _in_gap(piece, end, start, is_first=is_first)
            is_first = is_first and token.id in _BEFORE_VALUES
            header = piece[start:stop].partition("\n")[0] if piece[start : start + 1] in ("|", ">") else ""
            yield from _in_gap(piece, start, start + len(header), is_first=is_first)
            end = stop
    except YAMLError:  # go-yaml accepts this and libyaml does not; a comment on its own line is one all the same
        for line in piece[end:].split("\n"):
            if line.lstrip().startswith("#"):
                yield end + len(line) - len(line.lstrip()), line.strip(), is_first
            end += len(line) + 1
    else:
        yield from _in_gap(piece, end, len(piece), is_first=is_first)


def _in_gap(piece: str, start: int, end: int, *, is_first: bool) -> Iterator[_Found]:
    """The comments between two tokens, where each `#` begins one."""
    for line in piece[start:end].split("\n"):
        before, mark, comment = line.partition("#")
        if mark:
            yield start + len(before), f"#{comment}".rstrip(), is_first
        start += len(line) + 1
