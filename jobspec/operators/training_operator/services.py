"""The headless services of a PyTorchJob, one for each pod, so that pods find each other by name.

Follows `JobController.CreateNewService`, github.com/kubeflow/training-operator pkg/controller.v1/common, and `GetPortsFromJob`,
pkg/core, 1.7.0 to 1.9.4. The operator walks the ports in no fixed order; here they have the container's.
"""

from __future__ import annotations

from jobspec.operators.objects import set_by
from jobspec.operators.training_operator.names import labels, metadata, object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.training_operator.job import Replicas, TrainingJob


def services(job: TrainingJob, replicas: Replicas) -> Iterator[MarkedTree]:
    """The services of a replica type, in order."""
    found = replicas.ports()
    if found is None:
        return
    by_name = {port.value["name"].value if "name" in port.value else "": port for port in found}
    ports = [_port(port) for port in by_name.values()]
    for index in job.numbers(replicas):
        selector = labels(job, replicas, index)
        spec = {"clusterIP": "None", "selector": selector, **({"ports": ports} if ports else {})}
        about = metadata(job, object_name(job, replicas, index), labels=selector)
        yield set_by(job.operator, {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": spec})


def _port(port: MarkedTree) -> MarkedTree:
    named = {"name": port.value["name"]} if "name" in port.value else {}
    return port.with_value({**named, "port": port.value["containerPort"]})
