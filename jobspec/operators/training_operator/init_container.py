"""The init container that the operator adds to Workers, behind their own: it waits until the Master's name is known.

Follows `setInitContainer`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4, with the operator's own
template, image and number of tries.
"""

from __future__ import annotations

from jobspec.operators.marks import set_by
from jobspec.overlays.marked_tree import MarkedTree, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.training_operator.job import Replicas, TrainingJob

_WAIT = "err=1;for i in $(seq 100); do if nslookup {}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err"


def with_init_container(spec: MarkedTree, job: TrainingJob, replicas: Replicas) -> MarkedTree:
    """A pod spec with the init container, where the job has a Master and this is a Worker."""
    if "Master" not in job.replicas or replicas.type != "Worker":
        return spec
    container = {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _WAIT.format(f"{job.name.value}-master-0")],
        "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
    }
    own = spec.get("initContainers")
    all_of_them = [*items(own), set_by(job.operator, container)]
    return spec.with_value({**spec.value, "initContainers": MarkedTree(all_of_them, own.mark if own else job.operator)})
