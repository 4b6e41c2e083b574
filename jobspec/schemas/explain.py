"""`jobspec explain`: find a path in the structure of a kind, and give the facts about it at one release and across releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, get_args

from jobspec.apis.kinds import Kind, built_in, with_schema
from jobspec.apis.releases import RELEASES, Target, release_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Key
from jobspec.models.base import Model, Resource
from jobspec.schemas.kinds import releases_with, structure_of_kind
from jobspec.schemas.structure import Structure, releases_of, structure_of, structure_of_builtin

Facts = dict[str, list[str]]


@dataclass(frozen=True)
class Field:
    """One line of a list of fields."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class FieldPage:
    """All facts about one field."""

    title: str
    type: str
    version: str
    """The API version, and the release that the page is about."""
    note: str
    """What to do if the requested release does not have the place; empty if it has."""
    meaning: list[str]
    facts: Facts
    fields: list[Field]
    elsewhere: list[Field]
    """Fields that only other releases have."""


def page(root: ExplainedKind, steps: Sequence[str], release: str) -> FieldPage:
    """Return the page of the field at *steps*. A `Key` is a step in brackets.

    Raises JobspecError if there is no such place.
    """
    places = places_of(root, steps, release)
    shown = _nearest(places, release, root)
    place = places[shown]
    return FieldPage(
        title=place.path,
        type=type_of(place.structure),
        version=f"{root.api_version}, {root.component} {shown}",
        note=_absence(places, release, shown, root),
        meaning=_meaning(place),
        facts=_facts_across(places, shown) | _releases(places, root),
        fields=list(_fields(places, shown)),
        elsewhere=list(_elsewhere(places, shown)),
    )


def outline(root: ExplainedKind, steps: Sequence[str], release: str) -> Iterator[tuple[int, str, str]]:
    """Yield the depth, name and type of all fields below a place.

    Raises JobspecError if the release does not have the place.
    """
    places = places_of(root, steps, release)
    if release not in places:
        raise JobspecError(_absence(places, release, _nearest(places, release, root), root))
    yield from _outline(object_of(places[release].structure), 0)


def _outline(structure: Structure, depth: int) -> Iterator[tuple[int, str, str]]:
    for name, child in structure.get("fields", {}).items():
        yield depth, name, _shown_type(structure, name)
        yield from _outline(object_of(child), depth + 1)


def field_lines(root: ExplainedKind, steps: Sequence[str], release: str) -> Iterator[str]:
    """Yield a line for each field below a place in any release.

    The line has the field's path as messages spell it, its type, and all facts about it.
    """
    left = list(reversed(_below_each(places_of(root, steps, release))))
    while left:
        places = left.pop()
        shown = _nearest(places, release, root)
        facts = _facts_across(places, shown)
        span = _span(list(places), root.releases)
        said = [each.replace("yes", "required") for each in facts.pop("required", ())] + facts.pop("limits", [])
        said += [f"{heading}: {line}" for heading, lines in facts.items() if heading not in _LONG for line in lines]
        said += [f"{root.component} {span}"] if span else []
        yield " ".join(f"{places[shown].path} <{type_of(places[shown].structure)}> {'; '.join(said)}".split())
        left += reversed(_below_each(places))


_LONG = ("rules", "overlays", "object")


def _below_each(places: dict[str, FieldPlace]) -> list[dict[str, FieldPlace]]:
    """Return the fields below a place, also those of items and values.

    Each field has its place in the releases that have the field.
    """
    found: dict[str, dict[str, FieldPlace]] = {}
    for release, place in places.items():
        inner = _enter(place)
        for name in inner.structure.get("fields", {}):
            found.setdefault(name, {})[release] = inner.field(name)
    return list(found.values())


def _meaning(place: FieldPlace) -> list[str]:
    """The description of the place, and that of its type, as far as a model of ours has one."""
    own = f"{place.description[:1].upper()}{place.description[1:]}"
    about = (place.model.__doc__ or "") if place.model and "fields" in object_of(place.structure) else ""
    return list(dict.fromkeys(filter(None, (own if own.endswith(".") or not own else f"{own}.", about))))


def _shown_type(structure: Structure, name: str) -> str:
    required = ", required" if name in structure.get("required", ()) else ""
    return f"{type_of(structure['fields'][name])}{required}"


