"""The Python API: check and render manifests, given as text, data or models."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.diagnostics import JobspecError
from jobspec.documents.manifest import document_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.documents.manifest import Manifest
    from jobspec.overlays.overlay import Overlay
    from jobspec.pipeline import Checked
    from jobspec.results import FileResult
    from jobspec.targets import Target

    Parameters = Mapping[str, Mapping[str, Any]]

_NAME = "<manifest>"


class Rendered:
    """What a base and its overlays render to."""

    __slots__ = ("diagnostics", "documents", "text")

    def __init__(self, text: str, documents: Sequence[Document], diagnostics: Sequence[Diagnostic]) -> None:
        self.text = text
        """YAML, with the same meaning under YAML 1.1 and 1.2; empty where a diagnostic of severity error stands against it."""
        self.documents = documents
        self.diagnostics = diagnostics

    @property
    def valid(self) -> bool:
        """Whether no diagnostic of severity error stands against it."""
        return not any(each.severity == "error" for each in self.diagnostics)


def check(
    manifest: Manifest | Sequence[Manifest],
    *,
    cluster: Cluster | None = None,
    overlays: Sequence[str] = (),
    parameters: Parameters | None = None,
    name: str = _NAME,
) -> FileResult:
    """What a cluster says to a manifest, as `jobspec validate` does; with *overlays*, to what they make of it.

    *overlays* are names of shipped ones, or paths; *parameters* are their values, by overlay and parameter.
    *name* is what diagnostics call the manifest. By default the cluster has the newest releases, and their webhooks.

    Raises:
        JobspecError: an overlay or a parameter of that name does not exist.
        TypeError: the data holds something that JSON cannot.

    """
    return _checked(manifest, cluster or Cluster(), overlays, parameters or {}, name).result


def render(
    base: Manifest | Sequence[Manifest],
    *,
    overlays: Sequence[str] = (),
    parameters: Parameters | None = None,
    cluster: Cluster | None = None,
    name: str = _NAME,
) -> Rendered:
    """What a base and its overlays render to, checked, as `jobspec render` does. Arguments and errors are those of `check`."""
    from jobspec import rendering

    cluster = cluster or Cluster()
    rendered = rendering.rendered([_checked(base, cluster, overlays, parameters or {}, name)], companions_once=bool(overlays))
    (result,) = rendered.results
    text = rendering.text_of(rendered.documents, cluster.target) if result.valid else ""
    return Rendered(text, rendered.documents, result.diagnostics)


def _checked(
    manifest: Manifest | Sequence[Manifest], cluster: Cluster, overlays: Sequence[str], parameters: Parameters, name: str
) -> Checked:
    manifests = _manifests(manifest, name, cluster.target)
    return pipeline.check(pipeline.apply(manifests, _overlays(overlays, parameters, cluster.target), cluster), cluster)


def _overlays(names: Sequence[str], parameters: Parameters, target: Target) -> Sequence[Overlay]:
    """The overlays ready to be applied. Raises JobspecError with all that is wrong with them and their parameters."""
    if not names and not parameters:
        return ()
    from jobspec.overlays.load import load

    sets = [f"{overlay}.{name}={_as_text(value)}" for overlay, values in parameters.items() for name, value in values.items()]
    overlays, problems = load(names, sets, target)
    if problems:
        raise JobspecError("\n".join(f"{each.mark}: {each.message}" for each in problems))
    return overlays


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _manifests(manifest: Manifest | Sequence[Manifest], name: str, target: Target) -> pipeline.Manifests:
    if isinstance(manifest, (str, bytes)):
        return pipeline.read(pipeline.Source(name, manifest), target)
    several = manifest if isinstance(manifest, (list, tuple)) else [manifest]
    documents = [document_of(each, name, index=index) for index, each in enumerate(several)]
    return pipeline.Manifests(name, [item for document in documents for item in pipeline.items_of(document)])
