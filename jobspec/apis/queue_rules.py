"""The CEL rules of Kueue's kinds.

Each is upstream's text and a Python function with the same meaning. The rules of a Workload, which Kueue makes itself, are left to the
CEL library.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.cel_rules import CelRule, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _hold(test: Callable[[dict[str, Any]], bool], items: list[dict[str, Any]]) -> bool:
    """True if a test holds for all items.

    As in CEL, false for one item wins over an error for another one.
    """
    untested: Exception | None = None
    for item in items:
        try:
            if not test(item):
                return False
        except (KeyError, TypeError) as error:
            untested = error
    if untested:
        raise untested
    return True


def _has_no_limit(spec: dict[str, Any]) -> bool:
    quotas = (quota for group in spec.get("resourceGroups", ()) for flavor in group["flavors"] for quota in flavor["resources"])
    return not any("borrowingLimit" in quota for quota in quotas)


def _reclaims(preemption: dict[str, Any]) -> bool:
    if preemption.get("reclaimWithinCohort", "Never") != "Never" or "borrowWithinCohort" not in preemption:
        return True  # an operand of `&&` that is false decides, though another one has no value
    return bool(preemption["borrowWithinCohort"]["policy"] == "Never" or preemption["reclaimWithinCohort"] != "Never")


def _has_host_last(levels: list[dict[str, Any]]) -> bool:
    return all(level["nodeLabel"] != "kubernetes.io/hostname" for level in levels) or bool(
        levels[-1]["nodeLabel"] == "kubernetes.io/hostname"
    )


def _keeps(field: str) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Whether a flavor that had a topology keeps a field of its own."""
    return lambda spec, old: "topologyName" not in old or same(spec.get(field), old.get(field))


_NO_LIMIT = "self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))) : true"
BORROWS_IN_COHORT = CelRule(
    f"!has(self.cohortName) && has(self.resourceGroups) ? {_NO_LIMIT}",
    lambda spec: "cohortName" in spec or _has_no_limit(spec),
    "name the cohort in `cohortName`, or remove `borrowingLimit`",
)
BORROWS_IN_OLD_COHORT = CelRule(
    f"!has(self.cohort) && has(self.resourceGroups) ? {_NO_LIMIT}",
    lambda spec: "cohort" in spec or _has_no_limit(spec),
    "name the cohort in `cohort`, or remove `borrowingLimit`",
)
PREFERENCE = CelRule(
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    lambda spec: "preference" not in spec or spec["whenCanBorrow"] == spec["whenCanPreempt"] == "TryNextFlavor",
    "set both to `TryNextFlavor`, or remove `preference`",
)
RECLAIMS = CelRule(
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  self.borrowWithinCohort.policy != 'Never')",
    _reclaims,
    "set `reclaimWithinCohort`, too",
)
ALL_COVERED = CelRule(
    "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
    lambda group: all(len(flavor["resources"]) == len(group["coveredResources"]) for flavor in group["flavors"]),
    "give each flavor a quota for each covered resource",
)
UNIQUE = CelRule(
    "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0",
    lambda items: all(sum(same(item, other) for other in items) == 1 for item in items),
    "remove the duplicate",
)
HOSTNAME_LAST = CelRule(
    "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
    _has_host_last,
    "put `kubernetes.io/hostname` last",
)
TOPOLOGY_HAS_LABEL = CelRule(
    "!has(self.topologyName) || self.nodeLabels.size() >= 1",
    lambda spec: "topologyName" not in spec or len(spec["nodeLabels"]) > 0,
    "set `nodeLabels` to a label of the flavor's nodes",
)
FLAVOR_LABELS, FLAVOR_TOLERATIONS = (
    CelRule(
        f"!has(oldSelf.topologyName) || (has(self.{field}) == has(oldSelf.{field}) && "
        f"(!has(self.{field}) || self.{field} == oldSelf.{field}))",
        _keeps(field),
    )
    for field in ("nodeLabels", "tolerations")
)
FLAVOR_TOPOLOGY = CelRule(
    "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)", _keeps("topologyName")
)
TAINT_EFFECTS = CelRule(
    "self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
    lambda taints: _hold(lambda taint: taint["effect"] in kinds.TAINT_EFFECTS, taints),
)
EVERY_KEY = CelRule(
    "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)",
    lambda tolerations: _hold(lambda each: "key" in each or each["operator"] == "Exists", tolerations),
    "name the key, or write `operator: Exists`",
)
SECONDS_OF_NO_EXECUTE = CelRule(
    "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)",
    lambda tolerations: _hold(lambda each: "tolerationSeconds" not in each or each["effect"] == "NoExecute", tolerations),
    "write `effect: NoExecute`, or remove `tolerationSeconds`",
)
TOLERATION_OPERATORS = CelRule(
    "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])",
    lambda tolerations: all(each.get("operator", "Equal") in ("Equal", "Exists") for each in tolerations),
)
EXISTS_HAS_NO_VALUE = CelRule(
    "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)",
    lambda tolerations: all(each.get("operator") != "Exists" or "value" not in each for each in tolerations),
    "remove the value",
)
TOLERATION_EFFECTS = CelRule(
    "self.all(x, !has(x.effect) || x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
    lambda tolerations: all(each.get("effect", "NoExecute") in kinds.TAINT_EFFECTS for each in tolerations),
)
ONE_SOURCE = CelRule(
    "[has(self.kubeConfig),has(self.clusterProfileRef)].filter(x,x==true).size() == 1",
    lambda source: ("kubeConfig" in source) != ("clusterProfileRef" in source),
)

RULES = {rule.text: rule for rule in list(globals().values()) if isinstance(rule, CelRule)}
"""Every rule of this module by its text."""