_COUNTED = {"Length": "characters", "Items": "items", "Properties": "entries"}
_FORMATS = {
    "int32": "32 bits: -2147483648 to 2147483647",
    "int64": "64 bits: -9223372036854775808 to 9223372036854775807",
    "date-time": "a time as in RFC 3339, `2026-01-31T12:00:00Z`",
    "quantity": "an integer, or a string such as `500m` or `8Gi`",
    "micro-time": "a time with six digits behind the second, `2026-01-31T12:00:00.000000Z`",
    "byte": "bytes in base64",
}


def _facts(place: FieldPlace) -> Facts:
    """The facts about a place, by heading."""
    structure = place.structure
    inner = object_of(structure)
    is_list = structure["type"] == "array"
    return {
        "type": [type_of(structure)],
        "required": ["yes"] if place.required else [],
        "default": [_json(structure["default"])] if "default" in structure else [],
        "limits": _explained_limits(structure),
        f"each {'item' if is_list else 'value'}": _explained_limits(inner) if inner is not structure and "fields" not in inner else [],
        "list": [_list_type(structure)] if is_list else [],
        "overlays": [_merging(structure)] if is_list else [],
        "object": ["a server-side apply replaces it as a whole"] if "atomic" in structure and not is_list else [],
        "rules": [_explained_cel_rule(rule) for rule in structure.get("rules", ())],
    }


def _explained_limits(structure: Structure) -> list[str]:
    limits = [
        f"one of {', '.join(_json(each) for each in structure['enum'])}" if "enum" in structure else "",
        _bounds(structure.get("minimum"), structure.get("maximum")),
        *(_count(structure, name, what) for name, what in _COUNTED.items()),
        _FORMATS[structure["format"]] if "format" in structure else "",
        f"matches `{structure['pattern']}`" if "pattern" in structure else "",
        *(f"{name}: {_json(value)}" for name, value in structure.get("conditions", {}).items()),
    ]
    return [limit for limit in limits if limit]


def _count(structure: Structure, name: str, what: str) -> str:
    bounds = _bounds(structure.get(f"min{name}"), structure.get(f"max{name}"))
    one = {"entries": "entry"}.get(what, what[:-1])
    return f"{bounds} {one if bounds.rpartition(' ')[2] == '1' else what}" if bounds else ""


