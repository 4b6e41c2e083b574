"""What the server's Go code says of a Role or a ClusterRole.

Follows `ValidateRole`, `ValidateClusterRole` and `ValidatePolicyRule`, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.complaints import missing_by_code
from jobspec.validation.label_selector import selector_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path


def problems(role: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of the rules, and of what a ClusterRole gathers them from."""
    for index, rule in enumerate(role.get("rules", ())):
        yield from _rule(rule, ("rules", index), namespaced=role["kind"] == "Role")
    gathered = role.get("aggregationRule")
    if gathered is not None:
        selectors = gathered.get("clusterRoleSelectors", [])
        if not selectors:
            yield missing_by_code("clusterRoleSelectors", gathered, ("aggregationRule",))
        for index, selector in enumerate(selectors):
            yield from selector_problems(selector, ("aggregationRule", "clusterRoleSelectors", index))


def _rule(rule: dict[str, Any], path: Path, *, namespaced: bool) -> Iterator[Problem]:
    if not rule.get("verbs"):
        yield missing_by_code("verbs", rule, path, "write what is allowed, such as `[get, list, watch]`")
    if rule.get("nonResourceURLs"):
        yield from _of_urls(rule, (*path, "nonResourceURLs"), namespaced=namespaced)
        return
    if not rule.get("apiGroups"):
        yield missing_by_code("apiGroups", rule, path, 'the core group is `""`')
    if not rule.get("resources"):
        yield missing_by_code("resources", rule, path, "write them in the plural, such as `[pods, configmaps]`")


def _of_urls(rule: dict[str, Any], path: Path, *, namespaced: bool) -> Iterator[Problem]:
    if namespaced:
        yield Problem("conflicting-values", path, "a Role is about one namespace, and `nonResourceURLs` are in none", "write a ClusterRole")
    elif any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
        message = "one rule is about resources or about `nonResourceURLs`, not about both"
        yield Problem("conflicting-values", path, message, "write two rules")
