"""The CEL rules of our own kinds: upstream's text, and a Python function with the same meaning.

A function gets the value as CEL does, without nulls and with defaults. If it raises KeyError, AttributeError or TypeError, evaluation
fails in CEL, too, and the object is refused. `tests/test_cel_rules.py` compares each text with its function.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.diagnostics.places import Path

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_LABEL = _LETTERS | frozenset("0123456789-")
_ANY_LETTERS = _LETTERS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SCHEME = _ANY_LETTERS | frozenset("0123456789+.-")
_POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")
#: In place of a value that rules fail on, such as one of a wrong type: it equals nothing.
UNFIT = float("nan")


class CelRule(Record):
    """A rule's text, its function, and the hint and path that a diagnostic adds."""

    text: str
    holds: Callable[..., bool]
    """Takes the value; of a transition rule, the value and the stored one."""
    hint: str = ""
    about: Path = ()
    """The path, from the rule's value, of the value that it is about."""


def objection(rule: CelRule, *values: Any) -> str | None:
    """Return the hint for values that break a rule. If the rule holds, return None.

    The hint may be empty.
    """
    try:
        return None if rule.holds(*values) else rule.hint
    except KeyError as error:
        return f"the rule cannot do without `{error.args[0]}`"
    except (AttributeError, TypeError):  # a value of a wrong type
        return rule.hint


def fails(rule: CelRule, *values: Any) -> bool:
    """True if the evaluation of a rule on values fails with an error.

    The server refuses such values even if an update does not change them.
    """
    try:
        rule.holds(*values)
    except (KeyError, AttributeError, TypeError):
        return True
    return False


def is_transition(text: str) -> bool:
    """True if a rule uses `oldSelf`, so that it is evaluated for updates only."""
    return "oldSelf" in text


def same(value: Any, old: Any) -> bool:
    """True if two values are equal in CEL."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(same(inner, old[name]) for name, inner in value.items())
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and all(map(same, value, old))
    return bool(value == old) and isinstance(value, bool) == isinstance(old, bool)  # to Python, true is 1


def _name_is_label(job: dict[str, Any]) -> bool:
    name = job["metadata"]["name"]
    return name[:1] in _LETTERS and _LABEL.issuperset(name) and not name.endswith("-")


def _is_uri(text: str) -> bool:
    scheme, mark, rest = text.partition("://")
    return not text or (scheme[:1] in _ANY_LETTERS and _SCHEME.issuperset(scheme) and mark != "" and rest != "" and "\n" not in rest)


def _has_one_order(jobset: dict[str, Any]) -> bool:
    if "startupPolicy" not in jobset or jobset["startupPolicy"]["startupPolicyOrder"] != "InOrder":
        return True
    return not any("dependsOn" in job for job in jobset["replicatedJobs"])


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


UNCHANGED = CelRule("self == oldSelf", same)
NAME_IS_LABEL = CelRule(
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    _name_is_label,
    "begin the name with a lower-case letter, and go on with lower-case letters, digits and `-`; no dot",
    about=("metadata", "name"),
)
NAME_IS_SHORT = CelRule("size(self.metadata.name) <= 63", lambda job: len(job["metadata"]["name"]) <= 63, about=("metadata", "name"))
KNOWN_MANAGER = CelRule(
    "self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",
    lambda manager: manager in ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"),
    "remove it, and the trainer runs the job",
)
URI = CelRule(
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
    _is_uri,
    "write the scheme, too, as in `hf://organisation/name`",
)
NUMBER_OF_PROCESSES = CelRule(
    "self > 0 || self in ['auto', 'cpu', 'gpu']",
    lambda value: value in ("auto", "cpu", "gpu") if isinstance(value, str) else value > 0,
)
POSITIVE = CelRule("self >= 1", lambda value: value >= 1)
NO_NODE = CelRule("!self.exists(c, c == 'node')", lambda containers: "node" not in containers, "remove `node`")
NODES_ONCE = CelRule(
    "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))",
    lambda policy: not ("numNodes" in policy and "torch" in policy and "elasticPolicy" in policy["torch"]),
    "keep one of the two",
)
TORCH_OR_MPI = CelRule(
    "!(has(self.torch) && has(self.mpi))", lambda policy: not ("torch" in policy and "mpi" in policy), "keep `torch` or `mpi`"
)
ONE_POLICY = CelRule(
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)].filter(x, x).size() <= 1",
    lambda policy: sum(name in policy for name in _POLICIES) <= 1,
    "keep one of them, besides `numNodes`",
)
ONE_ORDER = CelRule(
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && self.replicatedJobs.exists(x, has(x.dependsOn)))",
    _has_one_order,
    "remove `startupPolicy`, and set `dependsOn` of each replicated job",
)
NO_NAMESPACE = CelRule(
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",
    lambda policy: all(not template["metadata"].get("namespace") for template in policy["templates"]),
    "remove the namespace",
)
UPDATED = CelRule("has(self.lastUpdatedTime)", lambda status: "lastUpdatedTime" in status)

# Kueue's, but for those of a Workload, which Kueue makes itself: these are left to the CEL library.


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
