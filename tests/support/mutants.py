"""Random mistakes in manifests, and unusual values that are none."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

import yaml

from jobspec.schemas.shapes import Shape
from tests.support.reference import ROOT
from tests.support.rewriting import broken, restyled

TEXTS = yaml.load((ROOT / "tests" / "cases" / "mutants" / "texts.yaml").read_text(), yaml.CSafeLoader)
_META: dict[str, list[str]] = TEXTS["metadata"]
_FITTING = {
    "boolean": ("true", "false", "y", "off", "'true'", "1"),
    "string": ("a", "''", "'1'", "TCP", "ä"),
    "int-or-string": ("1", "a", "'1'", "50%", "1.0", "1.5", "true"),
    "number": ("1", "1.5"),
    "any": ("a", "1", "{}"),
}

Change = Callable[[str, Shape, Random], str]
"""Makes another manifest of one with a shape."""


class Map(list[Any]):
    """A mapping as a list of `[key, value]`, so that a key may stand twice; scalars are their YAML text."""


def tree_of(text: str) -> Any:
    """The first document of a text as a tree that can be mutated."""
    return _copy(_read(text))


def can_be_read(text: str) -> bool:
    """Whether the parser takes a text; an alias may name an anchor of an earlier document, or one around it."""
    try:
        return _read(text) is not None
    except (yaml.YAMLError, RecursionError):
        return False


@cache
def _read(text: str) -> Any:
    return _tree(yaml.compose(text, yaml.CSafeLoader))


def _tree(node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return Map([_key(key), _tree(value)] for key, value in node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_tree(item) for item in node.value]
    return _scalar(node)


def _key(node: Any) -> str:
    """A key, which one of our cases writes as a list."""
    return f"[{', '.join(map(_scalar, node.value))}]" if isinstance(node, yaml.SequenceNode) else _scalar(node)


def _scalar(node: Any) -> str:
    return node.value if not node.style and "\n" not in node.value else json.dumps(node.value, ensure_ascii=False)


def write(tree: Any) -> str:
    """The tree in block style."""
    return "\n".join(_lines(tree)) + "\n"


def _lines(tree: Any) -> Iterator[str]:
    if not isinstance(tree, list):
        yield str(tree)
    elif not tree:
        yield "{}" if isinstance(tree, Map) else "[]"
    elif isinstance(tree, Map):
        for key, value in tree:
            if isinstance(value, list) and value:
                yield f"{key}:"
                yield from (f"  {line}" for line in _lines(value))
            else:
                yield f"{key}: {next(_lines(value))}"
    else:
        for item in tree:
            for number, line in enumerate(_lines(item)):
                yield f"  {line}" if number else f"- {line}"


def mutant(base: str, shape: Shape, random: Random) -> str:
    """The manifest after a random change of any kind."""
    return random.choices((at_one_place, at_two_places, in_the_text), weights=(6, 2, 1))[0](base, shape, random)


def at_one_place(base: str, shape: Shape, random: Random) -> str:
    """The manifest after one change."""
    tree = tree_of(base)
    _change(tree, shape, random, (*_WITHIN, *_BESIDE_SPEC))
    return write(tree)


def at_two_places(base: str, shape: Shape, random: Random) -> str:
    """The manifest after two changes in different parts of it, neither of which is inside the other."""
    tree = tree_of(base)
    spec = next(((value, _child(shape, key)) for key, value in tree if key == "spec" and isinstance(value, Map) and value), None)
    if spec and random.random() < 0.4:
        _change(tree, shape, random, _BESIDE_SPEC)
        _change(*spec, random, _WITHIN)
    else:
        for part, at in _two_parts(tree, shape, random):
            _change(part, at, random, _WITHIN)
    return write(tree)


def in_the_text(base: str, _: Shape, random: Random) -> str:
    """The manifest after one change of its text."""
    return broken(base, random)


def in_other_words(base: str, _: Shape, random: Random) -> str:
    """The manifest written in another style, with the same meaning."""
    return restyled(base, random)


def _change(tree: Map, shape: Any, random: Random, changes: Sequence[Callable[[Any, Any, Random], None]]) -> None:
    """Change a part of a manifest; its shape is None where the schema does not know it."""
    before = _copy(tree)
    while tree == before:
        random.choice(changes)(tree, shape, random)


def _two_parts(tree: Map, shape: Shape, random: Random) -> list[tuple[Map, Shape | None]]:
    """Two mappings of which neither is inside the other; the whole manifest twice where there are none."""
    places = [(place, at) for place, at in _maps(tree, shape) if place]
    for one in random.sample(places, len(places)):
        apart = [each for each in places if not _holds(each[0], one[0]) and not _holds(one[0], each[0])]
        if apart:
            return [one, random.choice(apart)]
    return [places[0], places[0]]


def _holds(outer: Map, inner: Map) -> bool:
    return any(each is inner for each, _ in _maps(outer, None))


def _maps(tree: Any, shape: Shape | None) -> Iterator[tuple[Map, Shape | None]]:
    """Every mapping with its shape."""
    if isinstance(tree, Map):
        yield tree, shape
        for key, value in tree:
            yield from _maps(value, _child(shape, key))
    elif isinstance(tree, list):
        for item in tree:
            yield from _maps(item, shape.items if shape else None)


def _child(shape: Shape | None, key: str) -> Shape | None:
    if shape is None:
        return None
    return shape.values if shape.fields is None else shape.fields.get(key)


def _pair(tree: Any, random: Random) -> tuple[Map, int]:
    place = random.choice([each for each, _ in _maps(tree, None) if each] or [Map([["a", "b"]])])
    return place, random.randrange(len(place))


def _list(tree: Any, random: Random) -> list[Any]:
    lists = [value for each, _ in _maps(tree, None) for _, value in each if type(value) is list and value]
    return random.choice(lists or [["a"]])


def _copy(tree: Any) -> Any:
    if isinstance(tree, Map):
        return Map([key, _copy(value)] for key, value in tree)
    return [_copy(item) for item in tree] if isinstance(tree, list) else tree


def _odd(random: Random) -> Any:
    kind = random.choice(("numbers", "numbers", "words", "tagged", "quantities", "empty"))
    if kind == "empty":
        return random.choice(("", "~", Map(), [], "''", Map([["a", "b"]]), ["a"], [Map()], Map([["name", "a"]])))
    return random.choice(TEXTS[kind])


def _delete(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    del place[index]


def _repeat(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    key, value = place[index]
    place.insert(random.randrange(len(place) + 1), [key, random.choice((_copy(value), _odd(random)))])


def _rename(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    key, value = place[index]
    at = random.randrange(len(key) + 1)
    cases = (key.lower(), key.upper(), key.capitalize())
    letters = (f"{key[:at]}x{key[at:]}", key[:at] + key[at + 1 :])
    notations = (f'"{key}"', f"'{key}'", f"!!str {key}", f"&k {key}")
    odd = random.choice(TEXTS["numbers"] + TEXTS["words"])
    place[index] = [random.choice((*cases, *letters, *letters, *notations, odd)), value]


def _replace(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    place[index] = [place[index][0], _odd(random)]


def _wrap(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    key, value = place[index]
    inside = value[0] if isinstance(value, list) and value and not isinstance(value, Map) else "a"
    place[index] = [key, random.choice(([value], Map([[key, value]]), inside, f'"{value}"' if isinstance(value, str) else "text"))]


def _item(tree: Any, _: Shape, random: Random) -> None:
    items = _list(tree, random)
    item = random.choice(items)
    change = random.choice(("again", "odd", "null", "drop", "empty"))
    if change == "drop":
        items.remove(item)
    else:
        items.insert(random.randrange(len(items) + 1), {"again": _copy(item), "odd": _odd(random), "null": "~", "empty": Map()}[change])


def _move(tree: Any, _: Shape, random: Random) -> None:
    place, index = _pair(tree, random)
    pair = place.pop(index)
    target, at = _pair(tree, random)
    target.insert(at, pair)


def _meta(tree: Any, _: Shape, random: Random) -> None:
    field = random.choice(list(_META))
    _set_meta(tree, field, random.choice(_META[field]))


def _label(tree: Any, _: Shape, random: Random) -> None:
    labels = Map([[random.choice(TEXTS["label keys"]), random.choice(TEXTS["label values"])]])
    _set_meta(tree, random.choice(("labels", "labels", "annotations")), labels)


def _set_meta(tree: Any, field: str, value: Any) -> None:
    for key, metadata in tree:
        if key == "metadata" and isinstance(metadata, Map):
            metadata[:] = [*(each for each in metadata if each[0] != field), [field, value]]


def _status(tree: Any, shape: Shape, random: Random) -> None:
    known = shape.fields and shape.fields.get("status")
    value = _grown(known, random, 4) if known and random.random() < 0.7 else _odd(random)
    tree[:] = [each for each in tree if each[0] != "status"] + [["status", value]]


def _grow(tree: Any, shape: Shape, random: Random) -> None:
    """Add a field of the schema, with a mostly valid value."""
    places = [(place, at) for place, at in _maps(tree, shape) if at and (at.fields or at.values)]
    if not places:
        return
    place, at = random.choice(places)
    if at.fields:
        name = random.choice(list(at.fields))
        place[:] = [each for each in place if each[0] != name] + [[name, _grown(at.fields[name], random, 4)]]
    elif at.values:
        place.append(
            [random.choice(("a", "b", "cpu", "Worker", "Chief", "nvidia.com/gpu", *TEXTS["label keys"])), _grown(at.values, random, 3)]
        )


def _grown(shape: Shape, random: Random, depth: int) -> Any:
    if random.random() < 0.06:
        return _odd(random)
    if shape.type == "object":
        return _grown_map(shape, random, depth)
    if shape.type == "array":
        assert shape.items
        items = [_grown(shape.items, random, depth - 1) for _ in range(random.choice((0, 1, 1, 2, 3)))] if depth > 0 else []
        return [*items, _copy(items[0])] if items and random.random() < 0.2 else items
    if shape.format == "quantity":
        return random.choice(TEXTS["quantities"])
    if shape.format == "date-time":
        return random.choice(_META["creationTimestamp"])
    return random.choice(TEXTS["numbers"] if shape.type == "integer" else _FITTING[shape.type])


def _grown_map(shape: Shape, random: Random, depth: int) -> Map:
    if shape.fields is None:
        names = random.sample(("a", "b", "cpu", "memory", "1", "y"), random.choice((0, 1, 2)))
        return Map([name, _grown(shape.values, random, depth - 1) if shape.values else "a"] for name in names)
    wanted = [name for name in shape.required if random.random() < 0.95]
    if depth > 0 and shape.fields:
        wanted += random.sample(list(shape.fields), min(len(shape.fields), random.choice((0, 1, 2))))
    grown = Map([name, _grown(shape.fields[name], random, depth - 1)] for name in dict.fromkeys(wanted))
    return Map([*grown, ["unknown", "a"]]) if random.random() < 0.03 else grown


_WITHIN = (_delete, _repeat, _rename, _rename, _replace, _replace, _replace, _wrap, _item, _item, _move, _grow, _grow, _grow, _grow)
_BESIDE_SPEC = (_meta, _meta, _label, _status)
