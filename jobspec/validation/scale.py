"""Check what the scale subresource reads from an object: numbers of replicas and the text of a selector.

Follows `customResourceValidator.validateScaleSpec` and `validateScaleStatus`, k8s.io/apiextensions-apiserver
pkg/registry/customresource, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

_MAX_INT32 = (1 << 31) - 1
_ABSENT = object()


def scale_problems(data: dict[str, Any], shape: Shape) -> Iterator[Problem]:
    """The problems of the values at the paths of the scale subresource, unless they are absent."""
    for keyword, steps in shape.scale.items():
        value, path = _follow(data, shape, steps)
        is_number = keyword != "labelSelectorPath"
        if value is _ABSENT:
            continue
        if len(path) < len(steps):
            yield Problem("wrong-type", path, f"`{'.'.join(map(str, path))}` has to be a mapping: the scale subresource reads it")
        elif type(value) is not (int if is_number else str):
            what = "an integer" if is_number else "text"
            yield Problem("wrong-type", path, f"`{path[-1]}` has to be {what}: the scale subresource reads it")
        elif isinstance(value, int) and value < 0:
            yield Problem("out-of-range", path, f"`{path[-1]}` cannot be negative, as {value} is")
        elif isinstance(value, int) and value > _MAX_INT32:
            yield Problem("out-of-range", path, f"`{path[-1]}` takes 0 to {_MAX_INT32:,}, not {value:,}")


def _follow(data: Any, root: Shape, steps: Sequence[str]) -> tuple[Any, Path]:
    """The value at *steps*, or the first value on the way that is no mapping, and its path; `_ABSENT` without a value."""
    value, path = data, list[str]()
    shape: Shape | None = root
    for step in steps:
        if not isinstance(value, dict):
            break
        value = value.get(step, _ABSENT)
        path.append(step if shape is None or shape.fields is not None else Key(step))
        shape = shape and shape.at((step,))
    return value, tuple(path)
