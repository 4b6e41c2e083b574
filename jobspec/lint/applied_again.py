"""What an object gets at its creation alone, and a later apply of the same file takes away."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import JOBSET, MUTATING_POLICY_BINDING, QUEUE_KINDS
from jobspec.apis.releases import QUEUES
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.operators.kueue.versions import writes_runtime_patches
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kubernetes.applying import Side
    from jobspec.world.reapplying import LostInApply


def defaults_lost_in_apply(document: LintedDocument) -> Iterator[Finding]:
    """A JobSet leaves to JobSet's webhook what a later apply of the same file takes away, so that the server refuses it.

    Why: the webhook fills in `completionMode` and `restartPolicy` of replicated jobs, names of failure rules, and the `retentionPolicy` of
    claims when the JobSet is created, and never again. A client-side apply, as `kubectl apply` and Argo CD make it, replaces each list by
    that of the file, and a server-side one those of rules and claims, too; these fields are immutable.
    Instead: write them, or for replicated jobs apply on the server's side.
    Before: "template: {spec: {template: {spec: {containers: [...]}}}}"
    After: "template: {spec: {completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [...]}}}}"
    Evidence: JobSet 0.12.0 on Kubernetes 1.37.2: `spec.replicatedJobs: Invalid value: ...: field is immutable`
    """
    if (lost := _lost(document)) and not lost.by_policy:
        yield Finding(lost.mark, lost.message, lost.hint, field=lost.field, severity="warning" if lost.on_server else None)


def addition_lost_in_apply(document: LintedDocument) -> Iterator[Finding]:
    """A mutating policy adds to an immutable list at the creation alone: the same file cannot be applied again.

    Why: a client-side apply of a custom resource replaces the whole list by that of the file, as a server-side one does with a list that
    has no keys. The policy does not match UPDATE, so that the addition is gone, and the server refuses the change.
    Instead: have the policy match UPDATE, too, or write the addition into the file.
    Before: "operations: [CREATE]"
    After: "operations: [CREATE, UPDATE]"
    Evidence: trainer 2.3.0 on Kubernetes 1.37.2: `spec.trainer: Invalid value: field is immutable`
    """
    if (lost := _lost(document)) and lost.by_policy:
        yield Finding(lost.mark, lost.message, lost.hint, field=lost.field)


def patches_lost_in_apply(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob has patches of its own where Kueue adds one, which a client-side apply of the same file removes.

    Why: Kueue adds an entry to `runtimePatches` of each TrainJob at its creation, by which it starts the job later. A client-side apply,
    as `kubectl apply` and Argo CD make it, replaces the whole list by that of the file. Of a job that waits, the entry is gone: the job
    is admitted, holds its quota and stays suspended forever. Of one that runs, each apply is refused.
    Instead: apply on the server's side, where each manager has its own entry; or write the patches into the runtime.
    Before: "runtimePatches: [{manager: example.com/team, trainingRuntimeSpec: {...}}]"
    After: "metadata: {annotations: {argocd.argoproj.io/sync-options: ServerSideApply=true}}"
    Evidence: Kueue 0.19.2 with trainer 2.3.0 on Kubernetes 1.37.2
    """
    from jobspec.operators.trainer.runtimes import has_runtime_patches

    target, patches = job.target, job.get("spec", "runtimePatches")
    if not patches or not has_runtime_patches(target["trainer"]) or not _writes_patches(job):
        return
    if job.can_be_synced and not job.documents.is_applied_by_server(job.given):
        message = "a later client-side apply removes the entry that Kueue adds to this list"
        hint = "apply with --server-side (Argo CD: `ServerSideApply=true`), or write the patches into the runtime"
        yield Finding(("spec", "runtimePatches"), message, hint)


def _writes_patches(job: LintedJob) -> bool:
    """True if Kueue is on the cluster, in a release that writes `runtimePatches`."""
    release = job.cluster.installed.get(QUEUES)
    is_there = release or job.get("metadata", "labels", QUEUE) or job.documents.has([*QUEUE_KINDS])
    return bool(is_there) and (not release or writes_runtime_patches(release))


def _lost(document: LintedDocument) -> LostInApply | None:
    if not document.can_be_synced or (document.given.group_kind != JOBSET and not document.documents.change_objects()):
        return None
    from jobspec.world.reapplying import lost_in_apply

    documents = document.documents
    given = documents.written(document.given)
    side: Side = "server" if documents.is_applied_by_server(given) else "client"
    return lost_in_apply(given, given, documents.cluster, documents.index, side)


RULES = (
    Rule(defaults_lost_in_apply, "info", sees="document", of=[JOBSET]),
    Rule(addition_lost_in_apply, "warning", sees="document", kinds=[MUTATING_POLICY_BINDING]),
    Rule(patches_lost_in_apply, "info", sees="TrainJob", reads=["runtimepatches"]),
)
