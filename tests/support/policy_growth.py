"""Namespaces with policies at random, and pods at random that keep them or do not."""

import copy
from random import Random
from typing import Any

Data = dict[str, Any]

_LEVELS = ("privileged", "baseline", "baseline", "restricted")
_VERSIONS = (
    "latest",
    "latest",
    *(f"v1.{minor}" for minor in (0, 7, 8, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 99)),
)
_AMOUNTS: dict[str, tuple[Any, ...]] = {
    "cpu": (0, 1, 2, "500m", "1500m", "0.0005", "1e3", 4),
    "memory": (0, "1Gi", "2Gi", "512Mi", "1536Mi", 1000, "1000m", "8Gi"),
    "ephemeral-storage": ("1Gi", "5Gi", "100Mi"),
    "nvidia.com/gpu": (0, 1, 2, 8),
}


def labels(random: Random) -> Data:
    """Labels of a namespace for Pod Security."""
    found = {}
    for mode in ("enforce", "warn", "audit"):
        if random.random() < 0.6:
            found[f"pod-security.kubernetes.io/{mode}"] = random.choice(_LEVELS)
        if random.random() < 0.6:
            found[f"pod-security.kubernetes.io/{mode}-version"] = random.choice(_VERSIONS)
    return found


def limit_range(name: str, random: Random) -> Data:
    """A LimitRange; the server may refuse it, since its amounts contradict each other."""
    kinds = random.choice((["Container"], ["Container"], ["Pod"], ["Container", "Pod"]))
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name},
        "spec": {"limits": [_limit(each, random) for each in kinds]},
    }


def _limit(kind: str, random: Random) -> Data:
    names = random.sample(("cpu", "memory", "ephemeral-storage"), random.choice((1, 1, 2)))
    item: Data = {"type": kind}
    fields = ["min", "max", *(["default", "defaultRequest"] if kind == "Container" else [])]
    for name in names:
        chosen = sorted(random.sample(_AMOUNTS[name], 3), key=_size)
        order = {
            "min": chosen[0],
            "max": chosen[2],
            "default": chosen[random.choice((1, 2))],
            "defaultRequest": chosen[random.choice((0, 1))],
        }
        for field in random.sample(fields, random.choice((1, 2, 2))):
            item.setdefault(field, {})[name] = order[field]
        if random.random() < 0.2:
            item.setdefault("maxLimitRequestRatio", {})[name] = random.choice((1, 2, "1500m", "3"))
    return item


def _size(value: Any) -> float:
    text = str(value)
    for suffix, factor in (("Gi", 2**30), ("Mi", 2**20), ("m", 0.001)):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


_HARD: dict[str, tuple[Any, ...]] = {
    "pods": (0, 1, 5),
    "count/pods": (0, 1, 5),
    "requests.nvidia.com/gpu": (0, 1, 8),
    "requests.hugepages-2Mi": ("0", "2Mi", "1Gi"),
    **{f"{prefix}{name}": _AMOUNTS[name] for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")},
}
_SCOPES: tuple[Data, ...] = (
    {"scopes": ["BestEffort"]},
    {"scopes": ["NotBestEffort"]},
    {"scopes": ["Terminating"]},
    {"scopes": ["NotTerminating"]},
    {"scopes": ["NotTerminating", "NotBestEffort"]},
    {"scopes": ["PriorityClass"]},
    {"scopes": ["CrossNamespacePodAffinity"]},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["<low>", "<high>"]}]}},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn", "values": ["<low>"]}]}},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}},
)


def quota(name: str, random: Random) -> Data:
    """A ResourceQuota with what is used of it; the server may refuse it, since some scopes count only some things."""
    scope = random.choice(_SCOPES) if random.random() < 0.5 else {}
    is_narrow = scope.get("scopes") in (["BestEffort"], ["CrossNamespacePodAffinity"])
    names = ["pods"] if is_narrow else random.sample(list(_HARD), random.choice((1, 1, 2, 3)))
    hard = {each: random.choice(_HARD[each]) for each in names}
    used = {each: random.choice((0, 0, 0, 1)) for each in names}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": hard, **copy.deepcopy(scope)},
        "status": {"hard": hard, "used": used},
    }


