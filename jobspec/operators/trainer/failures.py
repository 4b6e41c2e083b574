"""Errors in an accepted TrainJob for which the trainer creates nothing.

Follows `EnforceMLPolicy` of the plugins mpi, jax and flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
`Reconcile`, pkg/controller.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import text
from jobspec.operators.trainer.frameworks import is_active
from jobspec.operators.trainer.pod_sets import LAUNCHER, TrainerPodSet
from jobspec.operators.trainer.train_job import JobOfTrainer
from jobspec.operators.workloads import NODE, REPLICATED_JOBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_OPEN_MPI = "OpenMPI"
_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
_MANAGER: Path = ("spec", "managedBy")


def managed_by_others(job: JobOfTrainer, document: Document) -> Diagnostic | None:
    """From 2.3 on the trainer leaves a job alone that others manage; before, it makes its objects all the same."""
    manager = text(job.tree, *map(str, _MANAGER))
    if not job.is_at_least("2.3.0") or manager in ("", _CONTROLLER):
        return None
    message = f"`{manager}` manages the job: the trainer creates nothing for it here"
    return document.problem("no-pods-created", message, _MANAGER, severity="info")


def failures(job: JobOfTrainer, sets: list[TrainerPodSet], document: Document, runtime: Document) -> Iterator[Diagnostic]:
    """The reasons, in the job or in its *runtime*, for which the trainer makes no JobSet."""
    if is_active(job, "flux") and job.trainer("numNodes") is None:
        message = "the trainer crashes on a job for Flux without `numNodes`"
        yield document.problem("operator-crash", message, ("spec", "trainer", "numNodes"), hint="write `numNodes: 1`")
    implementation = job.policy("mpi", "mpiImplementation")
    launches = any(text(each, "name") == NODE for pods in sets if pods.name == LAUNCHER for each in pods.containers())
    if implementation and implementation.value != _OPEN_MPI and launches:
        message = f"the trainer can launch {_OPEN_MPI} only, not `{implementation.value}`"
        path: Path = ("spec", "mlPolicy", "mpi", "mpiImplementation")
        yield runtime.problem("refused-by-operator", message, path, hint=f"write `{_OPEN_MPI}`")
    if is_active(job, "jax") and not job.is_at_least("2.3.0") and not any(each.trains for each in sets):
        message = "the trainer crashes on a runtime for JAX without a job labelled as the trainer's"
        hint = "label a replicated job's template with `trainer.kubeflow.org/trainjob-ancestor-step: trainer`"
        yield runtime.problem("operator-crash", message, REPLICATED_JOBS, hint=hint)
