"""Check a custom resource after its structure: metadata, updates, combinations, embedded objects, scale, CEL rules.

Follows `customResourceStrategy.Validate` and `ValidateUpdate`, k8s.io/apiextensions-apiserver pkg/registry/customresource, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import MAX_INT32
from jobspec.kubernetes.correlation import Correlated, children
from jobspec.kubernetes.metadata import bad_dns1035_label, generated_name, metadata_problems
from jobspec.kubernetes.metadata_updates import metadata_update_problems
from jobspec.kubernetes.problems import describe
from jobspec.kubernetes.structural import filled, schema_problems_at
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


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
        from jobspec.kubernetes.rules import without_unchanged

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
        yield from embedded_problems(whole, shape)
    if shape.scale:
        yield from scale_problems(whole, shape)


# Check what the scale subresource reads from an object: numbers of replicas and the text of a selector.
#
# Follows `customResourceValidator.validateScaleSpec` and `validateScaleStatus`, k8s.io/apiextensions-apiserver
# pkg/registry/customresource, 0.36.


_ABSENT = object()


def scale_problems(data: Data, shape: Shape) -> Problems:
    """Yield the problems of the values at the paths of the scale subresource.

    Absent values have none.
    """
    for keyword, steps in shape.scale.items():
        value, path = _follow(data, shape, steps)
        is_number = keyword != "labelSelectorPath"
        if value is _ABSENT:
            continue
        if len(path) < len(steps):
            yield Problem("wrong-type", path, f"`{'.'.join(map(str, path))}` must be a mapping: the scale subresource reads it")
        elif type(value) is not (int if is_number else str):
            what = "an integer" if is_number else "text"
            yield Problem("wrong-type", path, f"`{path[-1]}` must be {what}: the scale subresource reads it")
        elif isinstance(value, int) and value < 0:
            yield Problem("out-of-range", path, f"`{path[-1]}` must not be negative, got {value}")
        elif isinstance(value, int) and value > MAX_INT32:
            yield Problem("out-of-range", path, f"`{path[-1]}`: expected 0 to {MAX_INT32:,}, got {value:,}")


def _follow(data: Any, root: Shape, steps: Sequence[str]) -> tuple[Any, Path]:
    """Return the value at *steps*, or the first value on the way that is no mapping.

    Its path is returned, too. Without a value, return `_ABSENT`.
    """
    value, path = data, list[str]()
    shape: Shape | None = root
    for step in steps:
        if not isinstance(value, dict):
            break
        value = value.get(step, _ABSENT)
        path.append(step if shape is None or shape.fields is not None else Key(step))
        shape = shape and shape.at((step,))
    return value, tuple(path)


# Check the kind and metadata of objects inside objects (`x-kubernetes-embedded-resource`).
#
# Follows `schemaobjectmeta.Validate`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/objectmeta, 0.36.


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
