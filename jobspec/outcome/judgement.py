"""The judgement of an accepted job as a whole: what its operator makes of it, and what all rules say of that."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError, has_error
from jobspec.kinds import TRAINJOB
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.outcome.program import started
from jobspec.outcome.rendezvous import rendezvous_outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jobspec.cluster import Cluster
    from jobspec.contracts import Contract
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.operators.objects import Expansion
    from jobspec.outcome.program import Started
    from jobspec.outcome.rule import Outcome
    from jobspec.targets import Target


def judged(
    job: Document, beside: Sequence[Document], cluster: Cluster, policies: PolicyObjects | None = None, *, accepted: bool = False
) -> list[Diagnostic] | None:
    """What is to be said of a job whose runtime is at hand; None where it has more pods than anybody could look at.

    *accepted*: a server is known to accept all objects of the job, and is not asked again. The other arguments are those of `foresee`.
    """

    def outcomes(expanded: ExpandedJob) -> Iterator[Outcome]:
        programs = started(expanded)
        if not accepted:
            from jobspec.outcome.refusals import refused_objects

            yield from refused_objects(expanded)
        yield from rendezvous_outcomes(expanded, programs)
        yield from _of_trainjob(expanded)
        if policies or cluster.closed or any(role.ranks_itself() for role in expanded.roles()):
            from jobspec.outcome.policies import policy_outcomes

            yield from policy_outcomes(expanded, policies, closed=cluster.closed)
        yield from _of_arguments(expanded, programs, cluster.contracts)

    try:
        expansion = expand(job, beside, cluster.target, ends=True, accepted=accepted)
        return _found(job, expansion, cluster.target, outcomes)
    except JobspecError:
        return None


def _found(job: Document, expansion: Expansion, target: Target, outcomes: Callable[[ExpandedJob], Iterator[Outcome]]) -> list[Diagnostic]:
    found = list(expansion.diagnostics)
    if not has_error(found):
        expanded = ExpandedJob(job, expansion.objects, target, expansion.counts)
        found += _each_place_once(outcomes(expanded), job)
    return found


def _of_trainjob(expanded: ExpandedJob) -> Iterator[Outcome]:
    if expanded.job.group_kind == TRAINJOB:
        from jobspec.outcome.endings import complete_without_training, restarts_for_ever

        yield from complete_without_training(expanded)
        yield from restarts_for_ever(expanded)


def _of_arguments(expanded: ExpandedJob, programs: Sequence[Started], contracts: Mapping[str, Contract]) -> Iterator[Outcome]:
    if contracts or any(program.is_torchrun for _, program in programs):
        from jobspec.outcome.arguments import wrong_flags, wrong_torchrun_options

        yield from wrong_torchrun_options(expanded)
        yield from wrong_flags(expanded, contracts)


def _each_place_once(outcomes: Iterable[Outcome], job: Document) -> list[Diagnostic]:
    """The diagnostics, one for each rule and place, however many pods and objects it hits."""
    first: dict[tuple[str, str], Diagnostic] = {}
    for each in outcomes:
        found = each.diagnostic(job)
        first.setdefault((found.rule, str(found.mark)), found)
    return list(first.values())
