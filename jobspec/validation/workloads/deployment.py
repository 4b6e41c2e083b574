"""Check a Deployment as the API server's Go code does.

Follows `ValidateDeployment`, k8s.io/kubernetes pkg/apis/apps/validation, with the defaults and conversions of pkg/apis/apps/v1, 1.36.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping, number
from jobspec.validation.workloads.annotations import number_in_annotation
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.pod_templates import lasting_pods
from jobspec.validation.workloads.rolling_updates import deployment_strategy
from jobspec.validation.workloads.selectors import workload_selector
from jobspec.validation.workloads.updates import selector_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NUMBERS = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
_DEADLINE = 600  # by default


def deployment_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a Deployment, but for those of any pod template, as an update of *old* unless that is None."""
    spec = mapping(data, "spec")
    yield from selector_update(data, old)
    yield from negative_numbers(spec, _NUMBERS, ("spec",))
    yield from workload_selector(spec)
    yield from lasting_pods(spec, "Deployment")
    yield from deployment_strategy(spec)
    yield from _deadline(spec)
    yield from number_in_annotation(data, "deprecated.deployment.rollback.to", least=0)


def _deadline(spec: dict[str, Any]) -> Iterator[Problem]:
    given, ready = number(spec, "progressDeadlineSeconds"), number(spec, "minReadySeconds") or 0
    deadline = _DEADLINE if given is None else given
    if 0 <= deadline <= ready:
        default = " by default" if given is None else ""
        message = f"`progressDeadlineSeconds`, {deadline}{default}, has to be more than `minReadySeconds`, {ready}"
        path = ("spec", "minReadySeconds" if given is None else "progressDeadlineSeconds")
        yield Problem("conflicting-values", path, message, f"set `progressDeadlineSeconds` to more than {ready}")
