"""The facts about a field, at one release and across releases, for `jobspec explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobspec.diagnostics import JobspecError
from jobspec.schemas.places import FieldPlace, Root, object_of, places_of, type_of
from jobspec.targets import RELEASES

if TYPE_CHECKING:
    from jobspec.schemas.structure import Structure

    Facts = dict[str, list[str]]


@dataclass(frozen=True)
class Field:
    """One line of a list of fields."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class Page:
    """All facts about a place."""

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


def page(root: Root, steps: Sequence[str], release: str) -> Page:
    """The page of the place at *steps*; a `Key` is a step in brackets. Raises JobspecError if there is no such place."""
    places = places_of(root, steps, release)
    shown = _nearest(places, release, root.component)
    place = places[shown]
    return Page(
        title=place.path,
        type=type_of(place.structure),
        version=f"{root.api_version}, {root.component} {shown}",
        note=_absence(places, release, shown, root.component),
        meaning=_meaning(place),
        facts=_facts_across(places, shown) | _releases(places, root.component),
        fields=list(_fields(places, shown)),
        elsewhere=list(_elsewhere(places, shown)),
    )


def outline(root: Root, steps: Sequence[str], release: str) -> Iterator[tuple[int, str, str]]:
    """All fields below a place: the depth, name and type of each."""
    places = places_of(root, steps, release)
    if release not in places:
        raise JobspecError(_absence(places, release, _nearest(places, release, root.component), root.component))
    yield from _outline(object_of(places[release].structure), 0)


def _outline(structure: Structure, depth: int) -> Iterator[tuple[int, str, str]]:
    for name, child in structure.get("fields", {}).items():
        yield depth, name, _shown_type(structure, name)
        yield from _outline(object_of(child), depth + 1)


def _meaning(place: FieldPlace) -> list[str]:
    """The description of the place, and that of its type; none of what no model of ours describes."""
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
    "quantity": "an integer, or text such as `500m` or `8Gi`",
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
        "limits": _limits(structure),
        f"each {'item' if is_list else 'value'}": _limits(inner) if inner is not structure and "fields" not in inner else [],
        "list": [_list_type(structure)] if is_list else [],
        "overlays": [_merging(structure)] if is_list else [],
        "object": ["a server-side apply replaces it as a whole"] if "atomic" in structure and not is_list else [],
        "rules": [_rule(rule) for rule in structure.get("rules", ())],
    }


def _limits(structure: Structure) -> list[str]:
    limits = [
        f"one of {', '.join(_json(each) for each in structure['enum'])}" if "enum" in structure else "",
        _bounds(structure.get("minimum"), structure.get("maximum")),
        *(_count(structure, name, what) for name, what in _COUNTED.items()),
        _FORMATS[structure["format"]] if "format" in structure else "",
        f"matches `{structure['pattern']}`" if "pattern" in structure else "",
    ]
    return [limit for limit in limits if limit]


def _count(structure: Structure, name: str, what: str) -> str:
    bounds = _bounds(structure.get(f"min{name}"), structure.get(f"max{name}"))
    return f"{bounds} {what}" if bounds else ""


def _bounds(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f"{least} to {most}"
    return f"at least {least}" if least is not None else f"at most {most}" if most is not None else ""


def _list_type(structure: Structure) -> str:
    if "keys" in structure:
        return f"no two items have the same {_names(structure['keys'])}; a server-side apply merges by it"
    return "no item stands twice" if "unique" in structure else "a server-side apply replaces it as a whole"


def _merging(structure: Structure) -> str:
    if "merge" in structure:
        return f"merge the items by {_names(structure['merge'])}"
    return "replace the list; `$append` adds to it"


def _names(keys: list[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


def _rule(rule: dict[str, str]) -> str:
    return f'cannot change ("{rule["message"]}")' if rule["rule"] == "self == oldSelf" else f'"{rule["message"]}": {rule["rule"]}'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _facts_across(places: dict[str, FieldPlace], shown: str) -> Facts:
    """The facts of all releases, those of the *shown* one first; a note says in which releases one holds, unless in all."""
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


def _releases(places: dict[str, FieldPlace], component: str) -> Facts:
    known = list(RELEASES[component])
    if len(known) == 1:
        return {}
    span = _span(list(places), known) or f"all, {known[0]} to {known[-1]}"
    use = list(places.values())[-1].use
    return {"releases": [f"{component}: {span}{f'; use {use}' if use else ''}"]}


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


def _nearest(places: dict[str, FieldPlace], release: str, component: str) -> str:
    """The release, if it has the place; otherwise the last one before it that has, or else the first."""
    known = list(RELEASES[component])
    earlier = [each for each in places if known.index(each) <= known.index(release)]
    return earlier[-1] if earlier else next(iter(places))


def _absence(places: dict[str, FieldPlace], release: str, shown: str, component: str) -> str:
    """A sentence for a release without the place, with what to do; empty if it has the place."""
    known = list(RELEASES[component])
    if known.index(shown) == known.index(release):
        return ""
    if known.index(shown) > known.index(release):
        return f"{component} {release} does not have it yet: it came with {shown}."
    gone = known[known.index(shown) + 1]
    use = places[shown].use
    return f"{component} {release} does not have it: it was removed in {gone}{f'; use {use}' if use else ''}."
