"""Read fields of a document in which anything may stand, as Go has them once decoded: what is absent, null or of a wrong type is empty."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path


def mapping(data: Any, *steps: str) -> dict[str, Any]:
    """The mapping at the end of some steps through mappings; an empty one where there is none."""
    found = at(data, steps)
    return found if isinstance(found, dict) else {}


def items(data: Any, *steps: str) -> list[Any]:
    """The items of the list at the end of some steps through mappings; none where there is no list."""
    found = at(data, steps)
    return found if isinstance(found, list) else []


def at(data: Any, steps: Path) -> Any:
    """The value at the end of some steps through mappings; None where there is none."""
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def structs(data: Any, *steps: str) -> list[dict[str, Any]]:
    """The items of the list of mappings at the end of some steps."""
    return [mapping(item) for item in items(data, *steps)]


def text(data: dict[str, Any], name: str) -> str:
    """The text in a field."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def texts(data: dict[str, Any], name: str) -> list[str]:
    """The items of the list of texts in a field."""
    return [item if isinstance(item, str) else "" for item in items(data, name)]


def number(data: dict[str, Any], name: str) -> int | None:
    """The number in a field; None where there is none."""
    value = data.get(name)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else int(value)


def string_map(data: dict[str, Any], name: str) -> dict[str, str]:
    """The map of texts in a field: labels, annotations."""
    return {key: value if isinstance(value, str) else "" for key, value in mapping(data, name).items()}


def is_given(data: dict[str, Any], name: str) -> bool:
    """Whether a field of Go that can be nil is set."""
    return data.get(name) is not None
