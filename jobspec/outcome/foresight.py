"""What becomes of a job that a server accepts: nothing is said of an ordinary one, and any other is expanded and judged as a whole."""

from __future__ import annotations

from jobspec.diagnostics import has_error
from jobspec.kinds import TRAINJOB
from jobspec.workloads import resumed, suspension

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.targets import Target


class Foresight:
    """What is foreseen of a job."""

    __slots__ = ("diagnostics", "runs")

    def __init__(self, diagnostics: Sequence[Diagnostic], *, runs: bool | None) -> None:
        self.diagnostics = diagnostics
        self.runs = runs
        """Whether the job will run and train; None where that is not known."""


def foresee(job: Document, beside: Sequence[Document], cluster: Cluster, policies: PolicyObjects | None = None) -> Foresight | None:
    """What becomes of an accepted job, of a suspended one when it is resumed; None where its runtime is not at hand.

    *beside*: the documents that it may refer to; *policies*: the objects that decide on pods.
    """
    runtime = _runtime(job, beside, cluster.target)
    if runtime is None and job.group_kind == TRAINJOB:
        return None
    resumed_job = resumed(job)
    concerned = cluster.closed or cluster.contracts or (policies is not None and policies.concern(job.namespace))
    accepted = has_ordinary_objects(resumed_job, runtime, cluster.target)
    found: list[Diagnostic] | None = []
    if not accepted or concerned or not has_ordinary_programs(resumed_job, runtime):
        from jobspec.outcome.judgement import judged

        found = judged(resumed_job, beside, cluster, policies, accepted=accepted)
    if found is None:
        return Foresight((), runs=None)
    if not any(each.rule == "nothing-made" for each in found):
        found += suspension(job)
    return Foresight(found, runs=_runs(found))


def _runs(found: Sequence[Diagnostic]) -> bool | None:
    """Whether a job runs of which that is to be said."""
    if has_error(found):
        return False
    return None if any(each.severity == "warning" or each.rule == "nothing-made" for each in found) else True


def _runtime(job: Document, beside: Sequence[Document], target: Target) -> Document | None:
    if job.group_kind != TRAINJOB:
        return None
    from jobspec.runtimes.runtime import runtime_of

    return runtime_of(job, beside, target)


def has_ordinary_objects(job: Document, runtime: Document | None, target: Target) -> bool:
    """Whether a look at an accepted job and its runtime tells that a server accepts all its objects."""
    if runtime is None:
        from jobspec.outcome.ordinary import pytorchjob

        return pytorchjob.has_ordinary_objects(job.data, target)
    from jobspec.outcome.ordinary import trainjob

    return trainjob.has_ordinary_objects(job.data, runtime.data)


def has_ordinary_programs(job: Document, runtime: Document | None) -> bool:
    """Whether a look at a job with ordinary objects tells that its programs find each other."""
    if runtime is None:
        from jobspec.outcome.ordinary import pytorchjob

        return pytorchjob.has_ordinary_programs(job.data)
    from jobspec.outcome.ordinary import trainjob

    return trainjob.has_ordinary_programs(job.data, runtime.data)
