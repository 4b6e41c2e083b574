"""Check the kind and metadata of objects inside objects (`x-kubernetes-embedded-resource`).

Follows `schemaobjectmeta.Validate`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/objectmeta, 0.36.
"""

from __future__ import annotations

from jobspec.validation import metadata
from jobspec.validation.correlation import children
from jobspec.validation.problem import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


def embedded_problems(value: Any, shape: Shape, path: Path = ()) -> Iterator[Problem]:
    """The problems of the embedded objects inside a value; the value itself is not checked."""
    for step, child, inner in children(value, shape) if shape.embeds else ():
        if child.embedded and isinstance(inner, dict):
            yield from resource_problems(inner, (*path, step))
        yield from embedded_problems(inner, child, (*path, step))


def resource_problems(value: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the kind and the metadata of one embedded object."""
    version, kind, meta = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and (not version or version.count("/") > 1):
        yield Problem("wrong-format", (*path, "apiVersion"), f"{describe(version)} is no API version: it is `v1`, or `group/version`")
    if isinstance(kind, str) and metadata.bad_dns1035_label(kind.lower()):
        yield Problem(
            "wrong-format", (*path, "kind"), f"{describe(kind)} is no kind: it is of letters, digits and `-`, and begins with a letter"
        )
    if isinstance(meta, dict):
        if isinstance(meta.get("generation"), int) and meta["generation"] < 0:
            yield Problem("out-of-range", (*path, "metadata", "generation"), f"a generation is 0 or more, not {meta['generation']}")
        named = meta if meta.get("name") else {**meta, "name": "unnamed"}
        for problem in metadata.metadata_problems(named, names="made-segment", builtin=False):
            yield Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)
