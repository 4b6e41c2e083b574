"""Expand a job: the objects that its operator will create, whose every value has the place that caused it."""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document
    from jobspec.operators.objects import Expansion
    from jobspec.targets import Target


def expand(
    job: Document,
    beside: Sequence[Document],
    target: Target,
    *,
    gang_scheduler: str = "",
    ends: bool = False,
    accepted: bool = False,
) -> Expansion:
    """What the operator of a job that a server accepts makes of it.

    *gang_scheduler*: what training-operator was started with as `--gang-scheduler-name`.
    *beside*: the documents that the job may refer to, such as runtimes. *ends*: of pods that differ in numbers alone, the first and the
    last one are made, and stand for all between. *accepted*: a server is known to accept all that is made, and nothing is said of that.
    Raises JobspecError for a kind that is not expanded.
    """
    if job.group_kind == kinds.PYTORCHJOB:
        from jobspec.operators.training_operator.pytorchjob import expand_pytorchjob

        return expand_pytorchjob(job, target, beside=beside, gang_scheduler=gang_scheduler, ends=ends)
    if job.group_kind == kinds.TRAINJOB:
        from jobspec.operators.trainjob import expand_trainjob
        from jobspec.runtimes.runtime import runtime_of

        return expand_trainjob(job, runtime_of(job, beside, target), target, beside=beside, ends=ends, accepted=accepted)
    raise JobspecError(f"{job.file}: jobspec expands training jobs alone, no {job.kind}")
