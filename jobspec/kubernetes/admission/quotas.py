"""ResourceQuotas of a namespace: what they count of pods, claims and other objects, what they demand, and whether there is room.

Follows `CheckRequest`, k8s.io/apiserver pkg/admission/plugin/resourcequota, and the pod and claim evaluators, k8s.io/kubernetes
pkg/quota/v1/evaluator/core, 1.36. A quota that no controller has counted yet is taken as empty.
"""

from __future__ import annotations

from jobspec.apis.kinds import RESOURCE_QUOTA
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.diagnostics.record import Record
from jobspec.go.quantities import Quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import containers, sequence
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import NONE, OF_PODS, amounts, pod_limits, pod_requests, says_pod_resources, sum_of
from jobspec.kubernetes.pods.resources import OF_CONTAINERS, is_extended, is_native
from jobspec.kubernetes.pods.scheduling import pod_terms

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
    for quota in _quotas(namespace, objects):
        if _counts(quota, pod):
            yield from _missing(quota, mapping(pod, "spec"))
            yield from _exceeded(quota, asked, quota.used, "the pod requests", _WHOLE)


def claim_quota_problems(claim: Data, namespace: str, objects: Index) -> Problems:
    """The problems of a new claim by ResourceQuotas."""
    asked = claim_usage(claim)
    for quota in _quotas(namespace, objects):
        if any(map(_is_of_claims, quota.hard)) and _matches_claim(quota.data, claim):
            yield from _exceeded(quota, asked, quota.used, "the claim requests", ("spec", "resources", "requests"))


def job_quota_problems(pods: Sequence[tuple[Data, int]], namespace: str, objects: Index, whose: str = "the job's pods") -> Problems:
    """Return the problems of pods that are to run at once, by ResourceQuotas.

    Each pod comes with its count. A problem means that the pods never fit together. Other present usage does not count, since it may end.
    The pods are as `review_pod` leaves them; the path is empty. *whose*: what the message calls them.
    """
    quotas = _quotas(namespace, objects)
    used = [(pod, {name: each.times(count) for name, each in pod_usage(pod).items()}) for pod, count in pods] if quotas else []
    for quota in quotas:
        asked = sum_of(needs for pod, needs in used if _counts(quota, pod))
        counts = [count for pod, count in pods if count and _counts(quota, pod)]
        yield from _exceeded(quota, asked, {}, f"{whose} request", (), count=counts[0] if len(counts) == 1 else 0)


