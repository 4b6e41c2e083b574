"""Fix mistakes in the text of files by their remedies, until nothing changes; every other byte is kept."""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.problems import Change
from jobspec.documents.decoding import is_json
from jobspec.documents.document import Document
from jobspec.documents.node_marks import Piece
from jobspec.documents.reader import pieces, read_piece
from jobspec.documents.text_edits import TextEdit, TextPlaces, Uncuttable, Unfit, all_applied, edited, edits_of, unquoted

#: All diagnostics of a file.
Found = Sequence[Diagnostic]
#: A function of the texts of all files and the paths of some of them, that gives the diagnostics of these.
Judge = Callable[[Mapping[str, str], Collection[str]], Mapping[str, Found]]
#: A function of a file's path, text and diagnostics, that gives the diagnostics to fix.
Choose = Callable[[str, str, Found], Sequence[Diagnostic]]

_MOST = 50  # rounds; each fixes at least one mistake


@dataclass(frozen=True, slots=True)
class FixedText:
    """A file's text after its fixes."""

    text: str
    done: Sequence[Diagnostic]
    """What was fixed, in that order."""
    refused: Sequence[Diagnostic]
    """What has a remedy that cannot be made in the text, or after which the file would be worse."""

    @property
    def has_any(self) -> bool:
        """Whether anything was fixed, or was to be."""
        return bool(self.done or self.refused)


@dataclass(frozen=True, slots=True)
class _Step:
    """A file's text after a round, what was fixed in it, and its diagnostics then."""

    text: str
    made: Sequence[Diagnostic]
    found: Found


def everything(_path: str, _text: str, found: Found) -> Sequence[Diagnostic]:
    """Choose whatever can be fixed."""
    return found


def fix_texts(texts: Mapping[str, str], judge: Judge, choose: Choose = everything) -> dict[str, FixedText]:
    """The files by path, with every remedy that ends its diagnostic and leaves valid what was.

    All files are fixed at once, and after a round only those that changed are judged; at the end all are, since a file's change can
    show a mistake in another one.
    """
    now = dict(texts)
    done: dict[str, list[Diagnostic]] = {path: [] for path in now}
    found = dict(judge(now, now))
    waiting, is_all_judged = set(now), True
    for _ in range(_MOST):
        remedies = {path: each for path in now if path in waiting and (each := _fixable(found[path], path, now[path], choose))}
        steps = _round(now, remedies, found, judge)
        if not steps and is_all_judged:
            break
        for path, step in steps.items():
            now[path], found[path] = step.text, step.found
            done[path] += step.made
        waiting, is_all_judged = set(steps), len(now) == 1
        if not steps:
            found, waiting, is_all_judged = dict(judge(now, now)), set(now), True
    return {path: FixedText(text, done[path], _fixable(found[path], path, text, choose)) for path, text in now.items()}


def _fixable(found: Found, path: str, text: str, choose: Choose) -> list[Diagnostic]:
    if not any(each.changes for each in found):
        return []
    return [each for each in choose(path, text, found) if each.changes and each.mark.file == path and not each.mark.layer]


def _round(texts: Mapping[str, str], remedies: Mapping[str, Found], found: Mapping[str, Found], judge: Judge) -> dict[str, _Step]:
    """What one round makes of the files that it changes; each attempt is judged for all files together."""
    steps: dict[str, _Step] = {}
    tried = {path: _attempts(each) for path, each in remedies.items()}
    chosen = {path: next(each) for path, each in tried.items()}
    while chosen:
        made = {path: _made(texts[path], each, path) for path, each in chosen.items()}
        new = {path: text for path, (text, fixing) in made.items() if fixing}
        said = judge({**texts, **new}, new) if new else {}
        failed = {path: _failed(chosen[path], fixing, found[path], said.get(path, ())) for path, (_, fixing) in made.items()}
        steps |= {path: _Step(*made[path], said[path]) for path, indices in failed.items() if not indices}
        following_ones = {path: _next_attempt(tried[path], indices) for path, indices in failed.items() if indices}
        chosen = {path: each for path, each in following_ones.items() if each}
    return steps