def _bounds(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f"{least} to {most}"
    return f"at least {least}" if least is not None else f"at most {most}" if most is not None else ""


def _list_type(structure: Structure) -> str:
    if "keys" in structure:
        return f"no two items have the same {_quoted_keys(structure['keys'])}; a server-side apply merges by it"
    return "no duplicate items" if "unique" in structure else "a server-side apply replaces it as a whole"


def _merging(structure: Structure) -> str:
    return f"merge the items by {_quoted_keys(structure['merge'])}" if "merge" in structure else "replace the list; `$append` adds to it"


def _quoted_keys(keys: list[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


def _explained_cel_rule(rule: dict[str, str]) -> str:
    return f'cannot change ("{rule["message"]}")' if rule["rule"] == "self == oldSelf" else f'"{rule["message"]}": {rule["rule"]}'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _facts_across(places: dict[str, FieldPlace], shown: str) -> Facts:
    """Return the facts of all releases, the *shown* release first.

    If a fact does not hold in all releases, a note says in which it holds.
    """
    facts = {release: _facts(place) for release, place in places.items()}
    across: Facts = {}
    for heading in dict.fromkeys(heading for release in (shown, *places) for heading in facts[release]):
        holding: dict[str, list[str]] = {line: [] for release in (shown, *places) for line in facts[release].get(heading, ())}
        for line, releases in holding.items():
            releases += [release for release in places if line in facts[release].get(heading, ())]
        if heading != "type" or len(holding) > 1:  # the title says it
            across[heading] = [_with_note(line, _span(releases, list(places))) for line, releases in holding.items()]
    return {heading: lines for heading, lines in across.items() if lines}


def _with_note(text: str, note: str) -> str:
    return f"{text} ({note})" if text and note else text or note


def _releases(places: dict[str, FieldPlace], root: ExplainedKind) -> Facts:
    known = root.known
    if len(known) == 1:
        return {}
    span = _span(list(places), known) or f"all, {known[0]} to {known[-1]}"
    use = list(places.values())[-1].use
    return {"releases": [f"{root.component}: {span}{f'; use {use}' if use else ''}"]}


def _span(having: list[str], known: list[str]) -> str:
    """The releases *having* something, as a range of the *known* ones; empty if all have it."""
    first, last = known.index(having[0]), known.index(having[-1])
    if having != known[first : last + 1]:
        return ", ".join(having)
    if having[0] != known[0] and having[-1] != known[-1]:
        return f"{having[0]} only" if len(having) == 1 else f"{having[0]} to {having[-1]}"
    return f"since {having[0]}" if having[0] != known[0] else f"until {having[-1]}" if having[-1] != known[-1] else ""


def _fields(places: dict[str, FieldPlace], shown: str) -> Iterator[Field]:
    """The fields of a place, with a note if not all releases have them."""
    structure = object_of(places[shown].structure)
    for name, child in structure.get("fields", {}).items():
        yield Field(name, _shown_type(structure, name), _with_note(child["description"], _note(places, name)))


def _elsewhere(places: dict[str, FieldPlace], shown: str) -> Iterator[Field]:
    seen = set(object_of(places[shown].structure).get("fields", ()))
    for place in places.values():
        structure = object_of(place.structure)
        for name, child in structure.get("fields", {}).items():
            if name not in seen:
                seen.add(name)
                note, description = _note(places, name), child["description"]
                yield Field(name, type_of(child), f"{note}: {description}" if description else note)


def _note(places: dict[str, FieldPlace], name: str) -> str:
    """The releases that have a field, and what replaces it; empty if all have it."""
    fields = {release: object_of(place.structure).get("fields", {}) for release, place in places.items()}
    having = [release for release in places if name in fields[release]]
    span = _span(having, list(places))
    use = fields[having[-1]][name].get("use", "")
    return f"{span}; use {use}" if span and use else span


def _nearest(places: dict[str, FieldPlace], release: str, root: ExplainedKind) -> str:
    """Return the release, if it has the place; else the last one before with it, or the first."""
    known = root.known
    earlier = [each for each in places if known.index(each) <= known.index(release)]
    return earlier[-1] if earlier else next(iter(places))


def _absence(places: dict[str, FieldPlace], release: str, shown: str, root: ExplainedKind) -> str:
    """A sentence for a release without the place, with what to do; empty if it has the place."""
    known = root.known
    if known.index(shown) == known.index(release):
        return ""
    if known.index(shown) > known.index(release):
        return f"{root.component} {release} does not have it yet: added in {shown}."
    gone = known[known.index(shown) + 1]
    use = places[shown].use
    return f"{root.component} {release} does not have it: it was removed in {gone}{f'; use {use}' if use else ''}."


# Find a path such as `TrainJob.spec.trainer` in the structure of a kind, release by release.


@dataclass(frozen=True)
class ExplainedKind:
    """A kind whose fields are explained."""

    name: str
    api_version: str
    component: str
    releases: list[str]
    """The releases of the component that have the kind, oldest first."""
    structure: Callable[[str], Structure]
    """The structure of the kind at one of them."""
    model: type[Model] | None = None

    @property
    def known(self) -> list[str]:
        """Return the known releases of the component, those without the kind too, oldest first."""
        return list(RELEASES.get(self.component, self.releases))

    def release_in(self, target: Target) -> str:
        """Return the release of the component in a target. If targets have no such component, return its newest one."""
        return release_of(self.component, target) if self.component in RELEASES else self.releases[-1]


def root_of(model: type[Model], version: str = "") -> ExplainedKind:
    """Return the kind that a model describes, in its newest *version* or the given one."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    api_version = f"{resource.group}/{version or resource.version}"
    releases = list(RELEASES[resource.component])
    return ExplainedKind(
        model.__name__, api_version, resource.component, releases, lambda release: structure_of(model, release, version), model
    )


def roots_of_operators() -> dict[str, list[ExplainedKind]]:
    """Return the versions of the operators' kinds without a model, by kind.

    The newest version comes first.
    """
    roots: dict[str, list[ExplainedKind]] = {}
    for kind in with_schema():
        if kind.component and not kind.has_model and not kind.is_builtin:
            found = [_operator_root(kind, each) for each in reversed(kind.api_versions)]
            roots[kind.name] = [*found, *roots.get(kind.name, ())]
    return roots


def _operator_root(kind: Kind, api_version: str) -> ExplainedKind:
    having = releases_with(kind, api_version)
    return ExplainedKind(kind.name, api_version, kind.component, having, lambda release: structure_of_kind(kind, api_version, release))


def builtin_roots() -> dict[str, ExplainedKind]:
    """Return the built-in kinds by name, each in the version that clients prefer.

    If two kinds have one name, the kind of the core group counts.
    """
    roots: dict[str, ExplainedKind] = {}
    for kind in built_in():
        version = max(kind.api_versions, key=lambda each: ("beta" not in each, each))
        if kind.name not in roots or not kind.group:
            roots[kind.name] = _builtin_root(version, kind.name)
    return roots


def _builtin_root(api_version: str, kind: str) -> ExplainedKind:
    releases = releases_of(api_version, kind)
    return ExplainedKind(kind, api_version, "kubernetes", releases, lambda release: structure_of_builtin(api_version, kind, release))


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
        """Return the place of an item of the list, or of a value of the map."""
        inner = self.structure.get("items") or self.structure["values"]
        description = inner.get("description", self.description)
        return replace(self, path=f"{self.path}[{key}]", structure=inner, description=description, required=False)

    def field(self, name: str) -> FieldPlace:
        """Return the place of a field of the object."""
        structure, required = self.structure["fields"][name], name in self.structure.get("required", ())
        model, use = _model_of(self.model, name), structure.get("use", self.use)
        return FieldPlace(f"{self.path}.{name}", structure, structure["description"], model, required, use)


class _NoSuchPlace(Exception):
    """A place has no such step."""

    def __init__(self, place: FieldPlace, step: str) -> None:
        self.place = place
        self.step = step


def places_of(root: ExplainedKind, steps: Sequence[str], release: str) -> dict[str, FieldPlace]:
    """Return the place at *steps* in each release that has it. A `Key` is a step in brackets.

    Raises JobspecError, with what is wrong with the path, if no release has the place. If several releases fail at the same step,
    *release* is reported.
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


def has_place(root: ExplainedKind, steps: Sequence[str]) -> bool:
    """True if a kind has a place at *steps* in any release."""
    try:
        return bool(places_of(root, steps, root.releases[-1]))
    except JobspecError:
        return False


def _walk(place: FieldPlace, steps: Sequence[str]) -> FieldPlace:
    left = list(steps)
    while left:
        place, left = _step(place, left)
    return place


def _step(place: FieldPlace, steps: list[str]) -> tuple[FieldPlace, list[str]]:
    """Return the place one step further, and the steps left.

    Items and map values are entered if the step is a field inside them.
    """
    step, rest = steps[0], steps[1:]
    structure = place.structure
    if step in structure.get("fields", {}) and not isinstance(step, Key):
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
        return f"`{place.path}` is not a list or map, and has no `[{step}]`"
    if not place.structure.get("fields"):
        return f"`{place.path}` ({type_of(place.structure)}) has no fields, so no `{step}`"
    meant = next(filter(None, (_meant(failure) for failure in failures)), "")
    more = f"did you mean `{meant}`?" if meant else f"the fields are {', '.join(place.structure['fields'])}"
    return f"unknown field `{step}` in `{place.path}`: {more}"


def _meant(failure: _NoSuchPlace) -> str:
    """The path that was meant by a misspelt or misplaced field; empty if none is near."""
    place, step = failure.place, failure.step.lower()
    by_lower = {name.lower(): name for name in place.structure.get("fields", {})}
    if step not in by_lower and (deeper := _below(place, failure.step)):
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
    """Return the structure with the fields of a place: of its items, its values, or its own."""
    inner: Structure = structure.get("items") or structure.get("values") or structure
    return inner


def type_of(structure: Structure) -> str:
    """Return the type in the notation of `kubectl explain`: `[]Container`, `map[string]string`."""
    if "items" in structure:
        return f"[]{type_of(structure['items'])}"
    if "values" in structure:
        return f"map[string]{type_of(structure['values'])}"
    by_format = {"quantity": "quantity", "date-time": "time", "micro-time": "time", "byte": "bytes"}
    return str(structure.get("name") or by_format.get(structure.get("format", ""), structure["type"]))
