"""The runtime behind a TrainJob, where it is at hand: what its pods are before the job says anything, and what of the job reaches them."""

from __future__ import annotations

from jobspec.overlays.tree import Tree, grow, items
from jobspec.runtimes.runtime import TEMPLATE, TRAINER, Reference, ancestor, replicated_jobs, training_jobs
from jobspec.targets import reached
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document

CONTAINER = "node"
MERGES_RESOURCES = "2.3"  # the trainer release from which on `resourcesPerNode` is merged with the runtime's resources
JOBS: Path = ("spec", "template", "spec", "replicatedJobs")


class Behind:
    """The runtime of a TrainJob, or what is known of it."""

    __slots__ = ("jobs", "merges_resources", "name", "runtime", "templates")

    def __init__(self, job: Document, runtime: Document | None, release: str) -> None:
        self.runtime = runtime
        self.name = Reference(job.data).name
        self.jobs = training_jobs(runtime)
        """The replicated jobs whose pods train."""
        self.merges_resources = reached(release, MERGES_RESOURCES)
        self.templates = self._templates()
        """The pod templates of the training jobs by their names, none where the runtime is not at hand."""

    def _templates(self) -> dict[str, Tree]:
        if self.runtime is None:
            return {}
        tree = grow(self.runtime.data, self.runtime.marks).get(*map(str, JOBS))
        names = [job["name"] for job in replicated_jobs(self.runtime)]
        found = {name: job.get(*map(str, TEMPLATE)) for name, job in zip(names, items(tree), strict=True) if name in self.jobs}
        return {name: template for name, template in found.items() if template}

    def policy(self) -> Any:
        """The runtime's `mlPolicy`, None where there is none or the runtime is not at hand."""
        return value_at(self.runtime.data, ("spec", "mlPolicy")) if self.runtime else None

    def trained_by(self) -> str | None:
        """The replicated job to which `spec.trainer` belongs, None where the runtime has none that says so."""
        if self.runtime is None:
            return self.jobs[0]
        return next((job["name"] for job in replicated_jobs(self.runtime) if ancestor(job) == TRAINER), None)

    def container(self) -> Tree | None:
        """The training container to which `spec.trainer` belongs; None where it is not at hand."""
        return next(iter(self.containers([self.trained_by()])), None)

    def containers(self, jobs: Container[str | None]) -> list[Tree]:
        """The training containers of some of the replicated jobs."""
        templates = [template for name, template in self.templates.items() if name in jobs]
        return [each for template in templates for each in items(template.get("spec", "containers")) if named(each, CONTAINER)]

    def missed(self, field: str) -> list[str]:
        """The replicated jobs that train and whose containers do not get a *field* from `spec.trainer`.

        The program is started in one of them, and reaches out to the others.
        """
        trainer = self.trained_by()
        if trainer and field in ("command", "args"):
            return []
        beside = self.merges_resources and value_at(self.policy(), ("mpi", "runLauncherAsNode"))
        both = (trainer, "node") if beside and field in ("env", "resources") else (trainer,)
        return [job for job in self.jobs if job not in both]


def named(tree: Tree, name: str) -> bool:
    """Whether a mapping says that name."""
    own = tree.get("name")
    return bool(own and own.value == name)
