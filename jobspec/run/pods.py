"""A job's pods as processes: command line, environment, addresses of this machine, and values from ConfigMaps and Secrets.

Follows `makeEnvironmentVariables` and `ExpandContainerCommandOnlyStatic`, k8s.io/kubernetes pkg/kubelet, 1.36.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.apis.kinds import GroupKind
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.document import Document
from jobspec.operators.workloads import CONTAINERS, JOB_INDEX, REPLICATED_JOB
from jobspec.programs.command_lines import PORTS, expand_references

_LOCALHOST = "127.0.0.1"
_FIXED = {
    "spec.nodeName": "localhost",
    **dict.fromkeys(("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"), _LOCALHOST),
}


class LocalPod:
    """A pod that runs as a process."""

    __slots__ = ("arguments", "command", "environment", "left_out", "name", "role", "unset")

    def __init__(self, pod: dict[str, Any], container: dict[str, Any], cluster: _Cluster) -> None:
        role, index = _role_of(pod)
        self.role = role
        """The replica type of a PyTorchJob in small letters, the replicated job of a TrainJob."""
        self.name = f"{role}-{index}"
        self.environment, self.unset = _environment(pod, container, cluster)
        """Its variables, and the names of those that only a cluster can set."""
        self.command, self.arguments = (
            [
                cluster.addresses.in_made(expand_references(cluster.addresses.in_text(word), self.environment))
                for word in container.get(field) or ()
            ]
            for field in ("command", "args")
        )
        others = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
        self.left_out = [each["name"] for each in others if each is not container]
        """The names of the containers that are not run."""


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The local substitute for a cluster: addresses of pods, and objects with values."""

    addresses: Addresses
    sources: ObjectValues


def local_pods(objects: Sequence[dict[str, Any]], kind: GroupKind, sources: ObjectValues) -> list[LocalPod]:
    """Return the pods of a job that train, in their order, with addresses of this machine.

    Raises JobspecError for a pod without the container that trains.
    """
    pods = [each for each in objects if each["kind"] == "Pod" and not _role_of(each)[0].endswith("-initializer")]
    cluster = _Cluster(Addresses(map(_host, pods)), sources)
    found = []
    for pod in pods:
        container = next((each for each in pod["spec"]["containers"] if each["name"] == CONTAINERS[kind]), None)
        if container is None:
            raise JobspecError(f"the pod {pod['metadata']['name']} has no container `{CONTAINERS[kind]}`, the one that trains")
        found.append(LocalPod(pod, container, cluster))
    return found


def _role_of(pod: dict[str, Any]) -> tuple[str, str]:
    """Return the role of a pod, and the pod's index in the role.

    If the role has several Jobs, the number of the Job comes before the index.
    """
    labels = pod["metadata"].get("labels") or {}
    if "training.kubeflow.org/replica-type" in labels:
        return labels["training.kubeflow.org/replica-type"], labels["training.kubeflow.org/replica-index"]
    index = (pod["metadata"].get("annotations") or {}).get(JOB_INDEX, labels.get(JOB_INDEX, "0"))
    if labels.get("jobset.sigs.k8s.io/replicatedjob-replicas", "1") != "1":
        index = f"{labels['jobset.sigs.k8s.io/job-index']}-{index}"
    return labels.get(REPLICATED_JOB, ""), index


def _host(pod: dict[str, Any]) -> str:
    """The name by which other pods find a pod."""
    host, domain = pod["spec"].get("hostname"), pod["spec"].get("subdomain")
    return f"{host}.{domain}" if host and domain else str(pod["metadata"]["name"])


def _environment(pod: dict[str, Any], container: dict[str, Any], cluster: _Cluster) -> tuple[dict[str, str], list[str]]:
    """The variables of a container, and the names of those whose value is not known here."""
    found = {"HOSTNAME": pod["spec"].get("hostname") or pod["metadata"]["name"]}
    unset: list[str] = []
    for source in container.get("envFrom") or ():
        values = cluster.sources.whole(source)
        if values is None:
            unset.append(cluster.sources.name_of(source))
        else:
            found |= {f"{source.get('prefix', '')}{name}": cluster.addresses.in_text(value) for name, value in values.items()}
    for variable in container.get("env") or ():
        value = _value_of_variable(variable, pod, found, cluster)
        if value is None:
            unset.append(variable["name"])
        else:
            found[variable["name"]] = value
    return found, unset


def _value_of_variable(variable: dict[str, Any], pod: dict[str, Any], known: Mapping[str, str], cluster: _Cluster) -> str | None:
    """The value of a variable; the pod's own fields, such as its name, stay as they are."""
    source = variable.get("valueFrom")
    if not source:
        return cluster.addresses.in_made(
            expand_references(cluster.addresses.in_variable(variable["name"], variable.get("value") or ""), known)
        )
    field = (source.get("fieldRef") or {}).get("fieldPath", "")
    if field:
        return _field_of_pod(field, pod)
    value = cluster.sources.value(source)
    return value if value is None else cluster.addresses.in_text(value)


