"""Models to schemas: the compiled shapes that checks and overlays walk, for a release.

Loads pydantic; nothing on the way from a manifest to a verdict imports this.
"""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from jobspec.models import roots
from jobspec.models.base import Format, Keyed, ListType, MapType, Merge, Model, Pattern, Quantities, Resource, Rule, Since
from jobspec.targets import KINDS, RELEASES, schema_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number"}


def compiled(model: type[Model], release: str) -> str:
    """The text of a kind's compiled file: one line of JSON."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    api_version = f"{resource.group}/{resource.version}".lstrip("/")
    root = shape_of(model, release)
    document = {"apiVersion": api_version, "kind": resource.kind, "component": resource.component, "release": release}
    return json.dumps({**document, "shapes": _table(root)}, separators=(",", ":")) + "\n"


def shape_of(model: type[Model], release: str) -> dict[str, Any]:
    """The shape of a kind at a release, its children in place, in the words of `jobspec.shapes.Shape`."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    return _root(_object(model, _Context(resource.component, release)), resource)


def files() -> Iterator[tuple[str, str]]:
    """Every file below `schemas/`: its path there and its text."""
    for model in roots():
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        api_version = f"{resource.group}/{resource.version}".lstrip("/")
        assert KINDS[api_version, resource.kind] == resource.component
        for release in RELEASES[resource.component]:
            yield "compiled/" + schema_path(resource.component, release, api_version, resource.kind), compiled(model, release)


class _Context:
    """The releases that decide which facts hold."""

    def __init__(self, component: str, release: str) -> None:
        self.releases = {component: release, "kubernetes": RELEASES[component][release]}

    def holds(self, fact: Since) -> bool:
        return _numbers(self.releases[fact.component]) >= _numbers(fact.release)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def _object(model: type[Model], context: _Context) -> dict[str, Any]:
    fields = {}
    required = []
    for info in model.model_fields.values():
        if not all(context.holds(fact) for fact in info.metadata if isinstance(fact, Since)):
            continue
        name = info.alias
        assert name
        fields[name] = _field(info, context)
        if info.is_required():
            required.append(name)
    shape: dict[str, Any] = {"type": "object", "name": model.__name__, "fields": fields}
    if required:
        shape["required"] = required
    if model.ATOMIC:
        shape["atomic"] = True
    return shape


def _field(info: FieldInfo, context: _Context) -> dict[str, Any]:
    shape = _type(info.annotation, context)
    for fact in info.metadata:
        _apply(fact, shape)
    if not info.is_required() and info.default is not None:
        shape["default"] = info.default
    return shape


def _type(annotation: Any, context: _Context) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        shape = _type(arguments[0], context)
        for fact in arguments[1:]:
            _apply(fact, shape)
        return shape
    if origin in (Union, types.UnionType):
        return _union([each for each in arguments if each is not type(None)], context)
    if origin is list:
        return {"type": "array", "items": _type(arguments[0], context)}
    if origin is dict:
        return {"type": "object", "values": _type(arguments[1], context)}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if annotation is Any:
        return {"type": "any"}
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    assert issubclass(annotation, Model), annotation
    return _object(annotation, context)


def _union(arms: list[Any], context: _Context) -> dict[str, Any]:
    if len(arms) == 1:
        return _type(arms[0], context)
    kinds = {_type(arm, context)["type"] for arm in arms}
    return {"type": "int-or-string" if kinds == {"integer", "string"} else "any"}


def _apply(fact: object, shape: dict[str, Any]) -> None:
    """Write a fact into the shape of the field that it stands at."""
    match fact:
        case Format(name):
            shape["format"] = name
        case Pattern(regex):
            shape["pattern"] = regex
        case Quantities():
            shape["format"] = "quantity"
        case Keyed(keys):
            shape["keys"] = shape["merge"] = list(keys)
        case Merge(keys):
            shape["merge"] = list(keys)
        case ListType("set"):
            shape["unique"] = True
        case ListType("atomic") | MapType("atomic"):
            shape["atomic"] = True
        case Rule(rule, message):
            shape.setdefault("rules", []).append({"rule": rule, "message": message})
        case _:
            assert isinstance(fact, (Since, FieldInfo, Ge, Le)), fact  # looked at before; the limits that a format's name says


def _root(shape: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """What is special at the top: `apiVersion`, `kind` and `metadata` belong to the API server."""
    fields = dict(shape["fields"])
    fields["apiVersion"] = {"type": "string"}
    fields["kind"] = {"type": "string"}
    fields["metadata"] = {**fields["metadata"], "meta": True}
    root = {**shape, "fields": fields}
    if resource.scale:
        root["replicas"] = resource.scale.replicas.strip(".").split(".")
    return root


def _table(root: dict[str, Any]) -> list[dict[str, Any]]:
    """The tree with each distinct shape once, children named by their index."""
    table: list[dict[str, Any]] = [{}]
    known: dict[str, int] = {}

    def place(shape: dict[str, Any]) -> int:
        flat = flatten(shape)
        text = json.dumps(flat)
        if text not in known:
            known[text] = len(table)
            table.append(flat)
        return known[text]

    def flatten(shape: dict[str, Any]) -> dict[str, Any]:
        flat = {key: value for key, value in shape.items() if key not in ("atomic", "rules")}
        if "fields" in shape:
            flat["fields"] = {name: place(child) for name, child in shape["fields"].items()}
        for key in ("values", "items"):
            if key in shape:
                flat[key] = place(shape[key])
        return flat

    table[0] = flatten(root)
    return table
