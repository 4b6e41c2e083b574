"""The defaults of a HorizontalPodAutoscaler: one replica at the least, and 80 percent of the CPU where no metric is named.

Follows `SetDefaults_HorizontalPodAutoscaler`, k8s.io/kubernetes pkg/apis/autoscaling/v2, 1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.filling import where_given, with_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree

_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def autoscaler_defaults(autoscaler: MarkedTree, server: Mark) -> MarkedTree:
    """An autoscaler as the server stores it."""
    return where_given(autoscaler, "spec", lambda spec: with_missing(spec, {"minReplicas": 1, "metrics": [_CPU]}, server))
