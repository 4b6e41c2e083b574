"""Render a variant: apply its overlays, write its names, check the objects in a cluster, and give their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind, is_cluster_scoped
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import Mark, Marks, Path, value_at
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document, with_value_at
from jobspec.documents.marked_tree import MarkedTree
from jobspec.journey import rendering
from jobspec.journey.checking import check
from jobspec.journey.outcomes import foresee
from jobspec.journey.references import resolve
from jobspec.journey.steps import Checked, Manifests
from jobspec.operators.trainer.life import makes_again
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.workloads import JOBS
from jobspec.overlays.apply import Applied, apply
from jobspec.overlays.load import LoadedOverlay
from jobspec.programs.contracts import FLAGS
from jobspec.project.engines.notes import notes_of
from jobspec.project.engines.synced import SyncedObject
from jobspec.project.matrix import hashed, in_layer, max_name_length
from jobspec.project.variants import ANNOTATION, PlannedVariant
from jobspec.world.world import Cluster

#: The clusters that variants of a project meet, by the paths that these name; the project's own by an empty one.
Clusters = Mapping[str, Cluster]
#: The identity of an object: its group, kind, namespace and name.
Identity = tuple[str, str, str, str]


class RenderedObject:
    """An object that a variant renders to."""

    __slots__ = ("file", "identity", "is_job", "place", "synced", "text")

    def __init__(self, file: str, document: Document, text: str, job_name: Mark | None) -> None:
        """*job_name*: where the name of the variant's job is written, if the object is that job."""
        self.file = file
        """Name of its file in the variant's folder."""
        self.is_job = job_name is not None
        self.identity = identity_of(document)
        self.synced = SyncedObject(document, job_name, is_job=self.is_job)
        """The object as an engine sees it."""
        self.place = self.synced.place
        """Where its name is written."""
        self.text = text


@dataclass(frozen=True, slots=True)
class RenderedVariant:
    """The objects of a variant, and their diagnostics."""

    name: str
    checked: Checked
    objects: Sequence[RenderedObject]
    earlier: Sequence[str]
    """The paths of earlier runs in the tree that stay there."""
    cluster: str = ""
    """The path of the cluster that it meets; empty for the project's."""


def identity_of(document: Document) -> Identity:
    """Return the identity of the object in a document: group, kind, namespace and name."""
    return document.group_kind[0], document.kind, document.namespace, document.name


def render_variant(variant: PlannedVariant, cluster: Cluster, *, outcome: bool = False) -> RenderedVariant:
    """Render a variant: apply its overlays, name its objects, check and write them.

    *outcome*: add what becomes of the variant's job.
    """
    checked, files = documents_of(variant, cluster, outcome=outcome)
    jobs = {name for name, each in files.items() if variant.base.is_job(each)}
    objects = [
        RenderedObject(name, each, rendering.text_of([each], cluster.target), variant.job_name.mark if name in jobs else None)
        for name, each in files.items()
    ]
    earlier = [path for name in sorted(jobs) if variant.history for path in variant.history.earlier(files[name])]
    return RenderedVariant(variant.name, checked, objects, earlier, variant.cluster)


def judged_together(variants: Sequence[RenderedVariant], clusters: Clusters) -> list[RenderedVariant]:
    """Judge each variant in its cluster with the objects of all variants that meet the cluster."""
    found = list(variants)
    for path in dict.fromkeys(each.cluster for each in variants):
        met = [number for number, each in enumerate(variants) if each.cluster == path]
        checked = resolve([variants[number].checked for number in met], clusters.get(path, clusters[""]))
        for number, answer in zip(met, checked, strict=True):
            found[number] = replace(variants[number], checked=answer)
    return found