def _field_of_pod(path: str, pod: dict[str, Any]) -> str | None:
    if path in _FIXED:
        return _FIXED[path]
    if path == "spec.serviceAccountName":
        return str(pod["spec"].get("serviceAccountName") or "default")
    if path in ("metadata.name", "metadata.namespace"):
        return str(pod["metadata"].get(path.removeprefix("metadata."), ""))
    where, bracket, key = path.partition("['")
    values = pod["metadata"].get(where.removeprefix("metadata.")) if bracket else None
    return str(values.get(key.removesuffix("']"), "")) if isinstance(values, dict) else None


# Addresses of pods turned into those of this machine: each host name becomes 127.0.0.1, each port of a pod one that is free here.


class Addresses:
    """A replacer of the addresses of pods in texts. An address always gets the same replacement."""

    __slots__ = ("_below", "_hosts", "_ports")

    def __init__(self, hosts: Iterable[str]) -> None:
        names = sorted(hosts, key=len, reverse=True)
        self._hosts = _pattern(names)
        self._below = _pattern([each for each in names if "." in each])
        self._ports: dict[str, int] = {}

    def in_text(self, text: str) -> str:
        """Replace the addresses in a text, such as `tcp://train-master-0:23456`."""
        return self._replaced(self._hosts, text)

    def in_made(self, text: str) -> str:
        """Replace the addresses with a subdomain in a text that variables were put into.

        Other words may be no addresses.
        """
        return self._replaced(self._below, text)

    def in_variable(self, name: str, value: str) -> str:
        """Return the value of a variable with its addresses replaced."""
        return str(self._port(value)) if name in PORTS and value.isdecimal() else self.in_text(value)

    def _replaced(self, hosts: re.Pattern[str], text: str) -> str:
        return hosts.sub(lambda found: f"{_LOCALHOST}:{self._port(found[1])}" if found[1] else _LOCALHOST, text)

    def _port(self, number: str) -> int:
        if number not in self._ports:
            self._ports[number] = free_port()
        return self._ports[number]


def free_port() -> int:
    """Return a port of this machine that no process listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind((_LOCALHOST, 0))
        return int(probe.getsockname()[1])


def _pattern(hosts: list[str]) -> re.Pattern[str]:
    """Return a pattern of host names, with the domains that may follow, and a port.

    If there are no hosts, the pattern matches nothing.
    """
    names = "|".join(map(re.escape, hosts)) or r"(?!)"
    domain = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"
    return re.compile(rf"(?<![\w.-])(?:{names}){domain}(?::(\d+))?(?![\w-])")


# The ConfigMaps and Secrets in files, from which containers take variables.


class ObjectValues:
    """The values of ConfigMaps and Secrets, by the kind and the name of their object."""

    __slots__ = ("_values",)

    def __init__(self, documents: Iterable[Document]) -> None:
        wanted = [each for each in documents if each.api_version == "v1" and each.kind in ("ConfigMap", "Secret")]
        self._values = {(each.kind, each.name): _config_values(each.data) for each in wanted}

    def value(self, source: dict[str, Any]) -> str | None:
        """Return the value that a `valueFrom` names. If no file has it, return None."""
        kind, reference = _referred(source, "KeyRef")
        return self._values.get((kind, reference.get("name", "")), {}).get(reference.get("key", ""))

    def whole(self, source: dict[str, Any]) -> dict[str, str] | None:
        """Return all values of the object that an `envFrom` names. If no file has it, return None."""
        kind, reference = _referred(source, "Ref")
        return self._values.get((kind, reference.get("name", "")))

    @staticmethod
    def name_of(source: dict[str, Any]) -> str:
        """Return the object of an `envFrom`, in words."""
        kind, reference = _referred(source, "Ref")
        return f"those of the {kind} {reference.get('name', '')}" if kind else "those of an unknown source"


def _referred(source: dict[str, Any], end: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of the object that a source of variables names, and the reference to it.

    If the source names none, both are empty.
    """
    found = ((kind, source.get(f"{kind[0].lower()}{kind[1:]}{end}")) for kind in ("ConfigMap", "Secret"))
    return next(((kind, reference) for kind, reference in found if reference), ("", {}))


def _config_values(data: dict[str, Any]) -> dict[str, str]:
    encoded = data.get("data") if data["kind"] == "Secret" else None
    plain = data.get("stringData") if data["kind"] == "Secret" else data.get("data")
    decoded = {name: b64decode(value).decode(errors="replace") for name, value in (encoded or {}).items()}
    return decoded | {name: str(value) for name, value in (plain or {}).items()}
