"""Names, labels and owners of what training-operator makes for a PyTorchJob.

Follows `GenGeneralName`, github.com/kubeflow/training-operator pkg/core, and `JobController.GenLabels` and `GenOwnerReference`,
pkg/controller.v1/common, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.operators.objects import set_by
from jobspec.operators.stored import UID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.operators.training_operator.job import Replicas, TrainingJob

_LABEL = "training.kubeflow.org/"


def object_name(job: TrainingJob, replicas: Replicas, index: int) -> str:
    """The name of one replica's pod, and of its service."""
    return f"{job.name.value}-{replicas.type.lower()}-{index}"


def labels(job: TrainingJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """The labels of one replica's pod and service, by which the service finds the pod."""
    return {
        f"{_LABEL}job-name": job.name,
        f"{_LABEL}operator-name": "pytorchjob-controller",
        f"{_LABEL}replica-index": str(index),
        f"{_LABEL}replica-type": replicas.type.lower(),
    }


def role_label(job: TrainingJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """The label of the pod that leads: the Master's; without a Master that of the first Worker, from 1.8 on."""
    first_worker = "Master" not in job.replicas and index == 0 and job.since("1.8.0")
    return {f"{_LABEL}job-role": "master"} if replicas.type == "Master" or first_worker else {}


def metadata(job: TrainingJob, name: Any, **more: Any) -> dict[str, Any]:
    """The metadata of an object that belongs to the job."""
    owner: dict[str, Any] = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job.name, "uid": UID}
    owner |= {"controller": True, "blockOwnerDeletion": True}
    present = {field: value for field, value in more.items() if value}
    return {"name": name, "namespace": job.namespace, **present, "ownerReferences": [set_by(job.operator, owner)]}
