"""Check the values that the scale subresource reads from an object.

They are numbers of replicas and the text of a selector.

Follows `customResourceValidator.validateScaleSpec` and `validateScaleStatus`, k8s.io/apiextensions-apiserver
pkg/registry/customresource, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import MAX_INT32
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


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
        elif isinstance(value, int) and value < 0 and not _has_limit(shape.at(path), "minimum"):
            yield Problem("out-of-range", path, f"`{path[-1]}` must not be negative, got {value}")
        elif isinstance(value, int) and value > MAX_INT32 and not _has_limit(shape.at(path), "maximum"):
            yield Problem("out-of-range", path, f"`{path[-1]}`: expected 0 to {MAX_INT32:,}, got {value:,}")


def _has_limit(shape: Shape | None, limit: str) -> bool:
    """True if the schema of a number has such a limit, which then is reported for the same mistake."""
    found = getattr(shape, limit, None)
    return found is not None and 0 <= found <= MAX_INT32


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
