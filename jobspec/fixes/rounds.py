"""Mend a file until nothing changes: a second mistake may show only when the first is mended."""

from __future__ import annotations

from jobspec.fixes.mending import mended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.fixes.mending import Wish

    #: A file's text to everything that is said of it.
    Judge = Callable[[str], Sequence[Diagnostic]]

_MOST = 50  # rounds; each mends at least one mistake


class Mended:
    """A file's text after its fixes."""

    __slots__ = ("done", "refused", "text")

    def __init__(self, text: str, done: Sequence[Diagnostic], refused: Sequence[Diagnostic]) -> None:
        self.text = text
        self.done = done
        """What was mended, in the order in which it was."""
        self.refused = refused
        """What has a remedy that cannot be made in the text, or after which the file would be worse."""


def mend(text: str, judge: Judge, *, file: str) -> Mended:
    """The text with every remedy that its diagnostics have, as long as that leaves a valid file valid and ends the diagnostic."""
    done: list[Diagnostic] = []
    found = judge(text)
    for _ in range(_MOST):
        wished = _wished(found, file)
        new, made = _round(text, wished, found, judge, file)
        if not made:
            break
        done += made
        text, found = new, judge(new)
    return Mended(text, done, _wished(found, file))


def _wished(found: Sequence[Diagnostic], file: str) -> list[Diagnostic]:
    return [each for each in found if each.changes and each.mark.file == file and not each.mark.layer]


def _round(text: str, wished: Sequence[Diagnostic], before: Sequence[Diagnostic], judge: Judge, file: str) -> tuple[str, list[Diagnostic]]:
    """The text after one round, and what was mended in it; at first all together, or else the first one that can be by itself."""
    for chosen in [wished, *([each] for each in wished if len(wished) > 1)]:
        new, made = mended(text, [_wish(each) for each in chosen], file=file)
        mending = [each for each in chosen if _wish(each) in made]
        if new != text and mending and _is_better(mending, before, judge(new)):
            return new, mending
    return text, []


def _wish(each: Diagnostic) -> Wish:
    return each.document or 0, each.changes


def _is_better(mending: Sequence[Diagnostic], before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> bool:
    """Whether what was to be mended is gone, and a file that was valid is so still."""
    if _errors(after) and not _errors(before):
        return False
    left = {(each.rule, each.document, each.field) for each in after}
    return not any((each.rule, each.document, each.field) in left for each in mending)


def _errors(found: Sequence[Diagnostic]) -> bool:
    return any(each.severity == "error" for each in found)
