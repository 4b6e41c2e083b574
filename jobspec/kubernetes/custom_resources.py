"""Check a custom resource after its structure: metadata, updates, combinations, embedded objects, scale, CEL rules.

Follows `customResourceStrategy.Validate` and `ValidateUpdate`, k8s.io/apiextensions-apiserver pkg/registry/customresource, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.metadata import generated_name, metadata_problems
from jobspec.kubernetes.structural import filled, schema_problems_at
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.kubernetes.correlation import Correlated


_NAME: Path = ("metadata", "name")
_PREFIX: Path = ("metadata", "generateName")
#: Rules of structure: a value that has such a problem gets no other.
_OF_STRUCTURE = ("wrong-type", "missing-field", "unknown-field", "duplicate-item")


def custom_resource_problems(data: Any, shape: Shape, found: list[Problem], stored: Any, *, namespaced: bool) -> list[Problem]:
    """Return all problems of a custom resource: those *found* in its structure, and the rest.

    If *stored* is given, the resource is an update of it.
    """
    whole = _as_stored(data, shape)
    before = None if stored is None else _correlated(whole, stored, shape)
    if before:
        from jobspec.kubernetes.metadata_updates import metadata_update_problems
        from jobspec.kubernetes.ratcheting import without_unchanged

        found = without_unchanged(found, before, stored)
        found += metadata_update_problems(data.get("metadata"), stored.get("metadata"))
    meta = data.get("metadata")
    problems = metadata_problems(meta, names="subdomain", builtin=False, namespaced=namespaced)
    found += (problem for problem in problems if not before or problem.path[-1] != "generateName")
    if not before and not any(problem.path == _PREFIX for problem in found):
        found += _generated_name_problems(meta, whole, shape)
    reported = {problem.path for problem in found if problem.rule in _OF_STRUCTURE}
    found += [problem for problem in _problems_with_defaults(whole, shape, before) if problem.path not in reported]
    if shape.ruled_on_update:
        from jobspec.kubernetes.rules import broken_rules

        unnamed = not isinstance(meta, dict) or not whole["metadata"].get("name")
        found += list(broken_rules(whole, shape, found, before, unnamed=unnamed))
    return found


def _generated_name_problems(meta: Any, whole: Data, shape: Shape) -> list[Problem]:
    """Return the problems of the name generated from a prefix, by the schema's limits of names."""
    name, root = shape.at(_NAME), whole.get("metadata")
    if name is None or not isinstance(meta, dict) or meta.get("name") or not isinstance(root, dict) or not root.get("name"):
        return []
    return schema_problems_at(root["name"], name, _NAME)


def _as_stored(data: Data, shape: Shape) -> Data:
    """The object with defaults and a generated name; without status, if that is a subresource."""
    whole: Data = filled(data, shape)
    if not shape.keeps_status:
        whole.pop("status", None)
    meta = whole.get("metadata")
    if isinstance(meta, dict):
        prefix = meta.get("generateName")
        if not meta.get("name") and isinstance(prefix, str) and prefix:
            whole["metadata"] = {**meta, "name": generated_name(prefix)}
    return whole


def _correlated(whole: Data, stored: Data, shape: Shape) -> Correlated:
    """Return the object correlated with the stored one.

    If status is a subresource, the object gets the stored status. Both are never equal as a whole, since the server sets metadata such as
    `resourceVersion`.
    """
    from jobspec.kubernetes.correlation import Correlated

    before = filled(stored, shape)
    if not shape.keeps_status and "status" in before:
        whole["status"] = before["status"]
    return Correlated(whole, before, shape, is_same=False)


def _problems_with_defaults(whole: Data, shape: Shape, before: Correlated | None) -> Problems:
    """The problems of combinations, embedded objects and scale, in the object with its defaults."""
    if shape.combined:
        from jobspec.kubernetes.conditions import broken_combinations

        yield from broken_combinations(whole, shape, (), before)
    if shape.embeds:
        from jobspec.kubernetes.embedded_objects import embedded_problems

        yield from embedded_problems(whole, shape)
    if shape.scale:
        from jobspec.kubernetes.scale import scale_problems

        yield from scale_problems(whole, shape)
