"""What is tried of a file's remedies, one attempt after the other, until one leaves the file as good as it was."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Diagnostic

    #: Remedies to try; it is sent the documents that they do not mend, by index.
    Attempts = Generator[Sequence[Diagnostic], Collection[int], None]


def attempts(wished: Sequence[Diagnostic]) -> Attempts:
    """All remedies at first; then, of each document that fails, one by one; at last each document by itself.

    So the number of attempts depends on what one document wishes, not on the number of documents.
    """
    by_document: dict[int, list[Diagnostic]] = {}
    for each in wished:
        by_document.setdefault(index_of(each), []).append(each)
    turns = {index: [several, *([each] for each in several if len(several) > 1)] for index, several in by_document.items()}
    while chosen := [each for turn in turns.values() for each in turn[0]]:
        failed = (yield chosen) & turns.keys()
        if not failed:  # one document spoils another
            break
        turns = {index: turn[1:] if index in failed else turn for index, turn in turns.items() if index not in failed or len(turn) > 1}
    for index in by_document if turns else ():
        yield by_document[index]


def next_attempt(tried: Attempts, failed: Collection[int]) -> Sequence[Diagnostic]:
    """The next attempt; none where there is no other."""
    try:
        return tried.send(failed)
    except StopIteration:
        return ()


def index_of(each: Diagnostic) -> int:
    """The index of a diagnostic's document; of the file as a whole, that of the first one."""
    return each.document or 0
