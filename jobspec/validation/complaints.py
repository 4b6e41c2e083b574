"""The walk's complaints about fields and types, in words; loaded with the first of them."""

from __future__ import annotations

from jobspec.validation.problem import Problem, name_of
from jobspec.validation.suggestions import where_instead
from jobspec.validation.wording import describe, takes, type_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


def missing_field(name: str, data: dict[str, Any], path: Path) -> Problem:
    """A required field that is absent from an object or null in it."""
    where = f" of {name_of(path)}" if path else ""
    empty = "is empty" if name in data else "is missing"
    return Problem("missing-field", (*path, name) if name in data else path, f"the required field `{name}`{where} {empty}", at_key=True)


def unknown_field(name: str, shape: Shape | None, path: Path, *, suggest: bool) -> Problem:
    """A field that the schema does not know; *suggest* says to look for what was meant."""
    message = f"{name_of(path)} has no field `{name}`" if path else f"there is no field `{name}` here"
    if not suggest or not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    hint, meant, belongs = where_instead(name, shape)
    return Problem("unknown-field", (*path, name), message, hint, at_key=True, meant=meant, belongs=belongs)


def wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    """A value of another type than its shape's."""
    return Problem("wrong-type", path, f"{name_of(path)} takes {takes(shape)}, not {describe(value)}", type_hint(value, shape))
