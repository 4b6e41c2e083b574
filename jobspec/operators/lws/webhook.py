"""The rules of LeaderWorkerSet's webhook for LeaderWorkerSets.

Follows `LeaderWorkerSetWebhook.ValidateCreate` and `ValidateUpdate`, sigs.k8s.io/lws pkg/webhooks, 0.7.0 to 0.10.0.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import MAX_INT32, mapping
from jobspec.kubernetes.metadata import bad_dns1035_label, masked
from jobspec.kubernetes.structural import filled
from jobspec.kubernetes.workloads.selectors import count_or_percentage, scaled_amount
from jobspec.operators.lws import SUBGROUP_EXCLUSIVE
from jobspec.operators.lws.objects import LWS, ROLLING
from jobspec.operators.lws_defaults import with_lws_defaults
from jobspec.operators.webhooks import becomes_null, job_name, undecodable_value
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.document import Document
    from jobspec.operators.workloads import Workload


_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")
_SUBGROUPS: Path = (*_TEMPLATE, "subGroupPolicy")
_SUBGROUP_SIZE: Path = (*_SUBGROUPS, "subGroupSize")
_FIELD_OF_SUBGROUPS = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize"  # as the server spells it


def _spec(document: Document, target: Target) -> Data:
    """The spec of a LeaderWorkerSet with the defaults of its CRD and its webhook."""
    return with_lws_defaults(filled(document.data["spec"], shapes.part(*LWS, target, ("spec",)), prune=False))


def name_prefix(workload: Workload, target: Target) -> Iterator[Finding]:
    """The `generateName` of a LeaderWorkerSet starts the name of a Service, even beside a `name`: at most 63 letters, digits and `-`."""
    prefix = workload.document.data["metadata"].get("generateName") or ""
    why = bad_dns1035_label(masked(prefix)) if prefix else ""
    if why and not any(job_name(workload, target)):
        yield Finding(("metadata", "generateName"), f"`{prefix}` cannot start the name of a LeaderWorkerSet: {why}")


def group_total(workload: Workload, target: Target) -> Iterator[Finding]:
    """A LeaderWorkerSet has no fewer than 0 groups of at least 1 pod, and their pods are counted in 32 bits."""
    spec = _spec(workload.document, target)
    replicas, size = spec["replicas"], spec["leaderWorkerTemplate"]["size"]
    if replicas < 0:
        yield Finding(("spec", "replicas"), f"the number of groups cannot be negative, as {replicas} is", "write at least 0")
    if size < 1:
        yield Finding((*_TEMPLATE, "size"), f"a group cannot have {size} pods: its leader is one of them", "write at least 1")
    if replicas * size > MAX_INT32:
        yield Finding(("spec", "replicas"), f"{replicas} groups of {size} pods would be more than {MAX_INT32:,} pods")


def rollout_numbers(workload: Workload, target: Target) -> Iterator[Finding]:
    """`maxUnavailable` and `maxSurge` are numbers of groups, or percentages of at most 100, and not both 0; `partition` is a number.

    A percentage of `maxUnavailable` is rounded down: 10% of 4 groups is none.
    """
    spec = _spec(workload.document, target)
    rolling = spec["rolloutStrategy"].get("rollingUpdateConfiguration") or {}
    if (partition := rolling.get("partition") or 0) < 0:
        yield Finding((*ROLLING, "partition"), f"`partition` cannot be negative, as {partition} is", "write at least 0")
    yield from replacement_numbers(rolling, spec["replicas"], ROLLING)


def replacement_numbers(rolling: Data, replicas: int, path: Path) -> Iterator[Finding]:
    """Yield why no rollout can replace groups by the numbers at a *path*. *replicas*: the number of groups."""
    wrong = False
    for name in ("maxUnavailable", "maxSurge"):
        for problem in count_or_percentage(rolling.get(name), (*path, name)):
            wrong = True
            yield Finding(problem.path, problem.message, problem.hint)
    unavailable = scaled_amount(rolling.get("maxUnavailable"), replicas, up=False)
    if not (wrong or unavailable or scaled_amount(rolling.get("maxSurge"), replicas, up=True)) and replicas:
        given = rolling.get("maxUnavailable")
        why = f"{given} of {replicas} groups is rounded down to 0" if isinstance(given, str) and given.strip("0%") else "both are 0"
        message = f"`maxUnavailable` and `maxSurge` cannot both be 0, or no group could be replaced: {why}"
        yield Finding((*path, "maxUnavailable"), message, "write `maxUnavailable: 1`")


def subgroup_size(workload: Workload, target: Target) -> Iterator[Finding]:
    """Subgroups divide a group: its size, or its size without the leader, is a multiple of `subGroupSize`.

    It has to be there, and at least 1. With `LeaderExcluded`, the number of workers is the multiple.
    """
    template = _spec(workload.document, target)["leaderWorkerTemplate"]
    policy, size = template.get("subGroupPolicy"), template["size"]
    if policy is None:
        return
    part, workers = policy.get("subGroupSize"), size - 1
    if not part:
        why = "`subGroupSize` is 0" if part == 0 else "`subGroupPolicy` without `subGroupSize`"
        yield Finding(
            _SUBGROUP_SIZE,
            f"{why}: the webhook gives no answer, and the object is refused",
            "write the number of pods of each subgroup",
            field=_FIELD_OF_SUBGROUPS,
        )
    elif part < 1:
        yield Finding(_SUBGROUP_SIZE, f"a subgroup cannot have {part} pods", "write at least 1", field=_FIELD_OF_SUBGROUPS)
    elif part > size:
        yield Finding(_SUBGROUP_SIZE, f"subgroups of {part} pods are larger than the group, {size}", field=_FIELD_OF_SUBGROUPS)
    elif policy.get("subGroupPolicyType") == "LeaderExcluded" and workers % part:
        message = f"{workers} workers cannot be divided into subgroups of {part} pods, which the leader is excluded from"
        yield Finding(_SUBGROUP_SIZE, message, field=_FIELD_OF_SUBGROUPS)
    elif size % part and workers % part:
        message = f"neither {size} pods nor {workers} without the leader can be divided into subgroups of {part}"
        yield Finding(_SUBGROUP_SIZE, message, field=_FIELD_OF_SUBGROUPS)


def subgroup_topology(workload: Workload, target: Target) -> Iterator[Finding]:
    """The annotation that gives each subgroup a topology for itself needs a `subGroupPolicy`."""
    path = ("metadata", "annotations", Key(SUBGROUP_EXCLUSIVE))
    if value_at(workload.document.data, path) is not None and value_at(workload.document.data, _SUBGROUPS) is None:
        message = f"`{SUBGROUP_EXCLUSIVE}` without subgroups"
        yield Finding(path, message, "add `subGroupPolicy` with a `subGroupSize`, or remove the annotation")


def subgroups_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """An update cannot add, remove or resize the subgroups of a LeaderWorkerSet. Create a new one."""
    assert workload.old
    now, before = (mapping(_spec(each, target), "leaderWorkerTemplate").get("subGroupPolicy") for each in (workload.document, workload.old))
    if now is None and before is not None:
        yield Finding(_TEMPLATE, "the subgroups of a LeaderWorkerSet cannot be removed", "create a new one", field=_FIELD_OF_SUBGROUPS)
    elif now is not None and before is None:
        yield Finding(_SUBGROUPS, "a LeaderWorkerSet cannot get subgroups later", "create a new one", field=_FIELD_OF_SUBGROUPS)
    elif now is not None and before is not None and now.get("subGroupSize") != before.get("subGroupSize"):
        message = f"the size of subgroups cannot change from {before.get('subGroupSize')} to {now.get('subGroupSize')}"
        yield Finding(_SUBGROUP_SIZE, message, "create a new one", field=_FIELD_OF_SUBGROUPS)


#: The rules for a new LeaderWorkerSet.
CREATE_RULES = [
    Rule(undecodable_value),
    Rule(becomes_null),
    Rule(job_name),
    Rule(name_prefix),
    Rule(group_total),
    Rule(rollout_numbers),
    Rule(subgroup_size),
    Rule(subgroup_topology),
]
#: The rules for an update of a LeaderWorkerSet.
UPDATE_RULES = [*CREATE_RULES, Rule(subgroups_frozen)]