def _made(text: str, chosen: Sequence[Diagnostic], file: str) -> tuple[str, list[Diagnostic]]:
    """The text with as many of the remedies as can be made at once, and what they fix."""
    new, remedies = with_remedies(text, [(_index_of(each), each.changes) for each in chosen], file=file)
    made = {id(changes) for _, changes in remedies}
    return new, [each for each in chosen if new != text and id(each.changes) in made]


def _failed(chosen: Sequence[Diagnostic], fixing: Sequence[Diagnostic], before: Found, after: Found) -> set[int]:
    """The documents that an attempt leaves as they were, or makes worse; none where it may stay."""
    idle = set(map(_index_of, chosen)) - set(map(_index_of, fixing))
    worse = _worse(fixing, before, after) if fixing else set()
    return idle | worse if worse or not fixing else set()


def _worse(fixing: Sequence[Diagnostic], before: Found, after: Found) -> set[int]:
    """The documents in which something that was to be fixed is left, or which have errors now; in a valid file, any that have."""
    had, has = ({_index_of(each) for each in found if each.severity == "error"} for found in (before, after))
    worse = has if not had else has & set(map(_index_of, fixing)) - had
    left = {(each.rule, each.document, each.field) for each in after}
    fewer = Counter(map(_kind, before))
    fewer.subtract(map(_kind, fixing))
    number = Counter(map(_kind, after))
    stays = (each for each in fixing if (each.rule, each.document, each.field) in left and number[_kind(each)] > fewer[_kind(each)])
    return worse.union(map(_index_of, stays))


def _kind(each: Diagnostic) -> tuple[str, int | None]:
    return each.rule, each.document


# What is tried of a file's remedies, one attempt after the other, until one leaves the file as good as it was.


#: Remedies to try; it is sent the documents that they do not fix, by index.
Attempts = Generator[Sequence[Diagnostic], Collection[int], None]


def _attempts(remedies: Sequence[Diagnostic]) -> Attempts:
    """All remedies at first; then, of each document that fails, one by one; at last each document by itself.

    So the number of attempts depends on the remedies of one document, not on the number of documents.
    """
    by_document = grouped(remedies, _index_of)
    turns = {index: [several, *([each] for each in several if len(several) > 1)] for index, several in by_document.items()}
    while chosen := [each for turn in turns.values() for each in turn[0]]:
        failed = (yield chosen) & turns.keys()
        if not failed:  # one document spoils another
            break
        turns = {index: turn[1:] if index in failed else turn for index, turn in turns.items() if index not in failed or len(turn) > 1}
    for index in by_document if turns else ():
        yield by_document[index]


def _next_attempt(tried: Attempts, failed: Collection[int]) -> Sequence[Diagnostic]:
    """The next attempt; none where there is no other."""
    try:
        return tried.send(failed)
    except StopIteration:
        return ()


def _index_of(each: Diagnostic) -> int:
    """The index of a diagnostic's document; of the file as a whole, that of the first one."""
    return each.document or 0


# Remedies in the text of a file, of which only those are kept that change its data as they say.


