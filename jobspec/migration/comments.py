"""The text of migrated manifests with each comment of the text that they come from, at the value that it was written for.

A comment behind a value that is gone stays with its whole line, before the next value that is kept.
"""

from __future__ import annotations

from jobspec.documents.reader import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from jobspec.documents.comments import Comment
    from jobspec.documents.document import Marks
    from jobspec.documents.marked_tree import MarkedTree


def with_comments(
    trees: Sequence[MarkedTree], comments: Sequence[Comment], source: Sequence[str], write: Callable[[Any], str]
) -> tuple[list[str], list[str]]:
    """The texts of manifests, with the comments of the text that they come from; and those comments that stand below all that is kept.

    *source*: the lines of that text's file. *write*: makes the text of data.
    """
    texts = [_lines(tree, write) for tree in trees]
    lines = [line for each in texts for line in each]
    above: dict[int, list[str]] = {}
    behind: dict[int, str] = {}
    last = max(place for _, place in lines)
    for comment in comments:
        if comment.line > last:
            continue
        at = _line_for(comment, lines, source)
        if comment.is_alone or behind.get(at) or lines[at][1] != comment.line or lines[at][0].endswith(("|", "|-", "|+", ">")):
            line = source[comment.line - 1].strip()
            is_gone = not comment.is_alone and lines[at][1] != comment.line
            above.setdefault(at, []).append(f"# {line.removeprefix('- ')}" if is_gone else comment.text)
        else:
            behind[at] = comment.text
    written = []
    number = 0
    for each in texts:
        document = ""
        for text, _ in each:
            indent = text[: len(text) - len(text.lstrip())]
            document += "".join(f"{indent}{line}\n" for line in above.get(number, ()))
            document += f"{text}  {behind[number]}\n" if number in behind else f"{text}\n"
            number += 1
        written.append(document)
    return written, [each.text for each in comments if each.line > last]


def _line_for(comment: Comment, lines: Sequence[tuple[str, int]], source: Sequence[str]) -> int:
    """The number of the new line for a comment: of its own value, else of the next value that is kept."""
    target = min(place for _, place in lines if place >= comment.line)
    key = _key(source[target - 1]) if 0 < target <= len(source) else ""
    at = [number for number, (_, place) in enumerate(lines) if place == target]
    return next((number for number in at if _key(lines[number][0]) == key), at[0])


def _key(line: str) -> str:
    return line.strip().removeprefix("- ").partition(":")[0].strip("\"'")


def _lines(tree: MarkedTree, write: Callable[[Any], str]) -> list[tuple[str, int]]:
    """The lines of a manifest, each with the line of the source that it comes from, 0 for none."""
    text = write(tree.data())
    (document,), problems = read(text, file="")
    assert not problems
    places = dict(reversed(list(_places(tree, document.marks))))
    return [(line, places.get(number, 0)) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)]


def _places(tree: MarkedTree, written: Marks) -> Iterator[tuple[int, int]]:
    children = written.children
    if written.key or not isinstance(tree.value, (dict, list)):
        yield (written.key or written.mark).line, tree.place().line
    if isinstance(tree.value, dict) and isinstance(children, dict):
        for name, child in tree.value.items():
            yield from _places(child, children[name])
    elif isinstance(tree.value, list) and isinstance(children, list):
        for child, inner in zip(tree.value, children, strict=True):
            yield from _places(child, inner)
