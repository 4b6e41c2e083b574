"""The defaults of a pod that its validation depends on, and the fields that the server drops before it validates.

Follows `SetDefaults_Pod`, `SetDefaults_PodSpec` and `Convert_v1_Pod_To_core_Pod`, k8s.io/kubernetes pkg/apis/core/v1, and
`dropDisabledFields`, pkg/api/pod, with the feature gates of 1.36.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Spec = dict[str, Any]

CONTAINERS = ("containers", "initContainers")
"""The lists of containers that get defaults; ephemeral ones get none that anybody looks at."""
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
"""The fields of a container that ask it how it is."""


def restart_policy(spec: Spec) -> str:
    """The restart policy of a pod."""
    return spec.get("restartPolicy") or "Always"


def grace_period(spec: Spec) -> int:
    """The seconds that a pod gets to end."""
    seconds: int = spec.get("terminationGracePeriodSeconds", 30)
    return seconds


def without_disabled(spec: Spec) -> Spec:
    """A spec without the fields of features that are off unless somebody turns them on."""
    if "schedulingGroup" in spec:
        spec = {name: each for name, each in spec.items() if name != "schedulingGroup"}
    for field in (*CONTAINERS, "ephemeralContainers"):
        if any("stopSignal" in each.get("lifecycle", ()) for each in spec.get(field, ())):
            spec = {**spec, field: [_without_signal(each) for each in spec[field]]}
    if any("projected" in volume for volume in spec.get("volumes", ())):
        spec = {**spec, "volumes": [_without_projections(volume) for volume in spec["volumes"]]}
    return spec


def _without_signal(container: Spec) -> Spec:
    if "stopSignal" not in container.get("lifecycle", ()):
        return container
    left = _without(container["lifecycle"], ("stopSignal",))
    return {**container, "lifecycle": left} if left else _without(container, ("lifecycle",))


def _without_projections(volume: Spec) -> Spec:
    if "sources" not in volume.get("projected", ()):
        return volume
    sources = [_without(source, ("clusterTrustBundle", "podCertificate")) for source in volume["projected"]["sources"]]
    return {**volume, "projected": {**volume["projected"], "sources": sources}}


def _without(value: Spec, fields: tuple[str, ...]) -> Spec:
    return {name: each for name, each in value.items() if name not in fields}


def filled_in(spec: Spec) -> Spec:
    """The spec of a pod with what the server sets in pods and not in templates: requests, ports of the host, a grace period above zero."""
    spec = without_disabled(spec)
    if grace_period(spec) < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    for field in CONTAINERS:
        if field in spec:
            spec = {**spec, field: [_with_ports(_with_requests(each), spec) for each in spec[field]]}
    if "resources" not in spec:
        return spec
    from jobspec.validation.pods.pod_resources import with_shared_resources

    return with_shared_resources(spec)


def _with_requests(container: Spec) -> Spec:
    """A container that requests what it is limited to, where it does not say."""
    resources = container.get("resources", {})
    if not resources.get("limits"):
        return container
    requests = {**resources["limits"], **resources.get("requests", {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _with_ports(container: Spec, spec: Spec) -> Spec:
    """A container that listens on the host's ports, where the pod is on the host's network."""
    if not spec.get("hostNetwork") or "ports" not in container:
        return container
    ports = [{**port, "hostPort": port.get("hostPort") or port.get("containerPort", 0)} for port in container["ports"]]
    return {**container, "ports": ports}
