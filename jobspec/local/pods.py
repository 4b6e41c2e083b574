"""A job's pods as processes: the command line and environment of the container that trains.

Follows `makeEnvironmentVariables` and `ExpandContainerCommandOnlyStatic`, k8s.io/kubernetes pkg/kubelet, and `Expand`,
third_party/forked/golang/expansion, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import JobspecError
from jobspec.local.addresses import Addresses
from jobspec.operators.jobset.objects import ROLE
from jobspec.workloads import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from jobspec.kinds import GroupKind
    from jobspec.local.sources import ObjectValues

_LOCALHOST = "127.0.0.1"
_INDEX = "batch.kubernetes.io/job-completion-index"
_FIXED = {
    "spec.nodeName": "localhost",
    **dict.fromkeys(("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"), _LOCALHOST),
}


class LocalPod:
    """A pod that is run as a process."""

    __slots__ = ("arguments", "command", "environment", "left_out", "name", "role", "unset")

    def __init__(self, pod: dict[str, Any], container: dict[str, Any], cluster: _Cluster) -> None:
        role, index = _role_of(pod)
        self.role = role
        """The replica type of a PyTorchJob in small letters, the replicated job of a TrainJob."""
        self.name = f"{role}-{index}"
        self.environment, self.unset = _environment(pod, container, cluster)
        """Its variables, and the names of those that only a cluster can set."""
        self.command, self.arguments = (
            [cluster.addresses.in_made(expand(cluster.addresses.in_text(word), self.environment)) for word in container.get(field) or ()]
            for field in ("command", "args")
        )
        others = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
        self.left_out = [each["name"] for each in others if each is not container]
        """The names of the containers that are not run."""


class _Cluster:
    """What stands for a cluster: the addresses of pods, and the objects that hold values."""

    __slots__ = ("addresses", "sources")

    def __init__(self, addresses: Addresses, sources: ObjectValues) -> None:
        self.addresses = addresses
        self.sources = sources


def local_pods(objects: Sequence[dict[str, Any]], kind: GroupKind, sources: ObjectValues, free_port: Callable[[], int]) -> list[LocalPod]:
    """The pods among a job's *objects* that train, in their order, with addresses of this machine.

    Raises JobspecError for a pod without the container that trains.
    """
    pods = [each for each in objects if each["kind"] == "Pod" and not _role_of(each)[0].endswith("-initializer")]
    cluster = _Cluster(Addresses(map(_host, pods), free_port), sources)
    found = []
    for pod in pods:
        container = next((each for each in pod["spec"]["containers"] if each["name"] == CONTAINERS[kind]), None)
        if container is None:
            raise JobspecError(f"the pod {pod['metadata']['name']} has no container `{CONTAINERS[kind]}`, which is the one that trains")
        found.append(LocalPod(pod, container, cluster))
    return found


def _role_of(pod: dict[str, Any]) -> tuple[str, str]:
    """The role of a pod, and its index in it: with the number of its Job before it, where the role has several."""
    labels = pod["metadata"].get("labels") or {}
    if "training.kubeflow.org/replica-type" in labels:
        return labels["training.kubeflow.org/replica-type"], labels["training.kubeflow.org/replica-index"]
    index = (pod["metadata"].get("annotations") or {}).get(_INDEX, labels.get(_INDEX, "0"))
    if labels.get("jobset.sigs.k8s.io/replicatedjob-replicas", "1") != "1":
        index = f"{labels['jobset.sigs.k8s.io/job-index']}-{index}"
    return labels.get(ROLE, ""), index


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
        value = _value(variable, pod, found, cluster)
        if value is None:
            unset.append(variable["name"])
        else:
            found[variable["name"]] = value
    return found, unset


def _value(variable: dict[str, Any], pod: dict[str, Any], known: Mapping[str, str], cluster: _Cluster) -> str | None:
    """The value of a variable; the pod's own fields, such as its name, stay as they are."""
    source = variable.get("valueFrom")
    if not source:
        return cluster.addresses.in_made(expand(cluster.addresses.in_variable(variable["name"], variable.get("value") or ""), known))
    field = (source.get("fieldRef") or {}).get("fieldPath", "")
    if field:
        return _field(field, pod)
    value = cluster.sources.value(source)
    return value if value is None else cluster.addresses.in_text(value)


def _field(path: str, pod: dict[str, Any]) -> str | None:
    if path in _FIXED:
        return _FIXED[path]
    if path == "spec.serviceAccountName":
        return str(pod["spec"].get("serviceAccountName") or "default")
    if path in ("metadata.name", "metadata.namespace"):
        return str(pod["metadata"].get(path.removeprefix("metadata."), ""))
    where, bracket, key = path.partition("['")
    values = pod["metadata"].get(where.removeprefix("metadata.")) if bracket else None
    return str(values.get(key.removesuffix("']"), "")) if isinstance(values, dict) else None


def expand(text: str, values: Mapping[str, str]) -> str:
    """A text with each `$(NAME)` replaced by the value of a known variable; `$$` is a dollar sign."""
    parts = []
    rest = text
    while "$" in rest:
        before, _, rest = rest.partition("$")
        parts.append(before)
        name, closed, behind = rest[1:].partition(")")
        if rest.startswith("$"):
            parts.append("$")
            rest = rest[1:]
        elif rest.startswith("(") and closed:
            parts.append(values.get(name, f"$({name})"))
            rest = behind
        else:
            parts.append("$")
    return "".join(parts) + rest
