"""The defaults of a pod's spec and of what is in it, in a pod as in a template.

Follows `SetDefaults_PodSpec`, `SetDefaults_Container`, `SetDefaults_Volume` and their neighbours, k8s.io/kubernetes pkg/apis/core/v1, 1.36.
When images are pulled is left out, since each policy follows from its image.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_OF_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "securityContext": {},
}
_OF_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_OF_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_OF_VARIABLES: dict[str, Data] = {
    "fieldRef": {"apiVersion": "v1"},
    "fileKeyRef": {"optional": False},
    "resourceFieldRef": {"divisor": "0"},
}
_OF_HANDLERS: dict[str, Data] = {"grpc": {"service": ""}, "httpGet": {"path": "/", "scheme": "HTTP"}}
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
_OF_PROJECTIONS: dict[str, Data] = {"serviceAccountToken": {"expirationSeconds": 3600}}


def completed(spec: Data) -> Data:
    """A decoded spec in which absent fields have their defaults."""
    spec = {**_OF_SPEC, **spec}
    for field in _CONTAINERS:
        spec = _each(spec, field, _container)
    return _each(spec, "volumes", _volume)


def _inside(data: Data, field: str, change: Callable[[Data], Data]) -> Data:
    """Data of which one field, where it is there, is changed."""
    return {**data, field: change(data[field])} if field in data else data


def _each(data: Data, field: str, change: Callable[[Data], Data]) -> Data:
    """Data of which the items of one field, where it is there, are changed."""
    return {**data, field: [change(each) for each in data[field]]} if field in data else data


def _filled(data: Data, defaults: dict[str, Data]) -> Data:
    """Data of which those fields that are there have the *defaults* of what is in them."""
    return {**data, **{field: {**own, **data[field]} for field, own in defaults.items() if field in data}}


def _container(container: Data) -> Data:
    container = _each({**_OF_CONTAINER, **container}, "ports", lambda port: {"protocol": "TCP", **port})
    container = _each(container, "env", lambda variable: _inside(variable, "valueFrom", _variable))
    for probe in _PROBES:
        container = _inside(container, probe, lambda each: _handler({**_OF_PROBE, **each}))
    return _inside(container, "lifecycle", lambda hooks: {name: _handler(each) if name in _HOOKS else each for name, each in hooks.items()})


def _variable(source: Data) -> Data:
    return _filled(source, _OF_VARIABLES)


def _handler(handler: Data) -> Data:
    return _filled(handler, _OF_HANDLERS)


def _volume(volume: Data) -> Data:
    volume = _filled(volume, _OF_SOURCES)
    volume = _inside(volume, "downwardAPI", lambda files: _each(files, "items", _variable))
    volume = _inside(volume, "projected", lambda files: _each(files, "sources", _projection))
    volume = _inside(volume, "ephemeral", lambda claim: _inside(claim, "volumeClaimTemplate", _claim))
    return volume if volume.keys() - {"name"} else {**volume, "emptyDir": {}}


def _projection(source: Data) -> Data:
    source = _inside(source, "downwardAPI", lambda files: _each(files, "items", _variable))
    return _filled(source, _OF_PROJECTIONS)


def _claim(template: Data) -> Data:
    return {**template, "spec": {"volumeMode": "Filesystem", **template.get("spec", {})}}
