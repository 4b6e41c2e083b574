"""The HorizontalPodAutoscaler of a PyTorchJob whose elastic policy has metrics.

Follows `desiredHPA`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec import shapes
from jobspec.operators.go_types import as_go_writes
from jobspec.operators.marks import set_by
from jobspec.operators.training_operator.names import metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.operators.training_operator.job import TrainingJob
    from jobspec.overlays.marked_tree import MarkedTree
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
