"""Models to structures: the schema of a kind at a release as a tree of plain data, which every form of schema is written from.

A structure is a mapping. `type` is an OpenAPI type, `int-or-string` or `any`; `fields`, `values` (of a map) and `items` hold
structures; `required`, `format` (`quantity` too), `pattern`, `enum`, `default`, `minimum` to `maxProperties`, `keys` (a list map's),
`unique` (a set), `atomic`, `granular` and `rules` (CEL) are the server's facts; `name` is the model's, `description` the field's or the
model's, `merge` the keys by which overlays merge a list, `one_of` the fields that exclude each other, `unset` what Go writes for an
absent field, `pointer` whether a scalar is a pointer in Go, `use` what replaces a field that later releases removed.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic.fields import FieldInfo

from jobspec.apis.releases import RELEASES, is_at_least
from jobspec.apis.shipped import load, path
from jobspec.models import base
from jobspec.models.customresourcedefinition import CustomResourceDefinition
from jobspec.schemas.shapes import SIZES

Structure = dict[str, Any]
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number"}
_INT_LIMITS = {-(2**31), 2**31 - 1, -(2**63), 2**63 - 1}  # the limits of the formats `int32` and `int64`, not of the schema


@cache
def structure_of(model: type[base.Model], release: str, version: str = "") -> Structure:
    """Return the structure of a kind at a release, in its newest *version* or the given one.

    The release is one of the kind's component. Callers share the structure and must not change it.
    """
    structure = _object_structure(model, _context_of(model.RESOURCE, release, version))  # type: ignore[attr-defined]
    for name in ("apiVersion", "kind"):
        field = structure["fields"][name]
        structure["fields"][name] = {"type": "string", "description": field["description"]}
    return structure


def facts_of(resource: base.Resource, release: str, version: str, facts: Iterable[object]) -> list[Any]:
    """Return the facts of a kind, such as its columns, that hold in a version at a release."""
    return list(_context_of(resource, release, version).facts(facts))


def _context_of(resource: base.Resource, release: str, version: str) -> _Context:
    """Return the releases that decide about a kind, with the kind's version.

    `v1beta2` counts as release 2 of `v1beta`.
    """
    version = version or resource.version
    stem = version.rstrip("0123456789")
    releases = {resource.component: release, stem: version.removeprefix(stem), **RELEASES[resource.component][release]}
    return _Context(releases, builtin=resource.component == "kubernetes")


def structure_of_part(model: type[base.Model]) -> Structure:
    """Return the structure of a model as part of a built-in kind, at the newest release."""
    return _object_structure(model, _Context(list(RELEASES["kubernetes"].values())[-1], builtin=True))


def placed(name: str, made: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Add a shape to *definitions* unless it is there, and return its name.

    If other shapes have the name, it gets a number.
    """
    found, number = name, 1
    while definitions.setdefault(found, made) != made:
        number += 1
        found = f"{name}{number}"
    return found


@dataclass(frozen=True, slots=True)
class _Context:
    """The releases by which facts hold. *builtin*: the API server itself has the kind."""

    releases: dict[str, str]
    _: KW_ONLY
    builtin: bool

    def holds(self, fact: base.Since | base.Until | base.InCustomKinds) -> bool:
        if isinstance(fact, base.InCustomKinds):
            return not self.builtin
        return is_at_least(self.releases[fact.component], fact.release) == isinstance(fact, base.Since)

    def facts(self, facts: Iterable[object]) -> Iterator[object]:
        """Yield the facts that hold, also inside of conditions.

        If a `Keyed` does not hold, its `Merge` remains.
        """
        for fact in facts:
            if not isinstance(fact, base.Since | base.Until | base.InCustomKinds):
                yield fact
            elif self.holds(fact):
                yield from self.facts(fact.facts)
            else:
                yield from (base.Merge(*inner.keys) for inner in fact.facts if isinstance(inner, base.Keyed))


def _object_structure(model: type[base.Model], context: _Context) -> Structure:
    fields = {}
    required = []
    for info in model.model_fields.values():
        ends = [fact for fact in info.metadata if isinstance(fact, base.Since | base.Until) and not fact.facts]
        if not all(context.holds(fact) for fact in ends):
            continue
        assert info.alias
        fields[info.alias] = _field_structure(info, context)
        if uses := [end.use for end in ends if end.use]:
            fields[info.alias]["use"] = uses[0]
        if info.is_required() or base.Required() in context.facts(info.metadata):
            required.append(info.alias)
    structure: Structure = {"type": "object", "name": model.__name__, "description": model.__doc__, "fields": fields}
    if required:
        structure["required"] = required
    _apply(context.facts(model.FACTS), structure, context)
    return structure


def _field_structure(info: FieldInfo, context: _Context) -> Structure:
    structure = _type(info.annotation, context)
    facts = list(context.facts(info.metadata))
    _apply(facts, structure, context)
    structure["description"] = info.description
    said_by_release = any(isinstance(fact, base.Since | base.Until) and base.Defaulted() in fact.facts for fact in info.metadata)
    if not info.is_required() and info.default is not None and (not said_by_release or base.Defaulted() in facts):
        is_object = isinstance(info.default, base.Model)
        structure["default"] = info.default.model_dump(by_alias=True, exclude_unset=True) if is_object else info.default
    return structure


def _type(annotation: Any, context: _Context) -> Structure:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated and base.Nested() in arguments:
        return {"type": "any"}
    if origin is Annotated:
        structure = _type(arguments[0], context)
        _apply(context.facts(arguments[1:]), structure, context)
        return structure
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
    return {"type": _SCALARS[annotation]} if annotation in _SCALARS else _object_structure(annotation, context)


