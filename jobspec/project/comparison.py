"""Compare two states of a project: fields, effects in the cluster, pods, GPUs and cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property
from typing import Literal

from jobspec.apis.kinds import COMPONENTS, RUNTIMES
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, walk
from jobspec.kubernetes.index import Index
from jobspec.operators.kueue.requeueing import is_requeued
from jobspec.operators.kueue.world import World, queues_in
from jobspec.operators.training_roles import job_among
from jobspec.operators.workloads import is_workload, may_take_overlays
from jobspec.overlays.load import LoadedOverlay, pieces
from jobspec.overlays.merge import is_removal
from jobspec.project import effects
from jobspec.project.capacity import Capacity, capacity_of
from jobspec.project.effects import ObjectChange
from jobspec.project.engines.replacement import SPEC_HASH
from jobspec.project.fields import FieldChange, Fields, ItemStep, changes, fields_of
from jobspec.project.lost_runtimes import with_stuck_jobs
from jobspec.project.matrix import in_layer
from jobspec.project.rendering import Clusters, Identity, RenderedVariant, identity_of, objects_of
from jobspec.project.tree import Files
from jobspec.project.variants import ANNOTATION, PlannedVariant
from jobspec.world.world import Cluster

#: Whether a variant is on both sides.
Presence = Literal["changed", "new", "removed"]


# The changes of each variant between two states of a project.


SECRET_PARTS = ("data", "stringData")
_CONFIGURATION = ("ConfigMap", "Secret")
_DERIVED = [("metadata", "annotations", name) for name in (SPEC_HASH, ANNOTATION)]  # these follow from the rest of the object
_NO_NEW_RUN = "no new run: the hash in a job's name covers the job alone"


class ProjectState:
    """A project that is rendered without an error."""

    def __init__(
        self,
        variants: Sequence[PlannedVariant],
        rendered: Sequence[RenderedVariant],
        clusters: Clusters,
        *,
        output: str,
        target: Mapping[str, str],
        engine_files: Files,
    ) -> None:
        self.variants = {each.name: each for each in variants}
        self.rendered = {each.name: each for each in rendered}
        self._clusters = clusters
        self.output = output
        """The folder of the tree, as the project says it."""
        self.target = target
        """The releases that the project asks for."""
        self.engine_files = engine_files
        """The files of the engines' objects; none without engines."""
        self.documents: Callable[[str], list[Document]] = cache(self._documents_of)
        """The objects of a variant with their marks, each once; none where there is no such variant."""

    def cluster(self, name: str) -> Cluster:
        """Return the cluster that a variant meets."""
        return self._clusters[self.variants[name].cluster]

    def owners(self) -> dict[Identity, str]:
        """Return the first variant by name that renders an object, for each object."""
        return {each.identity: name for name in sorted(self.rendered, reverse=True) for each in self.rendered[name].objects}

    def texts(self, name: str) -> dict[str, str] | None:
        """Return the files of a variant. If there is no such variant, return None."""
        rendered = self.rendered.get(name)
        return {each.file: each.text for each in rendered.objects} if rendered else None

    def _documents_of(self, name: str) -> list[Document]:
        variant = self.variants.get(name)
        found = objects_of(variant, self.cluster(name))[0] if variant else []
        of_cluster = [each for each in found if COMPONENTS.get((each.api_version, each.kind)) != "jobspec"]
        return list({identity_of(each): each for each in reversed(of_cluster)}.values())[::-1]


