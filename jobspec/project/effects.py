"""The effect of a change in the cluster: what the operator does with a changed field, what the server refuses, what is recreated.

What operators do stands in their rooms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jobspec.apis.kinds import CRON_JOB, JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, RAY_CLUSTER, RUNTIMES, TRAINING_JOBS, TRAINJOB
from jobspec.apis.releases import Target
from jobspec.apis.sibling_kinds import API_VERSION
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.wording import shortened
from jobspec.documents.document import Document
from jobspec.journey.checking import check
from jobspec.journey.steps import Manifests
from jobspec.operators.job_changes import effect_on_cron_job, effect_on_job
from jobspec.operators.kuberay.changes import effect_on_ray
from jobspec.operators.life import Effect
from jobspec.operators.lws.changes import effect_on_leader_worker_set
from jobspec.operators.mpi_operator.changes import effect_on_mpijob
from jobspec.operators.trainer.changes import effect_on_trainjob
from jobspec.operators.training_operator.changes import effect_on_training_job
from jobspec.operators.workloads import is_workload
from jobspec.outcome.updates import update_outcomes
from jobspec.project.engines.replacement import SPEC_HASH
from jobspec.project.fields import FieldChange, changes, fields_of
from jobspec.project.rendering import RenderedVariant, identity_of, objects_of
from jobspec.project.tree import as_rendered
from jobspec.project.variants import PlannedVariant, documents_in
from jobspec.repository.in_build import AppliedFolder
from jobspec.repository.recreation import Recreation, recreation_of, sync_options
from jobspec.world.reapplying import as_applied
from jobspec.world.world import Cluster, StoredObjects

#: `new-run`: a job starts, and that of the old name goes or stays; `replaced`: deleted and recreated under its name; `refused`: the
#: server does not take the update; `ignored`: it takes it, and nothing happens; `created`, `removed`: an object that comes or goes.
Meaning = Literal["new-run", "replaced", "in-place", "refused", "ignored", "created", "removed"]


def effect_of(change: FieldChange, old: Document, new: Document, target: Target) -> Effect:
    """Return the effect of a change that the server accepts, in an update of *old* to *new*."""
    if change.path[0] != "spec":
        return Effect()
    if new.group_kind in TRAINING_JOBS and new.api_version == API_VERSION:
        return effect_on_training_job(change.path, old, new)
    if new.group_kind == MPIJOB:
        return effect_on_mpijob(change.path, old, new)
    if new.group_kind[0] == RAY_CLUSTER[0]:
        return effect_on_ray(change.path, old, new, target["kuberay"])
    if new.group_kind == TRAINJOB:
        return effect_on_trainjob(change.path, old, new)
    if new.group_kind == LEADER_WORKER_SET:
        return effect_on_leader_worker_set(change.path, old, new)
    if new.group_kind in (JOB, JOBSET):
        return effect_on_job(change.path, old, new)
    if new.group_kind == CRON_JOB:
        return effect_on_cron_job(change.path)
    return Effect("existing runs keep their runtime" if new.group_kind in RUNTIMES else "")


# The effect of a change on one object.


#: From the most to the least important for a reviewer.
MEANINGS: tuple[Meaning, ...] = ("refused", "ignored", "replaced", "new-run", "removed", "created", "in-place")
_ANNOTATIONS = ("metadata", "annotations")
_HASH = (*_ANNOTATIONS, SPEC_HASH)
_CLAIM = "PersistentVolumeClaim"
_STORAGE = ("spec", "resources", "requests", "storage")
_GROWS = "the server refuses this while the claim is not bound, and if its StorageClass lacks `allowVolumeExpansion: true`"


@dataclass(frozen=True)
class ObjectChange:
    """The change of one object, and its effect."""

    document: Document
    """The object after the change; one that goes, before it."""
    meaning: Meaning
    fields: Sequence[tuple[FieldChange, Meaning]] = ()
    """The changed fields, each with what its change means."""
    notes: Sequence[str] = ()
    """What else there is to say, each as one sentence."""
    follows: str = ""
    """Of a new run: the name of the job before it; empty where there was none."""
    is_pruned: bool = False
    """Whether that job is pruned; it is not where the variant keeps earlier runs."""

    def __repr__(self) -> str:
        fields = ", ".join(change.field for change, _ in self.fields)
        return f"<{self.document.kind} {self.document.name} ({self.meaning}){f': {fields}' if fields else ''}>"


def removed(document: Document) -> ObjectChange:
    """Return the change of an object that is no longer rendered, and so is pruned."""
    notes = ["its volume is deleted with it, unless its reclaim policy is Retain"] if document.kind == _CLAIM else []
    return ObjectChange(document, "removed", notes=notes)


def returned(old: Document, new: Document, changes: Sequence[FieldChange]) -> ObjectChange:
    """Return the change of a job that is an earlier run again, kept by `history`."""
    note = "this is an earlier run, which is still kept: it becomes the newest one, and nothing starts"
    return ObjectChange(new, "ignored", [(each, "ignored") for each in changes], [note], follows=old.name, is_pruned=False)


def update(
    old: Document,
    new: Document,
    changes: Sequence[FieldChange],
    context: Sequence[Document],
    cluster: Cluster,
    folder: AppliedFolder | None = None,
) -> ObjectChange:
    """Return the effect of an update of an object.

    If the server refuses the update, an engine recreates objects that ask for that. *folder*: how an engine applies the object, which
    decides on recreation as well.
    """
    how = recreation_of(new, folder or AppliedFolder())
    if folder and how and how.when in ("always", "never"):
        return _by_engine(new, changes, how)
    refused = refusals(old, new, changes, context, cluster, folder)
    if refused:
        meaning: Meaning = "replaced" if how and how.when != "never" and _takes_place(old, new, cluster, folder) else "refused"
        why = [f"{how.engine} deletes and recreates it: {how.reason}"] if folder and how and meaning == "replaced" else []
        return ObjectChange(new, meaning, [(each, meaning) for each in changes], [*why, *refused])
    stuck = [
        f"{each.message}; {each.hint}"
        for each in update_outcomes(new, _runtimes([*context, *cluster.lookups]), StoredObjects([old]), cluster.target)
    ]
    if stuck:
        return ObjectChange(new, "ignored", [(each, "ignored") for each in changes], stuck)
    effects = [effect_of(each, old, new, cluster.target) for each in changes]
    meanings: list[Meaning] = ["in-place" if each.heeded else "ignored" for each in effects]
    notes = list(dict.fromkeys(each.note for each in effects if each.note))
    if new.kind == _CLAIM and any(each.path[:4] == _STORAGE for each in changes):
        notes.append(_GROWS)
    return ObjectChange(new, gravest(meanings), list(zip(changes, meanings, strict=True)), notes)


def _runtimes(context: Sequence[Document]) -> list[Document]:
    return [each for each in context if each.group_kind in RUNTIMES]


def requeued(change: ObjectChange, jobs: Sequence[Document]) -> ObjectChange:
    """Return the change of a job or runtime for which Kueue stops running *jobs*, and queues them again."""
    if change.meaning not in ("ignored", "in-place") or not jobs:
        return change
    if not is_workload(change.document):
        names = shortened([f"`{each.name}`" for each in jobs])
        note = f"Kueue stops {names} and queues it again: the pods start over, with the runtime that the job began with"
        return replace(change, meaning="in-place", fields=[(each, "in-place") for each, _ in change.fields], notes=[note])
    effects = [_effect_over_stop(each, change.document) for each, _ in change.fields]
    lost = list(dict.fromkeys(each.note for each in effects if not each.heeded))
    meanings: list[Meaning] = ["in-place" if each.heeded else "ignored" for each in effects]
    note = f"Kueue stops the job and queues it again: its pods are deleted, and start over{'' if lost else ' with the new spec'}"
    fields = [(each, meaning) for (each, _), meaning in zip(change.fields, meanings, strict=True)]
    return replace(change, meaning=gravest(meanings), fields=fields, notes=[note, *lost])


def _effect_over_stop(change: FieldChange, job: Document) -> Effect:
    """Return the effect of a changed field of a job that Kueue stops and starts again.

    All pods are new. Only the launcher of an MPIJob keeps its pod template.
    """
    if job.group_kind == MPIJOB and change.path[0] == "spec":
        return effect_on_mpijob(change.path, job, job, is_stopped=True)
    return Effect()


def by_engine_alone(new: Document, changes: Sequence[FieldChange], folder: AppliedFolder) -> ObjectChange:
    """Return the change of an object of an unknown kind, which the server updates unless its engine recreates the object."""
    how = recreation_of(new, folder)
    if how and how.when in ("always", "never"):
        return _by_engine(new, changes, how)
    return ObjectChange(new, "in-place", [(each, "in-place") for each in changes])


def _by_engine(new: Document, changes: Sequence[FieldChange], how: Recreation) -> ObjectChange:
    """Return the change of an object that its engine recreates at each sync, or does not update at all."""
    meaning: Meaning = "replaced" if how.when == "always" else "ignored"
    done = "deletes and recreates it at each sync" if how.when == "always" else f"does not update the existing {new.kind}"
    note = f"{how.engine} {done}: {how.reason}"
    return ObjectChange(new, meaning, [(each, meaning) for each in changes], [note])


def _takes_place(old: Document, new: Document, cluster: Cluster, folder: AppliedFolder | None) -> bool:
    """True if the engine of a folder recreates an object after this refusal. Without a folder, each refusal counts."""
    if folder is None:
        return True
    checked = check(Manifests(new.file, [new], by_engine=folder), cluster.updating(StoredObjects([old])))
    return any(each.rule == "recreated-object" for each in checked.result.diagnostics)


def gravest(meanings: Sequence[Meaning]) -> Meaning:
    """Return the meaning of several changes together. Without changes, return `in-place`."""
    return min(meanings, key=MEANINGS.index, default="in-place")


# Why a server refuses an update to an object that it would accept as a new one.
#
# That is by the rules of `--from`, those of a StorageClass, of which jobspec judges only metadata, and the policy of a project's engines.


#: The fields of a StorageClass that the server never changes; the other kinds with such fields have rules of their own.
_OF_STORAGE_CLASS = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def refusals(
    old: Document,
    new: Document,
    changes: Sequence[FieldChange],
    context: Sequence[Document],
    cluster: Cluster,
    folder: AppliedFolder | None = None,
) -> list[str]:
    """Return why the server refuses the update from *old* to *new*, each as one sentence.

    The new object must be valid: a problem of it now is a problem of the update. *folder*: how an engine applies the object; without one,
    it is applied server-side.
    """
    by_client = bool(folder and folder.engine == "Argo CD" and not folder.by_server and "ServerSideApply=true" not in sync_options(new))
    applied = as_applied(new, old, cluster, "client" if by_client else "server")
    others = [each for each in context if each is not new]
    return [*_by_rules(*applied, others, cluster), *_fixed(old, changes), *_by_policy(old, new)]


def _by_rules(new: Document, old: Document, others: Sequence[Document], cluster: Cluster) -> Iterator[str]:
    checked = check(Manifests(new.file, [new, *others]), cluster.updating(StoredObjects([old])), engines=False)
    for each in checked.result.diagnostics:
        if each.severity == "error":
            yield f"{each.field}: {each.message}" if each.field else each.message


def _fixed(old: Document, changes: Sequence[FieldChange]) -> Iterator[str]:
    for name in _OF_STORAGE_CLASS if old.group_kind == ("storage.k8s.io", "StorageClass") else ():
        if any(each.path[0] == name for each in changes):
            yield f"{name}: the server does not change this field of a StorageClass"


def _by_policy(old: Document, new: Document) -> Iterator[str]:
    """Yield the refusal by the policy of the project's engines.

    The policy refuses another spec under a fixed name.
    """
    before, after = (value_at(each.data, _HASH) for each in (old, new))
    if before not in (None, after):
        yield "spec: the policy of the project's engines refuses another spec under a fixed name"


# The effect of a change of a job with a fixed name: the server refuses it, the operator ignores it, or the engine recreates the job.


_EFFECTS = {
    "refused": "the server refuses the change",
    "ignored": "the change has no effect",
    "replaced": "the engine deletes the job and recreates it, even while it runs",
}


def committed_before(rendered: RenderedVariant, before: Mapping[str, bytes]) -> bytes | None:
    """Return the committed job of a variant that has the same name and differs.

    If the job is the same, or new, return None. *before* has the files of the variant's folder, by their paths in the tree.
    """
    job = next((each for each in rendered.objects if each.is_job), None)
    committed = before.get(f"{rendered.name}/{job.file}") if job else None
    return None if job is None or committed == as_rendered(job.text) else committed


def unchangeable(variant: PlannedVariant, committed: bytes, cluster: Cluster) -> Iterator[Diagnostic]:
    """Yield a warning if a variant changes a field of the *committed* job that cannot change.

    The committed job has the same name.
    """
    context, _ = objects_of(variant, cluster)
    new = next(filter(variant.base.is_job, context))
    old = next(iter(documents_in(committed)), None)
    if old is None or identity_of(old) != identity_of(new):
        return
    target = cluster.target
    found = [each for each in changes(fields_of(old, target), fields_of(new, target)) if each.path != _HASH]
    if not found:
        return
    change = update(old, new, found, context, cluster)
    before, after = (value_at(each.data, _HASH) for each in (old, new))
    effect = "replaced" if after not in (None, before) else change.meaning  # an engine replaces a job whose hash is another one
    if effect not in _EFFECTS:
        return
    said = [each for each, what in change.fields if each.path[0] == "spec" and (what != "in-place" or effect == "replaced")]
    names = shortened([f"`{each.field}`" for each in said])
    message = f"the job keeps its fixed name, and {names} differs from what is committed: {_why(effect, change)}"
    place = next((each.place for each in said if each.place), new.marks.nearest(("metadata", "name")).place())
    hint = "remove `naming: fixed`, so that a change is a new run"
    yield Diagnostic("fixed-name", message, place, field=said[0].field if said else "", hint=hint, severity="warning")


def _why(effect: str, change: ObjectChange) -> str:
    """The effect of the change, with the first known reason."""
    reason = f" ({change.notes[0]})" if change.notes and effect != "replaced" else ""
    return _EFFECTS[effect] + reason
