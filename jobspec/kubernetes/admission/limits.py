"""LimitRanges of a namespace: the defaults that they give containers, and the bounds for containers, pods and claims.

Follows `PodMutateLimitFunc`, `PodValidateLimitFunc` and `PersistentVolumeClaimValidateLimitFunc`, k8s.io/kubernetes
plugin/pkg/admission/limitranger, and `SetDefaults_LimitRangeItem`, pkg/apis/core/v1, 1.36. Of several LimitRanges that fill in one
amount, the server takes any; here it is the first by name.
"""

from __future__ import annotations

from operator import gt, lt

from jobspec.apis.kinds import LIMIT_RANGE
from jobspec.diagnostics.places import Data, Key, Path, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import Quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import CONTAINERS, containers, sequence
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import NONE, OF_PODS, amounts, amounts_of_pod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.kubernetes.pods.amounts import Amounts


def with_limit_defaults(pod: Data, namespace: str, objects: Index) -> Data:
    """Return a pod whose containers have the requests and limits of the LimitRanges."""
    spec = mapping(pod, "spec")
    for _, item in _items(objects, namespace, "Container"):
        limits = {**_given(item, "max"), **_given(item, "default")}
        requests = {**_given(item, "min"), **limits, **_given(item, "defaultRequest")}
        spec = spec | {field: [_filled(each, limits, requests) for each in sequence(spec, field)] for field in CONTAINERS if field in spec}
    return {**pod, "spec": spec}


def problems_of_defaults(pod: Data, filled: Data, target: Target, namespace: str, objects: Index) -> list[Problem]:
    """Return the problems that a pod has only because LimitRanges *filled* it, each with the LimitRange that did.

    Such a problem is a default limit below the container's own request.
    """
    from jobspec.kubernetes.builtin import builtin_problems

    own, given = mapping(pod, "spec"), mapping(filled, "spec")
    limited = {**pod, "spec": {**own, **{field: given[field] for field in CONTAINERS if field in given}}}
    if limited == pod:
        return []
    found = builtin_problems(limited, "v1", "Pod", target)
    before = {(each.rule, each.path) for each in builtin_problems(pod, "v1", "Pod", target)} if found else set()
    hint = "a LimitRange of the namespace sets defaults for what is missing: set it here"
    new = [each for each in found if (each.rule, each.path) not in before]
    return [Problem(each.rule, each.path, _with_setter(each, pod, namespace, objects), hint) for each in new]


#: The fields of a LimitRange's item that fill in a limit or a request, the first that there is.
_FILLING = {"limits": ("default", "max"), "requests": ("defaultRequest", "default", "max", "min")}


def _with_setter(problem: Problem, pod: Data, namespace: str, objects: Index) -> str:
    """Return a problem's message with the LimitRange that fills in the amount."""
    resource, own = str(problem.path[-1]), value_at(pod, problem.path[:-2])
    side = next((each for each in _FILLING if resource not in _given(own, each)), "limits")
    for limit_range, item in _items(objects, namespace, "Container"):
        for field in _FILLING[side]:
            if (amount := _given(item, field).get(resource)) is not None:
                sets = f"{limit_range} sets {side.removesuffix('s')} {resource}={amount}"
                requested, limit = amounts(_given(own, "requests")).get(resource), amounts({resource: amount}).get(resource)
                is_above = side == "limits" and requested and limit and requested.nanos > limit.nanos
                return f"{sets}; the container requests {requested}" if is_above else f"{sets}: {problem.message}"
    return problem.message


def limit_problems(pod: Data, namespace: str, objects: Index) -> Problems:
    """The problems of a pod by LimitRanges, once its containers have their defaults."""
    spec = mapping(pod, "spec")
    for limit_range, item in _items(objects, namespace, "Container"):
        for path, container in containers(spec, ("containers", "initContainers")):
            own = mapping(container, "resources")
            given = {field: amounts(own.get(field)) for field in ("requests", "limits")}
            yield from _outside_bounds(f"the container `{container.get('name')}`", (*path, "resources"), given, limit_range, item)
    for limit_range, item in _items(objects, namespace, "Pod"):
        given = {field: amounts_of_pod(spec, field, OF_PODS.__contains__) for field in ("requests", "limits")}
        yield from _outside_bounds("the pod", ("spec", "resources"), given, limit_range, item)


def claim_limit_problems(claim: Data, namespace: str, objects: Index) -> Problems:
    """The problems of a claim by LimitRanges."""
    given = {"requests": amounts(mapping(claim, "spec", "resources").get("requests")), "limits": dict[str, Quantity]()}
    for limit_range, item in _items(objects, namespace, "PersistentVolumeClaim"):
        yield from _outside_bounds("the claim", ("spec", "resources"), given, limit_range, item, requests_only=True)


