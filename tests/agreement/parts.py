"""Manifests in which one part after the other stands with nothing but what it requires."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jobspec.diagnostics.places import Path
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from tests.agreement.corpus import VERSIONS, Case

_REPLICAS = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a"}]}}}
_NODE = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "node"}]}}}}}
_SPECS: dict[str, dict[str, Any]] = {
    "PyTorchJob": {"pytorchReplicaSpecs": {"Worker": _REPLICAS}},
    "TrainJob": {"runtimeRef": {"name": "torch-distributed"}},
    "TrainingRuntime": {"template": {"spec": {"replicatedJobs": [_NODE]}}},
    "ClusterTrainingRuntime": {"template": {"spec": {"replicatedJobs": [_NODE]}}},
    "JobSet": {"replicatedJobs": [_NODE]},
    "PersistentVolumeClaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def parts(kind: str, target: Mapping[str, str]) -> Iterator[Case]:
    """For each sort of object that a kind's spec has, a manifest that has it once."""
    shape = shapes.load(VERSIONS[kind], kind, target)
    spec = shape.at(("spec",)) if shape else None
    assert spec
    for path, part in _objects(spec):
        manifest = {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": {"name": "a"}}
        manifest["spec"] = _with(_SPECS[kind], spec, path, _smallest(part))
        yield Case(f"{kind} with {'.'.join(map(str, path))}", kind, json.dumps(manifest))


def _objects(root: Shape) -> Iterator[tuple[Path, Shape]]:
    """Every object with fields, once for each type and field, at the place where it is met first."""
    known = set()
    places: list[tuple[Path, Shape]] = [((), root)]
    for path, shape in places:
        if shape.fields:
            sort = (shape.name, path[-1:], tuple(shape.fields))
            if sort not in known:
                known.add(sort)
                places += [((*path, name), child) for name, child in shape.fields.items()]
                if path:
                    yield path, shape
        elif shape.items or shape.values:
            step: str | int = 0 if shape.items else "Worker"
            places.append(((*path, step), shape.items or shape.values or shape))


def _smallest(shape: Shape) -> Any:
    """A value that the schema takes, with nothing in it that may be left out."""
    if shape.fields is not None:
        return {name: _smallest(shape.fields[name]) for name in shape.required}
    if shape.type == "array":
        return [_smallest(shape.items)] if shape.least and shape.items else []
    if shape.enum:
        return next(filter(None, shape.enum))
    times = {"quantity": "1", "date-time": "2001-01-01T00:00:00Z"}
    values = {"object": {}, "boolean": True, "integer": max(int(shape.minimum or 0), 1), "number": 1}
    return times.get(shape.format) or values.get(shape.type, "a")


def _with(around: Any, shape: Shape, path: Path, value: Any) -> Any:
    """A value with another one at a path inside it, and beside that what is required there."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if shape.items:
        first, others = (around[0], around[1:]) if around else (None, [])
        return [_with(first, shape.items, rest, value), *others]
    required = {name: _smallest(shape.fields[name]) for name in shape.required} if shape.fields else {}
    child = shape.fields[str(step)] if shape.fields else shape.values
    assert child
    known = {**required, **(around or {})}
    return {**known, str(step): _with(known.get(str(step)), child, rest, value)}
