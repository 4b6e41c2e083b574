"""Mend files until nothing changes: a second mistake may show only when the first is mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from jobspec.diagnostics import Diagnostic
from jobspec.fixes.attempts import attempts, index_of, next_attempt
from jobspec.fixes.mending import mended

#: Everything that is said of a file.
Found = Sequence[Diagnostic]
#: The texts of all files, and the paths of some of them, to what is said of these.
Judge = Callable[[Mapping[str, str], Collection[str]], Mapping[str, Found]]
#: The path of a file, its text, and what is said of it, to what is to be mended.
Choose = Callable[[str, str, Found], Sequence[Diagnostic]]

_MOST = 50  # rounds; each mends at least one mistake


@dataclass(frozen=True, slots=True)
class Mended:
    """A file's text after its fixes."""

    text: str
    done: Sequence[Diagnostic]
    """What was mended, in the order in which it was."""
    refused: Sequence[Diagnostic]
    """What has a remedy that cannot be made in the text, or after which the file would be worse."""

    @property
    def has_any(self) -> bool:
        """Whether anything was mended, or was to be."""
        return bool(self.done or self.refused)


@dataclass(frozen=True, slots=True)
class _Step:
    """A file's text after a round, what was mended in it, and everything that is said of it then."""

    text: str
    made: Sequence[Diagnostic]
    found: Found


def everything(_path: str, _text: str, found: Found) -> Sequence[Diagnostic]:
    """The choice to mend whatever can be."""
    return found


def mend_files(texts: Mapping[str, str], judge: Judge, choose: Choose = everything) -> dict[str, Mended]:
    """The files by path, with every remedy that ends its diagnostic and leaves valid what was.

    All files are mended at once, and after a round only those that changed are judged; at the end all are, since a file's change can
    show a mistake in another one.
    """
    now = dict(texts)
    done: dict[str, list[Diagnostic]] = {path: [] for path in now}
    found = dict(judge(now, now))
    waiting, is_all_judged = set(now), True
    for _ in range(_MOST):
        wished = {path: each for path in now if path in waiting and (each := _wished(found[path], path, now[path], choose))}
        steps = _round(now, wished, found, judge)
        if not steps and is_all_judged:
            break
        for path, step in steps.items():
            now[path], found[path] = step.text, step.found
            done[path] += step.made
        waiting, is_all_judged = set(steps), len(now) == 1
        if not steps:
            found, waiting, is_all_judged = dict(judge(now, now)), set(now), True
    return {path: Mended(text, done[path], _wished(found[path], path, text, choose)) for path, text in now.items()}


def _wished(found: Found, path: str, text: str, choose: Choose) -> list[Diagnostic]:
    if not any(each.changes for each in found):
        return []
    return [each for each in choose(path, text, found) if each.changes and each.mark.file == path and not each.mark.layer]


def _round(texts: Mapping[str, str], wished: Mapping[str, Found], found: Mapping[str, Found], judge: Judge) -> dict[str, _Step]:
    """What one round makes of the files that it changes; each attempt is judged for all files together."""
    steps: dict[str, _Step] = {}
    tried = {path: attempts(each) for path, each in wished.items()}
    chosen = {path: next(each) for path, each in tried.items()}
    while chosen:
        made = {path: _made(texts[path], each, path) for path, each in chosen.items()}
        said = _judged(judge, texts, {path: text for path, (text, mending) in made.items() if mending})
        failed = {path: _failed(chosen[path], mending, found[path], said.get(path, ())) for path, (_, mending) in made.items()}
        steps |= {path: _Step(*made[path], said[path]) for path, indices in failed.items() if not indices}
        following_ones = {path: next_attempt(tried[path], indices) for path, indices in failed.items() if indices}
        chosen = {path: each for path, each in following_ones.items() if each}
    return steps


def _judged(judge: Judge, texts: Mapping[str, str], new: Mapping[str, str]) -> Mapping[str, Found]:
    return judge({**texts, **new}, new) if new else {}


def _made(text: str, chosen: Sequence[Diagnostic], file: str) -> tuple[str, list[Diagnostic]]:
    """The text with as many of the remedies as can be made at once, and what they mend."""
    new, wishes = mended(text, [(index_of(each), each.changes) for each in chosen], file=file)
    made = {id(changes) for _, changes in wishes}
    return new, [each for each in chosen if new != text and id(each.changes) in made]


def _failed(chosen: Sequence[Diagnostic], mending: Sequence[Diagnostic], before: Found, after: Found) -> set[int]:
    """The documents that an attempt leaves as they were, or makes worse; none where it may stay."""
    idle = set(map(index_of, chosen)) - set(map(index_of, mending))
    worse = _worse(mending, before, after) if mending else set()
    return idle | worse if worse or not mending else set()


def _worse(mending: Sequence[Diagnostic], before: Found, after: Found) -> set[int]:
    """The documents in which something that was to be mended is left, or which have errors now; in a valid file, any that have."""
    had, has = ({index_of(each) for each in found if each.severity == "error"} for found in (before, after))
    worse = has if not had else has & set(map(index_of, mending)) - had
    left = {(each.rule, each.document, each.field) for each in after}
    fewer = Counter(map(_kind, before))
    fewer.subtract(map(_kind, mending))
    number = Counter(map(_kind, after))
    stays = (each for each in mending if (each.rule, each.document, each.field) in left and number[_kind(each)] > fewer[_kind(each)])
    return worse.union(map(index_of, stays))


def _kind(each: Diagnostic) -> tuple[str, int | None]:
    return each.rule, each.document
