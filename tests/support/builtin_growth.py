"""Random objects of built-in kinds, grown from their shapes, with a mistake here and there."""

from random import Random
from typing import Any

from jobspec.schemas.shapes import Shape

_ANY: list[Any] = [None, 1, 1.5, "a", True, [], {}, [1], {"a": 1}, [None], {"a": None}, [{}], "", 10**20, "1", "true"]
_TEXTS = ["", "a", "b", "a-b", "a.b/c", "1", "Always", "TCP", "ä", "x" * 70, "A b", "true", "0", "*"]
_POOLS: dict[str, list[Any]] = {
    "quantity": ["1", "500m", 2, "1Gi", 1.5, "-1", "0", "1 Gi", "", "x", "1e3", ".", "Gi", " 1"],
    "date-time": ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+01:00", "2026-01-31", "", "2026-02-30T12:00:00Z"],
    "micro-time": [
        "2026-01-31T12:00:00.000000Z",
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00.0000000Z",
        "2026-01-31T12:00:00,123456+01:00",
    ],
    "byte": ["", "YWI=", "YWI", "YW I=", "YW\nI=", "Y-_=", [1, 2], [1, 256], [None, 0], [-1], "YX==", "YWI==", ["a"]],
    "int32": [0, 1, -1, 80, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 1.0, 1.5, "1"],
    "int64": [0, 1, -1, 3600, 2**31, 2**63 - 1, 2**63, -(2**63), 1.5, 1e3],
}
_ODD = 0.03


def grown(shape: Shape, random: Random, depth: int = 0) -> Any:
    """A mostly valid value of a shape; smaller, the deeper it is."""
    if depth and random.random() < _ODD:
        return random.choice(_ANY)
    if shape.fields is not None:
        return _object(shape.fields, random, depth)
    if shape.values:
        return {name: grown(shape.values, random, depth + 1) for name in random.sample(("a", "b.c/d", "cpu", ""), random.choice((0, 1, 2)))}
    if shape.items:
        return [grown(shape.items, random, depth + 1) for _ in range(random.choice((0, 1, 1, 2)))]
    if shape.format in _POOLS and (shape.type != "int-or-string" or shape.format == "quantity" or random.random() < 0.5):
        pool = _POOLS[shape.format]
        return random.choice(pool[:2] if random.random() < 0.8 else pool)
    return {"boolean": random.choice((True, False)), "any": random.choice(_ANY)}.get(shape.type, random.choice(_TEXTS))


def _object(fields: dict[str, Shape], random: Random, depth: int) -> dict[str, Any]:
    names = [name for name in fields if random.random() < (0.8 if depth == 0 else 4 / len(fields) if depth < 4 else 1 / len(fields))]
    made = {name: grown(fields[name], random, depth + 1) for name in names}
    if random.random() < _ODD:
        name = random.choice([*fields, "a"])
        made[random.choice((name + "s", name.capitalize(), name[:1] + name[2:], "unknown"))] = random.choice(_ANY)
    return made


def of_kind(shape: Shape, api_version: str, kind: str, random: Random) -> dict[str, Any]:
    """An object of a kind, with a name that is valid."""
    made = _object(shape.fields or {}, random, 0)
    meta = made.get("metadata") if isinstance(made.get("metadata"), dict) else {}
    return {**made, "apiVersion": api_version, "kind": kind, "metadata": {**meta, "name": "a"} if random.random() < 0.95 else meta}
