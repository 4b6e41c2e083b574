"""Find a path such as `TrainJob.spec.trainer` in the structure of a kind, release by release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from jobspec.diagnostics import JobspecError, Key
from jobspec.kinds import built_in
from jobspec.models.base import Model, Resource
from jobspec.schemas.structure import releases_of, structure_of, structure_of_builtin
from jobspec.targets import RELEASES

if TYPE_CHECKING:
    from jobspec.schemas.structure import Structure


@dataclass(frozen=True)
class Root:
    """A kind whose places are explained."""

    name: str
    api_version: str
    component: str
    releases: list[str]
    """The releases of the component that have the kind, oldest first."""
    structure: Callable[[str], Structure]
    """The structure of the kind at one of them."""
    model: type[Model] | None = None


def root_of(model: type[Model]) -> Root:
    """A kind that a model describes."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    releases = list(RELEASES[resource.component])
    return Root(model.__name__, resource.api_version, resource.component, releases, lambda release: structure_of(model, release), model)


def builtin_roots() -> dict[str, Root]:
    """The built-in kinds by name, each in the version that clients prefer; of two of a name, that of the core group."""
    roots: dict[str, Root] = {}
    for kind in built_in():
        version = max(kind.api_versions, key=lambda each: ("beta" not in each, each))
        if kind.name not in roots or not kind.group:
            roots[kind.name] = _builtin_root(version, kind.name)
    return roots


def _builtin_root(api_version: str, kind: str) -> Root:
    releases = releases_of(api_version, kind)
    return Root(kind, api_version, "kubernetes", releases, lambda release: structure_of_builtin(api_version, kind, release))


@dataclass(frozen=True)
class FieldPlace:
    """A place in the structure of a kind."""

    path: str
    structure: Structure
    description: str
    model: type[Model] | None
    required: bool = False
    use: str = ""

    def inside(self, key: str) -> FieldPlace:
        """An item of the list, or a value of the map."""
        inner = self.structure.get("items") or self.structure["values"]
        return replace(
            self, path=f"{self.path}[{key}]", structure=inner, description=inner.get("description", self.description), required=False
        )

    def field(self, name: str) -> FieldPlace:
        """A field of the object."""
        structure = self.structure["fields"][name]
        return FieldPlace(
            f"{self.path}.{name}",
            structure,
            structure["description"],
            _model_of(self.model, name),
            name in self.structure.get("required", ()),
            structure.get("use", self.use),
        )


class _NoSuchPlace(Exception):
    """A place has no such step."""

    def __init__(self, place: FieldPlace, step: str) -> None:
        self.place = place
        self.step = step


def places_of(root: Root, steps: Sequence[str], release: str) -> dict[str, FieldPlace]:
    """The place at *steps* in each release that has it; a `Key` is a step in brackets.

    Raises JobspecError if no release has it, with what is wrong with the path, by *release* if several fail at the same step.
    """
    places = {}
    failures = []
    for each in root.releases:
        structure = root.structure(each)
        try:
            places[each] = _walk(FieldPlace(root.name, structure, structure["description"], root.model), steps)
        except _NoSuchPlace as failure:
            failures.append((failure, each))
    if not places:
        failures.sort(key=lambda pair: (-len(pair[0].place.path), pair[1] != release))
        raise JobspecError(_complaint([failure for failure, _ in failures]))
    return places


def _walk(place: FieldPlace, steps: Sequence[str]) -> FieldPlace:
    left = list(steps)
    while left:
        place, left = _step(place, left)
    return place


def _step(place: FieldPlace, steps: list[str]) -> tuple[FieldPlace, list[str]]:
    """The place one step further, and the steps left. Items and map values are entered if the step is a field inside them."""
    step, rest = steps[0], steps[1:]
    structure = place.structure
    fields = structure.get("fields", {})
    if step in fields and not isinstance(step, Key):
        return place.field(step), rest
    if not structure.keys() & {"items", "values"}:
        raise _NoSuchPlace(place, step)
    if isinstance(step, Key) or ("items" in structure and step.isdecimal()):
        return place.inside(step), rest
    inner = place.inside("")
    known = inner.structure.get("fields", {})
    if "items" in structure or step in known:
        return inner, steps
    if get_close_matches(step.lower(), [name.lower() for name in known], cutoff=0.75):
        raise _NoSuchPlace(inner, step)
    return (place.inside(step), rest) if known else (place.inside(".".join(steps)), [])  # `limits.nvidia.com/gpu`


def _complaint(failures: list[_NoSuchPlace]) -> str:
    """Why there is no such place; *failures* has that of each release, the deepest first."""
    place, step = failures[0].place, failures[0].step
    if isinstance(step, Key):
        return f"`{place.path}` is no list or map, so `[{step}]` is nothing in it"
    if not place.structure.get("fields"):
        return f"`{place.path}` ({type_of(place.structure)}) has no fields, so no `{step}`"
    meant = next(filter(None, (_meant(failure) for failure in failures)), "")
    more = f"did you mean `{meant}`?" if meant else f"the fields are {', '.join(place.structure['fields'])}"
    return f"`{place.path}` has no field `{step}`: {more}"


def _meant(failure: _NoSuchPlace) -> str:
    """The path that was meant by a misspelt or misplaced field; empty if none is near."""
    place, step = failure.place, failure.step.lower()
    by_lower = {name.lower(): name for name in place.structure.get("fields", {})}
    if step not in by_lower:
        deeper = _below(place, failure.step)
        if deeper:
            return deeper
    near = get_close_matches(step, by_lower, n=1)
    return f"{place.path}.{by_lower[near[0]]}" if near else ""


def _below(place: FieldPlace, name: str) -> str:
    """The shortest path below a place that ends in a field of this name."""
    level = [place]
    while level:
        level = [inner.field(each) for outer in level for inner in [_enter(outer)] for each in inner.structure.get("fields", {})]
        for found in level:
            if found.path.endswith(f".{name}"):
                return found.path
    return ""


def _enter(place: FieldPlace) -> FieldPlace:
    return place.inside("") if place.structure.keys() & {"items", "values"} else place


@cache
def _model_of(model: type[Model] | None, name: str) -> type[Model] | None:
    """The model of a field, of its items or its values."""
    fields = model.model_fields.values() if model else ()
    return next((_model_in(info.annotation) for info in fields if info.alias == name), None)


def _model_in(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def object_of(structure: Structure) -> Structure:
    """The structure that has the fields of a place: that of each item or map value, or its own."""
    inner: Structure = structure.get("items") or structure.get("values") or structure
    return inner


def type_of(structure: Structure) -> str:
    """The type in the notation of `kubectl explain`: `[]Container`, `map[string]string`."""
    if "items" in structure:
        return f"[]{type_of(structure['items'])}"
    if "values" in structure:
        return f"map[string]{type_of(structure['values'])}"
    named = {"quantity": "quantity", "date-time": "time", "micro-time": "time", "byte": "bytes"}.get(
        structure.get("format", ""), structure["type"]
    )
    return str(structure.get("name", named))
