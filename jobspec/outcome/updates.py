"""Updates that the server takes and the operator cannot carry out: a TrainJob whose JobSet exists, and cannot be changed as the job asks.

Follows `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0: while a job is suspended, and when
it resumes, its JobSet is applied again, of the live runtime, and from 2.3 on of the runtime as it was at the job's creation.
And a LeaderWorkerSet, whose StatefulSet of leaders is applied again with each change, by `SSAWithStatefulset`, sigs.k8s.io/lws
pkg/controllers, 0.7.0 to 0.10.0: the server refuses changes of what a StatefulSet keeps for good.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOBSET, LEADER_WORKER_SET, RUNTIMES, TRAINJOB
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import of_kind
from jobspec.go.values import mapping
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.problems import listed
from jobspec.operators.expansion import expand
from jobspec.operators.jobset.webhook import frozen_changes
from jobspec.operators.made import with_generated_names
from jobspec.operators.trainer.runtimes import PATCH_FIELDS
from jobspec.operators.trainer.snapshot import snapshot_name
from jobspec.operators.workloads import is_suspended, released

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.document import Document
    from jobspec.world.world import StoredObjects


def update_outcomes(job: Document, context: Sequence[Document], stored: StoredObjects, target: Target) -> Iterator[Finding]:
    """Yield the outcome of an accepted update of a job.

    *context*: the runtimes that a TrainJob may refer to.
    """
    if job.group_kind == LEADER_WORKER_SET and (earlier := stored.of(job)):
        yield from _of_leaders(job, earlier, target)
    old = stored.of(job) if job.group_kind == TRAINJOB else None
    if not old or not is_suspended(old):  # of a job that runs, the webhook refuses the update
        return
    field = next((each for each in PATCH_FIELDS if job.data["spec"].get(each) != mapping(old.data, "spec").get(each)), "")
    before = [stored.of(each) or each if each.group_kind in RUNTIMES else each for each in context]
    after = before if snapshot_name(job.name, target) else context
    if not field and all(one.data == other.data for one, other in zip(before, after, strict=True)):
        return
    made, now = (_jobset(*each, target) for each in ((old, before), (job, after)))
    changed = frozen_changes(now, made, target) if made and now else []
    if changed:
        at = ("spec", field) if job.data["spec"].get(field) is not None else ("metadata", "name") if field else ("spec", "runtimeRef")
        effect = "the job stays suspended" if is_suspended(job) else "the job never resumes"
        message = f"{effect}: JobSet refuses to change {listed(changed)} of its pods"
        hint = "delete the job and create it again; only labels, node selector, tolerations and scheduling gates can change"
        yield Finding(at, message, hint, rule="jobset-not-updated")


def _of_leaders(job: Document, old: Document, target: Target) -> Iterator[Finding]:
    """Yield why the StatefulSet of leaders cannot follow a changed LeaderWorkerSet."""
    before, after = (_leaders(each, target) for each in (old, job))
    if not before or not after:
        return
    for problem in builtin_problems(after, "apps/v1", "StatefulSet", target, encoded=True, old=before):
        message = f"nothing is updated: the server refuses the changed StatefulSet `{job.name}`: {problem.message}"
        place = ("spec", "leaderWorkerTemplate", *problem.path[1:]) if problem.path[1:2] == ("volumeClaimTemplates",) else ("spec",)
        hint = "restore it, or delete the LeaderWorkerSet and create it again"
        yield Finding(place, message, hint, rule="stateful-set-not-updated")


def _leaders(job: Document, target: Target) -> Data:
    """Return the StatefulSet of the leaders of a LeaderWorkerSet; empty if it has too many."""
    try:
        made = expand(job, (), target, first_and_last_only=True).objects
    except JobspecError:
        return {}
    return next((dict(with_generated_names(each)) for each in of_kind(made, "StatefulSet")), {})


def _jobset(job: Document, context: Sequence[Document], target: Target) -> Data:
    """Return the spec of the JobSet that the trainer makes of a job; empty if it makes none."""
    try:
        expansion = expand(released(job), context, target, first_and_last_only=True, skip_server_checks=True)
    except JobspecError:
        return {}
    return next((mapping(each.data(), "spec") for each in of_kind(expansion.objects, JOBSET[1])), {})
