"""What keeps the trainer from making anything of a TrainJob that the server has accepted.

Follows `EnforceMLPolicy` of the plugins mpi, jax and flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
`Reconcile`, pkg/controller.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.operators.trainer.pod_sets import LAUNCHER, NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Diagnostic, Path
    from jobspec.documents.document import Document
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

_OPEN_MPI = "OpenMPI"
_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
_MANAGER: Path = ("spec", "managedBy")


def managed_by_others(job: TrainJob, document: Document) -> Diagnostic | None:
    """From 2.3 on the trainer leaves a job alone that others manage; before, it makes its objects all the same."""
    manager = text(job.tree, *map(str, _MANAGER))
    if not job.reached("2.3.0") or manager in ("", _CONTROLLER):
        return None
    message = f"`{manager}` manages the job, so the trainer makes nothing of it here"
    return document.problem("nothing-made", message, _MANAGER, severity="info")


def failures(job: TrainJob, sets: list[PodSet], document: Document, runtime: Document) -> Iterator[Diagnostic]:
    """The reasons, in the job or in its *runtime*, for which the trainer makes no JobSet."""
    if job.policy("flux") is not None and job.reached("2.2.0") and job.trainer("numNodes") is None:
        message = "the trainer fails on a job for Flux that does not say its number of nodes"
        yield document.problem("operator-crash", message, ("spec", "trainer", "numNodes"), hint="write `numNodes: 1`")
    implementation = job.policy("mpi", "mpiImplementation")
    launches = any(text(each, "name") == NODE for pods in sets if pods.name == LAUNCHER for each in pods.containers())
    if implementation and implementation.value != _OPEN_MPI and launches:
        message = f"the trainer knows how to launch {_OPEN_MPI} alone, not `{implementation.value}`"
        path: Path = ("spec", "mlPolicy", "mpi", "mpiImplementation")
        yield runtime.problem("refused-by-operator", message, path, hint=f"write `{_OPEN_MPI}`")
    if job.policy("jax") is not None and job.reached("2.2.0") and not job.reached("2.3.0") and not any(each.trains for each in sets):
        message = "the trainer fails on a runtime for JAX in which nothing is labelled as the trainer's"
        hint = "label the template of a replicated job with `trainer.kubeflow.org/trainjob-ancestor-step: trainer`"
        yield runtime.problem("operator-crash", message, ("spec", "template", "spec", "replicatedJobs"), hint=hint)
