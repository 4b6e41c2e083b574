"""The manifests in the YAML fences of a Markdown page, as YAML text on the lines and columns of the page.

Follows the fenced code blocks of CommonMark 0.31, but for those in block quotes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LANGUAGES = ("yaml", "yml")
_KEPT = "#jobspec-page:"  # what a kept line of the page begins with
_START = "--- "


def yaml_of(page: str) -> str:
    """A page with empty lines for all that stands outside of fences with manifests; each fence is a piece of its own."""
    return "\n".join(line if inside else _START.rstrip() if starts else "" for line, inside, starts in _parts(page.split("\n")))


def kept(page: str) -> str:
    """The same with the other lines as comments, from which `page_of` makes the page again after the manifests are changed."""
    return "\n".join(line if inside else f"{_START if starts else ''}{_KEPT}{line}" for line, inside, starts in _parts(page.split("\n")))


def is_page(text: str) -> bool:
    """Whether a text is one that `kept` makes of a page."""
    return f"\n{_KEPT}" in text or text.startswith((_KEPT, f"{_START}{_KEPT}"))


def page_of(text: str) -> str:
    """The page whose other lines stand as comments in a text."""
    return "\n".join(line.removeprefix(_START).removeprefix(_KEPT) if _KEPT in line else line for line in text.split("\n"))


def _parts(lines: Sequence[str]) -> Iterator[tuple[str, bool, bool]]:
    """The lines of a page, and whether each is in a fence with manifests, or starts or ends one."""
    at = 0
    while at < len(lines):
        end = _end_of_fence(lines, at)
        is_manifest = end > at and _is_yaml(lines[at]) and _has_manifest(lines[at + 1 : end])
        yield lines[at], False, is_manifest
        yield from ((line, is_manifest, False) for line in lines[at + 1 : end])
        yield from ((line, False, is_manifest) for line in lines[max(end, at + 1) : end + 1])
        at = end + 1


def _end_of_fence(lines: Sequence[str], start: int) -> int:
    """The line that closes the fence which a line opens; the number of lines where none does; the line itself where it opens none."""
    opening = lines[start].strip()
    mark = opening[:1]
    length = len(opening) - len(opening.lstrip(mark)) if mark in ("`", "~") else 0
    if length < 3 or (mark == "`" and "`" in opening[length:]):
        return start
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if len(line) >= length and set(line) == {mark}:
            return number
    return len(lines)


def _is_yaml(opening: str) -> bool:
    words = opening.strip().lstrip("`~").replace("{", " ").replace(",", " ").replace("}", " ").split()
    return bool(words) and words[0].lstrip(".").lower() in _LANGUAGES


def _has_manifest(lines: Sequence[str]) -> bool:
    """Whether lines name a version and a kind, as a manifest does and a part of one does not."""
    begins = [line.strip().removeprefix("- ") for line in lines]
    return all(any(each.startswith(f"{key}:") for each in begins) for key in ("apiVersion", "kind"))
