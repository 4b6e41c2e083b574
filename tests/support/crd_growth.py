"""Random CRDs, most of them nearly valid: in each, one part that a server checks is random."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support import crd_documents

Schema = dict[str, Any]

_LABELS: list[Any] = [
    "a",
    "odd",
    "a-b",
    "A",
    "Odd",
    "1a",
    "a1",
    "a.b",
    "a_b",
    "-a",
    "a-",
    "",
    "ä",
    "a" * 63,
    "a" * 64,
    "OddList",
    None,
    1,
    ["a"],
]
_TEXTS: list[Any] = ["a", "", " ", "a\nb", "ä", "a" * 256, "a" * 257, "\u00a0", "\t", "\u200b", "é" * 128, "é" * 129, None, 1]
_PATHS: list[Any] = [
    ".spec.a",
    ".spec",
    ".spec.",
    ".status.a",
    ".status",
    "spec.a",
    ".",
    "",
    ".a",
    ".metadata.name",
    ".spec.a.b",
    ".spec['a']",
]
_PATHS += [".spec.b", ".spec.c", ".spec.d", ".spec.e", ".spec.f.x", ".spec..a", "..", ".spec.a ", ".spec[0]", ".spec.g[0]", None]
_URLS: list[Any] = [
    "https://a.example.com",
    "https://a/b",
    "http://a/b",
    "https:///a",
    "https://a@b/c",
    "https://a/?b",
    "https://a/#b",
    "a",
    "",
    "/a",
]
_URLS += [
    "https://a:99999/",
    "https://a:b/",
    "https://[::1]/",
    "https://a b/",
    "https://a/%zz",
    "HTTPS://a/",
    "https://a/#",
    "https://a/?",
    None,
]
_STEPS: list[Any] = ["/", "", "a", "/a", "/a/b", "/a//b", "//", "/A", "/a_b", "/a/", "/a.b", "/-a", "///", None]
_PORTS = [None, 0, 1, 443, 65535, 65536, -1, "443", 1.5]
_REVIEWS = [["v1"], ["v1beta1"], ["v1", "v1beta1"], [], None, ["v2"], ["v2", "v1"], ["v1", "v1"], [""], ["V1", "v1"], ["v1", None], "v1"]
_GROUPS: list[Any] = ["a", "", "A.b", "a.k8s.io", "k8s.io", "a.kubernetes.io", "ak8s.io", "a..b", "a." * 126 + "a", "a.b_c", None]
_APPROVALS = [
    "unapproved",
    "https://a/b",
    "a",
    "",
    "//a/b",
    "https://",
    "https:a",
    "unapproved, b",
    "Unapproved",
    "a:b",
    "/a",
    "a://b",
    None,
    1,
]
_ANYTHING = [None, 0, 1, 1.5, -1, True, "", "a", [], ["a"], [None], {}, {"a": 1}, 2**31, 2**63, 10**20]


def definition(random: Random) -> dict[str, Any]:
    """A CRD with one random part."""
    (grow,) = random.choices([part for part, _ in _PARTS], [weight for _, weight in _PARTS])
    return grow(random)


def plain_definition(spec: dict[str, Any]) -> dict[str, Any]:
    """A CRD with these fields in its spec, and a name that fits."""
    made = crd_documents.definition({})
    spec = {**made["spec"], **spec}
    plural = spec["names"].get("plural") if isinstance(spec["names"], dict) else ""
    whole: dict[str, Any] = json.loads(json.dumps({**made, "metadata": {"name": f"{plural}.{spec['group']}"}, "spec": spec}))
    return whole


def _mostly(random: Random, right: Any, odd: list[Any], odds: float = 0.1) -> Any:
    return random.choice(odd) if random.random() < odds else right


def _named(random: Random) -> dict[str, Any]:
    names: dict[str, Any] = {"kind": "Odd", "plural": "odds", "singular": "odd"}
    for name in random.sample(("kind", "plural", "singular", "listKind"), random.choice((0, 1, 1, 2))):
        names[name] = random.choice(_LABELS)
    for name in ("shortNames", "categories"):
        if random.random() < 0.15:
            names[name] = random.choice([random.sample(_LABELS, 2), None, [], "a", ["a", "a"]])
    if random.random() < 0.1:
        del names[random.choice(list(names))]
    spec = {"names": names, "group": _mostly(random, "odd.example.com", _GROUPS, 0.2)}
    if random.random() < 0.2:
        spec["scope"] = random.choice(["Cluster", "Cluster", "Namespaced", "", "cluster", None, 1])
    if random.random() < 0.1:
        spec["preserveUnknownFields"] = random.choice([True, False, None, "false"])
    made = plain_definition(spec)
    if random.random() < 0.3:
        made["metadata"]["annotations"] = {"api-approved.kubernetes.io": random.choice(_APPROVALS)}
    if random.random() < 0.05:
        made["metadata"] = random.choice(
            [{"name": "odds"}, {"generateName": "odds"}, {}, None, {"name": "odds.odd.example.com", "namespace": "a"}]
        )
    return made


def _versioned(random: Random) -> dict[str, Any]:
    versions = []
    schemas = [_schema_of_paths(random) for _ in range(2)]
    number = random.choice((1, 1, 1, 2, 2, 3))
    stored = _mostly(random, random.randrange(number), [number, 0], 0.05)
    for index in range(number):
        version: dict[str, Any] = {"name": f"v{index + 1}", "served": True, "storage": index == stored}
        version["schema"] = {"openAPIV3Schema": random.choice(schemas)}
        if random.random() < 0.1:
            version[random.choice(["name", "served", "storage", "schema", "deprecated"])] = random.choice([*_LABELS, True, False])
        if random.random() < 0.15:
            version |= {"deprecated": _mostly(random, True, [False, None]), "deprecationWarning": random.choice(_TEXTS)}
        if random.random() < 0.05:
            version.pop(random.choice(list(version)))
        versions.append(_with_extras(version, random))
    return plain_definition({"versions": versions})


def _schema_of_paths(random: Random) -> Schema:
    kinds = [{"type": kind} for kind in ("string", "string", "integer", "boolean", "number", "object")]
    fields: Schema = {name: random.choice(kinds) for name in "abcde"}
    fields["f"] = {"type": "object", "additionalProperties": random.choice(kinds)}
    fields["g"] = {"type": "array", "items": {"type": "string"}}
    inside = {"type": "object", "properties": fields}
    return {"type": "object", "properties": {"spec": inside, "status": inside, "a": {"type": "string"}}}


def _with_extras(version: dict[str, Any], random: Random) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if random.random() < 0.3:
        fields = [
            {"jsonPath": random.choice([f".spec.{random.choice('abcde')}", random.choice(_PATHS)])}
            for _ in range(random.choice((0, 1, 1, 2, 9)))
        ]
        extras["selectableFields"] = _mostly(random, fields, [[None], [{}], None, {}, [{"jsonPath": ".spec.a", "odd": 1}]])
    if random.random() < 0.3:
        columns = [_column(random) for _ in range(random.choice((0, 1, 1, 2)))]
        extras["additionalPrinterColumns"] = _mostly(random, columns, [[None], [{}], None, "a"])
    if random.random() < 0.3:
        status = _mostly(random, {}, [None, [], {"a": 1}])
        scale = {
            "specReplicasPath": _mostly(random, ".spec.a", _PATHS),
            "statusReplicasPath": _mostly(random, ".status.a", _PATHS),
            "labelSelectorPath": _mostly(random, ".status.b", _PATHS, 0.3),
        }
        extras["subresources"] = random.choice([{"status": status}, {"scale": scale}, {"scale": scale, "status": {}}, {}, None])
    return version | extras


def _column(random: Random) -> dict[str, Any]:
    column = {
        "name": _mostly(random, "A", ["a b", "", None]),
        "type": _mostly(random, random.choice(["string", "date", "integer", "number", "boolean"]), ["object", "", "String", None]),
        "jsonPath": random.choice(
            [".spec.a", ".metadata.creationTimestamp", ".spec[?(@.a)]", ".a[*]", _mostly(random, ".a", [*_PATHS, "{.a}"], 0.3)]
        ),
    }
    if random.random() < 0.3:
        column["format"] = random.choice(["int32", "date-time", "odd", "", "password", None])
    if random.random() < 0.3:
        column["priority"] = _mostly(random, random.choice([0, 1, -1]), [2**31, "1", None, 1.0, 1.5])
    if random.random() < 0.1:
        column["description"] = random.choice(_TEXTS)
    return column


def _converted(random: Random) -> dict[str, Any]:
    service = {
        "name": _mostly(random, "a", ["", None, "A_"]),
        "namespace": _mostly(random, "a", ["", None]),
        "path": random.choice(_STEPS),
        "port": _mostly(random, 443, _PORTS, 0.3),
    }
    client = _mostly(
        random,
        random.choice([{"url": random.choice(_URLS)}, {"service": service}]),
        [{"service": {}}, {}, None, {"url": "https://a", "service": service}],
    )
    if isinstance(client, dict) and random.random() < 0.3:
        client["caBundle"] = random.choice(["", "YQ==", "YQ==\n", "a", None, "YQ", "!", 1, "Y Q=="])
    webhook = _mostly(random, {"clientConfig": client, "conversionReviewVersions": _mostly(random, ["v1"], _REVIEWS, 0.4)}, [None, {}])
    strategy = _mostly(random, "Webhook", ["None", "none", "", None])
    return plain_definition({"conversion": _mostly(random, {"strategy": strategy, "webhook": webhook}, [{"strategy": strategy}, {}, None])})


def _decoded(random: Random) -> dict[str, Any]:
    """A CRD with a value of any type in any place."""
    base = random.choice([_versioned, _converted, _named, _structured])(random)
    places = list(_places(base["spec"]))
    for _ in range(random.choice((1, 1, 2))):
        place, key = random.choice(places)
        place[key] = random.choice(_ANYTHING)
        if isinstance(place, dict) and random.random() < 0.2:
            place["odd"] = 1
    return base


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _structured(random: Random) -> dict[str, Any]:
    root = random.random() < 0.15
    schema = schema_at_random(random, 0 if root else 1)
    whole = (
        schema
        if root
        else {"type": "object", "properties": {random.choice(["a", "spec", "metadata", "kind"]) if random.random() < 0.1 else "a": schema}}
    )
    if random.random() < 0.1:
        whole |= _oddities(random)
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    if random.random() < 0.2:
        version["subresources"] = {"status": {}}
    return plain_definition({"versions": [version]})


_FORMATS = {
    "string": ["date-time", "date", "duration", "byte", "uuid", "ipv4", "odd", "int32", "password", "k8s-short-name"],
    "integer": ["int32", "int64", "odd", "double"],
    "number": ["float", "double", "odd", "int32"],
    "boolean": ["odd"],
    "array": ["odd"],
    "object": ["odd"],
}
_LIMITS: dict[str, dict[str, list[Any]]] = {
    "string": {
        "minLength": [0, 1, -1, 3],
        "maxLength": [0, 1, 3, 9, -1],
        "pattern": [
            "^a",
            "(",
            "\\d",
            "\\p{L}",
            "(?i)A",
            "[[:alpha:]]",
            "a{1001}",
            "(?<n>a)",
            "\\z",
            "\\Z",
            "(?=a)",
            "\\1",
            "\\pN",
            "\\p{Greek}",
            "\\Qa",
            "*",
            "a**",
            "x{2,1}",
            "\\C",
            "(?P<n>a)(?P<n>b)",
            "[a-\\d]",
            "[b-a]",
            "",
            "\\8",
            "\\x{10FFFF}",
            "\\x{110000}",
            "(?s:.)",
            "(?U)a+",
            "(?z)a",
            "a{,2}",
            "{",
            "[]a]",
            "[^]a]",
            "[[:odd:]]",
            "\\_",
            "\\é",
        ],
    },
    "integer": {
        "minimum": [0, 1, -1, 1.5],
        "maximum": [0, 5, 10.5, 1e300],
        "exclusiveMinimum": [True, False],
        "exclusiveMaximum": [True, False],
        "multipleOf": [2, 0.5, 0, -1],
    },
    "number": {
        "minimum": [0, 1, -1, 1.5],
        "maximum": [0, 5, 10.5, 1e300],
        "exclusiveMinimum": [True, False],
        "multipleOf": [2, 0.5, 0, -1],
    },
    "array": {"minItems": [0, 1, -1], "maxItems": [0, 1, 3, -1], "uniqueItems": [True, False, False]},
    "object": {"minProperties": [0, 1], "maxProperties": [0, 1, 3, -1], "required": [["a"], ["b"], [], ["a", "a"], ["z"]]},
    "boolean": {},
}
_VALUES: dict[str, list[Any]] = {
    "string": ["", "a", "abcd", "2026-01-31", "2026-01-31T00:00:00Z", "1h", "YQ==", "10.0.0.1", "1"],
    "integer": [0, 1, -1, 2, 5, 2**31, 2**63 - 1, 1.0],
    "number": [0, 1, -1.5, 2.5, 1e300],
    "boolean": [True, False],
}


def schema_at_random(random: Random, depth: int = 1) -> Schema:
    """A random schema, mostly structural."""
    kinds = ["object"] * 3 + ["array"] * 2 + ["string", "string", "integer", "number", "boolean"] if depth < 4 else list(_VALUES)
    kind = "object" if depth == 0 and random.random() < 0.95 else random.choice(kinds)
    made: Schema = {"type": kind}
    if random.random() < 0.05:
        kind, made = "string", {"x-kubernetes-int-or-string": True, **random.choice([{}, random.choice(_EITHER)])}
    elif random.random() < 0.05:
        made = {"x-kubernetes-preserve-unknown-fields": True, **random.choice([{}, made])}
    if kind in ("object", "array"):
        made |= (_of_object if kind == "object" else _of_array)(random, depth)
    made |= _limits(random, kind)
    if random.random() < 0.1:
        keyword = random.choice(["allOf", "anyOf", "oneOf", "not"])
        made[keyword] = _branch(random, made, 0) if keyword == "not" else [_branch(random, made, 0) for _ in range(random.choice((1, 2)))]
    if random.random() < 0.15:
        made["default"] = value_at_random(made, random)
    return made | (_oddities(random) if random.random() < 0.02 else {})


_EITHER: list[Schema] = [
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]},
    {"pattern": "a"},
    {"type": "string"},
    {"maximum": 5},
]


def _limits(random: Random, kind: str) -> Schema:
    made = {keyword: random.choice(values) for keyword, values in _LIMITS[kind].items() if random.random() < 0.08}
    if random.random() < 0.08:
        made["format"] = random.choice(_FORMATS[kind])
    if random.random() < 0.08 and kind in _VALUES:
        made["enum"] = random.sample(_VALUES[kind], 2)
    if random.random() < 0.06:
        made["nullable"] = random.choice([True, True, False])
    return made


def _of_object(random: Random, depth: int) -> Schema:
    made: Schema = {}
    if random.random() < 0.2:
        made["additionalProperties"] = random.choice([schema_at_random(random, depth + 1)] * 4 + [True, False])
    if "additionalProperties" not in made or random.random() < 0.1:
        names = random.sample(
            ["a", "b", "c", "metadata", "kind", "apiVersion", "name", "a-b", "a.b", "ä", "spec"], random.choice((0, 1, 2, 3))
        )
        made["properties"] = {name: schema_at_random(random, depth + 1) for name in names}
        if random.random() < 0.2:
            made["required"] = random.sample([*names, "z"], 1)
    if random.random() < 0.06:
        made["x-kubernetes-map-type"] = random.choice(["atomic", "granular", "odd"])
    if random.random() < 0.06:
        made["x-kubernetes-preserve-unknown-fields"] = random.choice([True, True, True, False])
    if random.random() < 0.06:
        made["x-kubernetes-embedded-resource"] = True
        meta = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
        if random.random() < 0.5:
            made.setdefault("properties", {}).update(meta)
            made["properties"]["metadata"] |= _oddly_typed_meta(random)
    return made


def _oddly_typed_meta(random: Random) -> Schema:
    named = {"name": {"type": "string", "default": random.choice(["a", "A_", "", "a/b"])}}
    labels = {
        "labels": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "default": random.choice([{"a": "b"}, {"a": "b c"}, {"a": 1}, {}]),
        }
    }
    return random.choice(
        [
            {},
            {"properties": named},
            {"properties": labels},
            {"default": {"name": "a"}},
            {"default": {"odd": "a"}},
            {"default": {"name": 1}},
            {"additionalProperties": {"type": "string"}},
        ]
    )


def _of_array(random: Random, depth: int) -> Schema:
    items = schema_at_random(random, depth + 1)
    made: Schema = {"items": random.choice([items] * 30 + [[items], {}, None, [], True])}
    if random.random() < 0.3:
        made["x-kubernetes-list-type"] = random.choice(["atomic", "set", "map", "map", "map", "odd"])
        if made["x-kubernetes-list-type"] == "map":
            names = ["a", "b"]
            fields = {name: schema_at_random(random, 4) for name in names}
            made["items"] = {"type": "object", "properties": fields, "required": ["a"], **random.choice([{}, {}, {"nullable": True}])}
            made["x-kubernetes-list-map-keys"] = random.choice([["a"], ["a"], ["a", "b"], ["z"], [], ["a", "a"]])
    elif random.random() < 0.03:
        made["x-kubernetes-list-map-keys"] = random.choice([["a"], []])
    return made


def _branch(random: Random, schema: Schema, depth: int) -> Schema:
    """A branch of `allOf` and the like, mostly about fields of the schema."""
    made: Schema = {}
    kind = schema.get("type", "string")
    for keyword, values in _LIMITS.get(kind, {}).items():
        if random.random() < 0.3:
            made[keyword] = random.choice(values)
    if isinstance(schema.get("properties"), dict) and schema["properties"] and depth < 3 and random.random() < 0.6:
        name = random.choice([*schema["properties"], "z"])
        made["properties"] = {name: _branch(random, schema["properties"].get(name, {}), depth + 1)}
    if isinstance(schema.get("items"), dict) and random.random() < 0.4 and depth < 3:
        made["items"] = _branch(random, schema["items"], depth + 1)
    if random.random() < 0.1 and depth < 2:
        made[random.choice(["allOf", "anyOf"])] = [_branch(random, schema, depth + 1)]
    if random.random() < 0.15:
        made |= _oddities(random)
    return made


def _oddities(random: Random) -> Schema:
    odd: dict[str, list[Any]] = {
        "type": ["string", "null", "", "Object"],
        "id": ["a", ""],
        "$schema": ["a", "", "http://json-schema.org/schema#"],
        "$ref": ["a", "", "#/definitions/a"],
        "title": ["a", ""],
        "description": ["a", ""],
        "externalDocs": [{"url": "a"}, {}, None],
        "example": [1, None, {"a": 1}],
        "default": [1, "a", {}, [], {"a": 1}, None, True],
        "definitions": [{}, {"a": {"type": "string"}}],
        "patternProperties": [{}, {"a": {"type": "string"}}],
        "dependencies": [{}, {"a": ["b"]}, {"a": {"type": "string"}}, {"a": 1}],
        "additionalItems": [True, False, {}, {"type": "string"}, None],
        "additionalProperties": [True, False, {}, {"type": "string"}, None],
        "items": [{"type": "string"}, [], {}, None],
        "properties": [{}, {"a": {}}, {"a": None}, {"metadata": {"type": "object"}}, {"metadata": {}}],
        "nullable": [True, False],
        "uniqueItems": [True],
        "x-kubernetes-preserve-unknown-fields": [True, False, None],
        "x-kubernetes-embedded-resource": [True, False],
        "x-kubernetes-int-or-string": [True, False],
        "x-kubernetes-list-type": ["atomic", "set", "map", "", None],
        "x-kubernetes-list-map-keys": [["a"], []],
        "x-kubernetes-map-type": ["atomic", "granular", "", None],
        "x-kubernetes-validations": [[{"rule": "true"}], [], None, [None], [{}]],
        "x-kubernetes-odd": [1],
        "allOf": [[], [{}], [{"type": "string"}]],
        "not": [{}, {"type": "string"}],
        "enum": [[], [1, "a", None], [{}]],
        "format": ["odd", ""],
        "required": [["a"], []],
    }
    keyword = random.choice(list(odd))
    return {keyword: json.loads(json.dumps(random.choice(odd[keyword])))}


def value_at_random(schema: Schema, random: Random, depth: int = 0) -> Any:
    """A value that mostly fits."""
    kind = schema.get("type") or random.choice(["string", "integer"])
    if random.random() < 0.06:
        return random.choice([None, 1, "a", 1.5, True, [], {}, ["a"], {"a": 1}, {"a": None}])
    if schema.get("enum") and random.random() < 0.7:
        return random.choice(schema["enum"])
    if kind == "object":
        fields = {**(schema.get("properties") or {})}
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            fields |= {"x": others, "y": others}
        if schema.get("x-kubernetes-embedded-resource"):
            fields |= {
                "apiVersion": {"enum": ["v1", "a/b/c", ""]},
                "kind": {"enum": ["A", "a_b", ""]},
                "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            }
        chosen = {
            name: field for name, field in fields.items() if isinstance(field, dict) and random.random() < (0.8 if depth < 2 else 0.3)
        }
        return {name: value_at_random(field, random, depth + 1) for name, field in chosen.items()} | random.choice([{}] * 12 + [{"odd": 1}])
    if kind == "array":
        items = schema.get("items")
        return [value_at_random(items if isinstance(items, dict) else {}, random, depth + 1) for _ in range(random.choice((0, 1, 2)))]
    return random.choice(_VALUES.get(kind, ["a"]))


_PARTS: list[tuple[Callable[[Random], dict[str, Any]], int]] = [
    (_named, 2),
    (_versioned, 3),
    (_converted, 2),
    (_decoded, 2),
    (_structured, 8),
]
