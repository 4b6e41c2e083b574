"""A variant as it is without its later layers: what it would render to if the project said less, one layer after the other."""

from __future__ import annotations

from jobspec.documents.document import Document
from jobspec.documents.marked_tree import with_marks
from jobspec.gitops.layer import own_layer
from jobspec.gitops.matrix import filled_text
from jobspec.gitops.project import field
from jobspec.gitops.rendering import in_namespace
from jobspec.kinds import TRAINJOB
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.overlays.apply import apply
from jobspec.overlays.job import overlaid
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.cluster import Cluster
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.project import Project
    from jobspec.gitops.variants import Variant
    from jobspec.overlays.conflicts import OverlayValue
    from jobspec.overlays.overlay import Overlay


class Stage:
    """The documents of a variant with some of its layers."""

    __slots__ = ("_before", "_cluster", "_overlays", "documents")

    def __init__(self, before: Sequence[Document], overlays: Sequence[Overlay], cluster: Cluster) -> None:
        self._before = before
        self._overlays = overlays
        self._cluster = cluster
        self.documents = apply(before, overlays, cluster.target).documents if overlays else before
        """As far as the layers can be applied without the later ones, which may bring a role or a container that they are for."""

    def settings(self) -> Sequence[OverlayValue]:
        """What its last layer sets and removes in the job."""
        jobs = [each for each in self._before if is_workload(each)]
        return overlaid(jobs[0], self._before, self._overlays, self._cluster.target).settings

    def counterpart(self, document: Document) -> Document | None:
        """The document that becomes another one by later layers: the job, or else the object of the same kind and name."""
        for each in self.documents:
            if is_workload(each) and is_workload(document):
                return each
            if (each.group_kind, each.name) == (document.group_kind, document.name):
                return each
        return None


def stages_of(variant: Variant, project: Project, cluster: Cluster) -> list[Stage]:
    """The base alone; in the namespace of the defaults, then its own; with one overlay more each; the last without the job's name."""
    base = variant.base.documents
    inside = [in_namespace(each, variant.namespace) for each in base]
    by_default = _default_namespace(variant, project)
    stages = [Stage([in_namespace(each, namespace) for each in base], (), cluster) for namespace in (None, by_default)]
    return [*stages, *(Stage(inside, overlays, cluster) for overlays in _growing(variant, project))]


def beneath(job: Document, beside: Sequence[Document], cluster: Cluster) -> Document | None:
    """What `spec.trainer` of a TrainJob overrides: the same fields of the runtime's training container; None for other kinds.

    The runtime is looked for *beside* the job and among the shipped ones.
    """
    if job.group_kind != TRAINJOB:
        return None
    from jobspec.overlays.job_runtime import JobRuntime
    from jobspec.overlays.trainjob import TRAINER

    runtime = JobRuntime(job, runtime_of(job, beside, cluster.target), cluster.target["trainer"])
    container = runtime.training_container()
    if container is None:
        return None
    fields = {TRAINER[name]: child for name, child in container.value.items() if name in TRAINER}
    tree = with_marks(job.data, job.marks)
    kind = {name: tree.value[name] for name in ("apiVersion", "kind")}
    inside = tree.with_value({**kind, "spec": tree.with_value({"trainer": container.with_value(fields)})})
    return Document(inside.data(), inside.marks, file=job.file)


def _default_namespace(variant: Variant, project: Project) -> MarkedTree | None:
    said = field(project.defaults, "namespace")
    return filled_text(said, variant.values, variant.name) if said else None


def _growing(variant: Variant, project: Project) -> Iterator[Sequence[Overlay]]:
    """The overlays with one more each; what the defaults say for the variant's own layer comes before that layer."""
    for number, overlay in enumerate(variant.overlays):
        if overlay.name == variant.name and number == len(variant.overlays) - 1 and project.defaults:
            layer, _ = own_layer(project.defaults, variant.values, variant.name, project.spelled)
            if layer:
                yield [*variant.overlays[:number], layer]
        yield variant.overlays[: number + 1]
