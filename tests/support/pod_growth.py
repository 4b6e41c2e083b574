"""Random pods that a server accepts: each grows from a small one by one field after the other, as long as the server takes it."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from jobspec.schemas.shapes import Shape

_WORDS: dict[str, tuple[Any, ...]] = {
    "action": ("Restart",),
    "apiGroup": ("storage.k8s.io",),
    "cachingMode": ("None", "ReadOnly"),
    "dnsPolicy": ("ClusterFirst", "Default", "ClusterFirstWithHostNet"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule"),
    "expirationSeconds": (600, 3607),
    "fieldPath": ("metadata.name", "status.podIP"),
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "hostIP": ("127.0.0.1",),
    "image": ("a", "a:latest", "a:1", f"a@sha256:{'0' * 64}", "b.example/c"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "ip": ("10.0.0.1",),
    "kind": ("Dedicated", "Managed", "PersistentVolumeClaim"),
    "mountPath": ("/a", "/b", "/var/run/secrets/kubernetes.io/serviceaccount"),
    "mountPropagation": ("None", "HostToContainer"),
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "operator": ("Exists", "In", "Equal"),
    "path": ("a", "/a", "/"),
    "preemptionPolicy": ("PreemptLowerPriority",),
    "procMount": ("Default",),
    "protocol": ("TCP", "UDP"),
    "pullPolicy": ("Always", "IfNotPresent"),
    "resource": ("limits.cpu", "requests.memory"),
    "resourceName": ("cpu", "memory"),
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "scheme": ("HTTP", "HTTPS"),
    "storageMode": ("ThickProvisioned",),
    "terminationMessagePath": ("/a",),
    "terminationMessagePolicy": ("FallbackToLogsOnError",),
    "topologyKey": ("a/b",),
    "type": ("", "Directory", "RuntimeDefault", "Localhost"),
    "volumeMode": ("Block", "Filesystem"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
}
_SCALARS: dict[str, tuple[Any, ...]] = {
    "string": ("a", "a", "b", ""),
    "integer": (0, 1, 1, 2, 30),
    "boolean": (True, False),
    "int-or-string": (80, "a"),
    "quantity": ("1", "1000m", "1500m", 2, "0", "1.5Gi", "1024Mi", "1e3"),
}


def grown(base: Any, shape: Shape, random: Random) -> Any:
    """A pod's spec with one more field, or another value for one."""
    made = copy.deepcopy(base)
    place, fields, required = random.choice(list(_objects(made, shape)))
    name = random.choice(list(fields))
    place[name] = _value(fields[name], name, random)
    if name not in required and random.random() < 0.1:
        del place[name]
    return made


def _objects(value: Any, shape: Shape | None) -> Iterator[tuple[dict[str, Any], dict[str, Shape], list[str]]]:
    """The objects with fields in a value, with their fields and those that they require."""
    if shape is None:
        return
    if isinstance(value, dict) and shape.fields:
        yield value, shape.fields, shape.required
        for name, child in value.items():
            yield from _objects(child, shape.at((name,)))
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, shape.items)


def _value(shape: Shape, name: str, random: Random) -> Any:
    if shape.type == "array":
        return [_value(shape.items, name, random) for _ in range(random.choice((0, 1, 1, 2)))] if shape.items else []
    if shape.fields is not None:
        wanted = [each for each in shape.fields if each in shape.required or random.random() < 1 / len(shape.fields)]
        return {each: _value(shape.fields[each], each, random) for each in wanted}
    if shape.type == "object":
        return {key: _value(shape.values, "", random) for key in random.choice(((), ("cpu",), ("memory", "cpu")))} if shape.values else {}
    return random.choice(_WORDS.get(name) or _SCALARS["quantity" if shape.format == "quantity" else shape.type])
