"""What rules look at: a job with all that its operator makes of it, a runtime as if a job used it, and any document among the others."""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import JobspecError
from jobspec.documents.document import Document, marks_at
from jobspec.documents.marked_tree import with_marks
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.workloads import is_workload, released, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.lint.documents import Documents
    from jobspec.operators.expansion import ExpandedRole
    from jobspec.targets import Target

RUNTIMES = (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME)


class DocumentView:
    """A document, and all others of the run."""

    __slots__ = ("documents", "given")

    def __init__(self, given: Document, documents: Documents) -> None:
        self.given = given
        self.documents = documents

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.given.data, path)


class JobView(DocumentView):
    """A job and its pods, or a runtime and the pods of a job that says nothing but its name."""

    __slots__ = ("_said", "_tree", "expanded", "is_job", "refused", "roles", "runtime")

    def __init__(
        self, given: Document, documents: Documents, expanded: ExpandedJob, runtime: Document | None, refused: Sequence[Diagnostic]
    ) -> None:
        super().__init__(given, documents)
        self.expanded = expanded
        self.refused = refused
        """Of a runtime that is looked at alone: errors for which the operator, or the server behind it, makes nothing of a job."""
        self.runtime = runtime
        """Of a TrainJob, and of a runtime that is looked at alone."""
        self.is_job = is_workload(given)
        self.roles: Sequence[ExpandedRole] = expanded.roles()
        """The roles that have pods."""
        self._tree: MarkedTree | None = None
        self._said: tuple[set[str], str] | None = None

    @property
    def tree(self) -> MarkedTree:
        """The given document with its marks."""
        if self._tree is None:
            self._tree = with_marks(self.given.data, self.given.marks)
        return self._tree

    @property
    def said(self) -> tuple[set[str], str]:
        """The fields and keys of the job and its runtime, of `nvidia.com/gpu` also `nvidia.com`; and their texts in one."""
        if self._said is None:
            keys, texts = _keys_and_texts(self.given.data, self.runtime.data if self.runtime else None)
            self._said = (keys | {key.partition("/")[0] for key in keys}, "\n".join(texts))
        return self._said

    @property
    def words(self) -> set[str]:
        """The fields and keys of the job and its runtime; of `nvidia.com/gpu` also `nvidia.com`."""
        return self.said[0]

    def says(self, *parts: str) -> bool:
        """Whether one of these is in a text of the job or its runtime."""
        return any(part in self.said[1] for part in parts)

    @property
    def is_pytorchjob(self) -> bool:
        """Whether it is a PyTorchJob, and no TrainJob or runtime."""
        return self.given.group_kind == kinds.PYTORCHJOB

    @property
    def training(self) -> list[ExpandedRole]:
        """The roles that train."""
        return [each for each in self.roles if each.training]


def view_of(given: Document, documents: Documents) -> JobView | None:
    """The view of an accepted job or runtime; None for other documents, and where nobody can say what comes of it."""
    target = documents.target
    if given.group_kind in RUNTIMES:
        job = _stand_in(given)
        beside = [given]
    elif is_workload(given):
        job = released(given)
        beside = documents.referred(given)
    else:
        return None
    runtime = _runtime_of(job, beside, target)
    try:
        expansion = expand(job, beside, target, ends=True, accepted=given is not runtime)  # of a job, outcomes tell what is refused
    except JobspecError:  # too many pods to look at
        return None
    refused = [each for each in expansion.diagnostics if each.severity == "error"]
    return JobView(given, documents, ExpandedJob(job, expansion.objects, target, expansion.counts), runtime, refused)


def _keys_and_texts(*values: Any) -> tuple[set[str], list[str]]:
    """The keys of all mappings in some values, and all texts."""
    keys: set[str] = set()
    texts: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            keys.update(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    return keys, texts


def _runtime_of(job: Document, beside: Sequence[Document], target: Target) -> Document | None:
    if job.group_kind != kinds.TRAINJOB:
        return None
    from jobspec.operators.trainer.runtimes import runtime_of

    return runtime_of(job, beside, target)


def _stand_in(runtime: Document) -> Document:
    """The smallest TrainJob that uses a runtime; all of it stands at the runtime's name."""
    metadata = {"name": "job", **({"namespace": runtime.namespace} if runtime.namespace else {})}
    reference = {"apiGroup": runtime.group_kind[0], "kind": runtime.kind, "name": runtime.name}
    data = {"apiVersion": runtime.api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference, "trainer": {}}}
    place = runtime.marks.nearest(("metadata", "name")).place()
    return Document(data, lambda: marks_at(data, place), file=runtime.file, index=runtime.index)
