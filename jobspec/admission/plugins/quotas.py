"""ResourceQuotas of a namespace: what they count of a pod or claim, what they demand, and whether there is room.

Follows `CheckRequest`, k8s.io/apiserver pkg/admission/plugin/resourcequota, and the pod and claim evaluators, k8s.io/kubernetes
pkg/quota/v1/evaluator/core, 1.36. A quota that no controller has counted yet is taken as empty.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts, says_pod_resources
from jobspec.admission.plugins.quota_scopes import matches_claim, matches_pod
from jobspec.admission.plugins.usage import claim_usage, is_of_claims, is_of_pods, pod_usage, usage
from jobspec.admission.plugins.values import containers
from jobspec.kinds import RESOURCE_QUOTA
from jobspec.quantities import Quantity
from jobspec.validation.pods.needs import sum_of
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.admission.plugins.amounts import Amounts
    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.diagnostics import Path

    Data = dict[str, Any]

_RULE = "over-quota"
_WHOLE: Path = ("spec",)
_NONE = Quantity(0, "decimal")
#: What every container has to say where a quota counts it.
_DEMANDED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


class Quota:
    """A ResourceQuota: what it allows, and what is used of that."""

    __slots__ = ("data", "hard", "name", "used")

    def __init__(self, name: str, data: Data) -> None:
        self.name = name
        self.data = data
        status = mapping(data, "status")
        self.hard = amounts(status.get("hard") or mapping(data, "spec").get("hard"))
        self.used = amounts(status.get("used"))


def quota_problems(pod: Data, namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What ResourceQuotas have against one more pod, whose containers have their defaults."""
    asked = pod_usage(pod)
    for quota in _quotas_of_pods(pod, namespace, objects):
        yield from _missing(quota, mapping(pod, "spec"))
        yield from _exceeded(quota, asked, quota.used, "the pod asks for", _WHOLE)


def claim_quota_problems(claim: Data, namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What ResourceQuotas have against one more claim."""
    asked = claim_usage(claim)
    for quota in _quotas(namespace, objects):
        if any(map(is_of_claims, quota.hard)) and matches_claim(quota.data, claim):
            yield from _exceeded(quota, asked, quota.used, "the claim asks for", ("spec", "resources", "requests"))


def job_quota_problems(pods: Sequence[tuple[Data, int]], namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What ResourceQuotas have against pods that are to run at once, each given with how often it is: they never fit together.

    What else is used now does not count, since it may end. The pods are as `review_pod` leaves them; the path is empty.
    """
    quotas = _quotas(namespace, objects)
    used = [(pod, {name: each.times(count) for name, each in pod_usage(pod).items()}) for pod, count in pods] if quotas else []
    for quota in quotas:
        asked = sum_of(needs for pod, needs in used if _counts(quota, pod))
        yield from _exceeded(quota, asked, {}, "the job's pods ask for", ())


def exceeds(problem: Problem) -> bool:
    """Whether a problem of a pod is that a quota has no room for it, and not what the pod is like."""
    return problem.rule == _RULE and problem.path == _WHOLE


def _quotas(namespace: str, objects: PolicyObjects) -> list[Quota]:
    return [Quota(name, data) for name, data in objects.in_namespace(RESOURCE_QUOTA, namespace)]


def _quotas_of_pods(pod: Data, namespace: str, objects: PolicyObjects) -> list[Quota]:
    return [quota for quota in _quotas(namespace, objects) if _counts(quota, pod)]


def _counts(quota: Quota, pod: Data) -> bool:
    return any(map(is_of_pods, quota.hard)) and matches_pod(quota.data, mapping(pod, "spec"))


def _missing(quota: Quota, spec: Data) -> Iterator[Problem]:
    """What a quota counts and a container does not say, unless the pod says it as a whole."""
    demanded = [name for name in _DEMANDED if name in quota.hard]
    for path, container in containers(spec, ("containers", "initContainers")) if not says_pod_resources(spec) else ():
        own = mapping(container, "resources")
        said = usage(amounts(own.get("requests")), amounts(own.get("limits")))
        unsaid = [f"`{name}`" for name in demanded if name not in said]
        if unsaid:
            who = f"the container `{container.get('name')}`"
            message = (
                f"the ResourceQuota `{quota.name}` counts {', '.join(unsaid)}, of which {who} says nothing, so the server refuses the pod"
            )
            yield Problem(_RULE, (*path, "resources"), message, "write them, or have a LimitRange fill them in")


def _exceeded(quota: Quota, asked: Amounts, used: Amounts, who: str, path: Path) -> Iterator[Problem]:
    for name, each in asked.items():
        hard, taken = quota.hard.get(name), used.get(name, _NONE)
        if hard is not None and each.nanos > 0 and each.nanos + taken.nanos > hard.nanos:
            beside = f", of which {taken} is used" if taken.nanos else ""
            message = f"{who} {each} of `{name}`, and the ResourceQuota `{quota.name}` has {hard}{beside}"
            yield Problem(_RULE, path, message, "ask for less, or have the quota raised")
