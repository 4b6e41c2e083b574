"""Random pods as plain data: small ones that grow by fields of their schema, whose texts are those that rules are about."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import yaml

from jobspec.schemas.shapes import Shape
from tests.support.reference import ROOT

_TEXTS = yaml.load((ROOT / "tests" / "cases" / "mutants" / "pods.yaml").read_text(), yaml.CSafeLoader)
_WORDS: dict[str, list[Any]] = _TEXTS["words"]
_SCALARS: dict[str, list[Any]] = _TEXTS["scalars"]

SMALL = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}
LARGER = {
    **SMALL,
    "spec": {
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "b"}}],
        "initContainers": [{"name": "i", "image": "a"}, {"name": "s", "image": "a", "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "a",
                "image": "a",
                "ports": [{"name": "a", "containerPort": 80}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "envFrom": [{"configMapRef": {"name": "a"}}],
                "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                "volumeMounts": [{"name": "a", "mountPath": "/a"}],
                "livenessProbe": {"httpGet": {"port": "a"}},
                "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                "securityContext": {"runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
            },
            {"name": "b", "image": "b"},
        ],
        "securityContext": {"fsGroup": 1},
    },
}


def changed(base: Any, shape: Shape, random: Random, *, times: int = 1) -> Any:
    """A pod after some changes: fields of its schema set, dropped or emptied, items repeated."""
    made = copy.deepcopy(base)
    for _ in range(times):
        value, at = random.choice(list(_objects(made, shape)))
        if value and random.random() < 0.2:
            _less(value, random)
        elif at.fields:
            name = random.choice([each for each in at.fields if each not in ("apiVersion", "kind", "status", "managedFields")] or [""])
            if name:
                value[name] = _value(at.fields[name], name, random, 3)
    return made


def _less(value: dict[str, Any], random: Random) -> None:
    name = random.choice(list(value))
    inner = value[name]
    if isinstance(inner, list) and inner and random.random() < 0.2:
        inner += [copy.deepcopy(inner[-1]) for _ in range(random.choice(_TEXTS["repetitions"]))]
    elif isinstance(inner, list) and inner and random.random() < 0.7:
        inner.insert(random.randrange(len(inner) + 1), random.choice((copy.deepcopy(random.choice(inner)), None, None)))
    elif random.random() < 0.5 and name not in ("apiVersion", "kind"):
        value[name] = None
    elif name not in ("apiVersion", "kind"):
        del value[name]


def rich(shape: Shape, random: Random, is_valid: Callable[[Any], bool], *, steps: int = 40) -> Any:
    """A pod that grew, field by field, as long as it was valid."""
    made: Any = random.choice((SMALL, LARGER))
    for _ in range(steps):
        larger = changed(made, shape, random)
        if is_valid(larger):
            made = larger
    return made


def _objects(value: Any, shape: Shape | None) -> Iterator[tuple[dict[str, Any], Shape]]:
    """The objects in a value, with their shapes."""
    if shape is None:
        return
    if isinstance(value, dict):
        if shape.fields is not None or value:
            yield value, shape
        for name, child in value.items():
            yield from _objects(child, shape.at((name,)))
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, shape.items)


def _value(shape: Shape, name: str, random: Random, depth: int) -> Any:
    if name in _WORDS and random.random() < 0.8:
        words = [each for each in _WORDS[name] if _is_alike(each, shape)]
        if words:
            return copy.deepcopy(random.choice(words))
    if shape.type == "array":
        return [_value(shape.items, name, random, depth) for _ in range(random.choice((0, 1, 1, 1, 2)))] if shape.items else []
    if shape.fields is not None:
        odds = 1.5 / max(len(shape.fields), 1)
        wanted = [
            each for each in shape.fields if (each in shape.required and random.random() < 0.95) or (depth and random.random() < odds)
        ]
        if not wanted and shape.fields and depth:
            wanted = [random.choice(list(shape.fields))]
        return {each: _value(shape.fields[each], each, random, depth - 1) for each in wanted}
    if shape.type == "object":
        keys = random.sample(_TEXTS["keys"], random.choice((0, 1, 1, 2)))
        return {key: _value(shape.values, "", random, depth - 1) if shape.values else "a" for key in keys}
    if shape.type == "any":
        return {}
    if shape.type == "string" and not shape.format and random.random() < 0.1:
        return random.choice("aaA1.") * random.choice(_TEXTS["lengths"])
    return random.choice(_SCALARS["quantity" if shape.format == "quantity" else "date-time" if shape.format == "date-time" else shape.type])


def _is_alike(word: Any, shape: Shape) -> bool:
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if shape.format == "quantity":
        return isinstance(word, str | int | float) and not isinstance(word, bool)
    if shape.type == "int-or-string":
        return isinstance(word, int | str)
    return type(word) is kinds.get(shape.type)
