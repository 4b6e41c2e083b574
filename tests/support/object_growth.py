"""Random custom resources: grown from a schema, or changed from a valid one."""

import json
from random import Random
from typing import Any

_ODD: dict[str, list[Any]] = {
    "string": ["", "a", "äöü", "1", "x" * 5, "2026-01-31", "1h", "10.0.0.0/8", "10.0.0.1", "::1", "a@b.c", "https://a:8080/", "true"],
    "integer": [0, 1, -1, 2, 3, 6, 80, 2**31, 2**31 - 1, -(2**63), 2**63 - 1],
    "number": [0, 1, 0.5, 1.5, 2.5, 0.3, -1.5, 1e300],
    "boolean": [True, False],
}
_ANY: list[Any] = [None, 1, 1.5, "a", True, [], {}, [1], {"a": 1}, [None], {"a": None}, [{}], "", 10**20]


def changed(base: Any, schema: dict[str, Any], random: Random) -> Any:
    """An object with one to three changes: fields dropped, added, grown from the schema, or given an odd value."""
    made = json.loads(json.dumps(base))
    for _ in range(random.choice((1, 1, 2, 3))):
        fields = schema.get("properties") or {}
        name = random.choice([*fields, *made.keys() - {"apiVersion", "kind", "metadata"}] or ["a"])
        change = random.choice(("grow", "grow", "grow", "change", "change", "odd", "drop", "null", "meta"))
        if change == "meta":
            made["metadata"] = random.choice(({"name": "b"}, {"generateName": "r-"}, {"name": "B"}, {"name": "b", "labels": {"a": "b"}}))
        elif change == "drop":
            made.pop(name, None)
        elif change in ("grow", "odd", "null"):
            made[name] = {"grow": grown(fields.get(name, {}), random), "odd": random.choice(_ANY), "null": None}[change]
        else:
            made[name] = _changed_inside(made.get(name), fields.get(name, {}), random)
    return made


def grown(schema: dict[str, Any], random: Random, depth: int = 0) -> Any:
    """A mostly valid value; smaller, the deeper it is."""
    kind = schema.get("type") or ("string" if random.random() < 0.5 else "integer")
    if random.random() < (0.05 if depth < 2 else 0.01):
        return random.choice(_ANY)
    if schema.get("enum") and random.random() < 0.7:
        return random.choice(schema["enum"])
    if kind == "object":
        required = schema.get("required") or ()
        odds = 0.7 if depth < 2 else 0.1
        names = [name for name in schema.get("properties") or {} if random.random() < (0.98 if name in required else odds)]
        made = {name: grown(schema["properties"][name], random, depth + 1) for name in names}
        others = schema.get("additionalProperties")
        if isinstance(others, dict) or random.random() < 0.1:
            made |= {
                name: grown(others if isinstance(others, dict) else {}, random, depth + 1) for name in random.sample(("a", "bb", "x y"), 2)
            }
        return made
    if kind == "array":
        items = [grown(schema["items"], random, depth + 1) for _ in range(random.choice((0, 1, 2, 3)))]
        return [*items, items[0]] if items and random.random() < 0.2 else items
    return random.choice(_ODD[kind])


def _changed_inside(value: Any, schema: dict[str, Any], random: Random) -> Any:
    """The value with a change somewhere inside."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(list(value))
        inner = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties") or {}
        return {**value, name: _changed_inside(value[name], inner if isinstance(inner, dict) else {}, random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        return [*value[:at], _changed_inside(value[at], schema.get("items") or {}, random), *value[at + 1 :]]
    if isinstance(value, str) and random.random() < 0.6:
        at = random.randrange(len(value) + 1)
        return value[:at] + random.choice(("", "1", "-", ":", ".", "ä", "/", " ")) + value[at + random.choice((0, 1)) :]
    return random.choice((grown(schema, random), random.choice(_ANY)))