def made_claims_quota_problems(claims: Sequence[Data], number: int, namespace: str, objects: Index) -> Problems:
    """Return the problems of the storage that the claims of one job request, by ResourceQuotas.

    *number*: how many there are, if *claims* stands for more. The numbers of claims count as those of other objects.
    """
    for quota in _quotas(namespace, objects) if claims else ():
        matching = [each for each in claims if _matches_claim(quota.data, each)]
        storage = ({name: each for name, each in claim_usage(claim).items() if name.endswith("requests.storage")} for claim in matching)
        asked = {name: Quantity(each.nanos * number // len(claims), each.format) for name, each in sum_of(storage).items()}
        yield from _exceeded(quota, asked, {}, "the job's claims request", (), count=number)


def exceeds(problem: Problem) -> bool:
    """True if a pod's problem is an exceeded quota, and not a missing request or limit."""
    return problem.rule == _RULE and problem.path == _WHOLE


def _quotas(namespace: str, objects: Index) -> list[NamespaceQuota]:
    found = objects.in_namespace(RESOURCE_QUOTA, namespace)
    return [NamespaceQuota(objects.named(RESOURCE_QUOTA, namespace, name), data) for name, data in found]


def _counts(quota: NamespaceQuota, pod: Data) -> bool:
    """Whether a quota counts a pod, which is in all of its scopes."""
    return any(map(_is_of_pods, quota.hard)) and all(_has_pod(each, mapping(pod, "spec")) for each in _selectors(quota.data))


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
    return 1_000_000 if resource == "cpu" else _ONE.nanos << 20 if resource in ("memory", "ephemeral-storage", "storage") else _ONE.nanos


# Numbers of objects.
#
# Follows `objectCountEvaluator`, k8s.io/apiserver pkg/quota/v1/generic, and `legacyObjectCountAliases` and the service evaluator,
# k8s.io/kubernetes pkg/quota/v1/evaluator/core, 1.36: quotas with scopes count pods and claims alone.


#: The resources that quotas may also name without `count/`.
_WITHOUT_PREFIX = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
#: The resources of which each namespace has objects that controllers make, and how many: kube-root-ca.crt.
_ALWAYS_THERE = {"configmaps": 1}


class CountLimit(Record):
    """How many objects of a kind a quota allows, beside those that each namespace has."""

    quota: str
    """Its kind, name and origin, for messages."""
    name: str
    """The name by which the quota counts them, such as `count/jobs.batch`."""
    hard: Quantity
    allowed: int

    def sentence(self) -> str:
        """The limit in words."""
        own = " and each namespace has one" if self.allowed < self.hard.nanos // _ONE.nanos else ""
        return f"the quota of `{self.name}` is {self.hard}{own}"


def count_limits(group: str, plural: str, namespace: str, objects: Index) -> list[CountLimit]:
    """The limits on the number of objects of a resource in a namespace."""
    names = [f"count/{plural}.{group}" if group else f"count/{plural}", *([plural] if not group and plural in _WITHOUT_PREFIX else [])]
    there = 0 if group else _ALWAYS_THERE.get(plural, 0)
    quotas = [each for each in _quotas(namespace, objects) if not _selectors(each.data)]
    found = [(each.named, name, each.hard[name]) for each in quotas for name in names if name in each.hard]
    return [CountLimit(quota, name, hard, max(hard.nanos // _ONE.nanos - there, 0)) for quota, name, hard in found]


def counts_objects(quota: Data) -> bool:
    """Whether a quota limits the number of objects of some kind."""
    return any(name.startswith("count/") or name in _WITHOUT_PREFIX for name in map(str, mapping(quota, "spec", "hard")))


# The scopes of a ResourceQuota: which pods and claims it counts.
#
# Follows `podMatchesScopeFunc` and `pvcMatchesScopeFunc`, k8s.io/kubernetes pkg/quota/v1/evaluator/core, and `ComputePodQOS`,
# pkg/apis/core/v1/helper/qos, 1.36.


def _matches_claim(quota: Data, claim: Data) -> bool:
    """Whether a claim is in all scopes of a quota."""
    attributes = mapping(claim, "spec").get("volumeAttributesClassName") or ""
    selectors = _selectors(quota)
    return all(each.get("scopeName") == "VolumeAttributesClass" and _selects(each, attributes) for each in selectors)


def _selectors(quota: Data) -> list[Data]:
    spec = mapping(quota, "spec")
    named = [{"scopeName": name, "operator": "Exists"} for name in sequence(spec, "scopes")]
    return [*named, *sequence(mapping(spec, "scopeSelector"), "matchExpressions")]


def _has_pod(selector: Data, spec: Data) -> bool:
    deadline = spec.get("activeDeadlineSeconds")
    terminates = deadline is not None and deadline >= 0
    others = [each for _, each in pod_terms(spec, ()) if each.get("namespaces") or each.get("namespaceSelector") is not None]
    scopes = {
        "Terminating": terminates,
        "NotTerminating": not terminates,
        "BestEffort": _is_best_effort(spec),
        "NotBestEffort": not _is_best_effort(spec),
        "PriorityClass": _selects(selector, spec.get("priorityClassName") or ""),
        "CrossNamespacePodAffinity": bool(others),
    }
    return scopes.get(selector.get("scopeName", ""), False)


def _selects(selector: Data, value: str) -> bool:
    """Whether a selector takes the name of a class; an empty name is none."""
    is_in = bool(value) and value in sequence(selector, "values")
    answers = {"Exists": bool(value), "DoesNotExist": not value, "In": is_in, "NotIn": not is_in}
    return answers.get(selector.get("operator", ""), False)


def _is_best_effort(spec: Data) -> bool:
    """Whether a pod asks for no processor and no memory at all."""
    whole = spec.get("resources")
    holders = [spec] if isinstance(whole, dict) else [each for _, each in containers(spec, ("containers", "initContainers"))]
    asked = [amounts(mapping(each, "resources").get(field)) for each in holders for field in ("requests", "limits")]
    return not any(each[name].nanos > 0 for each in asked for name in OF_PODS if name in each)


# What quotas count of a pod and of a claim.
#
# Follows `PodUsageFunc`, `podComputeUsageHelper`, `podEvaluator.MatchingResources` and `pvcEvaluator.Usage`, k8s.io/kubernetes
# pkg/quota/v1/evaluator/core, 1.36.


_ONE = Quantity(1_000_000_000, "decimal")
_POD_NAMES = ("pods", "count/pods", *(prefix + name for prefix in ("", "requests.", "limits.") for name in OF_CONTAINERS))
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_CLASS = ".storageclass.storage.k8s.io/"
_DEVICES = "deviceclass.resource.kubernetes.io/"


def _is_of_pods(name: str) -> bool:
    """Whether a quota that names this counts pods."""
    if name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    return name.startswith("requests.") and (not is_native(name) or name.startswith(f"requests.{_DEVICES}"))


def _is_of_claims(name: str) -> bool:
    """Whether a quota that names this counts claims."""
    return name in ("count/persistentvolumeclaims", *_CLAIM_NAMES) or name.endswith(tuple(_CLASS + each for each in _CLAIM_NAMES))


def pod_usage(pod: Data) -> Amounts:
    """Return the amounts that quotas count for a pod before its end."""
    spec = mapping(pod, "spec")
    return {"count/pods": _ONE, **usage(pod_requests(spec), pod_limits(spec))}


def usage(requests: Amounts, limits: Amounts) -> Amounts:
    """Return the amounts that quotas count for requests and limits."""
    found = {"pods": _ONE}
    for name, each in requests.items():
        if name in OF_CONTAINERS or name.startswith("hugepages-"):
            found |= {name: each, f"requests.{name}": each}
        elif is_extended(name) or name.startswith(_DEVICES):
            found[f"requests.{name}"] = each
    return found | {f"limits.{name}": each for name, each in limits.items() if name in OF_CONTAINERS}


def claim_usage(claim: Data) -> Amounts:
    """Return the amounts that quotas count for a claim."""
    spec = mapping(claim, "spec")
    found = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    size = amounts(mapping(spec, "resources").get("requests")).get("storage")
    if size is not None:
        found["requests.storage"] = Quantity(size.rounded_up() * _ONE.nanos, size.format)
    annotation = mapping(claim, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")  # which is older than the field
    storage_class = annotation if annotation is not None else spec.get("storageClassName") or ""
    of_class = {f"{storage_class}{_CLASS}{name}": found[name] for name in _CLAIM_NAMES if name in found}
    return found | of_class if storage_class else found
