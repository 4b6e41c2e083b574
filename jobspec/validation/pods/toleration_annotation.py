"""Tolerations as they were written before they were fields: in an annotation, which the server still reads.

Follows `ValidateTolerationsInPodAnnotations`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.tolerations import one_toleration_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_FIELDS = {"key": str, "operator": str, "value": str, "effect": str, "tolerationseconds": int}
_NAMES = {"tolerationseconds": "tolerationSeconds"}


def toleration_annotation_problems(text: str, path: Path) -> Iterator[Problem]:
    """The problems of the text of the annotation, which stands at *path*; an empty one holds none."""
    if not text:
        return
    tolerations = _decoded(text)
    if tolerations is None:
        yield Problem(
            "wrong-format", path, "the annotation holds tolerations as a list in JSON, and this is none", "use `spec.tolerations`"
        )
        return
    for index, toleration in enumerate(tolerations):
        for problem in one_toleration_problems(toleration, path):
            message = f"in the toleration {index}: {problem.message}"
            yield Problem(problem.rule, path, message, "use `spec.tolerations` instead of the annotation")


def _decoded(text: str) -> list[dict[str, Any]] | None:
    """The tolerations in a text of JSON, whose fields Go finds in any case; None if Go cannot decode it."""
    import json

    def refuse(_: str) -> None:
        raise ValueError

    try:
        found = json.loads(text, parse_constant=refuse)
    except ValueError:
        return None
    if not isinstance(found, list | None) or not all(isinstance(each, dict | None) for each in found or ()):
        return None
    decoded = []
    for each in found or ():
        fields = {name.lower(): value for name, value in (each or {}).items() if name.lower() in _FIELDS and value is not None}
        if any(type(value) is not _FIELDS[name] for name, value in fields.items()):
            return None
        decoded.append({_NAMES.get(name, name): value for name, value in fields.items()})
    return decoded
