"""The parts of a pod's spec that few pods have, each with the fields that it is about: its module is loaded where a pod has one of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Part = Callable[[dict[str, Any], Path], Iterator[Problem]]


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


RARE: tuple[tuple[tuple[str, ...], Callable[[], Part]], ...] = (
    (("resourceClaims",), _resource_claims),
    (("resources",), _resources),
    (("affinity",), _affinity),
    (("topologySpreadConstraints",), _topology_spread),
    (("tolerations",), _tolerations),
    (
        (
            *("nodeSelector", "nodeName", "schedulingGates", "readinessGates"),
            *("priorityClassName", "runtimeClassName", "preemptionPolicy", "overhead"),
        ),
        _scheduling,
    ),
    (("dnsPolicy", "dnsConfig", "hostAliases", "hostname", "subdomain", "hostnameOverride"), _host_names),
    (("hostUsers",), _host_users),
)
