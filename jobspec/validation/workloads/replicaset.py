"""Check a ReplicaSet as the API server's Go code does.

Follows `ValidateReplicaSet`, k8s.io/kubernetes pkg/apis/apps/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.reading import mapping
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.pod_templates import lasting_pods
from jobspec.validation.workloads.selectors import workload_selector
from jobspec.validation.workloads.updates import selector_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.validation.problem import Problem


def replica_set_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a ReplicaSet, but for those of any pod template, as an update of *old* unless that is None."""
    spec = mapping(data, "spec")
    yield from selector_update(data, old)
    yield from negative_numbers(spec, ("replicas", "minReadySeconds"), ("spec",))
    yield from workload_selector(spec)
    yield from lasting_pods(spec, "ReplicaSet")