_HARDENED: Data = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
#: Fields of a container's security context, and what may stand in them.
_CONTEXT: dict[str, tuple[Any, ...]] = {
    "allowPrivilegeEscalation": (True, False, None),
    "appArmorProfile": ({"type": "RuntimeDefault"}, {"type": "Unconfined"}, {"type": "Localhost", "localhostProfile": "a"}),
    "capabilities": (
        {},
        {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        {"add": ["CHOWN", "NET_RAW"]},
        {"add": ["SYS_ADMIN", "KILL"], "drop": ["ALL"]},
        {"drop": ["KILL"]},
    ),
    "privileged": (True, False),
    "procMount": ("Default", "Unmasked"),
    "readOnlyRootFilesystem": (True,),
    "runAsNonRoot": (True, False, None),
    "runAsUser": (0, 1000, None),
    "seLinuxOptions": (
        {},
        {"type": "container_t"},
        {"type": "container_engine_t"},
        {"type": "spc_t", "user": "u"},
        {"role": "r"},
        {"level": "s0"},
    ),
    "seccompProfile": ({"type": "RuntimeDefault"}, {"type": "Unconfined"}, {"type": "Localhost", "localhostProfile": "a"}, None),
    "windowsOptions": ({"hostProcess": False}, {"hostProcess": True}),
}
_OF_PODS = ("appArmorProfile", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile", "windowsOptions", "sysctls")
_SYSCTLS = ("kernel.shm_rmid_forced", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_rmem", "kernel.msgmax")
_PROBE = {"httpGet": {"port": 80, "host": "a"}}
#: Fields of a container, and what may stand in them.
_CONTAINER: dict[str, tuple[Any, ...]] = {
    "ports": ([{"containerPort": 80}], [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 81}]),
    "livenessProbe": (_PROBE, {"httpGet": {"port": 80}}, {"tcpSocket": {"port": 80, "host": "b"}}),
    "readinessProbe": (_PROBE, {"exec": {"command": ["a"]}}),
    "startupProbe": ({"tcpSocket": {"port": 80}}, _PROBE),
    "lifecycle": ({"postStart": _PROBE}, {"preStop": {"httpGet": {"port": 80}}}),
    "env": (
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "listed", "key": "k"}}}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k", "optional": True}}}],
    ),
    "envFrom": ([{"secretRef": {"name": "listed"}}], [{"secretRef": {"name": "other"}}]),
}
_VOLUMES: tuple[Data, ...] = (
    {"hostPath": {"path": "/a"}},
    {"emptyDir": {}},
    {},
    {"configMap": {"name": "a"}},
    {"secret": {"secretName": "listed"}},
    {"secret": {"secretName": "other"}},
    {"persistentVolumeClaim": {"claimName": "a"}},
    {"projected": {"sources": [{"secret": {"name": "other"}}]}},
    {"downwardAPI": {"items": []}},
    {"csi": {"driver": "a.b"}},
    {"image": {"reference": "a"}},
    {"nfs": {"server": "a", "path": "/a"}},
    {"iscsi": {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a", "lun": 1}},
    {"gcePersistentDisk": {"pdName": "a"}},
    {"rbd": {"monitors": ["a"], "image": "a"}},
    {"fc": {"wwids": ["a"]}},
)
_TERM = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "a/b"}
#: Fields of a pod's spec, and what may stand in them.
_SPEC: dict[str, tuple[Any, ...]] = {
    "hostNetwork": (True, False),
    "hostPID": (True,),
    "hostIPC": (True,),
    "hostUsers": (True, False, False),
    "os": ({"name": "linux"}, {"name": "windows"}),
    "activeDeadlineSeconds": (1, 60),
    "priorityClassName": ("<low>", "<high>", "<none>", "system-node-critical", ""),
    "priority": (0, 5, 1000),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "runtimeClassName": ("<sealed>", "<bare>", "<none>"),
    "overhead": ({"cpu": "250m"}, {"cpu": "0.25", "memory": "120Mi"}, {}),
    "nodeSelector": ({"a": "b"}, {"a": "c"}, {"d": "e"}),
    "tolerations": (
        [{"operator": "Exists"}],
        [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 60}],
        [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Equal", "value": "b"}],
        [{"key": "c", "operator": "Exists", "effect": "NoSchedule"}],
    ),
    "serviceAccountName": ("default", "strict", "lenient", "none"),
    "imagePullSecrets": ([{"name": "registry"}], [{"name": "other"}]),
    "affinity": (
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**_TERM, "namespaces": ["x"]}]}},
        {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {**_TERM, "namespaceSelector": {}}}]
            }
        },
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}},
    ),
}
_ANNOTATIONS: tuple[Data, ...] = (
    {"container.apparmor.security.beta.kubernetes.io/c0": "unconfined"},
    {"container.apparmor.security.beta.kubernetes.io/c0": "runtime/default"},
    {"container.apparmor.security.beta.kubernetes.io/c0": "localhost/a"},
    {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"},
    {"container.seccomp.security.alpha.kubernetes.io/c0": "unconfined"},
    {"container.seccomp.security.alpha.kubernetes.io/c9": "unconfined"},
)


def pod(random: Random, *, plain: float = 0.0) -> Data:
    """A pod: hardened or not, with some fields set to something, or with that probability none but resources."""
    if random.random() < plain:
        return {
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "c0", "image": "a", "resources": _resources(random, ("cpu", "memory"))}]},
        }
    is_hard = random.random() < 0.6
    containers = [_container(f"c{index}", random, is_hard=is_hard) for index in range(random.choice((1, 1, 2)))]
    spec: Data = {"containers": containers}
    if random.random() < 0.25:
        first = _container("i0", random, is_hard=is_hard)
        spec["initContainers"] = [{**first, "restartPolicy": "Always"} if random.random() < 0.5 else _without_hooks(first)]
    for field in random.sample(list(_SPEC), random.choice((0, 0, 0, 1, 1, 2))):
        spec[field] = random.choice(_SPEC[field])
    if random.random() < 0.25:
        spec["volumes"] = [{"name": f"v{at}", **source} for at, source in enumerate(random.sample(_VOLUMES, random.choice((1, 2))))]
    if random.random() < 0.3:
        chosen = {field: _of_pod(field, random) for field in random.sample(_OF_PODS, random.choice((1, 2)))}
        spec["securityContext"] = {name: each for name, each in chosen.items() if each is not None}
    if random.random() < 0.1:
        spec["resources"] = _resources(random, ("cpu", "memory"))
    metadata = {"name": "a", **({"annotations": random.choice(_ANNOTATIONS)} if random.random() < 0.1 else {})}
    return copy.deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _of_pod(field: str, random: Random) -> Any:
    if field == "sysctls":
        return [{"name": name, "value": "1"} for name in random.sample(_SYSCTLS, random.choice((1, 2)))]
    return random.choice(_CONTEXT[field])


