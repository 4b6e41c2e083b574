"""Whether two states of a part of an object mean the same to the server: after its defaults, with quantities as numbers.

Follows `Semantic.DeepEqual`, k8s.io/apimachinery pkg/api/equality, 0.36, on objects with the defaults of k8s.io/kubernetes
pkg/apis/core/v1, 1.36. The defaults are those of `jobspec.operators.api_defaults`, and a test compares the two.
"""

from __future__ import annotations

from jobspec.quantities import quantity
from jobspec.validation.pods.defaults import without_disabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, "initialDelaySeconds": 0}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    **dict.fromkeys(("stdin", "stdinOnce", "tty"), False),
}
_MODE = {"defaultMode": 0o644}
_CLAIM = {"volumeMode": "Filesystem"}
#: The field that holds an object, or a list of objects -> the defaults of its fields; numbers and booleans that Go has none of are zero.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "ports": {"protocol": "TCP", "hostPort": 0},
    "fieldRef": {"apiVersion": "v1"},
    "resourceFieldRef": {"divisor": "0"},
    "fileKeyRef": {"optional": False},
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "volumeMounts": {"readOnly": False},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "secret": _MODE,
    "iscsi": {"iscsiInterface": "default", "readOnly": False},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs", "readOnly": False},
    "serviceAccountToken": {"expirationSeconds": 3600},
    "persistentVolumeClaim": {"readOnly": False},
    "onPodConditions": {"status": "True"},
}
_POD_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC"), False),
}
_MOST_DIGITS = 2  # of an exponent
_QUANTITIES = ("limits", "requests", "overhead", "capacity", "allocatedResources")


def same(one: Any, other: Any, field: str = "") -> bool:
    """Whether two values of a field mean the same."""
    return bool(whole(one, field) == whole(other, field))


def same_pods(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two specs of pods mean the same."""
    return bool(whole_pods(one) == whole_pods(other))


def same_claims(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """Whether two lists of templates of claims mean the same; of a claim, `apiVersion` and `kind` are what they have to be."""
    return [_whole_claim(claim) for claim in one] == [_whole_claim(claim) for claim in other]


def whole_pods(spec: dict[str, Any]) -> Any:
    """A spec of pods with the defaults of its type, without what is empty, or dropped by the server."""
    spec = without_disabled(spec)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or ""
    volumes = [{"emptyDir": {}, **volume} if volume.keys() <= {"name"} else volume for volume in spec.get("volumes") or ()]
    return whole({**_POD_SPEC, **spec, "serviceAccountName": account, "serviceAccount": account, "volumes": volumes})


def whole(value: Any, field: str = "") -> Any:
    """A value of a field with the defaults of its type, without what is empty."""
    if isinstance(value, dict):
        if field in _QUANTITIES:
            return {name: _amount(each) for name, each in value.items()}
        if field == "volumeClaimTemplate":
            value = {**value, "spec": {**_CLAIM, **(value.get("spec") or {})}}
        filled = {**_DEFAULTS.get(field, {}), **_pull_policy(value, field), **value}
        return {name: made for name, each in filled.items() if (made := whole(each, name)) not in (None, "", [], {})}
    if isinstance(value, list):
        return [whole(each, field) for each in value]
    return _amount(value) if field in ("divisor", "sizeLimit") else value


def _pull_policy(container: dict[str, Any], field: str) -> dict[str, str]:
    from jobspec.validation.image import tag_of

    if field in ("containers", "initContainers"):
        return {"imagePullPolicy": "Always" if tag_of(str(container.get("image") or "")) == "latest" else "IfNotPresent"}
    if field == "image":
        return {"pullPolicy": "Always" if tag_of(str(container.get("reference") or "")) == "latest" else "IfNotPresent"}
    return {}


def _whole_claim(claim: dict[str, Any]) -> Any:
    kept = {name: each for name, each in claim.items() if name not in ("apiVersion", "kind")}
    return whole({**kept, "spec": {**_CLAIM, **(claim.get("spec") or {})}, "status": {"phase": "Pending", **(claim.get("status") or {})}})


def _amount(value: Any) -> Any:
    """The number of a quantity, or the value itself where its exponent is too long to write it out."""
    text = str(value)
    return value if len(text.lower().partition("e")[2].strip("+-")) > _MOST_DIGITS else quantity(text).nanos
