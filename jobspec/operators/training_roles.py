"""The roles of a job whose pods overlays change: by the rules of its operator, and of Jobs and JobSets by signs.

Roles that train are masters, workers or both at once, as the nodes of a TrainJob are. Others, such as a launcher, have their own name
alone: overlays reach them by that name, or where they name no role. A Job has one kind of pod, and so has a replicated job. One of
several replicated jobs is the master by its name, such as `leader`. If none has such a name, each of them is master and worker at once.
"""

from __future__ import annotations

from jobspec.apis.kinds import (
    CRON_JOB,
    JOB,
    JOBSET,
    LEADER_WORKER_SET,
    POD_TEMPLATES,
    RAY_CLUSTER,
    RAY_CRON_JOB,
    RAY_JOB,
    RAY_SERVICE,
    TRAINING_JOBS,
)
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.diagnostics.places import Mark, Path, value_at
from jobspec.documents.document import without_wrapped
from jobspec.documents.marked_tree import set_by
from jobspec.go.values import mapping, structs
from jobspec.operators.kuberay import CLUSTER_SPECS
from jobspec.operators.training_signs import training_containers
from jobspec.operators.workloads import LEADER, TEMPLATE, WORKER, TrainingRole, roles_in, takes_overlays, training_roles, trains_by_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from jobspec.documents.document import Document

MASTER = "master"
_BOTH = (MASTER, WORKER)
#: Words in the names of replicated jobs that lead the others.
_LEADING = ("master", "leader", "head", "driver", "launcher", "coordinator", "chief")
#: The replica types of training-operator's kinds that train, and lead the others.
_MASTERS = (MASTER, "chief")
_LAUNCHER, _HEAD = "launcher", "head"
_IN_LAUNCHER = "`mpirun` in the launcher starts the program: name the role `launcher` for its flags"
#: Ray's kind -> where the program is.
_PROGRAMS = {
    RAY_CLUSTER: "the pods of a RayCluster run `ray start`; programs are submitted to it",
    RAY_JOB: "the program of a RayJob is its `spec.entrypoint`: set it with `job: {RayJob: ...}`",
    RAY_SERVICE: "the programs of a RayService are in its `spec.serveConfigV2`",
    RAY_CRON_JOB: "the program of a RayCronJob is its `spec.jobTemplate.entrypoint`: set it with `job: {RayCronJob: ...}`",
}


def overlaid_jobs(documents: Iterable[Document]) -> list[Document]:
    """Return the jobs that overlays change.

    These are the PyTorchJobs and TrainJobs. If there are none, other kinds that train; if there are none, the Jobs and CronJobs. Of Jobs
    and JobSets, if some train by their signs, the others do not count: they may prepare data. Jobs inside other objects, such as the trials
    of a Katib Experiment, are not changed.
    """
    given = without_wrapped(list(documents))
    if found := [each for each in given if takes_overlays(each)]:
        return found
    known = [each for each in given if trains_by_kind(each)]
    others = known or [each for each in given if each.group_kind in (JOB, CRON_JOB)]
    judged = [each for each in others if each.group_kind in (JOB, CRON_JOB, JOBSET) and roles_for_overlays(each)]
    chosen = [each for each in judged if _training(each)] or judged
    return [each for each in others if each.group_kind not in (JOB, CRON_JOB, JOBSET) or any(each is one for one in chosen)]


def training_jobs(documents: Iterable[Document]) -> list[Document]:
    """Return the jobs that overlays change; of Jobs, only those with a sign of training.

    A Job without one may run anything.
    """
    found = overlaid_jobs(documents)
    return [each for each in found if takes_overlays(each) or trains_by_kind(each) or _training(each)]


def job_among(documents: Iterable[Document]) -> Document | None:
    """Return the first job that overlays change; None if the documents hold none."""
    return next(iter(overlaid_jobs(documents)), None)


def roles_for_overlays(job: Document) -> list[TrainingRole]:
    """The roles of a job that overlays can name."""
    if takes_overlays(job):
        return training_roles(job)
    if job.group_kind in TRAINING_JOBS:
        return list(_replica_types(job))
    if job.group_kind in _PROGRAMS:
        return list(_groups_of_ray(job))
    if job.group_kind == LEADER_WORKER_SET:
        return list(_members(job))
    templates = _templates(job)
    training = _training(job) or {name: "" for name in templates if name not in _steps_before(job)} or dict.fromkeys(templates, "")
    leading = [name for name in training if any(word in name.lower() for word in _LEADING)]
    return [
        TrainingRole(
            name or job.name,
            path,
            training[name] or _first_container(job, path),
            (MASTER,) if name in leading else (WORKER,) if leading else _BOTH,
            count,
        )
        for name, (path, count) in templates.items()
        if name in training
    ]


