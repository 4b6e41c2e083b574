"""The defaults of a pod: those that its validation depends on, and all that a pod and a template get.

Follows `SetDefaults_Pod`, `SetDefaults_PodSpec` and `Convert_v1_Pod_To_core_Pod`, k8s.io/kubernetes pkg/apis/core/v1, and
`dropDisabledFields`, pkg/api/pod, 1.30 to 1.37, with the feature gates as each release ships them.
"""

from __future__ import annotations

from jobspec.apis.kinds import SYSTEM_PRIORITIES
from jobspec.apis.releases import choose, is_at_least
from jobspec.diagnostics.places import Data
from jobspec.kubernetes.problems import field_items
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.schemas.shapes import Shape


CONTAINERS = ("containers", "initContainers")
"""The lists of containers whose defaults matter to the rules; those of ephemeral containers do not."""
ALL_CONTAINERS = (*CONTAINERS, "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
"""The fields of a container that hold its probes."""
TOLERATED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""The taints that admission has every pod tolerate for a while."""


def containers_of(spec: Data, path: Path, fields: tuple[str, ...] = ALL_CONTAINERS) -> Iterator[tuple[Path, Data]]:
    """Yield the containers in some lists of a spec at *path*, each with its path."""
    for field in fields:
        yield from field_items(spec, field, path)


def is_pointer(field: str, around: str) -> bool:
    """True if a field of a pod's spec is a pointer in Go, so that zero differs from absent.

    *around*: the name of the field that holds the object.
    """
    if not _pointers:
        pod = shapes.load("v1", "Pod", choose(()))
        assert pod and pod.fields
        _pointers.update(_pointers_in(pod.fields["spec"], "spec"))
    return (around, field) in _pointers


_pointers: set[tuple[str, str]] = set()
"""The fields that are pointers (`GoPointer` in the models), found on first use, of the newest release: it has all fields of the others."""


def _pointers_in(shape: Shape, around: str) -> Iterator[tuple[str, str]]:
    for name, child in (shape.fields or {}).items():
        if child.pointer:
            yield around, name
        yield from _pointers_in(child, name)
    for inner in filter(None, (shape.items, shape.values)):
        yield from _pointers_in(inner, around)


def restart_policy(spec: Data) -> str:
    """Return the restart policy of a pod."""
    return spec.get("restartPolicy") or "Always"


def grace_period(spec: Data) -> int:
    """Return the seconds between the signal to end and the end of a pod."""
    seconds: int = spec.get("terminationGracePeriodSeconds", 30)
    return seconds


def of_class(spec: Data) -> Data:
    """Return the priority and preemption policy of a pod, if every cluster agrees on them.

    That is so for the system's own classes, and if the pod names no class. For other classes the result is empty.
    """
    name = spec.get("priorityClassName") or ""
    priority = SYSTEM_PRIORITIES.get(name) if name else 0
    return {} if priority is None else {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"}


def filled_in_containers(spec: Data, release: str) -> Data:
    """Fill in the fields of a pod's spec that the server sets in pods and not in templates.

    These are requests, ports of the host, and a grace period above zero. `resources.with_resources` fills in the resources of the pod as
    a whole.
    """
    spec = without_disabled(spec, release)
    if grace_period(spec) < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    for field in CONTAINERS:
        if field in spec:
            spec = {**spec, field: [_with_ports(each, spec) for each in spec[field]]}
    return with_requests(spec)


def with_requests(spec: Data) -> Data:
    """A spec whose containers request their limits, where they say no requests."""
    return {**spec, **{field: [_with_requests(each) for each in spec[field]] for field in CONTAINERS if field in spec}}


def _with_requests(container: Data) -> Data:
    """A container whose requests are its limits where it does not say them."""
    resources = container.get("resources", {})
    if not resources.get("limits"):
        return container
    requests = {**resources["limits"], **resources.get("requests", {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _with_ports(container: Data, spec: Data) -> Data:
    """A container that listens on the host's ports, where the pod is on the host's network."""
    if not spec.get("hostNetwork") or "ports" not in container:
        return container
    ports = [{**port, "hostPort": port.get("hostPort") or port.get("containerPort", 0)} for port in container["ports"]]
    return {**container, "ports": ports}


# Fields of features that are off in a release unless somebody turns them on: the server takes these fields, and drops them.
#
# Follows `dropDisabledFields`, k8s.io/kubernetes pkg/api/pod, and pkg/features/kube_features.go, 1.30 to 1.37. A `procMount` becomes
# `Default`, which is what it is where it is absent.


_OFF = "2"  # in every release until now
_WITH_USERS = ("secret", "configMap", "downwardAPI", "projected", "items", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
#: The release that turned features on -> the field that an object is in (the spec is in none) -> the fields of the object that they bring.
_ON_SINCE: dict[str, dict[str, tuple[str, ...]]] = {
    "1.31": {
        "volumeMounts": ("recursiveReadOnly",),
        "requiredDuringSchedulingIgnoredDuringExecution": ("matchLabelKeys", "mismatchLabelKeys"),
        "podAffinityTerm": ("matchLabelKeys", "mismatchLabelKeys"),
    },
    "1.33": {
        "": ("hostUsers",),
        "securityContext": ("procMount", "seLinuxChangePolicy", "supplementalGroupsPolicy"),
        **dict.fromkeys(ALL_CONTAINERS, ("resizePolicy",)),
    },
    "1.34": {"": ("resourceClaims", "resources"), "resources": ("claims",)},
    "1.35": {
        "": ("hostnameOverride",),
        "valueFrom": ("fileKeyRef",),
        **dict.fromkeys(ALL_CONTAINERS, ("restartPolicyRules",)),
    },
    "1.37": {"sources": ("clusterTrustBundle", "podCertificate")},
    _OFF: {
        "": ("evictionResponders", "schedulingGroup", "workloadRef"),
        "emptyDir": ("mode",),
        "grpc": ("mode",),
        "httpGet": ("protocol",),
        "lifecycle": ("stopSignal",),
        "volumeMounts": ("bindMountOptions",),
        **dict.fromkeys(_WITH_USERS, ("user", "defaultUser")),
    },
}


def without_disabled(spec: Data, release: str) -> Data:
    """Remove the fields of features that are off in a release of Kubernetes."""
    kept: Data = _without_disabled_fields(spec, "", _disabled(release))
    if release == "1.34":  # which drops the policies of containers; those before refuse them
        for field in ALL_CONTAINERS:
            policies = ("Always",) if field == "initContainers" else ()
            kept = _each(kept, field, lambda each: each if each.get("restartPolicy") in policies else _without_policy(each))  # noqa: B023
    if not is_at_least(release, "1.35"):
        kept = _without_images(kept)
    return kept


def _disabled(release: str) -> dict[str, tuple[str, ...]]:
    """Return the fields of each object whose features are off in a release.

    The key is the name of the field that holds the object.
    """
    found: dict[str, tuple[str, ...]] = {}
    for since, fields in _ON_SINCE.items():
        if not is_at_least(release, since):
            found |= {around: (*found.get(around, ()), *names) for around, names in fields.items()}
    return found


def disabled_fields(spec: Data, release: str) -> list[Path]:
    """The paths in a spec of fields of features that are off in a release of Kubernetes."""
    return list(_disabled_in(spec, "", (), _disabled(release)))


def _disabled_in(value: Any, around: str, path: Path, disabled: dict[str, tuple[str, ...]]) -> Iterator[Path]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _disabled_in(each, around, (*path, index), disabled)
    elif isinstance(value, dict):
        off = disabled.get(around, ())
        for name, each in value.items():
            if name in off and each is not None:
                yield (*path, name)
            else:
                yield from _disabled_in(each, name, (*path, name), disabled)


def _without_disabled_fields(value: Any, around: str, disabled: dict[str, tuple[str, ...]]) -> Any:
    """A value of the field *around* without what is disabled in it."""
    if isinstance(value, list):
        return [_without_disabled_fields(each, around, disabled) for each in value]
    if not isinstance(value, dict):
        return value
    off = disabled.get(around, ())
    made = {name: _without_disabled_fields(each, name, disabled) for name, each in value.items() if name not in off}
    if made.get("lifecycle") == {} and value["lifecycle"]:  # an emptied one goes, too; one that was written so stays
        del made["lifecycle"]
    return made


def _without_policy(container: Data) -> Data:
    return {name: each for name, each in container.items() if name != "restartPolicy"}


def _without_images(spec: Data) -> Data:
    """A spec without volumes of images, and without their mounts."""
    names = {volume.get("name", "") for volume in spec.get("volumes", ()) if "image" in volume}
    if not names:
        return spec
    made = {**spec, "volumes": [volume for volume in spec["volumes"] if "image" not in volume]}

    def mounting(container: Data) -> Data:
        mounts = container.get("volumeMounts", ())
        return {**container, "volumeMounts": [each for each in mounts if each.get("name", "") not in names]} if mounts else container

    for field in ALL_CONTAINERS:
        made = _each(made, field, mounting)
    return made


# The defaults of a pod's spec and of what is in it, in a pod as in a template.
#
# Follows `SetDefaults_PodSpec`, `SetDefaults_Container`, `SetDefaults_Volume` and their neighbours, k8s.io/kubernetes pkg/apis/core/v1,
# 1.36. When images are pulled is left out, since each policy follows from its image.


HOOKS = ("postStart", "preStop")
_HANDLERS = {"grpc": {"service": ""}, "httpGet": {"path": "/", "scheme": "HTTP"}}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, **_HANDLERS}
_VARIABLE = {"fieldRef": {"apiVersion": "v1"}, "fileKeyRef": {"optional": False}, "resourceFieldRef": {"divisor": "0"}}
_FILES = {"defaultMode": 0o644}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "ports": [{"protocol": "TCP"}],
    "env": [{"valueFrom": _VARIABLE}],
    **dict.fromkeys(PROBES, _PROBE),
    "lifecycle": dict.fromkeys(HOOKS, _HANDLERS),
}
_VOLUME = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "configMap": _FILES,
    "downwardAPI": {**_FILES, "items": [_VARIABLE]},
    "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {
        **_FILES,
        "sources": [{"downwardAPI": {"items": [_VARIABLE]}, "serviceAccountToken": {"expirationSeconds": 3600}}],
    },
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": _FILES,
}
#: The defaults of a spec's absent fields; what has fields or items of its own here has the defaults inside of it, where it is there.
_SPEC: Data = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "securityContext": {},
    **{field: [_CONTAINER] for field in ALL_CONTAINERS},
    "volumes": [_VOLUME],
}


def completed(spec: Data) -> Data:
    """Fill the absent fields of a decoded spec with their defaults."""
    return _each(_with_defaults(spec, _SPEC), "volumes", lambda each: each if each.keys() - {"name"} else {**each, "emptyDir": {}})


def _with_defaults(value: Data, defaults: Data) -> Data:
    inside = {field: each for field, each in defaults.items() if each and isinstance(each, dict | list)}
    made = {**{field: each for field, each in defaults.items() if field not in inside}, **value}
    for field, inner in inside.items():
        if isinstance(inner, list) and field in made:
            made[field] = [_with_defaults(each, inner[0]) for each in made[field]]
        elif isinstance(inner, dict) and (field in made or field == "spec"):  # which is no pointer in Go, so that it is always there
            made[field] = _with_defaults(made.get(field, {}), inner)
    return made


def _each(data: Data, field: str, change: Callable[[Data], Data]) -> Data:
    """Data of which the items of one field, where it is there, are changed."""
    return {**data, field: [change(each) for each in data[field]]} if field in data else data


# The tag of an image, by which a server chooses the pull policy.
#
# Follows `SetDefaults_Container`, k8s.io/kubernetes pkg/apis/core/v1, and `ParseImageName`, pkg/util/parsers, 1.36; and
# `ParseNormalizedNamed`, github.com/distribution/reference 0.6.


_ALPHANUMERIC = r"[a-z0-9]+"
_PART = rf"{_ALPHANUMERIC}(?:(?:[._]|__|[-]+){_ALPHANUMERIC})*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])"
_NAME = rf"(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
IMAGE_REFERENCE = rf"(?P<name>{_NAME})(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?"
_LONGEST = 255
_HEX = frozenset("0123456789abcdef")


def default_pull_policy(image: str) -> str:
    """Return the default pull policy of an image: `Always` for the tag `latest`."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"


def tag_of(image: str) -> str:
    """Return the tag of an image. If the image has neither tag nor digest, return `latest`.

    If the image has a digest alone, or the text is no image's name, return an empty string.
    """
    found = image_name(image)
    if not found or (len(image) == 64 and _HEX.issuperset(image)) or len(found["name"]) > _LONGEST:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def image_name(image: str) -> re.Match[str] | None:
    """Match an image's name with its parts `name`, `tag` and `digest`.

    If the text is no image's name, return None.
    """
    import re

    return re.fullmatch(IMAGE_REFERENCE, _normalized(image), re.ASCII)


def _normalized(image: str) -> str:
    """The image's name with its registry before it."""
    first, slash, rest = image.partition("/")
    if slash and (any(each in first for each in ".:") or first == "localhost" or first.lower() != first):
        return f"{first}/library/{rest}" if first in ("docker.io", "index.docker.io") and "/" not in rest else image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"
