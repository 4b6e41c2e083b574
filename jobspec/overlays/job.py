"""Apply overlays to one job."""

from __future__ import annotations

from jobspec import workloads
from jobspec.documents.document import Document, Sound
from jobspec.documents.marked_tree import with_marks
from jobspec.overlays.application import Application
from jobspec.overlays.conflicts import conflict, conflicting
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.conflicts import OverlayValue
    from jobspec.overlays.overlay import Overlay
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target
    from jobspec.workloads import TrainingRole


class OverlaidJob:
    """A job with overlays applied, one after the other."""

    __slots__ = ("_applications", "_found", "_made", "_roles", "_shape", "_sound", "document", "pods", "tree")

    def __init__(
        self,
        document: Document,
        tree: MarkedTree,
        shape: Shape,
        roles: list[TrainingRole],
        pods: TrainJobPods | None,
        *,
        found: Sequence[Diagnostic],
        applications: Sequence[Application] = (),
        sound: Sound | None = None,
    ) -> None:
        self.document = document
        """The base."""
        self.tree = tree
        self._shape = shape
        self._roles = roles
        """The roles of the job with the partial jobs of all overlays."""
        self.pods = pods
        """Of a TrainJob: its pods; None for other kinds."""
        self._found = found
        self._applications = applications
        self._sound = sound
        self._made: Document | None = None

    @property
    def result(self) -> Document:
        """The job with the overlays, made on first use."""
        if self._made is None:
            self._made = _as_document(self.tree, self.document, self._sound)
        return self._made

    def with_overlay(self, overlay: Overlay) -> OverlaidJob:
        """The job with one more overlay, which brings no role that is not known already."""
        found = list(self._found)
        pods = self.pods and self.pods.with_own_problems()
        application = Application(self.document, self._shape, overlay, found, pods)
        tree = application.changed_pods(application.changed_job(self.tree), self._roles)
        found += [] if overlay.override else _conflicts(self._applications, application)
        return self._changed(tree, pods, found, [*self._applications, application], self._sound)

    def as_sound(self) -> OverlaidJob:
        """The same job, which the server has accepted: of what more overlays make of it, only the differences are checked."""
        return self._changed(self.tree, self.pods, self._found, self._applications, Sound(self._shape, self.tree.data()))

    def _changed(
        self,
        tree: MarkedTree,
        pods: TrainJobPods | None,
        found: Sequence[Diagnostic],
        applications: Sequence[Application],
        sound: Sound | None,
    ) -> OverlaidJob:
        return OverlaidJob(self.document, tree, self._shape, self._roles, pods, found=found, applications=applications, sound=sound)

    @property
    def problems(self) -> list[Diagnostic]:
        """What is wrong with the overlays on this job."""
        return [*self._found, *(self.pods.problems if self.pods else ())]

    @property
    def volumes(self) -> list[MarkedTree]:
        """Of a TrainJob: the volumes that overlays add for some roles only, and that every node has."""
        return [volume for each in self._applications for volume in each.volumes]

    @property
    def settings(self) -> Sequence[OverlayValue]:
        """What the last of the overlays sets and removes."""
        return self._applications[-1].settings if self._applications else ()


def overlaid(document: Document, others: Iterable[Document], overlays: Sequence[Overlay], target: Target) -> OverlaidJob:
    """The job with overlays applied in order; its runtime is looked for among the *others*.

    The partial jobs of all overlays are merged first, since an overlay's changes to pods reach also the roles that another one adds.
    """
    shape = shapes.load(document.api_version, document.kind, target)
    assert shape
    tree = with_marks(document.data, document.marks)
    found: list[Diagnostic] = []
    with_roles = document
    if any(decides_pods(overlay, document.kind) for overlay in overlays):
        for overlay in overlays:
            tree = Application(document, shape, overlay, found).changed_job(tree)
        with_roles = _as_document(tree, document, document.sound)
    warnings = [problem for problem in found if problem.severity == "warning"]  # errors are found again below
    pods = _pods(with_roles, shape, others, target)
    job = OverlaidJob(document, tree, shape, workloads.training_roles(with_roles), pods, found=warnings, sound=document.sound)
    for overlay in overlays:
        job = job.with_overlay(overlay)
    return job


def decides_pods(overlay: Overlay, kind: str) -> bool:
    """Whether an overlay's partial job of a kind can decide which pods there are, and of which runtime: labels and annotations do not."""
    partial = overlay.spec.get("job", kind)
    fields = partial.value if partial and isinstance(partial.value, dict) else {}
    metadata = fields.get("metadata")
    inside = metadata.value if metadata and isinstance(metadata.value, dict) else ()
    return bool(fields.keys() - {"metadata"}) or not set(inside) <= {"labels", "annotations"}


def _as_document(tree: MarkedTree, base: Document, sound: Sound | None) -> Document:
    return Document(tree.data(), tree.marks, file=base.file, index=base.index, sound=sound)


def _pods(job: Document, shape: Shape, others: Iterable[Document], target: Target) -> TrainJobPods | None:
    """Of a TrainJob: its pods, with its runtime; None for other kinds."""
    if all(role.path for role in workloads.training_roles(job)):
        return None
    from jobspec.operators.trainer.runtimes import runtime_of
    from jobspec.overlays.job_runtime import JobRuntime
    from jobspec.overlays.trainjob import TrainJobPods

    return TrainJobPods(shape, JobRuntime(job, runtime_of(job, others, target), target["trainer"]), target)


def _conflicts(earlier: Iterable[Application], later: Application) -> Iterator[Diagnostic]:
    name = later.overlay.name
    for each in earlier:
        if each.overlay.name != name:
            yield from (conflict(*pair, (each.overlay.name, name)) for pair in conflicting(each.settings, later.settings))