def _union(arms: list[Any], context: _Context) -> Structure:
    if len(arms) == 1:
        return _type(arms[0], context)
    kinds = {_type(arm, context)["type"] for arm in arms}
    return {"type": "int-or-string" if kinds == {"integer", "string"} else "any"}


#: What a fact adds to the structure that it is about.
_ADDED: dict[type, Callable[[Any], Structure]] = {
    base.Format: lambda fact: {"format": fact.name},
    base.Pattern: lambda fact: {"pattern": fact.regex},
    base.Quantities: lambda _: {"format": "quantity"},
    base.Choices: lambda fact: {"enum": list(fact.values)},
    base.Keyed: lambda fact: {"keys": list(fact.keys), "merge": list(fact.keys)},
    base.Merge: lambda fact: {"merge": list(fact.keys)},
    base.ListType: lambda fact: {"unique" if fact.name == "set" else fact.name: True},
    base.MapType: lambda fact: {fact.name: True},
    base.Unset: lambda fact: {"unset": fact.written},
    base.GoPointer: lambda _: {"pointer": True},
}


def _apply(facts: Iterable[object], structure: Structure, context: _Context) -> None:
    """Add facts to the structure that they are about."""
    for fact in facts:
        match fact:
            case base.Type(annotation):
                structure.clear()
                structure |= _type(annotation, context)
            case Ge(limit) | Le(limit):
                structure |= {} if limit in _INT_LIMITS else {"minimum" if isinstance(fact, Ge) else "maximum": limit}
            case MinLen(limit) | MaxLen(limit):
                structure[("min" if isinstance(fact, MinLen) else "max") + SIZES[structure["type"]]] = limit
            case base.OneOf(names):
                structure["one_of"] = [name for name in structure["fields"] if name in names or (not names and name != "name")]
            case base.Validation(rule, message):
                structure.setdefault("rules", []).append({"rule": rule, "message": message})
            case base.Required() | base.Defaulted() | FieldInfo():
                pass  # looked at elsewhere
            case _:
                structure |= _ADDED[type(fact)](fact)


# The structure of a built-in kind at a release of Kubernetes: upstream's facts, and the words of our models where they describe a part.
#
# The facts come from `schemas/kubernetes.json`, which `upstream` makes: fields, types, required fields, list keys, defaults. Models give
# descriptions, the order of fields, and by what overlays merge a list. A CustomResourceDefinition holds itself, which the table cannot
# express: its model is the whole of its structure.


_WORDS = ("description", "merge", "one_of", "pointer")
_INNER = ("items", "values")


@cache
def _upstream() -> dict[str, Any]:
    loaded: dict[str, Any] = load(path("schemas", "kubernetes.json"))
    return loaded


def releases_of(api_version: str, kind: str) -> list[str]:
    """Return the releases that serve a built-in kind, oldest first."""
    if kind == CustomResourceDefinition.__name__:
        return list(RELEASES["kubernetes"])
    return [release for release, served in _upstream()["releases"].items() if f"{api_version} {kind}" in served]


@cache
def structure_of_builtin(api_version: str, kind: str, release: str) -> Structure:
    """Return the structure of a kind at a release that serves the kind.

    Callers share the structure and must not change it.
    """
    if kind == CustomResourceDefinition.__name__:
        return structure_of(CustomResourceDefinition, release)
    return _built(_upstream()["releases"][release][f"{api_version} {kind}"], {})


def _built(index: int, words: Structure) -> Structure:
    """The structure of a row; *words* is what a model says of the place, empty where none does."""
    row = _upstream()["structures"][index]
    definition = row.get("definition", "")
    if definition:
        general = _descriptions(definition)
        words = {**general, **words, "fields": {**general.get("fields", {}), **words.get("fields", {})}}
    made = {key: value for key, value in row.items() if key not in ("fields", "definition", *_INNER)}
    made |= {key: words[key] for key in _WORDS if key in words}
    made.setdefault("description", "")
    if definition:
        made["name"] = definition.rpartition(".")[2]
        made["fields"] = _fields(row["fields"], words["fields"])
    return made | {key: _built(row[key], words.get(key, {})) for key in _INNER if key in row}


def _fields(rows: dict[str, int], words: dict[str, Structure]) -> dict[str, Structure]:
    """The fields of an object, in the order of the model that describes it."""
    order = [*(name for name in words if name in rows), *(name for name in rows if name not in words)]
    return {name: _built(rows[name], words.get(name, {})) for name in order}


@cache
def _descriptions(definition: str) -> Structure:
    """The descriptions of a definition from its model; empty without one."""
    model = _models().get(definition)
    return structure_of_part(model) if model else {}


@cache
def _models() -> dict[str, type[base.Model]]:
    """The models that describe definitions of upstream's, wherever these stand; inside, they describe what their fields refer to."""
    from jobspec.models.meta import Condition, LabelSelector, ObjectMeta
    from jobspec.models.pod.pod import Pod, PodTemplate
    from jobspec.models.pod.spec import PodSpec, PodTemplateSpec
    from jobspec.models.pod.volume import PersistentVolumeClaim

    return {
        "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": Condition,
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": LabelSelector,
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": ObjectMeta,
        "io.k8s.api.core.v1.PersistentVolumeClaim": PersistentVolumeClaim,
        "io.k8s.api.core.v1.Pod": Pod,
        "io.k8s.api.core.v1.PodSpec": PodSpec,
        "io.k8s.api.core.v1.PodTemplate": PodTemplate,
        "io.k8s.api.core.v1.PodTemplateSpec": PodTemplateSpec,
    }
