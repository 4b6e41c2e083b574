"""The roles of a job whose pods overlays change: of PyTorchJobs and TrainJobs by their operators' rules, of Jobs and JobSets by signs.

A Job has one kind of pod, and so has a replicated job. One of several replicated jobs is the master by its name, such as `leader`.
If none has such a name, each of them is master and worker at once, as the nodes of a TrainJob are.
"""

from __future__ import annotations

from jobspec.apis.kinds import CRON_JOB, JOB, JOBSET, POD_TEMPLATES
from jobspec.diagnostics.places import Mark, Path, value_at
from jobspec.documents.marked_tree import set_by
from jobspec.go.values import structs
from jobspec.operators.training_signs import training_containers
from jobspec.operators.workloads import TEMPLATE, TrainingRole, roles_in, takes_overlays, training_roles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from jobspec.documents.document import Document

MASTER, WORKER = "master", "worker"
#: Words in the names of replicated jobs that lead the others.
_LEADING = ("master", "leader", "head", "driver", "launcher", "coordinator", "chief")


def overlaid_jobs(documents: Iterable[Document]) -> list[Document]:
    """Return the jobs that overlays change.

    Overlays change the PyTorchJobs and TrainJobs. If there are none, overlays change the Jobs, CronJobs and JobSets. If some of these Jobs,
    CronJobs and JobSets train by their signs, the others do not count: they may prepare data.
    """
    given = list(documents)
    if found := [each for each in given if takes_overlays(each)]:
        return found
    others = [each for each in given if _is_batch(each) and roles_for_overlays(each)]
    return [each for each in others if _training(each)] or others


def roles_for_overlays(job: Document) -> list[TrainingRole]:
    """The roles of a job that overlays can name."""
    if takes_overlays(job):
        return training_roles(job)
    templates = _templates(job)
    training = _training(job) or {name: "" for name in templates if name not in _steps_before(job)} or dict.fromkeys(templates, "")
    leading = [name for name in training if any(word in name.lower() for word in _LEADING)]
    return [
        TrainingRole(
            name or job.name,
            path,
            training[name] or str(structs(value_at(job.data, path), "spec", "containers")[0].get("name")),
            (MASTER,) if name in leading else (WORKER,) if leading else (MASTER, WORKER),
            count,
        )
        for name, (path, count) in templates.items()
        if name in training
    ]


def _is_batch(document: Document) -> bool:
    return document.group_kind in (JOB, CRON_JOB, JOBSET)


def _templates(job: Document) -> dict[str, tuple[Path, int]]:
    """The pod templates of a Job, a CronJob or a JobSet by the names of their roles, with the number of pods; whole templates alone."""
    if job.group_kind == JOBSET:
        given = {
            each.name: ((*each.path, *TEMPLATE), _number(each.data, "replicas") * _pods(each.data, TEMPLATE)) for each in _replicated(job)
        }
    else:
        path = POD_TEMPLATES[job.group_kind]
        given = {"": (path, _pods(job.data, path))}
    return {name: each for name, each in given.items() if structs(value_at(job.data, each[0]), "spec", "containers")}


def _replicated(job: Document) -> list[Any]:
    jobs = value_at(job.data, ("spec", "replicatedJobs"))
    is_whole = isinstance(jobs, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in jobs)
    return roles_in(job) if is_whole else []


def _pods(data: Any, template: Path) -> int:
    """The number of pods that a Job runs at once."""
    spec = value_at(data, template[:-1])
    return min(_number(spec, "parallelism"), _number(spec, "completions", default=_number(spec, "parallelism")))


def _number(data: Any, name: str, default: int = 1) -> int:
    found = value_at(data, (name,))
    return found if type(found) is int else default


def _training(job: Document) -> Mapping[str, str]:
    """The roles of a job that train by their signs, each with its container."""
    mark = Mark(job.file)
    pods = {name: (set_by(mark, value_at(job.data, path)), count) for name, (path, count) in _templates(job).items()}
    return training_containers(pods, is_queued=False)


def _steps_before(job: Document) -> set[str]:
    """The replicated jobs that others wait for until they have completed."""
    waits = [one for each in structs(job.data, "spec", "replicatedJobs") for one in structs(each, "dependsOn")]
    return {str(each.get("name")) for each in waits if each.get("status") == "Complete"}
