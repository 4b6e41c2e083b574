"""How many objects of a kind ResourceQuotas allow in a namespace.

Follows `objectCountEvaluator`, k8s.io/apiserver pkg/quota/v1/generic, and `legacyObjectCountAliases` and the service evaluator,
k8s.io/kubernetes pkg/quota/v1/evaluator/core, 1.36: quotas with scopes count pods and claims alone.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data
from jobspec.diagnostics.record import Record
from jobspec.go.quantities import Quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.quota_scopes import scope_selectors
from jobspec.kubernetes.admission.quota_usage import ONE
from jobspec.kubernetes.admission.quotas import quotas_of
from jobspec.kubernetes.index import Index

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
        own = " and each namespace has one" if self.allowed < self.hard.nanos // ONE.nanos else ""
        return f"the quota of `{self.name}` is {self.hard}{own}"


def count_limits(group: str, plural: str, namespace: str, objects: Index) -> list[CountLimit]:
    """The limits on the number of objects of a resource in a namespace."""
    names = [f"count/{plural}.{group}" if group else f"count/{plural}", *([plural] if not group and plural in _WITHOUT_PREFIX else [])]
    there = 0 if group else _ALWAYS_THERE.get(plural, 0)
    quotas = [each for each in quotas_of(namespace, objects) if not scope_selectors(each.data)]
    found = [(each.named, name, each.hard[name]) for each in quotas for name in names if name in each.hard]
    return [CountLimit(quota, name, hard, max(hard.nanos // ONE.nanos - there, 0)) for quota, name, hard in found]


def counts_objects(quota: Data) -> bool:
    """Whether a quota limits the number of objects of some kind."""
    return any(name.startswith("count/") or name in _WITHOUT_PREFIX for name in map(str, mapping(quota, "spec", "hard")))