@dataclass(frozen=True, slots=True)
class VariantChange:
    """A variant that differs."""

    name: str
    presence: Presence
    objects: Sequence[ObjectChange]
    """The objects that differ, the job first; none where others render them as they were."""
    before: Capacity | None
    """What its job asked for; None of a new variant."""
    after: Capacity | None
    """What its job asks for; None of a removed variant."""
    job: str = ""
    """Of a build or file: kind and name of the changed job; empty for its other objects."""

    @property
    def label(self) -> str:
        """Return the name of a variant, or the job and where it is built."""
        return f"{self.job} in {self.name}" if self.job else self.name

    @property
    def meaning(self) -> effects.Meaning:
        """Return the gravest effect on the variant's objects."""
        return effects.gravest([each.meaning for each in self.objects])

    def __repr__(self) -> str:
        return f"<VariantChange: {self.name}, {self.presence}: {', '.join(map(repr, self.objects)) or 'no objects'}>"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two states of a project compared."""

    variants: Sequence[VariantChange]
    """The variants that differ, by name."""
    unchanged: int
    """The number of variants that are the same."""
    notes: Sequence[str]
    """What is true of the project as a whole, each as one sentence."""
    _: KW_ONLY
    differs: bool
    """Whether any file would be another one, or in another place."""
    noun: Literal["variant", "object"] = "variant"
    """What is compared: the variants of a project, or the objects of a repository, each build or file being a variant."""

    @property
    def meanings(self) -> list[effects.Meaning]:
        """Return what each change means: of a variant, or of an object."""
        if self.noun == "variant":
            return [each.meaning for each in self.variants]
        return [one.meaning for each in self.variants for one in each.objects]

    def __repr__(self) -> str:
        changed = ", ".join(f"{each.label} ({each.meaning})" for each in self.variants)
        return f"<Comparison: {changed or 'no changes'}; {self.unchanged} unchanged>"


def compare(before: ProjectState, after: ProjectState, *, committed: Collection[str], queues: World | None = None) -> Comparison:
    """Compare the states of a project *before* and *after* a change.

    *committed*: the files of the tree before, with those of earlier runs. *queues*: those of Kueue; None if they are not given.
    """
    names = sorted(before.rendered.keys() | after.rendered.keys())
    differing = [name for name in names if before.texts(name) != after.texts(name)]
    between = _Between(before, after, committed, queues or queues_in(Index()))
    found = [between.variant(name) for name in differing]
    elsewhere = [*_moved(before, after), *_other_engines(before, after)]
    is_everything = ["the project is new"] if not before.variants else ["the project is removed"] if not after.variants else []
    notes = [*is_everything, *elsewhere, *_other_target(before, after)]
    return Comparison(found, len(names) - len(differing), notes, differs=bool(found or elsewhere))


def of_objects(found: Comparison, project: str, after: ProjectState) -> Comparison:
    """Return the comparison of a project by objects, as a part of that of a repository.

    Each variant is a folder of the rendered tree.
    """
    changed = {identity_of(one.document) for each in found.variants for one in each.objects}
    tree = os.path.join(os.path.dirname(project), after.output)
    rows = [row for each in found.variants for row in _rows_of_objects(each, os.path.normpath(os.path.join(tree, each.name)))]
    notes = [f"{project}: {each}" for each in found.notes]
    return Comparison(rows, len(after.owners().keys() - changed), notes, differs=found.differs, noun="object")


def joined(parts: Sequence[Comparison]) -> Comparison:
    """Return several comparisons of objects as one."""
    return Comparison(
        [row for each in parts for row in each.variants],
        sum(each.unchanged for each in parts),
        [note for each in parts for note in each.notes],
        differs=any(each.differs for each in parts),
        noun="object",
    )


def _rows_of_objects(variant: VariantChange, unit: str) -> Iterator[VariantChange]:
    """Yield the job of a variant, then each other job, then its other objects."""
    jobs = [each for each in variant.objects if is_workload(each.document)]
    needs = [(variant.before, variant.after), *([(None, None)] * len(jobs))]
    for each, (before, after) in zip(jobs, needs, strict=False):
        document = each.document
        presence: Presence = "removed" if each.meaning == "removed" else "changed"
        name = "/".join(part for part in (document.namespace, document.name) if part)
        yield VariantChange(unit, presence, [each], before, after, job=f"{document.kind} {name}")
    if others := [each for each in variant.objects if each not in jobs]:
        yield VariantChange(unit, "changed", others, None, None)


def _moved(before: ProjectState, after: ProjectState) -> Iterator[str]:
    if before.variants and after.variants and before.output != after.output:
        yield f"the tree moves from `{before.output}` to `{after.output}`: an engine that syncs the old folder needs the new path"


def _other_engines(before: ProjectState, after: ProjectState) -> Iterator[str]:
    paths = sorted(before.engine_files.keys() | after.engine_files.keys())
    changed = [path for path in paths if before.engine_files.get(path) != after.engine_files.get(path)]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the engines' objects change ({changed[0]}{more}): they have to be applied again"


def _other_target(before: ProjectState, after: ProjectState) -> Iterator[str]:
    if before.variants and after.variants and before.target != after.target:
        said = [", ".join(f"{name} {release}" for name, release in each.target.items()) or "the newest" for each in (before, after)]
        yield f"the target changes from {said[0]} to {said[1]}: update the cluster's operators as well"


def _jobs_first(change: ObjectChange) -> tuple[bool, bool, str, str]:
    """The order of objects: the job of the variant, other jobs, the rest."""
    document = change.document
    return not may_take_overlays(document), not is_workload(document), document.kind, document.name


class _Between:
    """Compares the variants of two states, whose objects can be those of other variants, too."""

    def __init__(self, before: ProjectState, after: ProjectState, committed: Collection[str], queues: World) -> None:
        self._before = before
        self._after = after
        self._committed = committed
        self._queues = queues
        self._owners_before = before.owners()
        self._owners_after = after.owners()

    @cached_property
    def _jobs_before(self) -> list[Document]:
        """The jobs of all variants before the change."""
        found = (job_among(self._before.documents(name)) for name in self._before.rendered)
        return [each for each in found if each]

    def variant(self, name: str) -> VariantChange:
        """Return the change of a variant."""
        old, new = self._before.documents(name), self._after.documents(name)
        old_job, new_job = job_among(old), job_among(new)
        objects = [*self._objects(name, old_job, new, new_job), *self._gone(name, old, new_job)]
        return VariantChange(
            name,
            "changed" if old and new else "new" if new else "removed",
            sorted(_with_note(objects), key=_jobs_first),
            _capacity(old_job, old, self._before.cluster(name)) if old_job else None,
            _capacity(new_job, new, self._after.cluster(name)) if new_job else None,
        )

    def _objects(self, name: str, old_job: Document | None, new: Sequence[Document], new_job: Document | None) -> Iterator[ObjectChange]:
        for document in new:
            stored = self._stored(document, name)
            if stored:
                found = self._changes(stored, document, name)
                if found:
                    change = effects.update(stored, document, found, new, self._after.cluster(name))
                    change = effects.requeued(change, self._requeued(stored, document, name))
                    yield with_stuck_jobs(change, self._jobs_before, self._after.cluster(name))
            elif old_job and self._follows(document, old_job):
                yield self._next_run(old_job, document, name)
            else:
                yield ObjectChange(document, "new-run" if document is new_job else "created")

    def _requeued(self, stored: Document, document: Document, name: str) -> list[Document]:
        """Return the jobs that Kueue stops and queues again since an object has changed: the job itself, or those of a runtime."""
        if document.group_kind not in RUNTIMES:
            return [document] if self._is_requeued(stored, document, name) else []
        variants = sorted(self._before.rendered.keys() & self._after.rendered.keys())
        return [job for variant in variants for job in self._requeued_of(variant)]

    def _requeued_of(self, name: str) -> Iterator[Document]:
        stored = {identity_of(each): each for each in self._before.documents(name)}
        for job in filter(None, [job_among(self._after.documents(name))]):
            before = stored.get(identity_of(job))
            if before and self._is_requeued(before, job, name):
                yield job

    def _is_requeued(self, before: Document, job: Document, name: str) -> bool:
        cluster = self._after.cluster(name)
        old, new = ([*state.documents(name), *cluster.lookups] for state in (self._before, self._after))
        return is_requeued((before, old), (job, new), cluster.target, self._queues)

    def _next_run(self, old: Document, new: Document, name: str) -> ObjectChange:
        """Return the change to the job that follows another one.

        An earlier run that is still there is no new run.
        """
        keeps_runs = self._after.variants[name].history is not None
        found = self._renamed(old, new, name)
        if keeps_runs and f"{name}/{new.kind.lower()}-{new.name}.yaml" in self._committed:
            return effects.returned(old, new, found)
        return ObjectChange(new, "new-run", [(each, "new-run") for each in found], follows=old.name, is_pruned=(not keeps_runs))

    def _stored(self, document: Document, name: str) -> Document | None:
        """The object that a document updates, whichever variant rendered it."""
        owner = self._owners_before.get(identity_of(document))
        names = [name, owner] if owner is not None else []
        found = (each for variant in names for each in self._before.documents(variant) if identity_of(each) == identity_of(document))
        return next(found, None)

    def _gone(self, name: str, old: Sequence[Document], new_job: Document | None) -> Iterator[ObjectChange]:
        for document in old:
            is_followed = new_job is not None and self._follows(new_job, document)
            if identity_of(document) not in self._owners_after and not is_followed:
                yield with_stuck_jobs(effects.removed(document), self._jobs_before, self._before.cluster(name))

    def _follows(self, new: Document, old: Document) -> bool:
        """True if a job is the next run of another job.

        It is of the same kind, under a new name, and the other job is removed.
        """
        is_next = may_take_overlays(new) and new.group_kind == old.group_kind
        return is_next and identity_of(old) not in self._owners_after and identity_of(new) not in self._owners_before

    def _changes(self, old: Document, new: Document, name: str) -> list[FieldChange]:
        target = self._after.cluster(name).target
        found = [each for each in changes(fields_of(old, target), fields_of(new, target)) if each.path not in _DERIVED]
        if new.kind == "Secret":
            return [each.masked() if each.path[0] in SECRET_PARTS else each for each in found]
        before, after = self._before.variants.get(name), self._after.variants.get(name)
        if before and after and after.base.is_job(new):
            return list(map(ChangedLines(before, after, self._after.cluster(name)), found))
        return found

    def _renamed(self, old: Document, new: Document, name: str) -> list[FieldChange]:
        """The changes of a job with a new name, without the change of the hash in the name."""
        before, after = self._before.variants[name], self._after.variants[name]
        only_hash = before.hashed and after.hashed and before.job_name.value == after.job_name.value
        return [each for each in self._changes(old, new, name) if not (only_hash and each.path == ("metadata", "name"))]


def _capacity(job: Document, around: Sequence[Document], cluster: Cluster) -> Capacity:
    return capacity_of(job, [*around, *cluster.lookups], cluster.target)


def _with_note(objects: Sequence[ObjectChange]) -> Iterator[ObjectChange]:
    """The objects; a changed configuration says that no new run begins, where none does."""
    begins = any(each.meaning in ("new-run", "replaced") for each in objects)
    for each in objects:
        is_quiet = each.document.kind in _CONFIGURATION and each.meaning == "in-place" and not begins
        yield replace(each, notes=[*each.notes, _NO_NEW_RUN]) if is_quiet else each


# Which line changed a field, where that is not the line of its new value.
#
# A value that a parameter of an overlay gives was changed where the project sets the parameter. A removed value was removed by the last
# overlay without which it would be there; one of an overlay that is applied no more, by the variant that applied it.


#: Lists that lose an item only by `$remove`.
_MERGED = ("containers", "initContainers", "env", "volumeMounts", "ports", "imagePullSecrets")


class ChangedLines:
    """A finder of the lines that changed the job of a variant."""

    def __init__(self, old: PlannedVariant, new: PlannedVariant, cluster: Cluster) -> None:
        self._old = {each.name: each for each in old.overlays}
        self._new = new
        self._cluster = cluster
        self._without: dict[str, Fields | None] = {}

    def __call__(self, change: FieldChange) -> FieldChange:
        """Return the change with the line that made it."""
        if change.after is None:
            return replace(change, place=self._removal(change.path) or self._omission(change.was))
        overlay = next((each for each in self._new.overlays if change.place and each.name == change.place.layer), None)
        place = self._parameter(overlay, change.after.mark) if overlay else None
        return replace(change, place=place) if place else change

    def _parameter(self, overlay: LoadedOverlay, mark: Mark) -> Mark | None:
        """Return where the project gives the value that changed the overlay's text at a place, or the default in the overlay.

        If the text itself changed, return None.
        """
        before = self._old.get(overlay.name)
        text = next((tree.value for _, tree in walk(overlay.tree) if str(tree.mark) == str(mark)), None)
        if before is None or not isinstance(text, str):
            return None
        names = [name for name, is_name in pieces(text) if is_name]
        changed = next((name for name in names if before.values.get(name) != overlay.values.get(name)), None)
        return overlay.source_of(changed) if changed else None

    def _removal(self, path: Path) -> Mark | None:
        for overlay in reversed(self._new.overlays):
            fields = self._fields_without(overlay) if _may_remove(overlay, path) else None
            if fields and path in fields.values:
                return _removal_in(overlay, path)
        return None

    def _omission(self, was: Mark | None) -> Mark | None:
        """Return the place of the entry if the layer of an old value is no longer applied.

        So too if the layer is the variant's own.
        """
        layers = {each.name for each in self._new.overlays} - {self._new.name}
        if not was or not was.layer or was.layer in layers:
            return None
        said = self._new.entry.get("overlays") if was.layer != self._new.name else None
        return in_layer((said or self._new.entry).place(), self._new.name)

    def _fields_without(self, overlay: LoadedOverlay) -> Fields | None:
        """The fields of the job without one of its overlays; None where it cannot be made without."""
        if overlay.name not in self._without:
            rest = [each for each in self._new.overlays if each is not overlay]
            documents, _ = objects_of(replace(self._new, overlays=rest, shared=None), self._cluster)
            job = job_among(documents)
            self._without[overlay.name] = fields_of(job, self._cluster.target) if job else None
        return self._without[overlay.name]


def _may_remove(overlay: LoadedOverlay, path: Path) -> bool:
    """True if an overlay could remove the value at a path.

    It has a removal, or a list around the value that is not merged by items.
    """
    steps = [str(step) for step in path]
    return any(
        _removes(name, tree, steps) or (isinstance(tree.value, list) and name in steps and name not in _MERGED)
        for name, tree in _with_keys(overlay.spec)
    )


def _removal_in(overlay: LoadedOverlay, path: Path) -> Mark:
    """Return the place of a removal in an overlay. If it is unknown, return the overlay's place."""
    steps = [str(step) for step in path]
    names = [str(step) for step in path if not isinstance(step, ItemStep)]
    inside = list(_with_keys(overlay.spec))
    removals = [(name, tree) for name, tree in inside if _removes(name, tree, steps)]
    last = [tree for name, tree in removals if name == names[-1]] or [tree for _, tree in removals]
    found = last or [tree for wanted in names[:-3:-1] for name, tree in inside if name == wanted]
    return (found[0].key or found[0].mark) if found else Mark(overlay.tree.mark.file, layer=overlay.name)


def _removes(name: str, tree: MarkedTree, steps: list[str]) -> bool:
    """True if a value in an overlay removes the value at a path or around it.

    Null removes, and `false` of a flag, and an item with `$remove`.
    """
    if tree.value is None or tree.value is False:
        return name in steps
    return is_removal(tree) and any(str(each.value) in steps for each in tree.value.values())


def _with_keys(tree: MarkedTree) -> Iterator[tuple[str, MarkedTree]]:
    """A tree and all inside of it, each with its key; an item of a list has that of the list."""
    return ((next((step for step in path[::-1] if isinstance(step, str)), ""), each) for path, each in walk(tree))
