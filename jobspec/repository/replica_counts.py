"""The fields with the number of an object's pods, which `replicas` of a kustomization sets if a configuration names them.

kustomize knows `spec.replicas` of four kinds, and fails at an entry for an object of another kind. Follows `ReplicaCountTransformer`,
sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.diagnostics.places import Path
from jobspec.go.values import mapping, structs
from jobspec.repository.layers import Layer, closure, objects_of

_FAILED = re.compile(r"resource with name (\S+) does not match a config")
#: The path of the lists of groups of pods, by kind; `replicas` sets all groups, so that only one group may be in a list.
_GROUPS: dict[tuple[str, str], Path] = {
    kinds.JOBSET: ("spec", "replicatedJobs"),
    kinds.RAY_CLUSTER: ("spec", "workerGroupSpecs"),
    kinds.RAY_JOB: ("spec", "rayClusterSpec", "workerGroupSpecs"),
    kinds.RAY_SERVICE: ("spec", "rayClusterConfig", "workerGroupSpecs"),
}
_REPLICA_TYPES = {kinds.PYTORCHJOB: "pytorchReplicaSpecs"} | {
    kind: SIBLINGS[kind[1]].replicas for kind in kinds.TRAINING_JOBS if kind[1] in SIBLINGS
}


def replicas_configuration(why: str, layer: Layer, layers: Mapping[str, Layer]) -> tuple[str, dict[str, Any]] | None:
    """Return the kind and configuration for `replicas`, if a build failed for the lack of one.

    *why*: what kustomize said.
    """
    failed = _FAILED.search(why)
    objects = (each for folder in closure(layer, layers) for each in objects_of(layers[folder])) if failed else ()
    for each in objects:
        name = str(mapping(each, "metadata").get("name"))
        if failed and name in failed[1] and (fields := list(_count_fields(each))):
            group = str(each.get("apiVersion")).rpartition("/")[0]
            kind = str(each.get("kind"))
            rows = [{"group": group, "kind": kind, "path": "/".join(path), "create": True} for path in fields]
            return kind, {"replicas": rows}
    return None


def _count_fields(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The fields of an object with the number of its pods."""
    kind = (str(data.get("apiVersion")).rpartition("/")[0], str(data.get("kind")))
    spec = mapping(data, "spec")
    if kind == kinds.TRAINJOB:
        yield "spec", "trainer", "numNodes"
    elif kind == kinds.JOB:
        yield "spec", "parallelism"
    elif kind in _REPLICA_TYPES:
        if "Worker" in mapping(spec, _REPLICA_TYPES[kind]):
            yield "spec", _REPLICA_TYPES[kind], "Worker", "replicas"
    elif kind in _GROUPS:
        path = tuple(map(str, _GROUPS[kind]))
        if len(structs(mapping(data, *path[:-1]), path[-1])) == 1:
            yield *path, "replicas"
    elif "replicas" in spec:
        yield "spec", "replicas"
