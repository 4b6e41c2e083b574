"""A job on its way to a variant: the text of its base, and what the variant says besides."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.documents.text_edits import Uncuttable, without
from jobspec.gitops.importing.explanation import explain
from jobspec.kinds import is_cluster_scoped
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.gitops.importing.explanation import Use
    from jobspec.gitops.importing.originals import Original
    from jobspec.overlays.overlay import Overlay
    from jobspec.targets import Target

    #: The text of a flag's value, True for a bare flag, None for one that is removed.
    FlagValue = str | bool | None
    Flags = Mapping[str, FlagValue]


class Import:
    """An original with the base and the variant that render to it."""

    __slots__ = ("annotations", "flags", "labels", "namespace", "original", "text", "uses")

    def __init__(
        self,
        original: Original,
        text: str,
        uses: Sequence[Use],
        namespace: str,
        *,
        flags: Flags | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.original = original
        self.text = text
        """The base."""
        self.uses = uses
        """The overlays of the variant, in order."""
        self.namespace = namespace
        """What the variant writes into all objects; empty where they have none, or different ones."""
        self.flags: Flags = flags or {}
        self.labels = labels or {}
        self.annotations = annotations or {}


def import_of(original: Original, overlays: Mapping[str, Overlay], target: Target) -> Import:
    """The import of an original that shares its base with no other; *overlays* are those that may be taken out of it."""
    explained = explain(original, overlays, target)
    namespaces = {each.namespace for each in original.documents if not is_cluster_scoped(each.api_version, each.kind)}
    namespace = namespaces.pop() if len(namespaces) == 1 else ""
    text = explained.text
    if namespace and not original.is_fixed:
        text = _without_in_all(text, ("metadata", "namespace"), target)
    return Import(original, text, explained.uses, namespace)


def documents_in(text: str, target: Target) -> Sequence[Document]:
    """The documents of a base's text."""
    return pipeline.read(pipeline.Source("", text), target).documents


def job_in(text: str, target: Target) -> Document:
    """The training job of a base's text."""
    return next(filter(is_workload, documents_in(text, target)))


def _without_in_all(text: str, path: Path, target: Target) -> str:
    """The text without a value of each of its documents; the text itself where one is written in a form that cannot be cut."""
    shorter = text
    for number in range(len(documents_in(text, target))):
        marks = documents_in(shorter, target)[number].marks
        try:
            shorter = without(shorter, marks, path) if marks.nearest(path) is not marks.nearest(path[:-1]) else shorter
        except Uncuttable:
            return text
    return shorter


def without_keys(text: str, field: str, keys: Sequence[str], target: Target) -> str:
    """A base without some labels or annotations of its job. Raises Uncuttable."""
    for key in keys:
        text = without(text, job_in(text, target).marks, ("metadata", field, key))
    return text
