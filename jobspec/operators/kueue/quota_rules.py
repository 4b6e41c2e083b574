"""The rules of Kueue's webhooks for ClusterQueues and Cohorts.

Follows pkg/webhooks, sigs.k8s.io/kueue, 0.18.2 and 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Data, Path, items_at, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.go.quantities import amount_of, is_endless, quantity
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.metadata import bad_qualified_name
from jobspec.kubernetes.problems import listed
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_GROUPS: Path = ("spec", "resourceGroups")
_MOST_OF_ALL_GROUPS = 256
_MOST_QUOTAS = 512


def quota_resources(workload: Workload, target: Target) -> Iterator[Finding]:
    """The resources of a flavor are those of `coveredResources`, in the same order; resource and flavor are in one group only."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for path, group in items_at(workload.document.data, _GROUPS):
        for inner, name in items_at(group, ("coveredResources",)):
            if why := bad_qualified_name(name):
                yield Finding((*path, *inner), f"`{name}` cannot be the name of a resource: {why}")
            elif name in resources:
                yield Finding((*path, *inner), f"the resource `{name}` is covered twice", "keep it in one group")
            resources.add(name)
        for inner, flavor in items_at(group, ("flavors",)):
            if flavor["name"] in flavors:
                yield Finding((*path, *inner, "name"), f"the flavor `{flavor['name']}` is in two groups", "keep it in one group")
            flavors.add(flavor["name"])
            for (place, quota), covered in zip(items_at(flavor, ("resources",)), group["coveredResources"], strict=False):
                if quota["name"] != covered:
                    message = f"the quota of `{quota['name']}` is where `coveredResources` has `{covered}`"
                    yield Finding((*path, *inner, *place, "name"), message, "give quotas in the order of `coveredResources`")


def quota_limits(workload: Workload, target: Target) -> Iterator[Finding]:
    """A quota cannot be negative. Limits to borrow and to lend need a cohort, and a queue lends no more than it has."""
    data, is_queue = workload.document.data, workload.document.kind == "ClusterQueue"
    names = ("cohortName", "cohort") if is_queue else ("parentName",)
    has_parent = any(mapping(data, "spec").get(name) for name in names)
    for path, quota in _quotas(data):
        for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            value = quota.get(field)
            if value is None:
                continue
            if nanos_of(value) < 0:
                yield Finding((*path, field), f"`{field}: {value}` is negative")
            if field != "nominalQuota" and not has_parent:
                wanted = "cohort" if is_queue else "parent"
                yield Finding((*path, field), f"`{field}` without a {wanted}", f"name the {wanted}, or remove the limit")
            elif field == "lendingLimit" and is_queue and nanos_of(value) > nanos_of(quota["nominalQuota"]):
                yield Finding((*path, field), f"`lendingLimit: {value}` is above `nominalQuota: {quota['nominalQuota']}`")


def _quotas(data: Data) -> Iterator[tuple[Path, Data]]:
    """The quotas that the webhook looks at: of a flavor, as many as there are covered resources."""
    for path, group in items_at(data, _GROUPS):
        for inner, flavor in items_at(group, ("flavors",)):
            for place, quota in items_at(flavor, ("resources",))[: len(group["coveredResources"])]:
                yield (*path, *inner, *place), quota


def nanos_of(value: Any) -> int:
    """An amount in nanos."""
    text = str(value)
    return amount_of(text) * 1_000_000 if is_endless(text) else quantity(text).nanos


def quota_number(workload: Workload, target: Target) -> Iterator[Finding]:
    """A ClusterQueue has at most 256 flavors and 256 resources in all of its groups, and 512 quotas in each."""
    groups = structs(workload.document.data, "spec", "resourceGroups")
    for field, what in (("flavors", "flavors"), ("coveredResources", "resources")):
        if (number := sum(len(group[field]) for group in groups)) > _MOST_OF_ALL_GROUPS:
            yield Finding(_GROUPS, f"{number} {what} in all groups are more than {_MOST_OF_ALL_GROUPS}")
    for index, group in enumerate(groups):
        if (number := sum(len(flavor["resources"]) for flavor in group["flavors"])) > _MOST_QUOTAS:
            yield Finding((*_GROUPS, index), f"{number} quotas in a group are more than {_MOST_QUOTAS}")


def fair_weight(workload: Workload, target: Target) -> Iterator[Finding]:
    """`fairSharing.weight` must be 0 or more than `1n`."""
    path = ("spec", "fairSharing", "weight")
    weight = value_at(workload.document.data, path)
    if weight is not None and (nanos_of(weight) < 0 or nanos_of(weight) == 1):
        why = "is negative" if nanos_of(weight) < 0 else "is too small"
        yield Finding(path, f"the weight `{weight}` {why}", field="spec.fairSharing")


def queue_namespaces(workload: Workload, target: Target) -> Iterator[Finding]:
    """`namespaceSelector` of a ClusterQueue must be a valid label selector."""
    path = ("spec", "namespaceSelector")
    yield from (Finding(each.path, each.message, each.hint) for each in selector_problems(value_at(workload.document.data, path), path))


def check_flavors(workload: Workload, target: Target) -> Iterator[Finding]:
    """`onFlavors` of an admission check must name flavors of the ClusterQueue. An update that changes no flavor leaves old checks alone."""
    spec = mapping(workload.document.data, "spec")
    known, before = _flavors(spec), mapping(workload.old.data, "spec") if workload.old else {}
    kept = _flavors_of_checks(before) if set(_flavors(before)) == set(known) else {}
    checks: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    for path, check in [] if spec.get("admissionChecks") else items_at(workload.document.data, checks):
        for inner, name in items_at(check, ("onFlavors",)):
            if name not in known and kept.get(check["name"]) != set(check["onFlavors"]):
                yield Finding((*path, *inner), f"the queue has no flavor `{name}`", f"it has {listed(known)}" if known else "")


def _flavors_of_checks(spec: Data) -> dict[str, set[str]]:
    if spec.get("admissionChecks"):
        return {name: set() for name in spec["admissionChecks"]}
    return {each["name"]: set(each.get("onFlavors") or ()) for each in structs(spec, "admissionChecksStrategy", "admissionChecks")}


def _flavors(spec: Data) -> list[str]:
    return [flavor["name"] for group in structs(spec, "resourceGroups") for flavor in structs(group, "flavors")]


def concurrent_admission_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """`concurrentAdmissionPolicy` of a ClusterQueue cannot be changed, set or removed. Make a new queue."""
    assert workload.old
    field = "concurrentAdmissionPolicy"
    if mapping(workload.document.data, "spec").get(field) != mapping(workload.old.data, "spec").get(field):
        yield Finding(("spec", field), f"`{field}` cannot be changed", "create a new ClusterQueue")
