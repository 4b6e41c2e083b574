"""Comments that ignore: `# jobspec: ignore[rule] reason`, on the line of the cause, alone above it, or above its document."""

from __future__ import annotations

import re

from jobspec.diagnostics import DECODING, Diagnostic, Mark
from jobspec.documents.comments import placed_comments
from jobspec.documents.reader import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from jobspec.documents.comments import Comment
    from jobspec.documents.document import Document

#: What a file without such comments does not have.
MARKER = "jobspec: ignore"
_COMMENT = re.compile(r"#\s*jobspec: ignore(?:\[(?P<rules>[^\]]*)\])?")


class Ignore:
    """One rule that a comment ignores, and where."""

    __slots__ = ("document", "line", "mark", "rule")

    def __init__(self, rule: str, mark: Mark, *, line: int | None = None, document: int | None = None) -> None:
        self.rule = rule
        """Empty where the comment names none."""
        self.mark = mark
        self.line = line
        """The line that it is about; None where that is a whole document."""
        self.document = document
        """The index of that document."""

    def hits(self, diagnostic: Diagnostic) -> bool:
        """Whether it is about a diagnostic of its file."""
        if diagnostic.rule != self.rule or diagnostic.stage == "decoding":
            return False
        if self.line is None:
            return diagnostic.document == self.document
        return diagnostic.mark.file == self.mark.file and diagnostic.mark.line <= self.line <= diagnostic.mark.end_line


def ignores(text: str, file: str) -> list[Ignore]:
    """What the comments of a file ignore."""
    found = [(comment, match) for comment in placed_comments(text) if (match := _COMMENT.search(comment.text))]
    documents = read(text, file=file)[0] if found else []
    return [each for comment, match in found for each in _of(comment, match, text.split("\n"), documents, file)]


def _of(comment: Comment, match: re.Match[str], lines: Sequence[str], documents: Sequence[Document], file: str) -> Iterator[Ignore]:
    mark = Mark(file, comment.line, comment.column, comment.line, comment.column + len(comment.text))
    rules = [each.strip() for each in (match["rules"] or "").split(",")]
    is_alone = not lines[comment.line - 1].removeprefix("\ufeff")[: comment.column - 1].strip()
    for rule in rules:
        if is_alone and comment.first_of_document:
            yield Ignore(rule, mark, document=next((each.index for each in documents if each.marks.mark.line >= comment.line), None))
        else:
            yield Ignore(rule, mark, line=_next_line(lines, comment.line) if is_alone else comment.line)


def _next_line(lines: Sequence[str], line: int) -> int:
    """The first line behind one that has more than a comment."""
    below = (number for number, each in enumerate(lines[line:], line + 1) if each.strip() and not each.lstrip().startswith("#"))
    return next(below, line)


def without_ignored(
    diagnostics: Iterable[Diagnostic], ignored: Sequence[Ignore], known: Container[str], looked_at: Container[str]
) -> tuple[list[Diagnostic], int]:
    """The diagnostics of a file that no comment ignores, and how many are ignored.

    A comment that hits nothing is a diagnostic itself, unless its rule was not *looked_at*, or an error kept it from being so.
    """
    diagnostics = list(diagnostics)
    hit = [any(each.hits(diagnostic) for diagnostic in diagnostics) for each in ignored]
    kept = [each for each in diagnostics if not any(ignore.hits(each) for ignore in ignored)]
    has_error = any(each.severity == "error" for each in diagnostics)
    idle = [each for each, is_hit in zip(ignored, hit, strict=True) if not is_hit]
    told = [each for each in idle if each.rule not in known or each.rule in DECODING or (each.rule in looked_at and not has_error)]
    return [*kept, *(_unused(each, known) for each in told)], len(diagnostics) - len(kept)


def _unused(ignore: Ignore, known: Container[str]) -> Diagnostic:
    if not ignore.rule:
        message, hint = "the comment ignores nothing, since it names no rule", "write `# jobspec: ignore[rule] reason`"
    elif ignore.rule not in known:
        message, hint = f"there is no rule `{ignore.rule}`", "a rule's name stands in brackets behind its message"
    elif ignore.rule in DECODING:
        message, hint = f"`{ignore.rule}` cannot be ignored: no tool can read what it is about", ""
    else:
        message, hint = f"nothing here breaks the rule `{ignore.rule}`", "remove the comment"
    return Diagnostic("unused-ignore", message, ignore.mark, document=ignore.document, severity="warning", hint=hint)
