"""The server's Go rules for a Role or a ClusterRole.

Follows `ValidateRole`, `ValidateClusterRole` and `ValidatePolicyRule`, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problems
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.problems import (
    excluded,
    field_items,
    required,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def role_problems(role: Data, _old: Data | None, _release: str) -> Problems:
    """Yield the problems of the rules, and of the aggregation rule of a ClusterRole."""
    for at, rule in field_items(role, "rules", ()):
        yield from _policy_rule_problems(rule, at, namespaced=role["kind"] == "Role")
    if "aggregationRule" in role:
        yield from required(role["aggregationRule"], "clusterRoleSelectors", ("aggregationRule",))
    for at, selector in field_items(role.get("aggregationRule", {}), "clusterRoleSelectors", ("aggregationRule",)):
        yield from selector_problems(selector, at)


def _policy_rule_problems(rule: Data, path: Path, *, namespaced: bool) -> Problems:
    yield from required(rule, "verbs", path, "write what is allowed, such as `[get, list, watch]`")
    at, of_urls = (*path, "nonResourceURLs"), bool(rule.get("nonResourceURLs"))
    if of_urls and namespaced:
        yield excluded(at, "`nonResourceURLs` are not allowed in a Role, which is for one namespace", "write a ClusterRole")
    elif of_urls and any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
        yield excluded(at, "resources and `nonResourceURLs` are mutually exclusive in a rule", "write two rules")
    if not of_urls:
        yield from required(rule, "apiGroups", path, 'the core group is `""`')
        yield from required(rule, "resources", path, "write them in the plural, such as `[pods, configmaps]`")
