"""The manifests that overlays add beside a job."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.kinds import is_cluster_scoped
from jobspec.overlays.parameters import Substitution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.overlay import Overlay


def companions(overlays: Iterable[Overlay], namespaces: Sequence[MarkedTree | None]) -> tuple[list[MarkedTree], list[Diagnostic]]:
    """The companion manifests of overlays, each object once, in the order of the overlays' names.

    A companion without a namespace is added to each of *namespaces*, those of the jobs; None is a job without one.
    """
    found: dict[tuple[str, ...], MarkedTree] = {}
    problems = []
    for overlay in sorted(overlays, key=lambda each: each.name):
        substitution = Substitution(overlay.values)
        declared = overlay.spec.get("resources")
        manifests = [each for each in map(substitution, declared.value if declared else ()) if each]
        problems += substitution.problems
        for companion in (each for manifest in manifests for each in _in_namespaces(manifest, namespaces)):
            name = _object_id(companion)
            other = found.setdefault(name, companion)
            if other.data() != companion.data():
                message = f"`{overlay.name}` adds another {name[1]} `{name[3]}` than `{other.mark.layer}` (in {other.mark})"
                problems.append(Diagnostic("overlay-conflict", message, companion.place()))
    return list(found.values()), problems


def _in_namespaces(companion: MarkedTree, namespaces: Sequence[MarkedTree | None]) -> list[MarkedTree]:
    metadata = companion.get("metadata")
    api_version, kind, *_ = _object_id(companion)
    if metadata is None or not isinstance(metadata.value, dict) or "namespace" in metadata.value or is_cluster_scoped(api_version, kind):
        return [companion]
    return [_in_namespace(companion, namespace) for namespace in namespaces]


def _in_namespace(companion: MarkedTree, namespace: MarkedTree | None) -> MarkedTree:
    if namespace is None:
        return companion
    return companion.replace_at(("metadata",), lambda metadata: metadata.with_value({**metadata.value, "namespace": namespace}))


def _object_id(tree: MarkedTree) -> tuple[str, ...]:
    """What identifies an object: apiVersion, kind, namespace, name."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    values = [tree.get(*path) for path in paths]
    return tuple(str(value.value) if value else "" for value in values)
