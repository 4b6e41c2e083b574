"""The manifests that overlays add beside a job."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.kinds import is_cluster_scoped
from jobspec.overlays.parameters import Substitution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.overlays.layer import Layer
    from jobspec.overlays.tree import Tree


def companions(layers: Iterable[Layer], namespaces: Sequence[Tree | None]) -> tuple[list[Tree], list[Diagnostic]]:
    """The companions of some overlays, each object once, in the order of the overlays' names.

    One that names no namespace is added to each of *namespaces*, those of the jobs; None is a job without one.
    """
    found: dict[tuple[str, ...], Tree] = {}
    problems = []
    for layer in sorted(layers, key=lambda each: each.name):
        substitution = Substitution(layer.values)
        declared = layer.spec.get("resources")
        said = [each for each in map(substitution, declared.value if declared else ()) if each]
        problems += substitution.problems
        for companion in (each for one in said for each in _spread(one, namespaces)):
            name = _object(companion)
            other = found.setdefault(name, companion)
            if other.data() != companion.data():
                message = f"`{layer.name}` adds another {name[1]} `{name[3]}` than `{other.mark.layer}` (in {other.mark})"
                problems.append(Diagnostic("overlay-conflict", message, companion.place()))
    return list(found.values()), problems


def _spread(companion: Tree, namespaces: Sequence[Tree | None]) -> list[Tree]:
    metadata = companion.get("metadata")
    api_version, kind, *_ = _object(companion)
    if metadata is None or not isinstance(metadata.value, dict) or "namespace" in metadata.value or is_cluster_scoped(api_version, kind):
        return [companion]
    return [_within(companion, namespace) for namespace in namespaces]


def _within(companion: Tree, namespace: Tree | None) -> Tree:
    if namespace is None:
        return companion
    return companion.put(("metadata",), lambda metadata: metadata.having({**metadata.value, "namespace": namespace}))


def _object(tree: Tree) -> tuple[str, ...]:
    """What tells an object apart: apiVersion, kind, namespace, name."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    values = [tree.get(*path) for path in paths]
    return tuple(str(value.value) if value else "" for value in values)
