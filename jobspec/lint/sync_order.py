"""The order in which Argo CD and Helm create objects: what waits for an object that comes only after it.

Follows `syncContext.Sync`, `syncPhases` and `syncwaves.Wave`, github.com/argoproj/argo-cd gitops-engine/pkg/sync, 3.2 to 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import JOB, PERSISTENT_VOLUME_CLAIM, POD, QUEUE_KINDS, SERVICE_ACCOUNT, STATEFUL_SET, GroupKind
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, text, tree_at
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import references
from jobspec.lint.linted import LintedJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from jobspec.documents.document import Document

    #: When an engine creates an object: the number of the phase, and the wave in it.
    Step: TypeAlias = tuple[int, int]

_ARGO_CD, _HELM = "argocd.argoproj.io/", "helm.sh/hook"
_HOOK, _WAVE, _WEIGHT = f"{_ARGO_CD}hook", f"{_ARGO_CD}sync-wave", f"{_HELM}-weight"
_PHASES = {"PreSync": 0, "Sync": 1, "PostSync": 2}
_PHASES_OF_HELM = {"pre-install": 0, "post-install": 2}
_SYNC = _PHASES["Sync"]
#: The kinds that Argo CD waits for: those whose health it knows, and that are not healthy without their pods.
_AWAITED = (JOB, STATEFUL_SET, POD, *(("apps", name) for name in ("Deployment", "ReplicaSet", "DaemonSet")))
#: Those of hooks that Helm waits for, too; it goes on when it has created other ones.
_AWAITED_BY_HELM = (JOB, POD)
_STORAGE_CLASS: GroupKind = ("storage.k8s.io", "StorageClass")


def needs_later_object(job: LintedJob) -> Iterator[Finding]:
    """A hook, or an object of an early wave, needs an object that Argo CD or Helm creates only when it has completed.

    Why: an engine creates all objects of a phase and a wave, and waits until they are healthy before it creates the next ones. A `PreSync`
    Job that uses a ConfigMap, a claim, a queue or an account of the same application never starts, so that the first sync never ends.
    Instead: make the object a hook of the same phase and an earlier wave, too; or the Job one of `Sync`, in a later wave.
    Before: "Job: {argocd.argoproj.io/hook: PreSync}, ServiceAccount: {}"
    After: "Job: {argocd.argoproj.io/hook: PreSync}, ServiceAccount: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: '-1'}"
    Evidence: KBVE/kbve#13331, decocms/studio#6223, lsst-sqre/phalanx#7022
    """
    own = _step_of(job.given)
    notes = mapping(job.given.data, "metadata", "annotations")
    awaited = _AWAITED_BY_HELM if _HELM in notes and _HOOK not in notes else _AWAITED
    if own is None or job.given.group_kind not in awaited:
        return
    for kind, place in _needed(job):
        steps = [_step_of(each) for each in job.documents.met(job.given, kind, text(place))]
        if steps and all(each is not None and each > own for each in steps):
            message = f"the first sync never ends: the {kind[1]} `{text(place)}` is created only when this {job.given.kind} is healthy"
            yield Finding(place, message, f"give the {kind[1]} the hook of the {job.given.kind}, and an earlier wave")


def claim_before_its_pod(job: LintedJob) -> Iterator[Finding]:
    """A claim is in an earlier wave of Argo CD than the pod that uses it, and its storage class waits for the pod.

    Why: Argo CD takes a claim for healthy when it is bound, and goes on to the next wave then. With `volumeBindingMode:
    WaitForFirstConsumer` a claim is bound when a pod uses it, which is created in that next wave: the sync never ends.
    Instead: put both into the same wave.
    Before: "claim: {argocd.argoproj.io/sync-wave: '-1'}, Job: {argocd.argoproj.io/sync-wave: '1'}"
    After: "claim: {argocd.argoproj.io/sync-wave: '1'}, Job: {argocd.argoproj.io/sync-wave: '1'}"
    Evidence: argoproj/argo-cd#12840, argoproj/argo-cd#29201, NiklasTiede/imdb-clone#65
    """
    own = _step_of(job.given)
    for kind, place in _needed(job) if own else ():
        for claim in job.documents.met(job.given, kind, text(place)) if kind == PERSISTENT_VOLUME_CLAIM else ():
            step = _step_of(claim)
            if own and step and step < own and _waits_for_pod(job, claim):
                message = (
                    f"the sync never ends: the claim `{text(place)}` of an earlier wave is bound only when this {job.given.kind} uses it"
                )
                yield Finding(place, message, f"put the claim into the wave of the {job.given.kind}")


def suspended_hook(job: LintedJob) -> Iterator[Finding]:
    """A hook of Argo CD is a suspended Job, which nothing resumes.

    Why: Argo CD waits for a hook until it has completed or failed. A suspended Job does neither: the sync runs until its own timeout, or
    for ever, and no other sync begins.
    Instead: leave `suspend` out, or make it no hook.
    Before: "argocd.argoproj.io/hook: Sync, beside suspend: true"
    After: "argocd.argoproj.io/hook: Sync"
    Evidence: `getOperationPhase` of gitops-engine/pkg/sync; argoproj/argo-cd#10600
    """
    said = job.tree.get("spec", "suspend")
    notes = mapping(job.given.data, "metadata", "annotations")
    is_resumed = job.queue_name is not None or job.tree.get("spec", "managedBy") is not None
    if said and said.value is True and _HOOK in notes and _step_of(job.given) and not is_resumed:
        yield Finding(said, "the sync never ends: Argo CD waits until this suspended hook has completed", "remove `suspend`")


def _needed(job: LintedJob) -> Iterator[tuple[GroupKind, MarkedTree]]:
    """Yield the kinds and names of the objects that the pods of a job need before they start, each with its place."""
    for role in job.roles:
        for each in references(mapping(role.pod_tree.data(), "spec")):
            place = tree_at(role.pod_tree, each.path)
            if place and not each.is_optional:
                yield each.kind, place
        if (account := role.pod_tree.get("spec", "serviceAccountName")) and text(account):
            yield SERVICE_ACCOUNT, account
    if job.is_job and job.queue_name:
        yield QUEUE_KINDS[1], job.queue_name


def _step_of(document: Document) -> Step | None:
    """Return when an engine creates an object first; None if it is no part of an ordinary sync."""
    notes = mapping(document.data, "metadata", "annotations")
    hook = notes.get(_HOOK, notes.get(_HELM))
    known = _PHASES if _HOOK in notes else _PHASES_OF_HELM
    phases = [_SYNC] if hook is None else [known[each.strip()] for each in str(hook).split(",") if each.strip() in known]
    wave = str(notes.get(_WAVE, notes.get(_WEIGHT, "")))
    digits = wave[1:] if wave[:1] in ("+", "-") else wave
    return (min(phases), int(wave) if digits.isascii() and digits.isdigit() else 0) if phases else None


def _waits_for_pod(job: LintedJob, claim: Document) -> bool:
    """True if a claim is bound only when a pod uses it, by a storage class among the files."""
    name = value_at(claim.data, ("spec", "storageClassName"))
    classes = job.documents.of_name(_STORAGE_CLASS, name) if isinstance(name, str) and name else ()
    return bool(classes) and all(value_at(each.data, ("volumeBindingMode",)) == "WaitForFirstConsumer" for each in classes)


_MENTIONS = [_ARGO_CD, _HELM]
RULES = (
    Rule(needs_later_object, "warning", sees="any pods in a namespace", reads=_MENTIONS),
    Rule(claim_before_its_pod, "warning", sees="any pods in a namespace", reads=_MENTIONS),
    Rule(suspended_hook, "warning", sees="job", of=[JOB], reads=[_HOOK]),
)
