"""LimitRanges of a namespace: what they fill into containers, and what they forbid containers, pods and claims.

Follows `PodMutateLimitFunc`, `PodValidateLimitFunc` and `PersistentVolumeClaimValidateLimitFunc`, k8s.io/kubernetes
plugin/pkg/admission/limitranger, and `SetDefaults_LimitRangeItem`, pkg/apis/core/v1, 1.36. Of several LimitRanges that fill in one
amount, the server takes any; here it is the first by name.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts, of_containers
from jobspec.admission.plugins.bounds import Bounded, bounds_problems
from jobspec.admission.plugins.values import CONTAINERS, containers, sequence
from jobspec.kinds import LIMIT_RANGE
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.amounts import Amounts
    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.targets import Target

    Data = dict[str, Any]

_OF_PODS = ("cpu", "memory")


def with_limit_defaults(pod: Data, namespace: str, objects: PolicyObjects) -> Data:
    """A pod whose containers have the requests and limits that LimitRanges fill in."""
    spec = mapping(pod, "spec")
    for _, item in _items(objects, namespace, "Container"):
        limits = {**_given(item, "max"), **_given(item, "default")}
        requests = {**_given(item, "min"), **limits, **_given(item, "defaultRequest")}
        spec = _filled(spec, limits, requests)
    return {**pod, "spec": spec}


def problems_of_defaults(pod: Data, filled: Data, target: Target) -> list[Problem]:
    """The problems that a pod has only since LimitRanges *filled* it, such as a limit below the container's own request."""
    from jobspec.validation.builtin import builtin_problems

    own, given = mapping(pod, "spec"), mapping(filled, "spec")
    limited = {**pod, "spec": {**own, **{field: given[field] for field in CONTAINERS if field in given}}}
    if limited == pod:
        return []
    found = builtin_problems(limited, "v1", "Pod", target)
    before = {(each.rule, each.path) for each in builtin_problems(pod, "v1", "Pod", target)} if found else set()
    hint = "a LimitRange of the namespace fills in what the container does not say: say it"
    return [Problem(each.rule, each.path, each.message, hint) for each in found if (each.rule, each.path) not in before]


def limit_problems(pod: Data, namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What LimitRanges have against a pod whose containers have their defaults."""
    spec = mapping(pod, "spec")
    for name, item in _items(objects, namespace, "Container"):
        for path, container in containers(spec, ("containers", "initContainers")):
            own = mapping(container, "resources")
            what = f"the container `{container.get('name')}`"
            bounded = Bounded(what, (*path, "resources"), amounts(own.get("requests")), amounts(own.get("limits")))
            yield from bounds_problems(bounded, name, item)
    for name, item in _items(objects, namespace, "Pod"):
        bounded = Bounded("the pod", ("spec", "resources"), _of_pod(spec, "requests"), _of_pod(spec, "limits"))
        yield from bounds_problems(bounded, name, item)


def claim_limit_problems(claim: Data, namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What LimitRanges have against a claim."""
    requests = amounts(mapping(claim, "spec", "resources").get("requests"))
    for name, item in _items(objects, namespace, "PersistentVolumeClaim"):
        yield from bounds_problems(Bounded("the claim", ("spec", "resources"), requests, {}), name, item, requests_only=True)


def _items(objects: PolicyObjects, namespace: str, kind: str) -> list[tuple[str, Data]]:
    """The limits of one type in all LimitRanges of a namespace, each with the name of its range."""
    ranges = objects.in_namespace(LIMIT_RANGE, namespace)
    return [(name, each) for name, data in ranges for each in sequence(mapping(data, "spec"), "limits") if each.get("type") == kind]


def _given(data: Any, field: str) -> Data:
    """The entries of a mapping that are not null."""
    return {name: each for name, each in mapping(data, field).items() if each is not None}


def _filled(spec: Data, limits: Data, requests: Data) -> Data:
    def change(container: Data) -> Data:
        own = mapping(container, "resources")
        filled = {"limits": {**limits, **_given(own, "limits")}, "requests": {**requests, **_given(own, "requests")}}
        return {**container, "resources": {**own, **filled}}

    return {**spec, **{field: [change(each) for each in sequence(spec, field)] for field in CONTAINERS if field in spec}}


def _of_pod(spec: Data, field: str) -> Amounts:
    """What a pod requests or is limited to, without its overhead: what its containers do together, or what it says as a whole."""
    own = amounts(mapping(spec, "resources").get(field))
    return {**of_containers(spec, field), **{name: each for name, each in own.items() if name in _OF_PODS}}
