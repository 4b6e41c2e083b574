"""Apply overlays to one job."""

from __future__ import annotations

from jobspec import shapes, workloads
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import with_marks
from jobspec.overlays.application import Application
from jobspec.overlays.conflicts import conflict, conflicting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.conflicts import OverlayValue
    from jobspec.overlays.overlay import Overlay
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.shapes import Shape
    from jobspec.targets import Target


class OverlaidJob:
    """A job with overlays applied."""

    __slots__ = ("_last", "document", "pods", "problems", "result", "tree", "volumes")

    def __init__(
        self,
        document: Document,
        tree: MarkedTree,
        pods: TrainJobPods | None,
        problems: Sequence[Diagnostic],
        *,
        last: Application | None,
        volumes: Sequence[MarkedTree],
    ) -> None:
        self.document = document
        """The base."""
        self.tree = tree
        self.result = _as_document(tree, document)
        """The job with the overlays."""
        self._last = last
        """The application of the last overlay."""
        self.pods = pods
        """Of a TrainJob: its pods; None for other kinds."""
        self.volumes = volumes
        """Of a TrainJob: the volumes that overlays add for some roles only, and that every node has."""
        self.problems = problems

    @property
    def settings(self) -> Sequence[OverlayValue]:
        """What the last of the overlays sets and removes."""
        return self._last.settings if self._last else ()


def overlaid(document: Document, others: Iterable[Document], overlays: Sequence[Overlay], target: Target) -> OverlaidJob:
    """The job with overlays applied in order; its runtime is looked for among the *others*.

    The partial jobs of all overlays are merged first, since an overlay's changes to pods reach also the roles that another one adds.
    """
    shape = shapes.load(document.api_version, document.kind, target)
    assert shape
    tree = with_marks(document.data, document.marks, document.sound.parts if document.sound else None)
    found: list[Diagnostic] = []
    with_roles = document
    if any(_changes_pods(overlay.spec.get("job", document.kind)) for overlay in overlays):
        for overlay in overlays:
            tree = Application(document, shape, overlay, found).changed_job(tree)
        with_roles = _as_document(tree, document)
    problems = [problem for problem in found if problem.severity == "warning"]  # errors are found again below
    pods = _pods(with_roles, shape, others, target)
    applications: list[Application] = []
    for overlay in overlays:
        application = Application(document, shape, overlay, problems, pods)
        tree = application.changed_pods(application.changed_job(tree), workloads.training_roles(with_roles))
        problems += [] if overlay.override else _conflicts(applications, application)
        applications.append(application)
    volumes = [volume for each in applications for volume in each.volumes]
    last = applications[-1] if applications else None
    return OverlaidJob(document, tree, pods, [*problems, *(pods.problems if pods else ())], last=last, volumes=volumes)


def _changes_pods(partial: MarkedTree | None) -> bool:
    """Whether a partial job can decide which pods there are, and of which runtime: labels and annotations do not."""
    fields = partial.value if partial and isinstance(partial.value, dict) else {}
    metadata = fields.get("metadata")
    inside = metadata.value if metadata and isinstance(metadata.value, dict) else ()
    return bool(fields.keys() - {"metadata"}) or not set(inside) <= {"labels", "annotations"}


def _as_document(tree: MarkedTree, base: Document) -> Document:
    return Document(tree.data(), tree.marks, file=base.file, index=base.index, sound=base.sound)


def _pods(job: Document, shape: Shape, others: Iterable[Document], target: Target) -> TrainJobPods | None:
    """Of a TrainJob: its pods, with its runtime; None for other kinds."""
    if all(role.path for role in workloads.training_roles(job)):
        return None
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.runtimes.runtime import runtime_of

    return TrainJobPods(job, shape, runtime_of(job, others, target), target)


def _conflicts(earlier: Iterable[Application], later: Application) -> Iterator[Diagnostic]:
    name = later.overlay.name
    for each in earlier:
        if each.overlay.name != name:
            yield from (conflict(*pair, (each.overlay.name, name)) for pair in conflicting(each.settings, later.settings))
