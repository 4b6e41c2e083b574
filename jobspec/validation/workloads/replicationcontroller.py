"""Check a ReplicationController as the API server's Go code does.

Follows `ValidateReplicationController`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.36: the
selector is the labels of the template where none is written.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import missing
from jobspec.validation.reading import is_given, mapping, string_map
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.pod_templates import lasting_pods
from jobspec.validation.workloads.selectors import unmatched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.validation.problem import Problem


def replication_controller_problems(data: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a ReplicationController, but for those of any pod template."""
    spec = mapping(data, "spec")
    labels = string_map(mapping(spec, "template", "metadata"), "labels")
    selector = string_map(spec, "selector") or labels
    yield from negative_numbers(spec, ("replicas", "minReadySeconds"), ("spec",))
    if not selector:
        yield missing("selector", spec, ("spec",), "or give the pod template labels, which it is by default")
    if not is_given(spec, "template"):
        yield missing("template", spec, ("spec",))
        return
    yield from unmatched({"matchLabels": selector}, spec)
    yield from lasting_pods(spec, "ReplicationController")