def _first_container(job: Document, template: Path) -> str:
    return str(structs(value_at(job.data, template), "spec", "containers")[0].get("name"))


def _has_containers(job: Document, template: Path) -> bool:
    return bool(structs(value_at(job.data, template), "spec", "containers"))


def _replica_types(job: Document) -> Iterator[TrainingRole]:
    """Yield the roles of a job of training-operator or mpi-operator.

    A launcher trains if it is a worker, too, or if the job has no other role.
    """
    sibling = SIBLINGS[job.kind]
    found = {each.name.lower(): each for each in _whole(job, ("spec", sibling.replicas), dict)}
    is_mpi, spec = job.kind == "MPIJob", mapping(job.data, "spec")
    masters = [name for name in found if name in _MASTERS or (name == _LAUNCHER and spec.get("runLauncherAsWorker") is True)]
    for name, role in found.items():
        path = (*role.path, *role.template)
        if not _has_containers(job, path):
            continue
        trains = name in (*masters, WORKER) or len(found) == 1
        also = () if not trains else (MASTER,) if name in masters else (WORKER,) if masters else _BOTH
        names = [str(each.get("name")) for each in structs(value_at(job.data, path), "spec", "containers")]
        container = sibling.container if sibling.container in names or job.api_version == "kubeflow.org/v1" else names[0]
        why = _IN_LAUNCHER if is_mpi and name != _LAUNCHER and _LAUNCHER in found else ""
        yield TrainingRole(name, path, container, also, _number(role.data, "replicas"), why)


def _groups_of_ray(job: Document) -> Iterator[TrainingRole]:
    """The head and the groups of workers of a Ray cluster. The head trains only if it has no workers."""
    place = CLUSTER_SPECS[job.kind]
    cluster = value_at(job.data, place)
    groups = structs(cluster, "workerGroupSpecs")
    head = (*place, "headGroupSpec", "template")
    if _has_containers(job, head):
        yield TrainingRole(_HEAD, head, _first_container(job, head), () if groups else _BOTH, 1, _PROGRAMS[job.group_kind])
    for index, group in enumerate(groups):
        path: Path = (*place, "workerGroupSpecs", index, "template")
        if _has_containers(job, path):
            count = _number(group, "replicas", default=_number(group, "minReplicas")) * _number(group, "numOfHosts")
            yield TrainingRole(str(group.get("groupName")), path, _first_container(job, path), _BOTH, count, _PROGRAMS[job.group_kind])


def _members(job: Document) -> Iterator[TrainingRole]:
    """The leader and the workers of a LeaderWorkerSet; without a template of its own, the leader is one of the workers."""
    mark, spec = Mark(job.file), mapping(job.data, "spec")
    given = [each for each in roles_in(job) if _has_containers(job, each.path)]
    pods = {each.name: (set_by(mark, each.data), 2) for each in given}
    training = training_containers(pods, is_queued=False)
    groups, size = _number(spec, "replicas"), _number(mapping(spec, "leaderWorkerTemplate"), "size")
    for each in given:
        is_alone = len(given) == 1
        also = _BOTH if is_alone else (MASTER,) if each.name == LEADER else (WORKER,)
        count = groups * (size if is_alone else 1 if each.name == LEADER else size - 1)
        yield TrainingRole(each.name, each.path, training.get(each.name) or _first_container(job, each.path), also, count)


def _templates(job: Document) -> dict[str, tuple[Path, int]]:
    """The pod templates of a Job, a CronJob or a JobSet by the names of their roles, with the number of pods; whole templates alone."""
    if job.group_kind == JOBSET:
        given = {
            each.name: ((*each.path, *TEMPLATE), _number(each.data, "replicas") * _pods(each.data, TEMPLATE))
            for each in _whole(job, ("spec", "replicatedJobs"), list)
        }
    else:
        path = POD_TEMPLATES[job.group_kind]
        given = {"": (path, _pods(job.data, path))}
    return {name: each for name, each in given.items() if _has_containers(job, each[0])}


def _whole(job: Document, place: Path, kind: type[Any]) -> list[Any]:
    """The roles of a job whose manifest has them in the form that its schema wants."""
    found = value_at(job.data, place)
    inside = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    is_whole = isinstance(found, kind) and all(isinstance(each, dict) for each in inside)
    has_names = kind is dict or all(isinstance(each.get("name"), str) for each in inside) if is_whole else False
    return roles_in(job) if has_names else []


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
