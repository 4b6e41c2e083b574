"""Random objects of the built-in kinds that are judged exactly: fields of the right types, with any text that their rules are about."""

from random import Random
from typing import Any

from jobspec.schemas.shapes import Shape

_NAMES = ["a", "b", "a.b", "A", "", "a_b", "system:a", "a/b", "..", "x" * 64]
_KEYS = ["a", "b.c", "A_b", "", ".", "..a", "a b", "x" * 254, "ä", "tls.crt", "tls.key", ".dockercfg", ".dockerconfigjson", "username"]
_RESOURCES = [
    *("cpu", "memory", "storage", "pods", "requests.cpu", "limits.memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu"),
    *("requests.nvidia.com/gpu", "count/jobs.batch", "services.nodeports", "persistentvolumeclaims", "requests.storage", "cpus", "a b", ""),
    *("example.com/a", "kubernetes.io/a", "requests.hugepages-1Gi", "secrets"),
]
_AMOUNTS = ["1", "2", "500m", "1Gi", "0", "-1", "1500m", "10", "1.5", 3, "100", "4Gi", "0.1m", "9223372036854775807", "1e30"]
_LABELS = ["a", "a/b", "", "A B", "x" * 64, "a.b", "-a"]
#: Texts and numbers by field; a field with a dot is that of a field around it.
_POOLS: dict[str, list[Any]] = {
    "verbs": ["get", "*", ""],
    "apiGroups": ["", "apps", "*"],
    "resources": ["pods", "*", "pods/log"],
    "resourceNames": ["a"],
    "nonResourceURLs": ["/healthz", "*"],
    "roleRef.kind": ["Role", "ClusterRole", "Role", "ClusterRole", "role", ""],
    "roleRef.name": _NAMES,
    "apiGroup": ["", "rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "apps", ""],
    "subjects.kind": ["ServiceAccount", "User", "Group", "Users", ""],
    "subjects.name": _NAMES,
    "subjects.namespace": ["", "a", "A"],
    "limits.type": ["Pod", "Container", "Container", "PersistentVolumeClaim", "example.com/a", "Pods", "", "a b"],
    "type": [
        *("Opaque", "", "kubernetes.io/tls", "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth", "kubernetes.io/dockerconfigjson"),
        *("kubernetes.io/dockercfg", "kubernetes.io/service-account-token", "example.com/a"),
    ],
    "data": ["e30=", "YQ==", "bnVsbA==", "W10=", "", "eyJhIjoxZTk5OX0=", "77u/e30=", "e30gYQ==", [123, 125], "eyJhIjpOYU59"],
    "stringData": ["{}", "a", "", "[]", '{"auths": {}}', "{}x", " {} "],
    "hard": _AMOUNTS,
    "scopes": ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "PriorityClass", "CrossNamespacePodAffinity", "Best", ""],
    "policyTypes": ["Ingress", "Egress", "ingress", ""],
    "protocol": ["TCP", "UDP", "SCTP", "tcp", ""],
    "port": [80, 0, 65535, 65536, "http", "HTTP", "", "a-very-long-name-x", "80", -1],
    "endPort": [80, 90, 70000, 0, 443],
    "cidr": [
        *("10.0.0.0/8", "10.0.0.0/8", "10.0.0.1/8", "010.0.0.0/8", "10.0.0.0", "2001:db8::/32", "2001:DB8::/32", "::ffff:10.0.0.0/104", ""),
        *("10.0.0.0/33", "10.0.0.0/08", "a", "fe80::%eth0/64", "0.0.0.0/0", "::/0", "2001:db8::1/32", "10.0.0.0/ 8", "10.0.0.0/-1"),
    ],
    "except": [
        "10.1.0.0/16",
        "10.1.0.0/16",
        "10.0.0.0/8",
        "10.0.0.0/7",
        "2001:db8:1::/48",
        "10.1.0.1/16",
        "a",
        "",
        "11.0.0.0/16",
        "10.01.0.0/16",
    ],
    "minAvailable": [1, 0, -1, "50%", "101%", "50", "", "0%", "100%", "a%", "999999999999999999999%"],
    "maxUnavailable": [1, "1%", -1, "x"],
    "unhealthyPodEvictionPolicy": ["AlwaysAllow", "IfHealthyBudget", "Never", ""],
    "preemptionPolicy": ["Never", "PreemptLowerPriority", "never", ""],
    "value": [0, 1, 1000000000, 1000000001, 2000000000, 2000001000, -2147483648],
    "finalizers": ["kubernetes", "a.b/c", "orphan", "custom", "", "a b/c"],
    "values": ["a", "A B", ""],
    "operator": ["In", "NotIn", "Exists", "DoesNotExist", "in", ""],
    "scopeName": [
        "PriorityClass",
        "BestEffort",
        "Terminating",
        "NotTerminating",
        "VolumeAttributesClass",
        "CrossNamespacePodAffinity",
        "a",
    ],
    "key": _LABELS,
    "minReplicas": [1, 2, 0, -1],
    "maxReplicas": [3, 4, 1, 0, -1],
    "scaleTargetRef.apiVersion": ["apps/v1", "kubeflow.org/v1", "v1", "", "a/b/c", "/v1"],
    "scaleTargetRef.kind": ["PyTorchJob", "Deployment", "ReplicationController", "", "a/b"],
    "describedObject.apiVersion": ["apps/v1", "v1", "", "a/b/c"],
    "metrics.type": ["Resource", "Pods", "Object", "External", "ContainerResource", "resource", ""],
    "containerResource.name": ["cpu", "nvidia.com/gpu", "gpu", ""],
    "target.type": ["Utilization", "AverageValue", "Value", "Used", ""],
    "target.value": ["1", "100m", "0", "-1", 3],
    "averageValue": ["1", "100m", "0", "-1", 3],
    "averageUtilization": [80, 1, 0, -1],
    "stabilizationWindowSeconds": [0, 3600, 3601, -1],
    "selectPolicy": ["Max", "Min", "Disabled", "max", ""],
    "tolerance": ["100m", "0", "-1"],
    "policies.type": ["Pods", "Percent", "pods", ""],
    "policies.value": [1, 4, 0, -1],
    "periodSeconds": [1, 1800, 1801, 0],
    "matchLabels": _LABELS,
}
_POOLS["binaryData"] = _POOLS["data"]
_MAP_KEYS = {"data": _KEYS, "binaryData": _KEYS, "stringData": _KEYS, "hard": _RESOURCES, "matchLabels": _LABELS}
_ALWAYS = (
    "spec",
    "rules",
    "roleRef",
    "subjects",
    "limits",
    "hard",
    "verbs",
    "key",
    "operator",
    "kind",
    "name",
    "type",
    "cidr",
    "scopeName",
)
_METADATA = [
    {"labels": {"a": "b"}},
    {"annotations": {"kubernetes.io/service-account.name": "a"}},
    {"generation": -1},
    {"generation": 3},
    {"finalizers": ["a"]},
    {"labels": {"a b": "c"}},
    {},
]


