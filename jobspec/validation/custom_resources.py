"""Check a custom resource after its structure: metadata, updates, combinations, embedded objects, scale, CEL rules.

Follows `customResourceStrategy.Validate` and `ValidateUpdate`, k8s.io/apiextensions-apiserver pkg/registry/customresource, 0.36.
"""

from __future__ import annotations

from jobspec.validation.correlation import correlated
from jobspec.validation.defaults import filled
from jobspec.validation.metadata import generated_name, metadata_problems
from jobspec.validation.structural import schema_problems_at
from jobspec.validation.updates import metadata_update_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.validation.correlation import Correlated
    from jobspec.validation.problem import Problem

_NAME: Path = ("metadata", "name")
_PREFIX: Path = ("metadata", "generateName")
#: Rules of structure: a value that has such a problem gets no other.
_OF_STRUCTURE = ("wrong-type", "missing-field", "unknown-field", "duplicate-item")


def custom_resource_problems(data: Any, shape: Shape, found: list[Problem], stored: Any, *, namespaced: bool) -> list[Problem]:
    """All problems of a custom resource: those *found* in its structure, and the rest; as an update of *stored*, unless that is None."""
    whole = _as_stored(data, shape)
    before = None if stored is None else _correlated(whole, stored, shape)
    if before:
        from jobspec.validation.ratcheting import without_unchanged

        found = without_unchanged(found, before, stored)
        found += metadata_update_problems(data.get("metadata"), stored.get("metadata"))
    meta = data.get("metadata")
    if meta is None or isinstance(meta, dict):
        problems = metadata_problems(meta or {}, names="subdomain", builtin=False, namespaced=namespaced)
        found += (problem for problem in problems if not before or problem.path[-1] != "generateName")
    if not before and not any(problem.path == _PREFIX for problem in found):
        found += _generated_name_problems(meta, whole, shape)
    reported = {problem.path for problem in found if problem.rule in _OF_STRUCTURE}
    found += [problem for problem in _problems_with_defaults(whole, shape, before) if problem.path not in reported]
    if shape.ruled_on_update:
        from jobspec.validation.rules import broken_rules

        unnamed = not isinstance(meta, dict) or not whole["metadata"].get("name")
        found += list(broken_rules(whole, shape, found, before, unnamed=unnamed))
    return found


def _generated_name_problems(meta: Any, whole: dict[str, Any], shape: Shape) -> list[Problem]:
    """The problems of the name generated from a prefix, by the limits that the kind's schema has for names."""
    name, root = shape.at(_NAME), whole.get("metadata")
    if name is None or not isinstance(meta, dict) or meta.get("name") or not isinstance(root, dict) or not root.get("name"):
        return []
    return schema_problems_at(root["name"], name, _NAME)


def _as_stored(data: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The object with defaults and a generated name; without status, if that is a subresource."""
    whole: dict[str, Any] = filled(data, shape)
    if not shape.keeps_status:
        whole.pop("status", None)
    meta = whole.get("metadata")
    if isinstance(meta, dict):
        prefix = meta.get("generateName")
        if not meta.get("name") and isinstance(prefix, str) and prefix:
            whole["metadata"] = {**meta, "name": generated_name(prefix)}
    return whole


def _correlated(whole: dict[str, Any], stored: dict[str, Any], shape: Shape) -> Correlated:
    """The object correlated with the stored one; it gets the stored status, if that is a subresource."""
    before = filled(stored, shape)
    if not shape.keeps_status and "status" in before:
        whole["status"] = before["status"]
    return correlated(whole, before, shape)


def _problems_with_defaults(whole: dict[str, Any], shape: Shape, before: Correlated | None) -> Iterator[Problem]:
    """The problems of combinations, embedded objects and scale, in the object with its defaults."""
    if shape.combined:
        from jobspec.validation.combinations import broken_combinations

        yield from broken_combinations(whole, shape, (), before)
    if shape.embeds:
        from jobspec.validation.embedded import embedded_problems

        yield from embedded_problems(whole, shape)
    if shape.scale:
        from jobspec.validation.scale import scale_problems

        yield from scale_problems(whole, shape)
