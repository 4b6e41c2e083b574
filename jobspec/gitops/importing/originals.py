"""The training jobs of a manifest file, each with the text and the companions that become its base."""

from __future__ import annotations

from jobspec import pipeline, rendering
from jobspec.documents.comments import comments_of, has_alias
from jobspec.documents.reader import is_json
from jobspec.documents.syntax import cut
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from jobspec.operators.trainer.runtimes import RuntimeRef, is_meant
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document
    from jobspec.targets import Target

_RUNTIMES = (CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME)


class Original:
    """A training job as it is before it becomes a variant, with the objects that belong to it."""

    __slots__ = ("documents", "file", "is_fixed", "job", "text", "unwritten")

    def __init__(self, file: str, documents: Sequence[Document], text: str, unwritten: Sequence[str] = ()) -> None:
        self.file = file
        self.documents = documents
        """What the variant has to render to."""
        self.job = next(filter(is_workload, documents))
        self.text = text
        """YAML of these documents, with the file's own bytes where it is YAML in which each job has its own part."""
        self.is_fixed = "\r" in text or has_alias(text)
        """Whether nothing can be cut out of the text: an alias stands for a value in another place."""
        self.unwritten = unwritten
        """The comments of the file that the text does not have."""


def originals(file: str, text: str, documents: Sequence[Document], target: Target) -> list[Original]:
    """The jobs among the *documents* of a file's *text*.

    A companion stays beside the first job; a runtime goes with each job that names it, since a job cannot be checked without.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    jobs = [each for each in documents if is_workload(each)]
    if not jobs:
        return []
    parts = _parts(jobs, documents)
    if is_json(text):
        return _written(file, parts, target)
    if len(jobs) == 1:
        return [Original(file, documents, text)]
    pieces = _pieces_of(file, text, documents, target)
    if not pieces:
        return _written(file, parts, target, comments_of(text))
    return [Original(file, part, "".join(pieces[id(each)] for each in part).removeprefix("---\n")) for part in parts]


def _written(file: str, parts: Sequence[Sequence[Document]], target: Target, comments: Sequence[str] = ()) -> list[Original]:
    """Originals with a text of their own; the *comments* of the file are for the first of them to keep."""
    texts = [rendering.text_of(part, target) for part in parts]
    return [Original(file, part, text, () if number else comments) for number, (part, text) in enumerate(zip(parts, texts, strict=True))]


def _parts(jobs: Sequence[Document], documents: Sequence[Document]) -> list[list[Document]]:
    """For each job, itself and the companions that go with it, in the order of the file."""
    named = {
        id(job): [each for each in documents if each.group_kind in _RUNTIMES and is_meant(RuntimeRef(job.data), job, each)] for job in jobs
    }
    runtimes = {id(each) for found in named.values() for each in found}
    others = [each for each in documents if not is_workload(each) and id(each) not in runtimes]
    belonging = [[job, *named[id(job)], *(others if job is jobs[0] else ())] for job in jobs]
    return [[each for each in documents if any(each is other for other in part)] for part in belonging]


def _pieces_of(file: str, text: str, documents: Sequence[Document], target: Target) -> dict[int, str]:
    """The part of the text that each document is written in, by the document's id; none where several documents share one."""
    found: dict[int, str] = {}
    before = ""
    left = list(documents)
    for piece, _ in cut(text):
        inside = pipeline.read(pipeline.Source(file, piece), target).documents
        if not inside:
            before += piece
            continue
        if len(inside) > 1 or inside[0].is_item or not left:
            return {}
        found[id(left.pop(0))] = before + piece
        before = ""
    if left or not found:
        return {}
    last = list(found)[-1]
    return {**found, last: found[last] + before}
