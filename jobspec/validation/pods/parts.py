"""The parts of a pod's spec, each with the fields that it is about: its module is loaded where a pod has one of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Part = Callable[[dict[str, Any], Path], Iterator[Problem]]
    Fields = tuple[str, ...]


def _volumes() -> Part:
    from jobspec.validation.pods.volumes import volume_problems

    return volume_problems


def _mounts() -> Part:
    from jobspec.validation.pods.mounts import mount_problems

    return mount_problems


def _containers() -> Part:
    from jobspec.validation.pods.containers import container_problems

    return container_problems


def _host_network() -> Part:
    from jobspec.validation.pods.ports import host_network_problems

    return host_network_problems


def _restart_policy() -> Part:
    from jobspec.validation.pods.basics import pod_restart_problems

    return pod_restart_problems


def _security() -> Part:
    from jobspec.validation.pods.security import pod_security_problems

    return pod_security_problems


def _account() -> Part:
    from jobspec.validation.pods.basics import account_problems

    return account_problems


def _deadline() -> Part:
    from jobspec.validation.pods.basics import deadline_problems

    return deadline_problems


def _operating_system() -> Part:
    from jobspec.validation.pods.operating_system import system_problems

    return system_problems


def _files_of_variables() -> Part:
    from jobspec.validation.pods.env import file_volume_problems

    return file_volume_problems


def _resource_claims() -> Part:
    from jobspec.validation.pods.resource_claims import resource_claim_problems

    return resource_claim_problems


def _resources() -> Part:
    from jobspec.validation.pods.pod_resources import pod_resources_problems

    return pod_resources_problems


def _affinity() -> Part:
    from jobspec.validation.pods.affinity import affinity_problems

    return affinity_problems


def _topology_spread() -> Part:
    from jobspec.validation.pods.topology_spread import topology_spread_problems

    return topology_spread_problems


def _tolerations() -> Part:
    from jobspec.validation.pods.tolerations import toleration_problems

    return toleration_problems


def _scheduling() -> Part:
    from jobspec.validation.pods.scheduling import scheduling_problems

    return scheduling_problems


def _host_names() -> Part:
    from jobspec.validation.pods.host_names import host_name_problems

    return host_name_problems


def _host_users() -> Part:
    from jobspec.validation.pods.host_users import user_problems

    return user_problems


#: In the order of the server: the fields of a pod's spec, the fields of its containers, and what looks at them.
PARTS: tuple[tuple[Fields, Fields, Callable[[], Part]], ...] = (
    (("volumes",), (), _volumes),
    ((), ("volumeMounts", "volumeDevices"), _mounts),
    (("containers",), (), _containers),
    (("hostNetwork",), (), _host_network),
    (("restartPolicy",), (), _restart_policy),
    (("securityContext", "shareProcessNamespace"), (), _security),
    (("serviceAccountName", "serviceAccount"), (), _account),
    (("activeDeadlineSeconds",), (), _deadline),
    (("os", "securityContext"), ("securityContext",), _operating_system),
    ((), ("env",), _files_of_variables),
    (("resourceClaims",), (), _resource_claims),
    (("resources",), (), _resources),
    (("affinity",), (), _affinity),
    (("topologySpreadConstraints",), (), _topology_spread),
    (("tolerations",), (), _tolerations),
    (
        (
            *("nodeSelector", "nodeName", "schedulingGates", "readinessGates"),
            *("priorityClassName", "runtimeClassName", "preemptionPolicy", "overhead"),
        ),
        (),
        _scheduling,
    ),
    (("dnsPolicy", "dnsConfig", "hostAliases", "hostname", "subdomain", "hostnameOverride"), (), _host_names),
    (("hostUsers",), (), _host_users),
)
