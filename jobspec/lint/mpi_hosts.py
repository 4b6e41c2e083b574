"""The hosts of an MPIJob's processes: its workers, and its launcher if that works, too."""

from __future__ import annotations

from jobspec.apis.kinds import MPIJOB
from jobspec.documents.marked_tree import is_true, text
from jobspec.operators.mpi_operator import LAUNCHER, WORKER
from jobspec.operators.training_operator import HOSTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.container import LintedContainer
    from jobspec.lint.linted import LintedJob


def workers(job: LintedJob) -> int:
    """How many workers the job has."""
    return next((each.count for each in job.roles if each.name.lower() == WORKER.lower()), 0)


def launcher_works(job: LintedJob) -> bool:
    """True if mpirun starts processes on the launcher, too.

    To training-operator, that is so if the launcher has a limit of GPUs.
    """
    if job.framework:
        hosts = [text(each, "data", HOSTS) for each in job.expanded.of_kind("ConfigMap")]
        return any(each.startswith(f"{job.given.name}-launcher ") for each in hosts)
    return is_true(job.tree, "spec", "runLauncherAsWorker")


def only_launches(job: LintedJob, container: LintedContainer) -> bool:
    """True if a container is that of an MPIJob's launcher.

    Its mpirun starts processes on the workers alone.
    """
    is_launcher = job.given.group_kind == MPIJOB and container.role.name.lower() == LAUNCHER.lower()
    return is_launcher and workers(job) > 0 and not launcher_works(job)
