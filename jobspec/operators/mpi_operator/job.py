"""An MPIJob as mpi-operator sees it: defaults, names, labels, owners.

Follows `SetDefaults_MPIJob`, github.com/kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1, and `defaultLabels` and `workerName`,
pkg/controller, 0.6.0 to 0.8.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, changed, is_true, with_fields
from jobspec.operators.made import as_go_writes, indices, operator_mark, owner_references, stored
from jobspec.operators.mpi_operator import API_VERSION, KEYS_FOLDER, LAUNCHER, POLICY, REPLICAS, WORKER
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document

RESTARTS = {LAUNCHER: "OnFailure", WORKER: "Never"}
"""The restart policy of a replica type that says none."""
_LABEL = "training.kubeflow.org/"
ROLE_LABEL = f"{_LABEL}job-role"
"""The label of a pod that says whether it is the launcher or a worker."""


class MPIJob:
    """An accepted MPIJob that is stored, and the operator's release."""

    def __init__(self, document: Document, target: Target, *, gang_scheduler: str = "", first_and_last_only: bool = False) -> None:
        release = target["mpi-operator"]
        self.operator = operator_mark("mpi-operator", release)
        self.gang_scheduler = gang_scheduler
        """What the operator was started with as `--gang-scheduling`; empty without gang scheduling."""
        self.first_and_last_only = first_and_last_only
        """Whether the first and the last worker stand for all between."""
        self.tree = stored(document, target)
        spec = self.tree.value["spec"]
        self.name: MarkedTree = self.tree.value["metadata"].value["name"]
        self.namespace: MarkedTree = self.tree.value["metadata"].value["namespace"]
        self.owners = owner_references(self.operator, API_VERSION, "MPIJob", self.name)
        self.slots = self._given(spec, "slotsPerWorker", 1)
        """The number of processes that mpirun starts on a host, unless its command line says it."""
        self.implementation: str = self._given(spec, "mpiImplementation", "OpenMPI").value
        self.keys_folder = self._given(spec, "sshAuthMountPath", KEYS_FOLDER)
        self.launcher_works = is_true(spec, "runLauncherAsWorker")
        """Whether the launcher is one of the hosts, too."""
        self.run_policy = self.tree.get(*POLICY) or MarkedTree({}, self.operator)
        self.suspended = is_true(self.run_policy, "suspend")
        self.workers = self._replicas(WORKER)
        """The number of workers; 0 for a job that has no `Worker`."""
        self.numbers_all = is_at_least(release, "0.7.0")
        """Whether workers are numbered behind a launcher that works, and its name is known before it is ready."""
        self._pod = shapes.part("v1", "Pod", target, ("spec",))

    def _given(self, spec: MarkedTree, field: str, default: Any) -> MarkedTree:
        """The value of a field; the default for one that is absent or an empty text."""
        found = spec.get(field)
        return MarkedTree(default, self.operator) if found is None or found.value == "" else found

    def _replicas(self, role: str) -> int:
        count = self.tree.get(*REPLICAS, role, "replicas")
        return int(count.value) if count else 0

    @property
    def has_workers(self) -> bool:
        """Whether the job has the replica type `Worker`."""
        return self.tree.get(*REPLICAS, WORKER) is not None

    def indices(self) -> Iterable[int]:
        """The indices of the workers. Raises JobspecError for too many to expand."""
        return indices(self.workers, f"pods of MPIJob `{self.name.value}`", first_and_last_only=self.first_and_last_only)

    def template(self, role: str) -> MarkedTree:
        """The pod template of a replica type, with the restart policy that the replica type says."""
        given = self.tree.value["spec"].value["mpiReplicaSpecs"].value[role]
        policy = self._given(given, "restartPolicy", RESTARTS[role])
        return changed(
            given.value["template"], ("spec",), lambda spec: with_fields(as_go_writes(spec, self._pod), {"restartPolicy": policy})
        )


def launcher_name(job: MPIJob) -> str:
    """The name of the launcher's Job, which is its host name, too."""
    return f"{job.name.value}-launcher"


def worker_name(job: MPIJob, index: int) -> str:
    """The name of a worker's pod, which is its host name, too."""
    return f"{job.name.value}-worker-{index}"


def pod_labels(job: MPIJob, role: str) -> dict[str, Any]:
    """The labels of all pods of a replica type."""
    return {**selecting_labels(job), ROLE_LABEL: role.lower()}


def selecting_labels(job: MPIJob) -> dict[str, Any]:
    """The labels by which the Service finds the pods of the job."""
    return {f"{_LABEL}operator-name": "mpi-operator", f"{_LABEL}job-name": job.name}


def index_label(index: int) -> dict[str, Any]:
    """The label with the number of a pod."""
    return {f"{_LABEL}replica-index": str(index)}


def metadata(job: MPIJob, name: Any, **more: Any) -> dict[str, Any]:
    """The metadata of an object that belongs to the job."""
    present = {field: value for field, value in more.items() if value}
    return {"name": name, "namespace": job.namespace, **present, "ownerReferences": job.owners}
