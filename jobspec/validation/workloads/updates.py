"""What updates of Deployments, ReplicaSets, DaemonSets and StatefulSets change.

Follows `ValidateDeploymentUpdate`, `ValidateReplicaSetUpdate`, `ValidateDaemonSetSpecUpdate` and `ValidateStatefulSetUpdate`,
k8s.io/kubernetes pkg/apis/apps/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, structs, text
from jobspec.validation.workloads.equality import same, same_claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ANEW = "put back what was there, or delete the {kind} first, which `kubectl delete --cascade=orphan` does without its pods"


def selector_update(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problem of a changed selector."""
    new, was = mapping(data, "spec").get("selector"), mapping(old, "spec").get("selector")
    if new is not None and was is not None and not same(new, was):
        yield _fixed("selector", data)


def stateful_set_update(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of changed fields of a StatefulSet: few can change."""
    if old is None:
        return
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from selector_update(data, old)
    if text(new_spec, "serviceName") != text(old_spec, "serviceName"):
        yield _fixed("serviceName", data)
    if (text(new_spec, "podManagementPolicy") or "OrderedReady") != (text(old_spec, "podManagementPolicy") or "OrderedReady"):
        yield _fixed("podManagementPolicy", data)
    if not same_claims(structs(new_spec, "volumeClaimTemplates"), structs(old_spec, "volumeClaimTemplates")):
        yield _fixed("volumeClaimTemplates", data)


def _fixed(name: str, data: dict[str, Any]) -> Problem:
    kind = data["kind"]
    is_there = is_given(mapping(data, "spec"), name)
    message = f"`{name}` of a {kind} cannot change" + ("" if is_there else ", and it was not empty")
    return Problem("immutable-field", ("spec", name), message, _ANEW.format(kind=kind), at_key=not is_there)
