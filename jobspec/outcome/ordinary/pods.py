"""Ordinary pod templates: those of which no server says anything but that the pod is there."""

from __future__ import annotations

from jobspec.outcome.ordinary.resources import is_ordinary_amounts, is_size
from jobspec.outcome.ordinary.values import (
    are_labels,
    each,
    having,
    is_flag,
    is_key,
    is_label_name,
    is_label_value,
    is_name,
    is_nothing,
    is_number,
    is_port,
    is_text,
    is_word,
    one_of,
    some,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Pod = dict[str, Any]

_OF_OPERATORS = ("kubeflow.org", "batch.kubernetes.io", "jobset.sigs.k8s.io", "controller-uid", "job-name")
"""How labels and annotations end, before their last `/`, that operators set or read."""
_READ_BY_SERVERS = ("kubernetes.io", "k8s.io")
_LONGEST_PORT = 15
_MOST_ANNOTATIONS = 50_000
"""Characters, of which a server takes 262,144 bytes."""


def is_ordinary_template(template: Any) -> bool:
    """Whether the pods of a template will be accepted, whatever names and variables an operator adds."""
    return _TEMPLATE(template) and _fits_together(template["spec"])


def containers_of(template: Any) -> dict[str, Any]:
    """The containers of an ordinary template, by name; no init containers."""
    return {each["name"]: each for each in template["spec"]["containers"]}


def has_room_for_port(container: Any, name: str, number: int) -> bool:
    """Whether a Service can have the port *number* beside those of an ordinary container, or one of them has the *name*."""
    ports = container.get("ports", ())
    return any(each["name"] == name for each in ports) or all(each["containerPort"] != number for each in ports)


def _fits_together(spec: Pod) -> bool:
    """Whether names are unique, containers mount what is there, and one alone is on the network of the host."""
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    volumes = [each["name"] for each in spec.get("volumes", ())]
    return (
        _are_different(each["name"] for each in containers)
        and _are_different(volumes)
        and all(_mounts_fit(container, volumes) and _ports_fit(container) for container in containers)
        and (len(containers) == 1 or not spec.get("hostNetwork"))
    )


def _mounts_fit(container: Pod, volumes: list[str]) -> bool:
    mounts = container.get("volumeMounts", ())
    return all(each["name"] in volumes for each in mounts) and _are_different(each["mountPath"] for each in mounts)


def _ports_fit(container: Pod) -> bool:
    ports = container.get("ports", ())
    return _are_different(each["name"] for each in ports) and _are_different(each["containerPort"] for each in ports)


def _are_different(values: Iterable[Any]) -> bool:
    given = list(values)
    return len({*given}) == len(given)


def _is_image(value: Any) -> bool:
    return type(value) is str and bool(value) and value.isprintable() and value == value.strip()


def _is_path(value: Any) -> bool:
    return type(value) is str and bool(value) and ".." not in value and ":" not in value


def _is_absolute(value: Any) -> bool:
    return _is_path(value) and value[0] == "/"


def _is_relative(value: Any) -> bool:
    return _is_path(value) and value[0] != "/"


def _is_variable(value: Any) -> bool:
    return type(value) is str and value.isascii() and value.isidentifier()


def _is_port_name(value: Any) -> bool:
    return is_label_name(value) and len(value) <= _LONGEST_PORT and "--" not in value and not value[:1].isdigit()


def _are_own_labels(value: Any) -> bool:
    return are_labels(value) and not any(key.rpartition("/")[0].endswith(_OF_OPERATORS) or key in _OF_OPERATORS for key in value)


def _are_own_annotations(value: Any) -> bool:
    if type(value) is not dict or sum(len(str(key)) + len(str(text)) for key, text in value.items()) > _MOST_ANNOTATIONS:
        return False
    return all(
        is_key(key) and type(text) is str and not key.rpartition("/")[0].endswith((*_READ_BY_SERVERS, *_OF_OPERATORS))
        for key, text in value.items()
    )


def _is_volume(value: Any) -> bool:
    return _VOLUME(value) and len(value) <= 2  # its name, and at most one source


def _is_source(value: Any) -> bool:
    return _SOURCE(value) and len(value) == 1


def _is_toleration(value: Any) -> bool:
    if not _TOLERATION(value):
        return False
    return not value.get("value") if value.get("operator") == "Exists" else "key" in value


def _is_requirement(value: Any) -> bool:
    return _REQUIREMENT(value) and ("values" in value) == (value["operator"] in ("In", "NotIn"))


def _is_weight(value: Any) -> bool:
    return type(value) is int and 0 < value <= 100


_TEXTS = each(is_text)
_REFERENCE = having({"name": is_name}, "name")
_REFERENCE_WITH_KEY = having({"name": is_name, "key": is_word, "optional": is_flag}, "name", "key")
_SOURCE = having({"configMapKeyRef": _REFERENCE_WITH_KEY, "secretKeyRef": _REFERENCE_WITH_KEY})
_VARIABLE = having({"name": _is_variable, "value": is_text}, "name")
_VARIABLE_FROM = having({"name": _is_variable, "valueFrom": _is_source}, "name", "valueFrom")
_WHOLE_SOURCE = having({"configMapRef": _REFERENCE, "secretRef": _REFERENCE})
_PORT = having({"name": _is_port_name, "containerPort": is_port, "protocol": one_of("TCP")}, "name", "containerPort")
_MOUNT = having(
    {"name": is_label_name, "mountPath": _is_absolute, "readOnly": is_flag, "subPath": _is_relative},
    *("name", "mountPath"),
)
_TOLERATION = having(
    {
        "key": is_key,
        "operator": one_of("Exists", "Equal"),
        "value": is_label_value,
        "effect": one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
    }
)
_REQUIREMENT = having(
    {"key": is_key, "operator": one_of("In", "NotIn", "Exists", "DoesNotExist"), "values": some(is_label_value)}, "key", "operator"
)
_NODE_AFFINITY = having(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": having(
            {"nodeSelectorTerms": some(having({"matchExpressions": some(_is_requirement)}, "matchExpressions"))}, "nodeSelectorTerms"
        )
    }
)
_SELECTOR = having({"matchLabels": are_labels, "matchExpressions": some(_is_requirement)})
_TERM = having({"labelSelector": _SELECTOR, "topologyKey": is_key}, "topologyKey")
_PREFERRED_TERM = having({"weight": _is_weight, "podAffinityTerm": _TERM}, "weight", "podAffinityTerm")
_POD_AFFINITY = having(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": each(_TERM),
        "preferredDuringSchedulingIgnoredDuringExecution": each(_PREFERRED_TERM),
    }
)
_USERS = {"runAsUser": is_number, "runAsGroup": is_number, "runAsNonRoot": is_flag}
_FILES = each(having({"key": is_word, "path": is_word}, "key", "path"))
_VOLUME = having(
    {
        "name": is_label_name,
        "emptyDir": having({"medium": one_of("", "Memory"), "sizeLimit": is_size}),
        "persistentVolumeClaim": having({"claimName": is_name, "readOnly": is_flag}, "claimName"),
        "configMap": having({"name": is_name, "optional": is_flag, "items": _FILES}, "name"),
        "secret": having({"secretName": is_name, "optional": is_flag, "items": _FILES}, "secretName"),
        "hostPath": having({"path": _is_absolute, "type": one_of("", "Directory", "DirectoryOrCreate", "File", "FileOrCreate")}, "path"),
        "nfs": having({"server": is_name, "path": _is_absolute, "readOnly": is_flag}, "server", "path"),
    },
    "name",
)
_OF_ANY_CONTAINER = {
    "name": is_label_name,
    "image": _is_image,
    "imagePullPolicy": one_of("Always", "IfNotPresent", "Never"),
    "command": _TEXTS,
    "args": _TEXTS,
    "workingDir": is_text,
    "env": each(lambda value: _VARIABLE(value) or _VARIABLE_FROM(value)),
    "envFrom": each(lambda value: _WHOLE_SOURCE(value) and len(value) == 1),
    "ports": each(_PORT),
    "resources": is_ordinary_amounts,
    "volumeMounts": each(_MOUNT),
    "securityContext": having({**_USERS, "privileged": is_flag, "capabilities": having({"add": _TEXTS, "drop": _TEXTS})}),
    "stdin": is_flag,
    "tty": is_flag,
}
_EXEC = having({"exec": having({"command": some(is_text)}, "command")}, "exec")
_CONTAINER = having({**_OF_ANY_CONTAINER, "lifecycle": having({"postStart": _EXEC, "preStop": _EXEC})}, "name", "image")
_INIT_CONTAINER = having(_OF_ANY_CONTAINER, "name", "image")
is_ordinary_metadata = having({"labels": _are_own_labels, "annotations": _are_own_annotations, "creationTimestamp": is_nothing})
"""Whether metadata has labels and annotations alone, none of which operators or servers read."""
_TEMPLATE = having(
    {
        "metadata": is_ordinary_metadata,
        "spec": having(
            {
                "containers": some(_CONTAINER),
                "initContainers": each(_INIT_CONTAINER),
                "volumes": each(_is_volume),
                "nodeSelector": are_labels,
                "tolerations": each(_is_toleration),
                "affinity": having({"nodeAffinity": _NODE_AFFINITY, "podAffinity": _POD_AFFINITY, "podAntiAffinity": _POD_AFFINITY}),
                "restartPolicy": one_of("Never", "OnFailure", "Always"),
                "serviceAccountName": is_name,
                "schedulerName": is_name,
                "imagePullSecrets": each(having({"name": is_text})),
                "automountServiceAccountToken": is_flag,
                "enableServiceLinks": is_flag,
                "hostIPC": is_flag,
                "hostPID": is_flag,
                "hostNetwork": is_flag,
                "dnsPolicy": one_of("ClusterFirst", "Default", "ClusterFirstWithHostNet"),
                "terminationGracePeriodSeconds": is_number,
                "securityContext": having({**_USERS, "fsGroup": is_number}),
            },
            "containers",
        ),
    },
    "spec",
)
