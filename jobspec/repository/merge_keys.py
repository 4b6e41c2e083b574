"""The keys by which the items of a list are the same in a patch and in its base."""

from __future__ import annotations

from typing import Any

from jobspec.apis.releases import choose
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape


def as_pod(patch: Any, base: Any, shape: Shape | None) -> Shape | None:
    """Return the shape of a value. If it is a pod spec by its fields, and its own shape has no merge keys, return that of a pod spec."""
    containers = shape and shape.at(("containers",))
    is_pod = isinstance(patch, dict) and isinstance(base, dict) and isinstance(base.get("containers"), list)
    if not is_pod or (containers and containers.merge):
        return shape
    pod = shapes.load("v1", "Pod", choose(()))
    return pod and pod.at(("spec",))


def keys_of(value: Any, shape: Shape | None) -> list[str]:
    """Return the keys by which the items of a list merge: those of its shape, or `name` if all items have one; none for other lists."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return []
    keys = (shape.merge or shape.keys) if shape else []
    keys = [each for each in keys if all(each in item for item in value)] or ["name"]
    return list(keys) if all(key in each for each in value for key in keys) else []
