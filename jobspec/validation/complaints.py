"""The problems of values that do not fit their schema, in words; loaded with the first of them."""

from __future__ import annotations

from jobspec.diagnostics import spell
from jobspec.remedies import set_to
from jobspec.validation.certain import chosen, renamed_field, retyped
from jobspec.validation.problem import Problem, name_of
from jobspec.validation.suggestions import where_instead
from jobspec.validation.wording import closest, describe, takes, type_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


def missing_field(name: str, data: dict[str, Any], path: Path) -> Problem:
    """A required field is absent from an object, or null in it."""
    where = f" of {name_of(path)}" if path else ""
    empty = "is empty" if name in data else "is missing"
    return Problem("missing-field", (*path, name) if name in data else path, f"the required field `{name}`{where} {empty}", at_key=True)


def missing_by_code(name: str, around: dict[str, Any], path: Path, hint: str = "") -> Problem:
    """A field of a built-in kind is absent or empty, and the server's Go code requires it, not its schema."""
    state = "is empty" if name in around else "is missing"
    return Problem("missing-field", (*path, name), f"the required field `{name}` of `{spell(path)}` {state}", hint, at_key=True)


def unknown_field(name: str, shape: Shape | None, path: Path, *, suggest: bool) -> Problem:
    """The schema does not know a field; *suggest*: look for the field that was meant."""
    message = f"{name_of(path)} has no field `{name}`" if path else f"there is no field `{name}` here"
    if not suggest or not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    hint, meant, belongs = where_instead(name, shape)
    remedy = renamed_field((*path, name), shape) if meant else None
    return Problem("unknown-field", (*path, name), message, hint, at_key=True, meant=meant, belongs=belongs, remedy=remedy)


def wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    """A value is of another type than its shape."""
    message = f"{name_of(path)} takes {takes(shape)}, not {describe(value)}"
    return Problem("wrong-type", path, message, type_hint(value, shape), remedy=retyped(value, shape, path))


def beyond_bits(value: float, bits: int, path: Path) -> Problem:
    """A whole number does not fit into a sign and *bits* bits."""
    most = (1 << bits) - 1
    return Problem("out-of-range", path, f"{name_of(path)} takes {-most - 1:,} to {most:,}, not {value:,.0f}")


def no_byte(value: Any, path: Path) -> Problem:
    """An item of a list of bytes is no number from 0 to 255."""
    hint = "write the bytes as one text in base64"
    return Problem("wrong-type", path, f"{name_of(path)} is a byte, an integer from 0 to 255, not {describe(value)}", hint)


def out_of_range(value: Any, least: int | None, most: int | None, path: Path) -> Problem:
    """A number is below *least* or above *most*."""
    limits = f"at least {least}" if most is None else f"at most {most}" if least is None else f"{least} to {most}"
    return Problem("out-of-range", path, f"{name_of(path)} takes {limits}, not {value}")


def wrong_size(size: int, what: str, bound: str, limit: int, path: Path) -> Problem:
    """A text, list or object has too few or too many characters, items or fields; *bound* is `least` or `most`."""
    return Problem("wrong-size", path, f"{name_of(path)} takes at {bound} {limit:,} {what}{'s' * (limit != 1)}, and has {size:,}")


def wrong_format(value: str, example: str, path: Path, hint: str = "", *, meant: str = "") -> Problem:
    """A text does not have its format; *example* shows the format, *meant* is the text that it can only mean."""
    remedy = set_to(path, meant) if meant else None
    return Problem("wrong-format", path, f"{name_of(path)} takes {example}, not {describe(value)}", hint, remedy=remedy)


def wrong_pattern(value: str, pattern: str, path: Path) -> Problem:
    """A text does not match its pattern."""
    return Problem("wrong-format", path, f"{name_of(path)} has to match `{pattern}`, which {describe(value)} does not")


def unsupported_choice(value: Any, choices: Sequence[Any], path: Path) -> Problem:
    """A value is none of the choices."""
    listed = ", ".join(f"`{choice}`" if choice != "" else "an empty text" for choice in choices)
    hint = closest(value, [choice for choice in choices if isinstance(choice, str)]) if isinstance(value, str) else ""
    message = f"{name_of(path)} takes one of {listed}, not {describe(value)}"
    return Problem("unsupported-choice", path, message, hint, remedy=chosen(value, choices, path))


def duplicate_item(index: int, first: int, identity: Sequence[str], keys: Sequence[str], path: Path) -> Problem:
    """An item of a list map has the *keys* of the *first* one; without keys, an item of a set is equal to it."""
    if keys:
        same = f"has the same {' and '.join(f'`{key}`' for key in keys)} ({', '.join(identity)})"
    else:
        same = f"is the same value ({identity[1]})" if identity[1] else "is the same value"
    return Problem("duplicate-item", (*path, index), f"item {index} {same} as item {first}", "remove one of the two")