def of_kind(shape: Shape, api_version: str, kind: str, name: str, random: Random) -> dict[str, Any]:
    """An object of a kind."""
    fields = {key: child for key, child in (shape.fields or {}).items() if key not in ("apiVersion", "kind", "metadata", "status")}
    meta = {**(random.choice(_METADATA) if random.random() < 0.15 else {}), "name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **_object(fields, "", random)}


def _object(fields: dict[str, Shape], around: str, random: Random) -> dict[str, Any]:
    odds = 0.9 if len(fields) < 4 else 0.5
    names = [name for name in fields if random.random() < (0.95 if name in _ALWAYS else odds)]
    return {name: None if random.random() < 0.01 else _value(fields[name], name, around, random) for name in names}


def _value(shape: Shape, field: str, around: str, random: Random) -> Any:
    if shape.fields is not None:
        return _object(shape.fields, field, random)
    if shape.items:
        count = random.choice((0, 1, 1, 2, 3))
        return [None if random.random() < 0.02 else _value(shape.items, field, around, random) for _ in range(count)]
    if shape.values:
        keys = _MAP_KEYS.get(field, _RESOURCES)
        common = keys[:2] if random.random() < 0.7 else keys
        return {key: _value(shape.values, field, around, random) for key in random.choices(common, k=random.choice((0, 1, 2, 2, 3)))}
    if shape.type == "boolean":
        return random.random() < 0.3
    pool = _POOLS.get(f"{around}.{field}") or _POOLS.get(field) or (_AMOUNTS if shape.format == "quantity" else _NAMES)
    return random.choice(pool[:2] if random.random() < 0.6 else pool)
