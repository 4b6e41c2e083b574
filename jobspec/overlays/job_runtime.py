"""The runtime that a TrainJob refers to: its pod templates, and which fields of the job reach them.

Follows `Builder.Trainer`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, with_marks
from jobspec.operators.trainer.runtimes import TRAINER, RuntimeRef, ancestor, training_jobs
from jobspec.targets import reached
from jobspec.workloads import TEMPLATE, roles_in, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document

CONTAINER = "node"
CONFIGURES_NODES = "2.1"  # the trainer release from which on a launcher that is a node shares `env` and `resourcesPerNode` with the others
MERGES_RESOURCES = "2.3"  # the trainer release from which on `resourcesPerNode` is merged with the runtime's resources
JOBS: Path = ("spec", "template", "spec", "replicatedJobs")


class JobRuntime:
    """The runtime of a TrainJob, as far as it is known."""

    __slots__ = ("configures_nodes", "document", "jobs", "merges_resources", "name", "templates")

    def __init__(self, job: Document, runtime: Document | None, release: str) -> None:
        self.document = runtime
        """None where the runtime is not among the documents and not shipped with the release."""
        self.name = RuntimeRef(job.data).name
        self.jobs = training_jobs(runtime)
        """The replicated jobs whose pods train."""
        self.merges_resources = reached(release, MERGES_RESOURCES)
        self.configures_nodes = reached(release, CONFIGURES_NODES) and bool(value_at(self.policy(), ("mpi", "runLauncherAsNode")))
        """Whether the nodes beside MPI's launcher get the variables and resources of `spec.trainer`, too."""
        self.templates = self._templates()
        """The pod templates of the training jobs by their names, none where the runtime is not at hand."""

    def _templates(self) -> dict[str, MarkedTree]:
        if self.document is None:
            return {}
        tree = with_marks(self.document.data, self.document.marks).get(*map(str, JOBS))
        names = [job.name for job in roles_in(self.document)]
        found = {name: job.get(*map(str, TEMPLATE)) for name, job in zip(names, items(tree), strict=True) if name in self.jobs}
        return {name: template for name, template in found.items() if template}

    def policy(self) -> Any:
        """The runtime's `mlPolicy`, None where there is none or the runtime is not at hand."""
        return value_at(self.document.data, ("spec", "mlPolicy")) if self.document else None

    def trainer_job(self) -> str | None:
        """The replicated job that `spec.trainer` configures, None where no job of the runtime has the label for it."""
        if self.document is None:
            return self.jobs[0]
        return next((job.name for job in roles_in(self.document) if ancestor(job) == TRAINER), None)

    def training_container(self) -> MarkedTree | None:
        """The container that `spec.trainer` configures; None where the runtime is not at hand."""
        return next(iter(self.training_containers([self.trainer_job()])), None)

    def training_containers(self, jobs: Container[str | None]) -> list[MarkedTree]:
        """The training containers of some of the replicated jobs."""
        templates = [template for name, template in self.templates.items() if name in jobs]
        return [each for template in templates for each in items(template.get("spec", "containers")) if is_named(each, CONTAINER)]

    def configured_containers(self, field: str) -> list[MarkedTree]:
        """The training containers that get a *field* from `spec.trainer`, that of the trainer's own job first."""
        beside = ["node"] if self.configures_nodes and field in ("env", "resources") else []
        return [container for name in dict.fromkeys((self.trainer_job(), *beside)) for container in self.training_containers([name])]

    def jobs_without(self, field: str) -> list[str]:
        """The training jobs whose containers do not get a *field* of the container from `spec.trainer`.

        All get `command` and `args`: the program is started in one of them and starts the others.
        """
        trainer = self.trainer_job()
        if trainer and field in ("command", "args"):
            return []
        both = (trainer, "node") if self.configures_nodes and field in ("env", "resources") else (trainer,)
        return [job for job in self.jobs if job not in both]


def is_named(tree: MarkedTree, name: str) -> bool:
    """Whether the mapping's `name` is *name*."""
    own = tree.get("name")
    return bool(own and own.value == name)