def documents_of(variant: PlannedVariant, cluster: Cluster, *, outcome: bool = False) -> tuple[Checked, Mapping[str, Document]]:
    """Return the verdict of a cluster on a variant, and the variant's objects by file name.

    If there is an error, there are no objects. *outcome*: add what becomes of an accepted job. Problems of flags by the contracts of
    images are always added.
    """
    file = variant.base.file
    documents, problems = objects_of(variant, cluster)
    if has_error(problems):
        return Checked(FileResult(file, (), problems), ()), {}
    checked = check(Manifests(file, documents, problems), cluster)
    if outcome or cluster.contracts:
        foreseen = foresee(checked, cluster)
        of_flags = [each for each in foreseen.result.diagnostics if each.rule in FLAGS]
        checked = foreseen if outcome else checked.changed(result=checked.result.with_diagnostics(of_flags))
    rendered = rendering.rendered([checked], cluster.target, companions_once=True)
    said = rendered.results[0]
    forever = {str(each.mark) for each in said.diagnostics if each.rule == "restarts-forever"}
    again = [each for each in expiring(rendered.documents, cluster.target) if str(each.mark) not in forever]
    result = said.with_diagnostics([*_unnamed(rendered.documents), *again])
    checked = Checked(result, (), checked.objects, checked.pending)
    return checked, rendering.files_of(rendered.documents) if result.valid else {}


def objects_of(variant: PlannedVariant, cluster: Cluster) -> tuple[list[Document], list[Diagnostic]]:
    """Return the named objects of a variant, and the problems of its overlays and names."""
    applied = _applied(variant, cluster)
    problems = list(applied.diagnostics)
    if has_error(problems):
        return [], problems
    documents = [in_namespace(each, variant.namespace) for each in applied.documents]
    named = [_under_name(each, documents, variant, cluster, problems) if variant.base.is_job(each) else each for each in documents]
    return [_annotated(each, variant) for each in named], problems


def _applied(variant: PlannedVariant, cluster: Cluster) -> Applied:
    """Apply the overlays of a variant to its base in its namespace.

    Overlays that it shares with other variants are applied once.
    """

    def to_base(overlays: Sequence[LoadedOverlay]) -> Applied:
        return apply([in_namespace(each, variant.namespace) for each in variant.base.documents], overlays, cluster.target, cluster.lookups)

    if variant.shared is None:
        return to_base(variant.overlays)
    applied = variant.shared.applied(to_base)
    for overlay in variant.overlays[len(variant.shared.overlays) :]:
        applied = applied.with_overlay(overlay)
    return applied


def in_namespace(document: Document, namespace: MarkedTree | None) -> Document:
    """Put a document into a namespace.

    If no namespace is given, or the kind has none, the document is unchanged. So is a document without metadata, which is reported later.
    """
    metadata = document.data.get("metadata")
    if namespace is None or is_cluster_scoped(document.api_version, document.kind) or not isinstance(metadata, dict):
        return document
    return _with_fields(document, ("metadata",), {"namespace": namespace})


def _under_name(
    job: Document, documents: Sequence[Document], variant: PlannedVariant, cluster: Cluster, problems: list[Diagnostic]
) -> Document:
    """A job under its variant's name; one that leaves the operator no room is a problem."""
    runtime = runtime_of(job, [*documents, *cluster.lookups], cluster.target) if job.kind == "TrainJob" else None
    room = max_name_length(job, runtime)
    name = str(variant.job_name.value)
    if variant.hashed:
        name = hashed(name, job, room)
    elif len(name) > room:
        message = f"`{name}` has {len(name)} characters, and the operator's own names leave room for {room}"
        problems.append(Diagnostic("invalid-name", message, variant.job_name.mark, hint="give a shorter one as `jobName`"))
    named = _with_fields(job, ("metadata",), {"name": variant.job_name.with_value(name)}, gone="generateName")
    if variant.history is None:
        return named
    if returned := variant.history.returned(named):
        problems.append(returned)
    return _with_fields(named, ("metadata", "annotations"), {ANNOTATION: variant.history.number_of(named)})


