"""Check the kind and metadata of objects inside objects (`x-kubernetes-embedded-resource`).

Follows `schemaobjectmeta.Validate`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/objectmeta, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.metadata import bad_dns1035_label, metadata_problems
from jobspec.kubernetes.problems import describe
from jobspec.schemas.shapes import Shape, children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def embedded_problems(value: Any, shape: Shape, path: Path = ()) -> Problems:
    """Yield the problems of the embedded objects inside a value.

    The value itself is not checked.
    """
    for step, child, inner in children(value, shape) if shape.embeds else ():
        if child.embedded and isinstance(inner, dict):
            yield from resource_problems(inner, (*path, step))
        yield from embedded_problems(inner, child, (*path, step))


def resource_problems(value: Data, path: Path) -> Problems:
    """Yield the problems of the kind and the metadata of one embedded object."""
    version, kind, meta = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and (not version or version.count("/") > 1):
        message = f"{describe(version)} is not a valid API version: expected `v1` or `group/version`"
        yield Problem("wrong-format", (*path, "apiVersion"), message)
    if isinstance(kind, str) and bad_dns1035_label(kind.lower()):
        message = f"{describe(kind)} is not a kind: it is of letters, digits and `-`, and starts with a letter"
        yield Problem("wrong-format", (*path, "kind"), message)
    if isinstance(meta, dict):
        if isinstance(meta.get("generation"), int) and meta["generation"] < 0:
            yield Problem("out-of-range", (*path, "metadata", "generation"), f"a generation is 0 or more, not {meta['generation']}")
        named = meta if meta.get("name") else {**meta, "name": "unnamed"}
        found = metadata_problems(named, names="made-segment", builtin=False)
        yield from (problem.moved_to((*path, *problem.path)) for problem in found)
