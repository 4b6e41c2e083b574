"""ResourceQuotas of a namespace: what they count of pods, claims and other objects, what they demand, and whether there is room.

Follows `CheckRequest`, k8s.io/apiserver pkg/admission/plugin/resourcequota, and the pod and claim evaluators, k8s.io/kubernetes
pkg/quota/v1/evaluator/core, 1.36. A quota that no controller has counted yet is taken as empty.
"""

from __future__ import annotations

from jobspec.apis.kinds import RESOURCE_QUOTA
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import Quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import containers
from jobspec.kubernetes.admission.quota_scopes import has_pod, matches_claim, scope_selectors
from jobspec.kubernetes.admission.quota_usage import ONE, claim_usage, is_of_claims, is_of_pods, pod_usage, usage
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import NONE, amounts, says_pod_resources, sum_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.kubernetes.pods.amounts import Amounts


_RULE = "over-quota"
_WHOLE: Path = ("spec",)
#: What every container has to say where a quota counts it.
_DEMANDED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


class NamespaceQuota:
    """A ResourceQuota, with the amounts that it allows and the amounts in use."""

    def __init__(self, named: str, data: Data) -> None:
        self.named = named
        """Its kind, name and origin, for messages."""
        self.data = data
        status = mapping(data, "status")
        self.hard = amounts(status.get("hard") or mapping(data, "spec").get("hard"))
        self.used = amounts(status.get("used"))


def quota_problems(pod: Data, namespace: str, objects: Index) -> Problems:
    """The problems of a new pod by ResourceQuotas, once its containers have their defaults."""
    asked = pod_usage(pod)
    for quota in quotas_of(namespace, objects):
        if _counts(quota, pod):
            yield from _missing(quota, mapping(pod, "spec"))
            yield from _exceeded(quota, asked, quota.used, "the pod requests", _WHOLE)


def claim_quota_problems(claim: Data, namespace: str, objects: Index) -> Problems:
    """The problems of a new claim by ResourceQuotas."""
    asked = claim_usage(claim)
    for quota in quotas_of(namespace, objects):
        if any(map(is_of_claims, quota.hard)) and matches_claim(quota.data, claim):
            yield from _exceeded(quota, asked, quota.used, "the claim requests", ("spec", "resources", "requests"))


def job_quota_problems(pods: Sequence[tuple[Data, int]], namespace: str, objects: Index, whose: str = "the job's pods") -> Problems:
    """Return the problems of pods that are to run at once, by ResourceQuotas.

    Each pod comes with its count. A problem means that the pods never fit together. Other present usage does not count, since it may end.
    The pods are as `review_pod` leaves them; the path is empty. *whose*: what the message calls them.
    """
    quotas = quotas_of(namespace, objects)
    used = [(pod, {name: each.times(count) for name, each in pod_usage(pod).items()}) for pod, count in pods] if quotas else []
    for quota in quotas:
        asked = sum_of(needs for pod, needs in used if _counts(quota, pod))
        counts = [count for pod, count in pods if count and _counts(quota, pod)]
        yield from _exceeded(quota, asked, {}, f"{whose} request", (), count=counts[0] if len(counts) == 1 else 0)


def made_claims_quota_problems(claims: Sequence[Data], number: int, namespace: str, objects: Index) -> Problems:
    """Return the problems of the storage that the claims of one job request, by ResourceQuotas.

    *number*: how many there are, if *claims* stands for more. The numbers of claims count as those of other objects.
    """
    for quota in quotas_of(namespace, objects) if claims else ():
        matching = [each for each in claims if matches_claim(quota.data, each)]
        storage = ({name: each for name, each in claim_usage(claim).items() if name.endswith("requests.storage")} for claim in matching)
        asked = {name: Quantity(each.nanos * number // len(claims), each.format) for name, each in sum_of(storage).items()}
        yield from _exceeded(quota, asked, {}, "the job's claims request", (), count=number)


def exceeds(problem: Problem) -> bool:
    """True if a pod's problem is an exceeded quota, and not a missing request or limit."""
    return problem.rule == _RULE and problem.path == _WHOLE


def quotas_of(namespace: str, objects: Index) -> list[NamespaceQuota]:
    """The quotas of a namespace."""
    found = objects.in_namespace(RESOURCE_QUOTA, namespace)
    return [NamespaceQuota(objects.named(RESOURCE_QUOTA, namespace, name), data) for name, data in found]


def _counts(quota: NamespaceQuota, pod: Data) -> bool:
    """Whether a quota counts a pod, which is in all of its scopes."""
    return any(map(is_of_pods, quota.hard)) and all(has_pod(each, mapping(pod, "spec")) for each in scope_selectors(quota.data))


def _missing(quota: NamespaceQuota, spec: Data) -> Problems:
    """Yield the problems of containers without a request or limit that a quota counts.

    If the pod as a whole has it, there is no problem.
    """
    demanded = [name for name in _DEMANDED if name in quota.hard]
    for path, container in containers(spec, ("containers", "initContainers")) if not says_pod_resources(spec) else ():
        own = mapping(container, "resources")
        said = usage(amounts(own.get("requests")), amounts(own.get("limits")))
        unsaid = [f"`{name}`" for name in demanded if name not in said]
        if unsaid:
            who = f"the container `{container.get('name')}`"
            message = f"{who} must set {', '.join(unsaid)}: {quota.named} limits it"
            yield Problem(_RULE, (*path, "resources"), message, "set them, or add a LimitRange with defaults")


def _exceeded(quota: NamespaceQuota, asked: Amounts, used: Amounts, who: str, path: Path, *, count: int = 1) -> Problems:
    """Yield the problems of amounts beyond a quota. *count*: the number of pods that ask for them, if the pods are alike; else 0."""
    for name, each in asked.items():
        hard, taken = quota.hard.get(name), used.get(name, NONE)
        if hard is not None and each.nanos > 0 and each.nanos + taken.nanos > hard.nanos:
            used_part = f", of which {taken} is used" if taken.nanos else ""
            message = f"exceeds {quota.named}: {who} {each} of `{name}`, the quota is {hard}{used_part}"
            free = Quantity(hard.nanos - taken.nanos, hard.format)
            yield Problem(_RULE, path, message, f"{_largest(name, each, free, count)}, or raise the quota")


def _largest(name: str, asked: Quantity, free: Quantity, count: int) -> str:
    """Write what a quota has room for in place of an amount that a number of pods asks for."""
    if count == 0 or free.nanos <= 0:
        return "request less"
    fewer, unit = free.nanos * count // asked.nanos, _unit(name)
    share = Quantity(free.nanos // count // unit * unit, free.format)
    if count == 1:
        return f"request at most {share}" if share.nanos else "request none"
    if name in ("pods", "count/pods"):
        return f"at most {fewer} of the {count} pods fit"
    smaller = f"request at most {share} in each of the {count} pods" if share.nanos else ""
    return " or ".join(filter(None, [smaller, f"have {fewer} pod{'s' if fewer > 1 else ''}" if fewer else ""])) or "request less"


def _unit(name: str) -> int:
    """The step, in nanos, in which people write an amount: thousandths of CPUs, mebibytes, one of all else."""
    resource = name.rpartition(".")[2]
    return 1_000_000 if resource == "cpu" else ONE.nanos << 20 if resource in ("memory", "ephemeral-storage", "storage") else ONE.nanos