def _annotated(document: Document, variant: PlannedVariant) -> Document:
    """An object with the annotations that the project's engines need; what it says itself stays."""
    own = value_at(document.data, ("metadata", "annotations")) or {}
    if not variant.engines or not isinstance(document.data.get("metadata"), dict) or not isinstance(own, dict):
        return document
    is_fixed = variant.base.is_job(document) and not variant.hashed and not variant.is_updated
    notes = notes_of(document, variant.engines, fixed=variant.job_name.mark if is_fixed else None)
    missing = {name: MarkedTree(value, in_layer(mark, variant.name)) for name, (value, mark) in notes.items() if name not in own}
    return _with_fields(document, ("metadata", "annotations"), missing) if missing else document


def _with_fields(document: Document, path: tuple[str, ...], changes: Mapping[str, MarkedTree], *, gone: str = "") -> Document:
    """Set fields in the mapping at *path* of a document, and remove the field *gone*.

    Each field has its own place. If the mapping is missing, it is added.
    """
    kept = {name: value for name, value in (value_at(document.data, path) or {}).items() if name != gone}
    data = with_value_at(document.data, path, kept | {name: tree.value for name, tree in changes.items()})
    marks = partial(_marks_with, document, path, changes)
    return Document(data, marks, file=document.file, index=document.index, is_item=document.is_item)


def _marks_with(document: Document, path: tuple[str, ...], changes: Mapping[str, MarkedTree]) -> Marks:
    """Return the marks of a document with other fields in the mapping at *path*.

    If the mapping is missing, its marks are those of its first field.
    """
    first = next(iter(changes.values())).mark

    def changed(marks: Marks | None, path: tuple[str, ...]) -> Marks:
        here = marks or Marks(first, first)
        children = here.children if isinstance(here.children, dict) else {}
        if path:
            return Marks(here.mark, here.key, {**children, path[0]: changed(children.get(path[0]), path[1:])})
        return Marks(here.mark, here.key, {**children, **{name: tree.marks() for name, tree in changes.items()}})

    return changed(document.marks, path)


def _unnamed(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield an error for each object without a name, with only `generateName`.

    An engine would make a new object in each sync.
    """
    for document in documents:
        if not document.name and value_at(document.data, ("metadata", "generateName")):
            yield document.problem("missing-name", "an object that an engine syncs needs `metadata.name`", ("metadata",))


# Finished jobs that are recreated once a TTL has deleted them.
#
# An engine makes again what is in Git and not in the cluster. Of a TrainJob, the time to live deletes the JobSet alone, which the trainer
# may make again.


_FIELD = "ttlSecondsAfterFinished"
_JOBS: dict[GroupKind, Path] = {kind: (*fields.policy, _FIELD) for kind, fields in JOBS.items() if not fields.queued}
_OF_RUNTIME: Path = ("spec", "template", "spec", _FIELD)
_HOOK: Path = ("metadata", "annotations", "argocd.argoproj.io/hook")  # which a sync makes anew in any case


def expiring(documents: Iterable[Document], target: Target) -> Iterator[Diagnostic]:
    """Yield a warning for each time to live that makes a finished job run again."""
    for document in documents:
        path = _OF_RUNTIME if document.group_kind in kinds.RUNTIMES else _JOBS.get(document.group_kind, ())
        seconds = value_at(document.data, path) if path else None
        if seconds is None or value_at(document.data, _HOOK) is not None:
            continue
        why = _of_runtime(target["trainer"]) if path is _OF_RUNTIME else "the job, and the engine recreates it from Git"
        if why:
            message = f"{seconds} seconds after the end this deletes {why}: it runs again"
            yield document.problem("runs-again", message, path, hint="remove it", severity="warning")


def _of_runtime(release: str) -> str:
    """Return what a TTL deletes for a TrainJob, and why the TrainJob then runs again.

    If the release leaves finished jobs alone, return an empty string.
    """
    again = makes_again(release)
    return f"the JobSet, and trainer {release} makes that of a {again} TrainJob again" if again else ""
