"""Check a DaemonSet as the API server's Go code does.

Follows `ValidateDaemonSet`, k8s.io/kubernetes pkg/apis/apps/validation, with the defaults and conversions of pkg/apis/apps/v1, 1.36. A
DaemonSet without a selector is refused for the labels of its template, which nothing selects.
"""

from __future__ import annotations

from jobspec.validation.reading import mapping
from jobspec.validation.workloads.annotations import number_in_annotation
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.pod_templates import lasting_pods
from jobspec.validation.workloads.rolling_updates import daemon_set_strategy
from jobspec.validation.workloads.selectors import workload_selector
from jobspec.validation.workloads.updates import selector_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.validation.problem import Problem


def daemon_set_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a DaemonSet, but for those of any pod template, as an update of *old* unless that is None."""
    spec = mapping(data, "spec")
    yield from selector_update(data, old)
    yield from negative_numbers(spec, ("minReadySeconds", "revisionHistoryLimit"), ("spec",))
    yield from workload_selector(spec)
    yield from lasting_pods(spec, "DaemonSet")
    yield from daemon_set_strategy(spec)
    yield from number_in_annotation(data, "deprecated.daemonset.template.generation", may_be_empty=False)
