"""Keep the findings of files, with what rules have asked about other files, and the answers.

While a file and these answers are the same, its findings are the same.
"""

from __future__ import annotations

from hashlib import blake2b

from jobspec.documents.document import Document
from jobspec.lint.documents import EVERYTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, Protocol

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.journey.steps import Checked
    from jobspec.lint.documents import Documents, Question

    #: `run(files, work)` is `[work(file) for file in files]`.
    Run = Callable[[Sequence[Checked], Callable[[Checked], Any]], list[Any]]
    #: What rules have asked, each question with a digest of the answer.
    Answers = Sequence[tuple[Question, bytes]]

    class EarlierFindings(Protocol):
        """The findings of an earlier run."""

        def place(self, path: str) -> bytes | None:
            """Return a digest of all that the check of a file has read.

            If it is not known, return None.
            """

        def known(self, path: str) -> tuple[Answers, list[Diagnostic]] | None:
            """Return what the rules have asked about a file, and its findings.

            If its check has read anything else since, return None.
            """

        def learned(self, path: str, answers: Answers, found: list[Diagnostic]) -> None:
            """Keep the findings in a file."""


class _NoDigest(Exception):
    """An answer of which there is no digest."""


class KeptFindings:
    """The findings of an earlier run in files that still have them."""

    def __init__(self, earlier: EarlierFindings, documents: Documents, files: Mapping[str, Sequence[Document]]) -> None:
        """*files*: the documents of each file, by its path."""
        self._earlier, self._documents = earlier, documents
        self._places = {id(each): (path, at) for path, inside in files.items() for at, each in enumerate(inside)}
        self._digests: dict[Question, bytes | None] = {}

    def found(self, files: Sequence[Checked], run: Run, of_file: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
        """Return the findings in files, and look only for those that are not kept.

        *of_file* looks for the findings in a file. *run* does so for several files.
        """

        def recorded(file: Checked) -> tuple[list[Diagnostic], Collection[Question]]:
            with self._documents.recording() as asked:
                found = of_file(file)
            return found, asked

        known = [self._known(each.result.path) for each in files]
        left = [file for file, found in zip(files, known, strict=True) if found is None]
        new = iter(run(left, recorded))
        return [self._learned(file.result.path, *next(new)) if found is None else found for file, found in zip(files, known, strict=True)]

    def _learned(self, path: str, found: list[Diagnostic], asked: Collection[Question]) -> list[Diagnostic]:
        answers = [(each, answer) for each in (_AROUND, *asked) if each != EVERYTHING and (answer := self._answer(each)) is not None]
        if len(answers) == 1 + len(asked):
            self._earlier.learned(path, answers, found)
        return found

    def _known(self, path: str) -> list[Diagnostic] | None:
        kept = self._earlier.known(path)
        return kept[1] if kept and all(self._answer(question) == answer for question, answer in kept[0]) else None

    def _answer(self, question: Question) -> bytes | None:
        """Return a digest of the answer to a question.

        If there is none, return None.
        """
        if question not in self._digests:
            try:
                text = repr(self._plain(self._documents.answer(question)))
                self._digests[question] = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
            except _NoDigest:
                self._digests[question] = None
        return self._digests[question]

    def _plain(self, answer: Any) -> object:
        """Return a plain value that equal answers have in common.

        Of a document, that is its place in its file, and all that the check of this file has read.
        """
        if isinstance(answer, Document):
            path, at = self._places.get(id(answer), ("", 0))
            if not path:
                return answer.file, answer.index, answer.digest  # an object of the cluster
            if (place := self._earlier.place(path)) is None:
                raise _NoDigest
            return place, at
        if isinstance(answer, (set, frozenset)):
            return sorted(answer)
        return list(map(self._plain, answer)) if isinstance(answer, (list, tuple)) else answer


#: The question about what is known of all files besides their documents.
_AROUND = ("around",)
