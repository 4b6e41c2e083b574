"""An object of a given CRD as the server holds it: nulls that the schema does not take dropped, defaults filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


def complete(value: Any, schema: Schema) -> Any:
    """The value with its defaults; what the schema does not know stays."""
    if isinstance(value, dict):
        return _object(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [_item(item, items) for item in value] if isinstance(items, dict) else value
    return value


def child_of(schema: Schema, name: str) -> Schema | None:
    """The schema of an object's field or of a map's values; None where there is none."""
    fields = schema.get("properties") or {}
    if name in fields:
        return fields[name]  # type: ignore[no-any-return]  # JSON's type is known by its place
    others = schema.get("additionalProperties")
    return others if isinstance(others, dict) else None


def _object(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    made = {}
    for name, inner in value.items():
        child = child_of(schema, name)
        if child is None:
            made[name] = inner
        elif inner is not None or child.get("nullable"):
            made[name] = complete(inner, child)
        elif child.get("default") is not None:
            made[name] = complete(child["default"], child)
    for name, child in (schema.get("properties") or {}).items():
        if name not in made and child.get("default") is not None:
            made[name] = complete(child["default"], child)
    return made


def _item(item: Any, items: Schema) -> Any:
    if item is None and not items.get("nullable"):
        item = items.get("default")
    return complete(item, items)
