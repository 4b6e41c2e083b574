"""The resources of containers, and of a pod as a whole: names, quantities, requests against limits, and claims of devices.

Follows `validateResourceRequirements` and `validateResourceClaimNames`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.quantities import is_endless
from jobspec.validation.metadata import bad_label_name
from jobspec.validation.pods.amounts import amount_of, fits_pages, is_whole
from jobspec.validation.pods.complaints import duplicate, excluded, missing, near, wrong_name
from jobspec.validation.pods.resource_names import HUGE_PAGES, bad_container_resource, can_be_promised_twice, is_extended
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Resources = dict[str, Any]

_COUNTED = frozenset(
    (
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers"),
    )
)
"""Resources of quotas, of which there are whole numbers."""


def resources_problems(container: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the `resources` of a container."""
    resources = container.get("resources")
    if resources:
        claims = {each.get("name", "") for each in spec.get("resourceClaims", ())} - {""}
        yield from requirement_problems(resources, (*path, "resources"), bad_container_resource, claims)


def requirement_problems(resources: Resources, path: Path, bad_name: Callable[[str], str], claims: set[str]) -> Iterator[Problem]:
    """The problems of limits, requests and claims at *path*; *bad_name* says why a name of a resource cannot stand there."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            yield from _amount(name, text, (*path, field, Key(name)), bad_name)
    for name, text in requests.items():
        yield from _against_limit(name, text, limits, path)
    names = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in names) and names.isdisjoint(("cpu", "memory")):
        yield excluded(path, "huge pages need a request or limit of `cpu` or `memory` beside them", "add one")
    yield from _claims(resources.get("claims", ()), claims, (*path, "claims"))


def _amount(name: str, text: str, path: Path, bad_name: Callable[[str], str]) -> Iterator[Problem]:
    if why := bad_name(name):
        yield Problem("invalid-name", path, f"`{name}` is no resource that can stand here: {why}", _near_resource(name), at_key=True)
    if is_endless(text):
        yield Problem("out-of-range", path, f"the exponent of {text} is so large that an API server does not come to an end with it")
        return
    if amount_of(text) < 0:
        yield Problem("out-of-range", path, f"`{name}` cannot be negative, as {text} is")
    if (name in _COUNTED or is_extended(name)) and not is_whole(text):
        yield Problem("wrong-format", path, f"of `{name}` there are whole numbers alone, and {text} is none")
    if name.startswith(HUGE_PAGES) and not fits_pages(name.removeprefix(HUGE_PAGES), text):
        yield Problem("out-of-range", path, f"{text} is no multiple of the page size in `{name}`")


def _near_resource(name: str) -> str:
    """A suggestion for a misspelt name of a resource; empty where no name is near."""
    from jobspec.validation.pods.resource_names import OF_CONTAINERS
    from jobspec.validation.wording import closest

    return closest(name, OF_CONTAINERS) if "/" not in name else ""


def _against_limit(name: str, text: str, limits: dict[str, str], path: Path) -> Iterator[Problem]:
    """The problem of a request that its limit excludes."""
    at = (*path, "requests", Key(name))
    if name not in limits:
        if not can_be_promised_twice(name):
            message = f"`{name}` has a request and no limit, and of such a resource both have to be the same"
            yield Problem("missing-field", (*path, "limits", Key(name)), message, f"write `{name}: {text}` under `limits`", at_key=True)
        return
    if text == limits[name] or is_endless(text) or is_endless(limits[name]):
        return
    wanted, most = amount_of(text), amount_of(limits[name])
    if wanted != most and not can_be_promised_twice(name):
        yield excluded(at, f"the request of `{name}` has to be its limit, {limits[name]}, and is {text}", "leave the request out")
    elif wanted > most:
        yield excluded(at, f"the request of `{name}`, {text}, is above its limit, {limits[name]}", "raise the limit or lower the request")


def _claims(claims: list[dict[str, Any]], known: set[str], path: Path) -> Iterator[Problem]:
    """The problems of the devices that a container claims, by claims of its pod."""
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for index, claim in enumerate(claims):
        at, name, request = (*path, index), claim.get("name", ""), claim.get("request", "")
        if not name:
            yield missing("name", claim, at, "name one of the pod's `resourceClaims`")
            continue
        if request and name not in whole and (why := bad_label_name(request)):
            yield wrong_name(request, "a request of a claim", why, (*at, "request"))
        if name in whole or (name, request) in parts or (not request and any(name == each for each, _ in parts)):
            yield duplicate(name, "an item for the claim", at)
        elif request:
            parts.add((name, request))
        if not request:
            whole.add(name)
        if name not in known:
            message = f"the pod has no claim `{name}` in its `resourceClaims`"
            yield Problem("unsupported-choice", at, message, near(name, known))