def _items(objects: Index, namespace: str, kind: str) -> list[tuple[str, Data]]:
    """Return the limits of one type in all LimitRanges of a namespace, each with its LimitRange in words."""
    ranges = [(objects.named(LIMIT_RANGE, namespace, name), data) for name, data in objects.in_namespace(LIMIT_RANGE, namespace)]
    return [(named, each) for named, data in ranges for each in sequence(mapping(data, "spec"), "limits") if each.get("type") == kind]


def _given(data: Any, field: str) -> Data:
    """The entries of a mapping that are not null."""
    return {name: each for name, each in mapping(data, field).items() if each is not None}


def _filled(container: Data, limits: Data, requests: Data) -> Data:
    own = mapping(container, "resources")
    filled = {"limits": {**limits, **_given(own, "limits")}, "requests": {**requests, **_given(own, "requests")}}
    return {**container, "resources": {**own, **filled}}


# Hold what is requested against the bounds of a LimitRange: `min`, `max`, `maxLimitRequestRatio`.
#
# Follows `minConstraint`, `maxConstraint`, `maxRequestConstraint` and `limitRequestRatioConstraint`, k8s.io/kubernetes
# plugin/pkg/admission/limitranger, 1.36.
_RULE = "outside-limit-range"
_MILLI = 1_000_000
_MOST_MILLIS = (2**63 - 1) // 1000


#: Words for messages about requests and limits: that there is none, what to do then, and the start of what there is.
_SAID = {"requests": ("it requests none", "request it", "it requests"), "limits": ("it has no limit", "limit it", "it is limited to")}


def _outside_bounds(
    what: str, path: Path, given: dict[str, Amounts], limit_range: str, item: Data, *, requests_only: bool = False
) -> Problems:
    """Yield the problems of the requests and limits *given* to *what*, by a LimitRange's item.

    *limit_range*: the LimitRange in words. *requests_only*: `max` bounds requests, as it does for claims.
    """
    for name, bound in amounts(item.get("min")).items():
        wanted = f"{limit_range} requires {what} to request at least {bound} of `{name}`"
        yield from _beyond(wanted, path, name, bound, [(field, given[field].get(name)) for field in ("requests", "limits")], lt)
    for name, bound in amounts(item.get("max")).items():
        limited = f"{limit_range} requires {what} to be limited to {bound} of `{name}` at most"
        requested = f"{limit_range} lets {what} request at most {bound} of `{name}`"
        fields = ("requests", "limits") if requests_only else ("limits", "requests")
        sides = [(field, given[field].get(name)) for field in fields]
        yield from _beyond(requested if requests_only else limited, path, name, bound, sides, gt)
    for name, bound in amounts(item.get("maxLimitRequestRatio")).items() if not requests_only else ():
        factor = f"{limit_range} lets {what} have a limit of at most {bound} times what it requests of `{name}`"
        yield from _ratio(factor, path, given, name, bound)


def _beyond(
    wanted: str, path: Path, name: str, bound: Quantity, sides: list[tuple[str, Quantity | None]], is_beyond: Callable[[int, int], bool]
) -> Problems:
    """Yield the problem of an amount beyond a bound.

    The first of two *sides* must have an amount; if it is in bounds, the second counts.
    """
    (field, first), (further, second) = sides
    one, other, limit = _comparable(first, second, bound)
    if first is None:
        none, hint, _ = _SAID[field]
        yield Problem(_RULE, (*path, field, Key(name)), f"{wanted}, and {none}", hint)
    elif is_beyond(one, limit):
        yield Problem(_RULE, (*path, field, Key(name)), f"{wanted}, not {first}", f"write {bound}")
    elif second is not None and is_beyond(other, limit):
        yield Problem(_RULE, (*path, further, Key(name)), f"{wanted}, and {_SAID[further][2]} {second}", f"write {bound}")


def _ratio(factor: str, path: Path, given: dict[str, Amounts], name: str, bound: Quantity) -> Problems:
    request, limit = given["requests"].get(name), given["limits"].get(name)
    asked, limited, _ = _comparable(request, limit, bound)
    for field, amount in (("requests", asked), ("limits", limited)):
        if not amount:
            none, hint, _ = _SAID[field]
            yield Problem(_RULE, (*path, field, Key(name)), f"{factor}, and {none}", hint)
            return
    ratio, whole = limited / asked, bound.rounded_up()
    # in thousandths, where those can be counted
    if ratio * 1000 > float(bound.nanos // _MILLI) if whole <= _MOST_MILLIS else ratio > float(whole):
        message = f"{factor}, not {ratio:.4g} times: the limit is {limit}, the request {request}"
        yield Problem(_RULE, (*path, "limits", Key(name)), message)


def _comparable(*several: Quantity | None) -> list[int]:
    """Return amounts as comparable numbers, in thousandths.

    If one is too large for that, all are rounded up to whole numbers.
    """
    found = [each or NONE for each in several]
    whole = [each.rounded_up() for each in found]
    return whole if max(whole) > _MOST_MILLIS else [-(-each.nanos // _MILLI) for each in found]