def _container(name: str, random: Random, *, is_hard: bool) -> Data:
    made: Data = {"name": name, "image": "a"}
    context = dict(_HARDENED) if is_hard else {}
    for field in random.sample(list(_CONTEXT), random.choice((0, 0, 0, 1, 1, 2))):
        context[field] = random.choice(_CONTEXT[field])
    if context:
        made["securityContext"] = {field: each for field, each in context.items() if each is not None}
    for field in random.sample(list(_CONTAINER), random.choice((0, 0, 0, 1))):
        made[field] = random.choice(_CONTAINER[field])
    if random.random() < 0.6:
        made["resources"] = _resources(random, tuple(_AMOUNTS))
    return made


def _without_hooks(container: Data) -> Data:
    hooks = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
    return {field: each for field, each in container.items() if field not in hooks}


def _resources(random: Random, names: tuple[str, ...]) -> Data:
    found: Data = {}
    for name in random.sample(names, random.choice((1, 1, 2))):
        small, large = sorted(random.sample(_AMOUNTS[name], 2), key=_size)
        if "/" in name:
            found.setdefault("limits", {})[name] = large
            continue
        if random.random() < 0.7:
            found.setdefault("limits", {})[name] = large
        if random.random() < 0.6:
            found.setdefault("requests", {})[name] = small
    return found
