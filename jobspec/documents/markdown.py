"""The manifests in the YAML fences of a Markdown page, as YAML text on the lines and columns of the page.

Follows the fenced code blocks of CommonMark 0.31, in lists and block quotes, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

#: Column, counted from 0, -> the `>` or tab that each line of a fence has there.
Margin = Mapping[int, str]

_LANGUAGES = ("yaml", "yml")
_KEPT = "#jobspec-page:"  # what a kept line of the page begins with
_KEPT_MARGIN = "#jobspec-margin:"  # the same, where the lines that follow have lost the margin that it has
_START = "--- "
_BOM = "\ufeff"
_BEFORE_FENCE = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))*")


@dataclass(frozen=True, slots=True)
class _PageLine:
    """A line of a page, also as YAML if it is inside a fence with manifests."""

    text: str
    yaml: str | None = None
    _: KW_ONLY
    starts: bool = False
    has_margin: bool = False
    """Whether it starts a fence whose lines have a margin, for which their YAML has spaces."""

    def kept(self) -> str:
        """Return the line as YAML, or as a comment from which the line can be made again."""
        if self.yaml is not None:
            return self.yaml
        return f"{_START if self.starts else ''}{_KEPT_MARGIN if self.has_margin else _KEPT}{self.text}"


def yaml_of(page: str) -> str:
    """Return the manifests in a page's YAML fences as one YAML text on the same lines.

    Each fence begins with `---`. All other lines of the page are empty.
    """
    return "\n".join(_START.rstrip() if line.starts else line.yaml or "" for line in _lines_of_page(page.removeprefix(_BOM).split("\n")))


def kept(page: str) -> str:
    """Return the manifests in a page's YAML fences, with all other lines as comments.

    After the manifests are changed, `page_of` makes the page from this text.
    """
    lines = "\n".join(line.kept() for line in _lines_of_page(page.removeprefix(_BOM).split("\n")))
    return f"{_BOM if page.startswith(_BOM) else ''}{lines}"


def is_page(text: str) -> bool:
    """True if `kept` made the text from a page."""
    begin = text.removeprefix(_BOM).removeprefix(_START)
    return begin.startswith((_KEPT, _KEPT_MARGIN)) or f"\n{_KEPT}" in text


def page_of(text: str) -> str:
    """Return the page of a text that `kept` made."""
    lines = "\n".join(_page_lines(text.removeprefix(_BOM).split("\n")))
    return f"{_BOM if text.startswith(_BOM) else ''}{lines}"


def _page_lines(lines: Sequence[str]) -> Iterator[str]:
    margin: Margin = {}
    for line in lines:
        said = line.removeprefix(_START)
        if said.startswith((_KEPT, _KEPT_MARGIN)):
            text = said.removeprefix(_KEPT).removeprefix(_KEPT_MARGIN)
            margin = _margin(text) if said.startswith(_KEPT_MARGIN) else {}
            yield text
        else:
            yield "".join(margin.get(at, sign) for at, sign in enumerate(line)) if margin else line


def _lines_of_page(lines: Sequence[str]) -> Iterator[_PageLine]:
    at = 0
    while at < len(lines):
        end = _end_of_fence(lines, at)
        margin = _margin(lines[at]) if end > at else {}
        margin = margin if all(_has_margin(line, margin) for line in lines[at + 1 : end]) else {}
        inside = [_without_margin(line, margin) for line in lines[at + 1 : end]]
        is_manifest = end > at and _is_yaml(_opening(lines[at])) and _has_manifest(inside)
        yield _PageLine(lines[at], starts=is_manifest, has_margin=is_manifest and bool(margin))
        yield from (_PageLine(line, yaml if is_manifest else None) for line, yaml in zip(lines[at + 1 : end], inside, strict=True))
        yield from (_PageLine(line, starts=is_manifest) for line in lines[max(end, at + 1) : end + 1])
        at = end + 1


def _opening(line: str) -> str:
    """A line without what lists and block quotes write before a fence."""
    return line[_end_of_margin(line) :].strip()


def _end_of_margin(line: str) -> int:
    match = _BEFORE_FENCE.match(line)
    return match.end() if match else 0


def _margin(opening: str) -> Margin:
    """Return the signs before each line of a fence that YAML must not have.

    These are the marks of block quotes, and tabs.
    """
    return {at: sign for at, sign in enumerate(opening[: _end_of_margin(opening)]) if sign in ">\t"}


def _has_margin(line: str, margin: Margin) -> bool:
    """Whether a line has a margin, as far as the line goes."""
    return all(line[at : at + 1] in (sign, "", "\r") for at, sign in margin.items())


def _without_margin(line: str, margin: Margin) -> str:
    return "".join(" " if at in margin and sign != "\r" else sign for at, sign in enumerate(line)) if margin else line


def _end_of_fence(lines: Sequence[str], start: int) -> int:
    """Return the line that closes the fence opened by a line, or ends the block quote around it.

    If no line does, return the number of lines. If the line opens no fence, return the line itself.
    """
    opening = _opening(lines[start])
    mark = opening[:1]
    length = len(opening) - len(opening.lstrip(mark)) if mark in ("`", "~") else 0
    if length < 3 or (mark == "`" and "`" in opening[length:]):
        return start
    margin = _margin(lines[start])
    quotes = [at for at, sign in margin.items() if sign == ">"]
    for number in range(start + 1, len(lines)):
        line = _without_margin(lines[number], margin).strip()
        is_closing = len(line) >= length and set(line) == {mark}
        if is_closing or any(lines[number][at : at + 1] != ">" for at in quotes):
            return number
    return len(lines)


def _is_yaml(opening: str) -> bool:
    words = opening.lstrip("`~").replace("{", " ").replace(",", " ").replace("}", " ").split()
    return bool(words) and words[0].lstrip(".").lower() in _LANGUAGES


def _has_manifest(lines: Sequence[str]) -> bool:
    """Whether lines name a version and a kind, as a manifest does and a part of one does not."""
    begins = [line.strip().removeprefix("- ") for line in lines]
    return all(any(each.startswith(f"{key}:") for each in begins) for key in ("apiVersion", "kind"))
