"""The resources of a pod as a whole, against those of its containers.

Follows `validatePodResources`, k8s.io/kubernetes pkg/apis/core/validation, `defaultPodRequests` and `defaultHugePagePodLimits`,
pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.quantities import canonical_quantity
from jobspec.validation.pods.amounts import amount_of
from jobspec.validation.pods.complaints import excluded
from jobspec.validation.pods.needs import needs_together
from jobspec.validation.pods.resource_names import HUGE_PAGES, OF_PODS, bad_pod_resource
from jobspec.validation.pods.resources import requirement_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]
    Amounts = dict[str, int]


def pod_resources_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of the `resources` of a pod as a whole."""
    resources = spec.get("resources")
    if resources is None:
        return
    at = (*path, "resources")
    if spec.get("os", {}).get("name") == "windows":
        yield excluded(at, "a pod on Windows has no resources as a whole", "give them to its containers")
        return
    if "claims" in resources:
        yield excluded((*at, "claims"), "a pod as a whole claims no devices", "claim them in a container")
    claims = {each.get("name", "") for each in spec.get("resourceClaims", ())} - {""}
    yield from requirement_problems(resources, at, bad_pod_resource, claims)
    yield from _consistency(spec, resources, path)


def _consistency(spec: Spec, resources: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The requests and limits that are too small for those of the containers."""
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, amount in _total(spec, "requests").items():
        if name in requests and amount > amount_of(requests[name]):
            message = f"the containers request more `{name}` together than the pod as a whole, {requests[name]}"
            yield excluded((*path, "resources", "requests", Key(name)), message, "raise the request of the pod, or lower theirs")
    for name, amount in _total(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name in limits and amount > amount_of(limits[name]):
            message = f"the containers may use more `{name}` together than the pod as a whole, {limits[name]}"
            yield excluded((*path, "resources", "limits", Key(name)), message, "raise the limit of the pod, or lower theirs")
    for index, container in enumerate(spec.get("containers", ())):
        for name, text in container.get("resources", {}).get("limits", {}).items():
            if name in limits and amount_of(text) > amount_of(limits[name]):
                message = f"the limit of `{name}`, {text}, is above that of the pod as a whole, {limits[name]}"
                yield excluded((*path, "containers", index, "resources", "limits", Key(name)), message, "raise that, or lower this one")


def _total(spec: Spec, field: str) -> Amounts:
    """The `requests` or `limits` of the containers together, in thousandths."""
    return needs_together(spec, lambda each: {name: amount_of(text) for name, text in each.get("resources", {}).get(field, {}).items()})


def with_shared_resources(spec: Spec) -> Spec:
    """A pod's spec in which the resources of the pod as a whole are filled in, where they have some of their own."""
    resources = spec.get("resources", {})
    if not resources.get("limits") and not resources.get("requests"):
        return spec
    requests = resources.get("requests", {})
    pages = {name: each for name, each in _total(spec, "limits").items() if name.startswith(HUGE_PAGES) and name not in requests}
    limits = {**_written(pages), **resources.get("limits", {})}
    if limits:
        shared = {name: each for name, each in _total(spec, "requests").items() if name in OF_PODS}
        of_limits = {name: each for name, each in limits.items() if name in OF_PODS or name.startswith(HUGE_PAGES)}
        requests = {**of_limits, **_written(shared), **requests}
    made = {**resources, **({"limits": limits} if limits else {}), **({"requests": requests} if requests else {})}
    return {**spec, "resources": made}


def _written(amounts: Amounts) -> dict[str, str]:
    return {name: canonical_quantity(f"{amount}m") for name, amount in amounts.items()}
