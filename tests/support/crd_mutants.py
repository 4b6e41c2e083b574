"""Random CRDs: valid ones after a few changes."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

_KEYWORDS: dict[str, list[Any]] = {
    "type": ["object", "array", "string", "integer", "number", "boolean", "", "null", None],
    "format": ["int32", "date", "duration", "odd"],
    "default": [None, 1, "a", {}, [], {"a": 1}, {"apiVersion": "v1", "kind": "A"}, True],
    "nullable": [True, False],
    "enum": [["a"], [1, None], []],
    "pattern": ["^a$", "(", "\\d+"],
    "minLength": [0, 2, "1"],
    "maximum": [1, 1.5, "1"],
    "maxProperties": [1],
    "required": [["a"], [], ["name"], "a"],
    "items": [{"type": "string"}, {}, [{"type": "string"}], {"type": "object"}, None],
    "properties": [{"a": {"type": "string"}}, {}, {"metadata": {"type": "object"}}, {"a": {}}, {"a": None}],
    "additionalProperties": [True, False, {"type": "string"}, {}, None],
    "allOf": [[{"maxLength": 1}], [{"type": "string"}], [{"properties": {"a": {"maxLength": 1}}}], [], [{"items": {"maxLength": 1}}]],
    "anyOf": [[{"type": "integer"}, {"type": "string"}], [{"required": ["a"]}]],
    "not": [{}, {"enum": ["a"]}, {"not": {"type": "string"}}],
    "description": ["a"],
    "title": ["a"],
    "uniqueItems": [True, False],
    "x-kubernetes-preserve-unknown-fields": [True, False],
    "x-kubernetes-embedded-resource": [True, False],
    "x-kubernetes-int-or-string": [True, False],
    "x-kubernetes-list-type": ["atomic", "set", "map", "odd"],
    "x-kubernetes-list-map-keys": [["name"], ["a"], []],
    "x-kubernetes-map-type": ["atomic", "granular", "odd"],
    "x-kubernetes-validations": [
        [{"rule": "self == oldSelf"}],
        [{"rule": "has(self.a)"}],
        [{"rule": "size(self) > 0"}],
        [{"rule": "self"}],
    ],
    "odd": [1],
}


def changed(base: Any, random: Random) -> Any:
    """A CRD with one to three changes, most of them in its schemas."""
    made = json.loads(json.dumps(base))
    for _ in range(random.choice((1, 1, 2, 3))):
        versions = made["spec"].get("versions")
        nodes = [node for version in (versions if isinstance(versions, list) else []) for node in _schemas_in(_schema_of(version))]
        places = [place for place in _mappings(made["spec"]) if place]
        if nodes and random.random() < 0.8:
            node = random.choice(nodes)
            keyword = random.choice([*_KEYWORDS, *node.keys() & _KEYWORDS.keys()])
            if keyword in node and random.random() < 0.4:
                del node[keyword]
            else:
                node[keyword] = json.loads(json.dumps(random.choice(_KEYWORDS[keyword])))
        elif places:
            place = random.choice(places)
            name = random.choice(list(place))
            if random.random() < 0.5:
                del place[name]
            else:
                place[name] = random.choice((None, "", "a", "A", 1, True, [], {}, ["a"]))
    return made


def _schema_of(version: Any) -> Any:
    schema = version.get("schema") if isinstance(version, dict) else None
    return schema.get("openAPIV3Schema") if isinstance(schema, dict) else None


def _schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and those inside of it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in ("items", "additionalProperties", "not"):
        yield from _schemas_in(schema.get(keyword))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(keyword) or [] if isinstance(schema.get(keyword), list) else []:
            yield from _schemas_in(each)
    for each in (schema.get("properties") or {}).values() if isinstance(schema.get("properties"), dict) else []:
        yield from _schemas_in(each)


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """The mappings of a CRD outside of its schemas."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name != "openAPIV3Schema":
                yield from _mappings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _mappings(inner)
