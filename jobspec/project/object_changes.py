"""Compare two states of a repository object by object: what is built of its kustomizations and charts, and its plain files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from jobspec.apis.kinds import CRON_JOB, RUNTIMES, SECRET, find, is_cluster_scoped
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import gathered, grouped
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.wording import shortened
from jobspec.documents.document import Document
from jobspec.go.values import mapping
from jobspec.journey.checking import check, with_stand_ins
from jobspec.journey.steps import Checked, Manifests
from jobspec.kubernetes.index import Index
from jobspec.operators.expansion import MAKERS
from jobspec.operators.kueue.requeueing import is_requeued
from jobspec.operators.kueue.versions import KINDS as QUEUED_KINDS
from jobspec.operators.kueue.world import World, queues_in
from jobspec.operators.workloads import is_workload, released
from jobspec.project import effects
from jobspec.project.capacity import Capacity, capacity_of
from jobspec.project.comparison import SECRET_PARTS, Comparison, Presence, VariantChange
from jobspec.project.edited_lines import EditedFile, at_edited_line
from jobspec.project.effects import ObjectChange
from jobspec.project.fields import FieldChange, changes, fields_of
from jobspec.project.lost_runtimes import users_of, with_stuck_jobs
from jobspec.repository.in_build import AppliedFolder
from jobspec.world.world import Cluster


@dataclass(frozen=True)
class AppliedObject:
    """An object that a repository has applied."""

    document: Document
    unit: str
    """What it is applied with: the folder of a kustomization or chart, or its own file."""
    folder: AppliedFolder = field(default_factory=AppliedFolder)
    """How an engine applies it."""
    reads: frozenset[str] = frozenset()
    """The real paths of the files that it is made of."""

    @property
    def key(self) -> tuple[object, ...]:
        """Return what identifies it in a cluster."""
        document = self.document
        is_global = is_cluster_scoped(document.api_version, document.kind)
        return document.group_kind, "" if is_global else document.namespace, document.name or f"{_prefix_of(document)}*"

    @property
    def runs_once(self) -> bool:
        """Whether it is a job, whose new name is a new run."""
        kind = self.document.group_kind
        return kind != CRON_JOB and (is_workload(self.document) or kind in QUEUED_KINDS)


@dataclass(frozen=True)
class State:
    """The objects of a repository at one side of a change."""

    objects: Sequence[AppliedObject] = ()
    cluster: Cluster = field(default_factory=Cluster)
    """What the objects meet, with the objects that others refer to."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """The builds that fail, each with why."""


def compare_objects(before: State, after: State, edits: Mapping[str, EditedFile], queues: World | None = None) -> Comparison:
    """Compare the objects *before* and *after* a change that *edits* files, by their real paths."""
    between = _BetweenStates(before, after, edits, queues or queues_in(Index()))
    unread = {**before.unread, **after.unread}
    paired, gone, come = _pairs(*([each for each in side.objects if each.unit not in unread] for side in (before, after)))
    found: list[tuple[str, ObjectChange, Capacity | None, Capacity | None]] = []
    unchanged = 0
    for old, new in sorted(paired, key=lambda each: each[0].key == each[1].key):  # generated objects before those that name them
        if old.key == new.key and old.document.data == new.document.data:
            unchanged += 1
        elif old.key == new.key:
            found.append(between.updated(old, new))
        else:
            found.append(between.followed(old, new))
    found += [between.created(each) for each in come]
    found += [between.removed(each) for each in gone]
    return Comparison(list(_by_unit(found)), unchanged, list(_not_compared(unread)), differs=bool(found or unread), noun="object")


def _not_compared(unread: Mapping[str, str]) -> Iterator[str]:
    """Yield a note for the builds that fail for one reason."""
    for why, units in gathered((why, unit) for unit, why in sorted(unread.items())).items():
        they, are = ("it", "is") if len(units) == 1 else ("they", "are")
        yield f"{shortened(units)} {are} not compared, since {they} cannot be built: {why}"


def _by_unit(found: Iterable[tuple[str, ObjectChange, Capacity | None, Capacity | None]]) -> Iterator[VariantChange]:
    """Yield each changed job, then the other objects of its build or file."""
    units = gathered((unit, (change, old, new)) for unit, change, old, new in found)
    for unit in sorted(units):
        jobs = [each for each in units[unit] if each[1] or each[2]]
        for change, old, new in sorted(jobs, key=lambda each: _order(each[0])):
            yield VariantChange(unit, _presence(change), [change], old, new, job=_name_of(change.document))
        others = sorted((change for change, old, new in units[unit] if not (old or new)), key=_order)
        if others:
            yield VariantChange(unit, "changed", others, None, None)


def _order(change: ObjectChange) -> tuple[object, ...]:
    return effects.MEANINGS.index(change.meaning), change.document.kind, change.document.namespace, change.document.name


def _presence(change: ObjectChange) -> Presence:
    return "removed" if change.meaning == "removed" else "changed"


def _name_of(document: Document) -> str:
    return f"{document.kind} {'/'.join(each for each in (document.namespace, document.name or _prefix_of(document)) if each)}"


def _prefix_of(document: Document) -> str:
    return str(mapping(document.data, "metadata").get("generateName") or "")


# Which object after a change is which object before it.


_Pair = tuple[AppliedObject, AppliedObject]
_HASH = re.compile(r"-[bcdfghkmt2456789]{10}$")
"""The suffix that kustomize adds to the names of what it generates. Follows `encode`, sigs.k8s.io/kustomize/api hasher, 0.21."""


def _pairs(before: Sequence[AppliedObject], after: Sequence[AppliedObject]) -> tuple[list[_Pair], list[AppliedObject], list[AppliedObject]]:
    """Pair the objects of two states. Return the pairs, the objects that are gone, and those that are new.

    First by kind, namespace and name: in one build or file, then in any. Then by the name without a generated hash. A job that is the
    only one of its kind to go, where one of that kind comes, is followed by that job.
    """
    paired: list[_Pair] = []
    gone, come = list(before), list(after)
    for key in (_in_unit, _anywhere, _without_hash, _as_run_of_file, _as_run_of_unit):
        old, new = (grouped((each for each in side if key(each)), key) for side in (gone, come))
        taken: set[int] = set()
        for at, those in old.items():
            if len(those) == len(new.get(at, ())) == 1 or (key is _in_unit and new.get(at)):
                paired.append((those[-1], new[at][-1]))
                taken |= {*map(id, those), *map(id, new[at])}
        gone, come = ([each for each in side if id(each) not in taken] for side in (gone, come))
    return paired, gone, come


def _in_unit(each: AppliedObject) -> object:
    return each.unit, each.key


def _anywhere(each: AppliedObject) -> object:
    return each.key


def _without_hash(each: AppliedObject) -> object:
    bare = _HASH.sub("", each.document.name)
    return (each.unit, each.document.group_kind, each.document.namespace, bare) if bare != each.document.name else None


def _as_run_of_file(each: AppliedObject) -> object:
    document = each.document
    source = document.marks.nearest(("metadata", "name")).place().file.rpartition(":")[2] if each.runs_once else ""
    return (each.unit, document.group_kind, document.namespace, source) if source else None


def _as_run_of_unit(each: AppliedObject) -> object:
    return (each.unit, each.document.group_kind, each.document.namespace) if each.runs_once else None


# What becomes of each object.


_Found = tuple[str, ObjectChange, Capacity | None, Capacity | None]


class _BetweenStates:
    """Says what becomes of objects between two states."""

    def __init__(self, before: State, after: State, edits: Mapping[str, EditedFile], queues: World) -> None:
        self._before = before
        self._after = after
        self._edits = edits
        self._queues = queues
        self._made_by: dict[str, Mark] = {}
        """Where the content of a generated object has changed, by its new name."""

    def updated(self, old: AppliedObject, new: AppliedObject) -> _Found:
        """Return the change of an object that is updated."""
        cluster, stored = self._after.cluster, _in_version_of(new.document, old.document)
        found = self._changes(stored, new)
        if not new.document.name:
            note = "each apply creates another object: `generateName` gives it a new name"
            change = ObjectChange(new.document, "new-run", [(each, "new-run") for each in found], [note])
        elif not has_server_view(new.document, cluster):
            change = effects.by_engine_alone(new.document, found, new.folder)
        else:
            change = effects.update(stored, new.document, found, (), cluster, new.folder)
        if change.meaning in ("ignored", "in-place"):
            change = effects.requeued(change, self._requeued(old.document, new.document))
        change = with_stuck_jobs(change, self._jobs_before, self._after.cluster)
        return new.unit, change, self._capacity(old, self._before), self._capacity(new, self._after)

    @cached_property
    def _jobs_before(self) -> list[Document]:
        """The jobs before the change."""
        return [each.document for each in self._before.objects if is_workload(each.document)]

    def _requeued(self, old: Document, new: Document) -> list[Document]:
        """Return the jobs that Kueue stops and queues again after a change of an object."""
        before, after = self._before.cluster.lookups, self._after.cluster.lookups
        if new.group_kind in QUEUED_KINDS:
            return [new] if self._is_requeued((old, before), (new, after)) else []
        if new.group_kind not in RUNTIMES:
            return []
        stay = {each.key for each in self._before.objects}
        jobs = users_of(new, [each.document for each in self._after.objects if each.key in stay])
        return [each for each in jobs if self._is_requeued((each, before), (each, after))]

    def _is_requeued(self, old: tuple[Document, Sequence[Document]], new: tuple[Document, Sequence[Document]]) -> bool:
        try:
            return is_requeued(old, new, self._after.cluster.target, self._queues)
        except JobspecError:
            return False

    def followed(self, old: AppliedObject, new: AppliedObject) -> _Found:
        """Return the change to an object of a new name, such as a new run; the object before it is pruned or stays."""
        refused = _refusal(new.document, self._after.cluster)
        meaning: effects.Meaning = "refused" if refused else "new-run" if new.runs_once else "created"
        found = [each for each in self._changes(old.document, new) if new.runs_once or each.path != ("metadata", "name")]
        place = next((each.place for each in found if each.place), None)
        if place and not new.runs_once:
            self._made_by[new.document.name] = place
        change = ObjectChange(
            new.document,
            meaning,
            [(each, meaning) for each in found],
            [*refused, *_unknown_pruning(old)],
            follows=old.document.name,
            is_pruned=_is_pruned(old),
        )
        return new.unit, change, self._capacity(old, self._before), self._capacity(new, self._after)

    def created(self, new: AppliedObject) -> _Found:
        """Return the change of an object that is new."""
        refused = _refusal(new.document, self._after.cluster)
        meaning: effects.Meaning = "refused" if refused else "new-run" if new.runs_once else "created"
        return new.unit, ObjectChange(new.document, meaning, notes=refused), None, self._capacity(new, self._after)

    def removed(self, old: AppliedObject) -> _Found:
        """Return the change of an object that is gone from the files."""
        change = effects.removed(old.document) if _is_pruned(old) else ObjectChange(old.document, "removed")
        change = with_stuck_jobs(change, self._jobs_before, self._after.cluster) if _is_pruned(old) else change
        change = replace(change, notes=[*change.notes, *_unknown_pruning(old)], is_pruned=_is_pruned(old))
        return old.unit, change, self._capacity(old, self._before), None

    def _changes(self, old: Document, new: AppliedObject) -> list[FieldChange]:
        target = self._after.cluster.target
        found = changes(fields_of(old, target), fields_of(new.document, target))
        found = [self._placed(_with_removal(each, new.document), new) for each in found]
        is_secret = new.document.group_kind == SECRET
        return [each.masked() if is_secret and each.path[0] in SECRET_PARTS else each for each in found]

    def _placed(self, change: FieldChange, new: AppliedObject) -> FieldChange:
        """Return the change with the line that made it: of a generated name, the line of the changed content."""
        text = json.dumps(change.after.data()) if change.after else ""
        generated = next((mark for name, mark in self._made_by.items() if name in text), None)
        return replace(change, place=generated) if generated else at_edited_line(change, self._edits, new.reads)

    def _capacity(self, each: AppliedObject, side: State) -> Capacity | None:
        """Return what a job asks for; None if jobspec does not know its pods, or the server refuses the job."""
        job, cluster = each.document, side.cluster
        if (job.api_version, job.kind) not in MAKERS or not is_workload(job) or _refusal(job, cluster):
            return None
        try:
            return capacity_of(released(job), [job, *cluster.lookups], cluster.target)
        except JobspecError:
            return None


def _with_removal(change: FieldChange, new: Document) -> FieldChange:
    """Return the change with the line of a patch that removes its value, if one does."""
    if change.after is not None or change.place or not all(isinstance(step, str) for step in change.path):
        return change
    marks = new.marks
    for step in change.path:
        inside = marks.child(step)
        if inside is None:
            return change
        marks = inside
    return replace(change, place=marks.place())


def _in_version_of(new: Document, old: Document) -> Document:
    """Return the stored object as the server gives it in the version of the new document."""
    return old if old.api_version == new.api_version else old.changed({**old.data, "apiVersion": new.api_version})


def has_server_view(document: Document, cluster: Cluster) -> bool:
    """True if jobspec knows what a server says of the kind of a document."""
    if find(document.api_version, document.kind):
        return True
    rows = check(Manifests(document.file, [document], skip_unknown=True), cluster, engines=False).result.documents
    return any(each.status != "skipped" for each in rows)


def _refusal(document: Document, cluster: Cluster) -> list[str]:
    """Return why a server refuses an object as a new one, each as one sentence. Placeholders have any values."""
    if not document.name and not _prefix_of(document):
        return []

    def judge(manifests: Manifests) -> Checked:
        return check(manifests, cluster, engines=False)

    manifests = Manifests(document.file, [document], skip_unknown=True)
    checked = judge(manifests)
    if not checked.result.valid:
        _, checked = with_stand_ins(manifests, checked, cluster, judge)
    wrong = [each for each in checked.result.diagnostics if each.severity == "error" and each.message]
    return [f"{each.field}: {each.message}" if each.field else each.message for each in wrong]


# Whether an engine deletes an object that is gone from the files.


#: Annotations, and a word in them, that keep an object in the cluster.
_KEEPING = (
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("argocd.argoproj.io/sync-options", "Prune=false"),
    ("helm.sh/resource-policy", "keep"),
)


def _is_pruned(each: AppliedObject) -> bool:
    return bool(each.folder.prunes) and not _kept_by(each.document)


def _kept_by(document: Document) -> str:
    """Return the annotation or label that keeps an object; empty if there is none."""
    metadata = mapping(document.data, "metadata")
    said = {**mapping(metadata, "labels"), **mapping(metadata, "annotations")}
    return next((f"{name}: {word}" for name, word in _KEEPING if word.lower() in str(said.get(name)).lower()), "")


def _unknown_pruning(each: AppliedObject) -> list[str]:
    """Return why an object that is gone from the files stays in the cluster, as far as is known."""
    name = each.document.name or _prefix_of(each.document)
    if kept := _kept_by(each.document):
        return [f"`{name}` stays in the cluster: `{kept}`"]
    if each.folder.prunes:
        return []
    why = "its engine does not prune" if each.folder.prunes is False else "no engine in these files prunes it"
    return [f"`{name}` stays in the cluster until a user deletes it: {why}"]
