"""The resources of containers, and of a pod as a whole: names, quantities, requests against limits, and claims of devices.

Follows `validateResourceRequirements` and `validateResourceClaimNames`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems, set_to
from jobspec.go.quantities import amount_of, fits_pages, is_endless, is_whole
from jobspec.kubernetes.metadata import bad_label_name, bad_qualified_name, bad_subdomain
from jobspec.kubernetes.pods.amounts import HUGE_PAGES, OF_PODS, amounts, exact_amounts, is_of_pods, of_containers, rounded
from jobspec.kubernetes.pods.defaults import CONTAINERS, filled_in_containers
from jobspec.kubernetes.problems import closest, duplicate, excluded, field_items, listed, missing, named, near, required_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


COUNTED = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"),
    *("services.nodeports", "services.loadbalancers"),
)
"""What a quota counts in whole numbers."""


def requirement_problems(resources: Data, path: Path, bad_name: Callable[[str], str], spec: Data) -> Problems:
    """Yield the problems of limits, requests and claims at *path* in a pod with *spec*.

    *bad_name* says why the name of a resource cannot be used there.
    """
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for field, given in (("limits", limits), ("requests", requests)):
        for name, text in given.items():
            yield from _resource_amount_problems(name, text, (*path, field, Key(name)), bad_name)
    for name, text in requests.items():
        yield from _against_limit(name, text, limits, path)
    names = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in names) and names.isdisjoint(("cpu", "memory")):
        yield excluded(path, "huge pages need a request or limit of `cpu` or `memory` beside them", "add one")
    if "claims" in resources:
        known = {each.get("name", "") for each in spec.get("resourceClaims", ())} - {""}
        yield from _claims(resources, known, path)


def _resource_amount_problems(name: str, text: str, path: Path, bad_name: Callable[[str], str]) -> Problems:
    if why := bad_name(name):
        hint = closest(name, OF_CONTAINERS) if "/" not in name else ""
        yield Problem("invalid-name", path, f"`{name}` is not a valid resource here: {why}", hint, at_key=True)
    if is_endless(text):
        yield Problem("out-of-range", path, f"the exponent of {text} is so large that the API server hangs")
        return
    if amount_of(text) < 0:
        yield Problem("out-of-range", path, f"`{name}` must not be negative, got {text}")
    if (name in COUNTED or is_extended(name)) and not is_whole(text):
        yield Problem("wrong-format", path, f"`{name}` must be a whole number, got {text}")
    if name.startswith(HUGE_PAGES) and not fits_pages(name.removeprefix(HUGE_PAGES), text):
        yield Problem("out-of-range", path, f"{text} is not a multiple of the page size in `{name}`")


def _against_limit(name: str, text: str, limits: dict[str, str], path: Path) -> Problems:
    """The problem of a request that its limit excludes."""
    at = (*path, "requests", Key(name))
    if name not in limits:
        if not allows_overcommit(name):
            message = f"`{name}` has a request and no limit; both must be equal"
            place, hint = (*path, "limits", Key(name)), f"write `{name}: {text}` under `limits`"
            remedy = set_to(place, int(text) if text.isdecimal() else text)
            yield Problem("missing-field", place, message, hint, at_key=True, remedy=remedy)
        return
    if text == limits[name] or is_endless(text) or is_endless(limits[name]):
        return
    wanted, most = amount_of(text), amount_of(limits[name])
    if wanted != most and not allows_overcommit(name):
        yield excluded(at, f"the request of `{name}` must be its limit, {limits[name]}, and is {text}", "remove the request")
    elif wanted > most:
        yield excluded(at, f"the request of `{name}`, {text}, is above its limit, {limits[name]}", "raise the limit, or lower the request")


def _claims(resources: Data, known: set[str], path: Path) -> Problems:
    """The problems of the devices that a container claims, by claims of its pod."""
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for at, claim in field_items(resources, "claims", path):
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield missing("name", claim, at, "name one of the pod's `resourceClaims`")
            continue
        if request and name not in whole:
            yield from named(request, "a request of a claim", bad_label_name, (*at, "request"))
        if name in whole or (name, request) in parts or (not request and any(name == each for each, _ in parts)):
            yield duplicate(name, "an item for the claim", at)
        elif request:
            parts.add((name, request))
        if not request:
            whole.add(name)
        if name not in known:
            yield Problem("unsupported-choice", at, f"the pod has no claim `{name}` in its `resourceClaims`", near(name, known))


# The names of resources: the built-in ones, huge pages, and extended resources such as GPUs.
#
# Follows `validateContainerResourceName` and `validatePodResourceName`, k8s.io/kubernetes pkg/apis/core/validation, and `IsNativeResource`,
# `IsExtendedResourceName` and `IsOvercommitAllowed`, pkg/apis/core/helper, 1.36.


OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")


def bad_container_resource(name: str) -> str:
    """Return why containers cannot have a resource of this name; empty if they can."""
    if why := bad_qualified_name(name):
        return why
    if "/" not in name:
        known = name in OF_CONTAINERS or name.startswith(HUGE_PAGES)
        return "" if known else "without a domain, as in `nvidia.com/gpu`, it is `cpu`, `memory`, `ephemeral-storage` or `hugepages-SIZE`"
    if is_native(name) or is_extended(name):
        return ""
    return "extended resources cannot start with `requests.`, and need a valid name behind that prefix"


def _bad_pod_resource(name: str) -> str:
    """Why a pod as a whole cannot have a resource of this name; empty if it can."""
    if why := bad_qualified_name(name):
        return why
    return "" if is_of_pods(name) else "a pod as a whole has `cpu`, `memory` and `hugepages-SIZE` alone"


def is_native(name: str) -> bool:
    """True if a resource is native to Kubernetes."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """True if a resource is an extended one, such as GPUs. Its amounts are whole numbers."""
    return not is_native(name) and not name.startswith("requests.") and not bad_qualified_name(f"requests.{name}")


def allows_overcommit(name: str) -> bool:
    """True if a limit can exceed the request, so that a node may promise more than it has."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


