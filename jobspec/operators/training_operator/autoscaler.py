"""The HorizontalPodAutoscaler of a PyTorchJob whose elastic policy has metrics.

Follows `desiredHPA`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4, and for its limits
`validateHorizontalPodAutoscalerSpec`, k8s.io/kubernetes pkg/apis/autoscaling/validation, 1.36.
"""

from __future__ import annotations

from jobspec.operators.go_types import as_go_writes
from jobspec.operators.objects import set_by
from jobspec.operators.training_operator.names import metadata
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.training_operator.job import TrainingJob
    from jobspec.targets import Target


def autoscalers(job: TrainingJob, target: Target) -> Iterator[MarkedTree]:
    """The autoscaler; none where the policy has no `metrics`. An empty list of them is one: the server fills in a metric."""
    policy = job.elastic
    metrics = policy.get("metrics") if policy else None
    if policy is None or metrics is None:
        return
    shape = shapes.load("kubeflow.org/v1", "PyTorchJob", target)
    metrics = as_go_writes(metrics, shape and shape.at(("spec", "elasticPolicy", "metrics")))
    limits = {name: policy.value[name] for name in ("minReplicas", "maxReplicas") if name in policy.value}
    spec = {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job.name},
        **limits,
        **({"metrics": metrics} if metrics.value else {}),
    }
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    yield set_by(job.operator, {**kind, "metadata": metadata(job, job.name), "spec": spec})


def refused_limits(job: TrainingJob) -> str:
    """Why the server refuses the autoscaler's limits; empty where it takes them, or there is no autoscaler."""
    policy = job.elastic
    least, most = (policy.get("minReplicas"), policy.get("maxReplicas")) if policy and policy.get("metrics") else (None, None)
    if least is None or most is None:
        return ""
    if least.value < 1 or most.value < 1:
        return f"an autoscaler needs at least 1 replica, and this one would have {least.value} to {most.value}"
    return f"an autoscaler cannot have {least.value} replicas at the least and {most.value} at the most" if least.value > most.value else ""
