"""Judge a job by each of several objects of one name, such as the quotas of two clusters whose files are given together."""

from __future__ import annotations

from jobspec.outcome.ordinary import foresee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.kubernetes.index import Index
    from jobspec.outcome.ordinary import Foresight
    from jobspec.world.world import Cluster


def foresee_by_all(job: Document, context: Sequence[Document], cluster: Cluster, index: Index, *, is_reviewed: bool) -> Foresight | None:
    """Foresee what becomes of a job. If it depends on which of several objects of one name is there, that is not known."""
    seen = []

    def said(met: Index) -> Sequence[Diagnostic]:
        seen.append(foresee(job, context, cluster, met, is_reviewed=is_reviewed))
        return seen[-1].diagnostics if seen[-1] else ()

    found = common_diagnostics(job.namespace, index, said)
    first = seen[0]
    if first is None or len(seen) == 1:
        return first
    return first.changed(diagnostics=found, runs=first.runs if len({each and each.runs for each in seen}) == 1 else None)


def common_diagnostics(namespace: str, index: Index, judge: Callable[[Index], Sequence[Diagnostic]]) -> Sequence[Diagnostic]:
    """Return what is said by whichever object of one name is there. What some of them alone cause becomes an info that names the object."""
    own = index.recording()
    found = judge(own)
    others = [(place, judge(other)) for place, other in own.alternatives(namespace, frozenset(own.asked or ()))]
    index.note(own.asked or ())
    if not others:
        return found
    of_all = [{_key(each) for each in said} for said in (found, *(said for _, said in others))]
    kept = {_key(each): each for each in found if all(_key(each) in keys for keys in of_all)}
    (kind, _), _, name = others[0][0]
    for place, said in ((others[0][0], found), *others):
        (_, kind), _, name = place
        for each in said:
            unsure = f"not known which {kind} `{name}` is there, and they differ; by one of them: {each.message}"
            kept.setdefault(
                _key(each), each.changed(severity="info", message=unsure, hint="judge the files of one cluster at a time", changes=())
            )
    return list(kept.values())


def _key(each: Diagnostic) -> tuple[str, str, str]:
    return each.rule, str(each.mark), each.field
