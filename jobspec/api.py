"""The Python API: check and render manifests, given as text, data or models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.diagnostics import Diagnostic, FileResult, JobspecError, has_error
from jobspec.documents.document import Document
from jobspec.documents.manifest import document_of
from jobspec.pipeline import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.manifest import Manifest
    from jobspec.overlays.load import LoadedOverlay, OverlayFile
    from jobspec.targets import Target

    #: Values by overlay and parameter: `{"gpu-nccl": {"gpus": 2}}`.
    Parameters = Mapping[str, Mapping[str, Any]]

_NAME = "<manifest>"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a base and its overlays render to."""

    text: str
    """YAML, with the same meaning under YAML 1.1 and 1.2; empty where a diagnostic of severity error stands against it."""
    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]

    @property
    def valid(self) -> bool:
        """Whether it has no diagnostic of severity error."""
        return not has_error(self.diagnostics)


def check(
    manifest: Manifest | Sequence[Manifest],
    *,
    cluster: Cluster | None = None,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    outcome: bool = True,
    name: str = _NAME,
) -> FileResult:
    """Check a manifest as `jobspec validate` does: text of any number of documents, data, models, or a list of those.

    *overlays* are applied first: the name of a shipped one, or an Overlay as text, data or model; *parameters* are their values, by
    overlay and parameter. *cluster* is what the manifest meets, by default the newest releases with their webhooks. *outcome*: what
    becomes of accepted jobs is told, too. *name* is what diagnostics show as the manifest's file.

    Raises:
        JobspecError: an overlay is at fault, or one that *parameters* name is not applied.
        TypeError: the data holds something that JSON cannot.

    """
    cluster = cluster or Cluster()
    return _checked(manifest, cluster, overlays, parameters or {}, name, outcome=outcome).result


def render(
    base: Manifest | Sequence[Manifest],
    *,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    cluster: Cluster | None = None,
    name: str = _NAME,
) -> Rendered:
    """Apply overlays to a base, check the result, and write it, as `jobspec render` does. Arguments and errors are those of `check`."""
    from jobspec import rendering

    cluster = cluster or Cluster()
    rendered = rendering.rendered([_checked(base, cluster, overlays, parameters or {}, name)], companions_once=bool(overlays))
    (result,) = rendered.results
    text = rendering.text_of(rendered.documents, cluster.target) if result.valid else ""
    return Rendered(text, rendered.documents, result.diagnostics)


def _checked(
    manifest: Manifest | Sequence[Manifest],
    cluster: Cluster,
    overlays: Sequence[Manifest],
    parameters: Parameters,
    name: str,
    *,
    outcome: bool = False,
) -> Checked:
    manifests = pipeline.apply(_manifests(manifest, name, cluster.target), _overlays(overlays, parameters, cluster.target), cluster)
    return pipeline.check_files([manifests], lambda each, _: each, cluster, outcome=outcome)[0]


def _manifests(manifest: Manifest | Sequence[Manifest], name: str, target: Target) -> pipeline.Manifests:
    if isinstance(manifest, (str, bytes)):
        return pipeline.read(pipeline.Source(name, manifest), target)
    several = manifest if isinstance(manifest, (list, tuple)) else [manifest]
    documents = [document_of(each, name, index=index) for index, each in enumerate(several)]
    return pipeline.Manifests(name, [item for document in documents for item in pipeline.items_of(document)])


def _overlays(overlays: Sequence[Manifest], parameters: Parameters, target: Target) -> list[LoadedOverlay]:
    """The overlays ready to be applied. Raises JobspecError with everything that is wrong with them and their parameters."""
    if not overlays and not parameters:
        return []
    from jobspec.overlays.load import ParameterValue, as_text, load

    given = [
        ParameterValue(overlay, name, as_text(value), f"parameters[{overlay!r}][{name!r}]")
        for overlay, values in parameters.items()
        for name, value in values.items()
    ]
    found, problems = load([_overlay_file(each, number) for number, each in enumerate(overlays)], given, target)
    if problems:
        raise JobspecError("\n".join(f"{each.mark}: {each.message}" for each in problems))
    return found


def _overlay_file(overlay: Manifest, number: int) -> OverlayFile:
    from jobspec.overlays.load import OverlayFile, shipped, shipped_file

    if isinstance(overlay, str) and "\n" not in overlay:
        if overlay not in shipped():
            raise JobspecError(f"no overlay `{overlay}`: jobspec ships {', '.join(shipped())}; give the text of your own")
        return shipped_file(overlay)
    name = f"overlays[{number}]"
    if isinstance(overlay, (str, bytes)):
        return OverlayFile(name, overlay.encode() if isinstance(overlay, str) else overlay, stem=name)
    return OverlayFile(name, document_of(overlay, name, layer=True), stem=name)
