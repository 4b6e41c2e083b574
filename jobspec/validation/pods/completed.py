"""A pod's spec with what the server fills in, of which two specs are compared.

Follows `SetObjectDefaults_Pod`, k8s.io/kubernetes pkg/apis/core/v1, 1.36. The policies by which images are pulled are left out, since each
follows from its image.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_OF_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "securityContext": {},
}
_OF_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_OF_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_OF_FILES = {"defaultMode": 0o644}
_OF_SOURCES: dict[str, Data] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "configMap": _OF_FILES,
    "downwardAPI": _OF_FILES,
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": _OF_FILES,
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": _OF_FILES,
}


def completed(spec: Data) -> Data:
    """A spec in which absent fields have their defaults; *spec* has no fields that are empty where that is as good as absent."""
    spec = {**_OF_SPEC, **spec}
    account = spec.pop("serviceAccount", None)
    if account is not None:
        spec.setdefault("serviceAccountName", account)
    for field in _CONTAINERS:
        spec = _each(spec, field, _container)
    return _each(spec, "volumes", _volume)


def _inside(data: Data, field: str, change: Callable[[Data], Data]) -> Data:
    """Data of which one field, where it is there, is changed."""
    return {**data, field: change(data[field])} if field in data else data


def _each(data: Data, field: str, change: Callable[[Data], Data]) -> Data:
    """Data of which the items of one field, where it is there, are changed."""
    return {**data, field: [change(each) for each in data[field]]} if field in data else data


def _container(container: Data) -> Data:
    container = _each({**_OF_CONTAINER, **container}, "ports", lambda port: {"protocol": "TCP", **port})
    container = _each(container, "env", lambda variable: _inside(variable, "valueFrom", _variable))
    for probe in _PROBES:
        container = _inside(container, probe, lambda each: _handler({**_OF_PROBE, **each}))
    hooks = _inside(container.get("lifecycle", {}), "postStart", _handler)
    return _inside(container, "lifecycle", lambda _: _inside(hooks, "preStop", _handler))


def _variable(source: Data) -> Data:
    return _inside(_fact(source), "fileKeyRef", lambda key: {"optional": False, **key})


def _fact(source: Data) -> Data:
    return _inside(source, "fieldRef", lambda field: {"apiVersion": "v1", **field})


def _handler(handler: Data) -> Data:
    handler = _inside(handler, "httpGet", lambda action: {"path": "/", "scheme": "HTTP", **action})
    return _inside(handler, "grpc", lambda action: {"service": "", **action})


def _volume(volume: Data) -> Data:
    for source, defaults in _OF_SOURCES.items():
        if source in volume:
            volume = {**volume, source: {**defaults, **volume[source]}}
    volume = _inside(volume, "downwardAPI", lambda files: _each(files, "items", _fact))
    volume = _inside(volume, "projected", lambda files: _each(files, "sources", _projection))
    volume = _inside(volume, "ephemeral", lambda claim: _inside(claim, "volumeClaimTemplate", _claim))
    return volume if volume.keys() - {"name"} else {**volume, "emptyDir": {}}


def _projection(source: Data) -> Data:
    source = _inside(source, "downwardAPI", lambda files: _each(files, "items", _fact))
    return _inside(source, "serviceAccountToken", lambda token: {"expirationSeconds": 3600, **token})


def _claim(template: Data) -> Data:
    return {**template, "spec": {"volumeMode": "Filesystem", **template.get("spec", {})}}