# The pod-level resources, against those of the containers.
#
# Follows `validatePodResources`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


def pod_resources_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of the `resources` of a pod as a whole."""
    resources = spec.get("resources")
    if resources is None:
        return
    at = (*path, "resources")
    if spec.get("os", {}).get("name") == "windows":
        yield excluded(at, "a pod for Windows cannot have resources as a whole", "give them to its containers")
        return
    if "claims" in resources:
        yield excluded((*at, "claims"), "a pod as a whole claims no devices", "claim them in a container")
    yield from requirement_problems(resources, at, _bad_pod_resource, spec)
    yield from _consistency(spec, resources, path)


def _consistency(spec: Data, resources: Data, path: Path) -> Problems:
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
    for at, container in field_items(spec, "containers", path):
        for name, text in container.get("resources", {}).get("limits", {}).items():
            if name in limits and amount_of(text) > amount_of(limits[name]):
                message = f"the limit of `{name}`, {text}, is above that of the pod as a whole, {limits[name]}"
                yield excluded((*at, "resources", "limits", Key(name)), message, "raise that, or lower this one")


def _total(spec: Data, field: str) -> dict[str, int]:
    """The `requests` or `limits` of the containers together, in thousandths."""
    return {name: amount_of(str(each)) for name, each in of_containers(spec, field).items()}


# What the server fills in of the resources of a pod as a whole: what it requests follows from its containers and from its limits; from 1.37
# on, its limits from those of all containers and from its requests; huge pages, from their limits.
#
# Follows `defaultHugePagePodLimits` and `defaultPodRequests`, k8s.io/kubernetes pkg/apis/core/v1, 1.34 to 1.36, and
# `DefaultPodLevelResources`, pkg/api/pod, 1.37.


def filled_in(spec: Data, release: str) -> Data:
    """Fill in all fields of a pod's spec that the server sets in pods and not in templates."""
    return with_resources(filled_in_containers(spec, release), release)


def with_resources(spec: Data, release: str) -> Data:
    """Fill in the resources of a pod as a whole, if it has some of its own.

    From 1.37 on, a server does so once plugins have changed the pod.
    """
    resources = spec.get("resources", {})
    own, limits = resources.get("requests", {}), resources.get("limits", {})
    if not (limits or own):
        return spec
    fills_limits = is_at_least(release, "1.37")
    pages = {name: each for name, each in _together(spec, "limits", release).items() if name.startswith(HUGE_PAGES) and name not in own}
    limits, requests = {**pages, **limits}, own
    if limits or fills_limits:
        shared = {name: each for name, each in _together(spec, "requests", release).items() if name in OF_PODS}
        requests = {**{name: each for name, each in limits.items() if is_of_pods(name)}, **shared, **own}
    if fills_limits:
        limits = {**_limits_of_all(spec, requests, release), **limits}
    filled = {"limits": limits, "requests": requests}
    return {**spec, "resources": {**resources, **{field: each for field, each in filled.items() if each}}}


def _limits_of_all(spec: Data, requests: dict[str, str], release: str) -> dict[str, str]:
    """The limits of the containers together, where all of them have one; the request of the pod where that is more."""
    own = [each.get("resources", {}).get("limits", {}) for field in CONTAINERS for each in spec.get(field, ())]
    limits = _together(spec, "limits", release)
    shared = [name for name in requests if name in limits and is_of_pods(name) and all(name in each for each in own)]
    return {name: requests[name] if amount_of(str(requests[name])) > amount_of(limits[name]) else limits[name] for name in shared}


def _together(spec: Data, field: str, release: str) -> dict[str, str]:
    """The `requests` or `limits` of the containers together; from 1.37 on, of amounts that are rounded already."""
    read = amounts if is_at_least(release, "1.37") else exact_amounts
    return {name: str(each) for name, each in rounded(of_containers(spec, field, read)).items()}


# The pod's claims of devices; which of them its containers use is judged with their resources.
#
# Follows `validatePodResourceClaim`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def resource_claim_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of the pod's claims of devices."""
    names: set[str] = set()
    for at, claim in field_items(spec, "resourceClaims", path):
        yield from _resource_claim_problems(claim, names, at)
        names.add(claim.get("name", ""))


def _resource_claim_problems(claim: Data, names: set[str], path: Path) -> Problems:
    name = claim.get("name")
    if name and name in names:
        yield Problem("duplicate-item", (*path, "name"), f"two claims of the pod are named `{name}`", "rename one of the two")
    else:
        yield from required_name(claim, "name", "a claim", bad_label_name, path)
    given = [source for source in _SOURCES if source in claim]
    if len(given) > 1:
        message = f"a claim is one that exists or one made from a template, and this has {listed(given)}"
        yield excluded((*path, given[1]), message, "remove one of the two", at_key=True)
    if not given:
        yield missing(_SOURCES[0], claim, path, f"name a ResourceClaim, or by `{_SOURCES[1]}` a template")
    for source in given:
        yield from named(claim[source], "an object", bad_subdomain, (*path, source))