#: The index of a document in its file, and changes of it that belong together.
Remedy = tuple[int, Sequence[Change]]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A remedy, its changes without `quote`, and the edits that make them."""

    remedy: Remedy
    changes: Sequence[Change]
    edits: Sequence[TextEdit]


def with_remedies(text: str, remedies: Sequence[Remedy], *, file: str) -> tuple[str, list[Remedy]]:
    """The text with as many of the remedies as can be made at once, and those that were made.

    Each is made in its own parts of the text: one that would touch those of another waits until the next time.
    """
    plain = text.removeprefix("\ufeff")
    parts: list[str] = [text.removesuffix(plain)]
    made: list[Remedy] = []
    by_document = grouped(remedies, lambda each: each[0])
    index = 0
    for piece in pieces(plain, file=file):
        documents, problems = list[Document](), list[Diagnostic]()
        index = read_piece(piece, index, documents, problems)
        wanted = [(document, remedy) for document in documents for remedy in by_document.get(document.index, ())]
        planned = _planned(TextPlaces(piece.text, piece.first_line, of_json=is_json(plain)), wanted) if wanted else []
        fitting = _largest(_together(_apart(planned)), partial(_has_changed_as_planned, piece, documents, len(problems)))
        parts.append(_text_of(piece, fitting))
        made += [each.remedy for each in fitting]
    return "".join(parts), made


def _planned(places: TextPlaces, remedies: Iterable[tuple[Document, Remedy]]) -> list[_Planned]:
    """The remedies of documents, where these can be edited."""
    found = []
    for document, remedy in remedies:
        try:
            plain = [unquoted(places, document, each) for each in remedy[1]]
            found.append(_Planned(remedy, plain, [edit for each in plain for edit in edits_of(places, document, each)]))
        except (Uncuttable, Unfit):
            continue
    return found


def _apart(planned: list[_Planned]) -> list[_Planned]:
    """Remedies whose edits do not overlap, the first of each place; equal edits, as at an alias, count as one."""
    kept: list[_Planned] = []
    made: set[TextEdit] = set()
    taken: list[tuple[int, int]] = []  # in order
    for each in sorted(planned, key=lambda one: [(edit.start, edit.end) for edit in one.edits]):
        spans = [(edit.start, edit.end) for edit in each.edits if edit.start == edit.end or edit not in made]
        if not any(_touches(span, taken) for span in spans):
            kept.append(each)
            made.update(each.edits)
            for span in spans:
                insort(taken, span)
    return kept


def _touches(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Whether a span has a place in common with one of those that are taken, its ends included."""
    at = bisect(taken, span)
    return any(start <= span[1] and span[0] <= end for start, end in taken[max(at - 1, 0) : at + 1])


def _text_of(piece: Piece, planned: Sequence[_Planned]) -> str:
    """The edited text; equal edits of several remedies, as at an alias, are made once."""
    return edited(piece.text, dict.fromkeys(edit for each in planned for edit in each.edits))


def _together(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """The remedies with equal edits, as where an alias or a merge key repeats a value."""
    return list(grouped(planned, lambda each: tuple((edit.start, edit.end, edit.text) for edit in each.edits)).values())


def _largest(
    groups: Sequence[list[_Planned]], is_good: Callable[[Sequence[_Planned]], bool], kept: Sequence[_Planned] = ()
) -> list[_Planned]:
    """The remedies that work together with those that are kept: found by halves where not all of them do."""
    planned = [*kept, *(each for group in groups for each in group)]
    if not groups or is_good(planned):
        return planned
    if len(groups) == 1:
        return [*kept]
    half = len(groups) // 2
    return _largest(groups[half:], is_good, _largest(groups[:half], is_good, kept))


def _has_changed_as_planned(piece: Piece, documents: Sequence[Document], problems: int, planned: Sequence[_Planned]) -> bool:
    """Whether the edited text holds the documents as they were, with the changes made in their data, and as many problems of YAML."""
    after, wrong = list[Document](), list[Diagnostic]()
    read_piece(Piece(_text_of(piece, planned), piece.first_line, piece.file, "", piece.form), 0, after, wrong)
    changes: dict[int, list[Change]] = {each.index: [] for each in documents}
    for each in planned:
        changes[each.remedy[0]] += each.changes
    try:
        wanted = [all_applied(each.data, changes[each.index]) for each in documents]
    except Unfit:
        return False
    return repr(wanted) == repr([each.data for each in after]) and len(wrong) == problems  # equal in type and order: `1` is no `true`
