"""The strategies by which Deployments, DaemonSets and StatefulSets replace their pods.

Follows `ValidateDeploymentStrategy`, `ValidateDaemonSetUpdateStrategy`, `ValidateStatefulSetSpec` and what they call, k8s.io/kubernetes
pkg/apis/apps/validation, with the defaults of pkg/apis/apps/v1, 1.36. The gate of a StatefulSet's `maxUnavailable` is off, so that the
server drops it.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import unsupported
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, text
from jobspec.validation.workloads.limits import amount, count_or_percentage, negative_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ROLLING = "RollingUpdate"


def deployment_strategy(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a Deployment's `strategy`."""
    strategy, at = mapping(spec, "strategy"), ("spec", "strategy")
    kind = text(strategy, "type") or _ROLLING
    rolling, rolling_at = mapping(strategy, "rollingUpdate"), (*at, "rollingUpdate")
    if kind == "Recreate" and is_given(strategy, "rollingUpdate"):
        yield _not_rolling("Recreate", rolling_at)
    elif kind == _ROLLING:
        yield from count_or_percentage(rolling.get("maxUnavailable"), (*rolling_at, "maxUnavailable"))
        yield from count_or_percentage(rolling.get("maxSurge"), (*rolling_at, "maxSurge"), most=None)
        if not any(amount(_or(rolling, name, "25%")) for name in ("maxUnavailable", "maxSurge")):
            yield _standstill(rolling_at)
    elif kind != "Recreate":
        yield unsupported(kind, ("Recreate", _ROLLING), (*at, "type"))


def daemon_set_strategy(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a DaemonSet's `updateStrategy`."""
    strategy, at = mapping(spec, "updateStrategy"), ("spec", "updateStrategy")
    kind = text(strategy, "type") or _ROLLING
    rolling, rolling_at = mapping(strategy, "rollingUpdate"), (*at, "rollingUpdate")
    if kind not in ("OnDelete", _ROLLING):
        yield unsupported(kind, (_ROLLING, "OnDelete"), (*at, "type"))
    if kind != _ROLLING:
        return
    for name in ("maxUnavailable", "maxSurge"):
        yield from count_or_percentage(rolling.get(name), (*rolling_at, name))
    unavailable, surge = amount(_or(rolling, "maxUnavailable", 1)), amount(_or(rolling, "maxSurge", 0))
    if unavailable and surge:
        message = "`maxSurge` and `maxUnavailable` (1 by default) exclude each other: a node's new pod comes before or after the old one"
        yield Problem("conflicting-values", (*rolling_at, "maxSurge"), message, "set one of the two to 0")
    elif not unavailable and not surge:
        yield _standstill(rolling_at)


def stateful_set_strategy(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a StatefulSet's `updateStrategy`."""
    strategy, at = mapping(spec, "updateStrategy"), ("spec", "updateStrategy")
    kind = text(strategy, "type") or _ROLLING
    if kind == "OnDelete" and is_given(strategy, "rollingUpdate"):
        yield _not_rolling("OnDelete", (*at, "rollingUpdate"))
    elif kind == _ROLLING:
        yield from negative_numbers(mapping(strategy, "rollingUpdate"), ("partition",), (*at, "rollingUpdate"))
    elif kind != "OnDelete":
        yield unsupported(kind, (_ROLLING, "OnDelete"), (*at, "type"))


def _not_rolling(kind: str, path: Path) -> Problem:
    return Problem("conflicting-values", path, f"`rollingUpdate` cannot stand beside `type: {kind}`", "remove it", at_key=True)


def _standstill(path: Path) -> Problem:
    message = "`maxUnavailable` and `maxSurge` are both 0, so that no pod could ever be replaced"
    return Problem("conflicting-values", (*path, "maxUnavailable"), message, "let one of them be 1")


def _or(data: dict[str, Any], name: str, default: Any) -> Any:
    return data[name] if is_given(data, name) else default
