"""The runs of a variant that stay in the tree: up to N earlier ones, in the order in which an annotation counts them.

A run is a job under a name with a hash; its file stays as it was rendered. The count needs no time, so that a render of the same sources
into the same tree gives the same bytes everywhere.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.marked_tree import MarkedTree
from jobspec.workloads import is_workload, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.documents.document import Document

ANNOTATION = "jobspec.dev/run"


class Run:
    """A job of a variant that stands in the tree."""

    __slots__ = ("job", "number", "path")

    def __init__(self, path: str, job: Document) -> None:
        self.path = path
        self.job = job
        said = str(value_at(job.data, ("metadata", "annotations", ANNOTATION)) or "")
        self.number = int(said) if said.isascii() and said.isdigit() else 0
        """Counts the runs from 1; 0 for one that was rendered before the variant had a history."""


class History:
    """How many earlier runs of a variant stay, and those that the tree has."""

    __slots__ = ("limit", "runs")

    def __init__(self, limit: MarkedTree, runs: Sequence[Run] = ()) -> None:
        self.limit = limit
        """The number of earlier runs, at its place in the project."""
        self.runs = sorted(runs, key=lambda each: (each.number, each.path))
        """The runs in the tree, the newest last."""

    def with_runs(self, files: Mapping[str, bytes]) -> History:
        """The same with the runs among the files of the variant's folder."""
        return History(self.limit, [run for path, content in files.items() if (run := _run_in(path, content))])

    def number_of(self, job: Document) -> MarkedTree:
        """The number of a rendered job, as the text of its annotation: the next one, unless the job is the newest run already."""
        newest = self.runs[-1].number if self.runs else 0
        known = self._known(job)
        number = newest if known and known.number == newest else newest + 1
        return self.limit.with_value(str(max(number, 1)))

    def earlier(self, job: Document) -> list[str]:
        """The paths of the runs that stay beside a rendered job, the newest ones."""
        others = [each.path for each in self.runs if not _is_same(each.job, job)]
        return others[len(others) - min(self.limit.value, len(others)) :]

    def returned(self, job: Document) -> Diagnostic | None:
        """A warning where a rendered job is an earlier run again, which is still there and so is not started anew."""
        known = self._known(job)
        if known is None or known.number == self.runs[-1].number:
            return None
        message = f"this is the earlier run `{job.name}` again, which is still kept: it becomes the newest one, and nothing is started"
        hint = "for a new run, change what the hash covers, an annotation of the pods for example"
        return job.problem("run-returned", message, ("metadata", "name"), hint=hint, severity="warning")

    def _known(self, job: Document) -> Run | None:
        return next((each for each in self.runs if _is_same(each.job, job)), None)


def _is_same(one: Document, other: Document) -> bool:
    """Whether two runs of a variant are one: the name has the hash of the spec."""
    return (one.group_kind, one.name) == (other.group_kind, other.name)


def _run_in(path: str, content: bytes) -> Run | None:
    """The run in a file of the tree, None where that holds no job."""
    if "job-" not in path.rpartition("/")[2]:  # which the file of a job is named after; to read all of a tree takes long
        return None
    from jobspec.documents.reader import read

    documents, _ = read(content.decode(errors="replace"), file=path)
    return Run(path, documents[0]) if len(documents) == 1 and is_workload(documents[0]) else None
