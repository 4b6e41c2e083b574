"""A PyTorchJob as a TrainJob, in each way that is worth a try: with a shipped runtime, or with one of its own."""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.migration.hosts import of_one_job, of_roles
from jobspec.migration.life import APPLIED
from jobspec.migration.made import by_migration, present
from jobspec.migration.templates import has_deadline, job_template, pod_template, training_container, words
from jobspec.migration.variables import RANK_OF_JOB, RANK_OF_POD, TRAINERS, environment, needed, operators_own, translated
from jobspec.operators.trainer.runtimes import API_VERSION
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.source import SourceJob

SHIPPED = "torch-distributed"
_MANAGED = {"kubeflow.org/training-operator": None, "trainer.kubeflow.org/trainjob-controller": None}
_RUNS_AGAIN = "2.1.0"  # the trainer release from which on a JobSet that a time to live has deleted may be made again
#: What a server writes in the metadata of an object that it has.
_SERVERS = frozenset(("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"))
_OF_JOB = ("image", "command", "args", "env")


def ways(source: SourceJob) -> Iterator[list[MarkedTree]]:
    """The ways from the plainest to the most faithful: each the manifests that take the place of the job, itself the last."""
    if source.is_uniform():
        yield [_train_job(source, SHIPPED, shipped=True)]
        yield _with_runtime(source, torch=True)
        yield _with_runtime(source, torch=False)
    else:
        yield _with_roles(source)
        yield _with_runtime(source, torch=True)


def _train_job(source: SourceJob, runtime: str, *, shipped: bool, torch: bool = True, trains: bool = True) -> MarkedTree:
    """The TrainJob. *torch*: its runtime has the policy `torch`. *trains*: it says itself what its nodes run."""
    tree = source.tree
    ref = {"name": runtime} if shipped else {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": runtime}
    managed = source.policy("managedBy")
    spec = {
        "managedBy": managed if managed and managed.value not in _MANAGED else None,
        "suspend": source.policy("suspend"),
        "activeDeadlineSeconds": _deadline(source),
        "runtimeRef": by_migration(ref),
        "trainer": _trainer(source, torch=torch) if trains else None,
    }
    fields = {
        "apiVersion": tree.value["apiVersion"].with_value(API_VERSION),
        "kind": tree.value["kind"].with_value("TrainJob"),
        "metadata": _metadata(tree.value["metadata"]),
        "spec": source.spec.with_value(present(spec)),
    }
    return tree.with_value(fields)


def _metadata(given: MarkedTree) -> MarkedTree:
    """The metadata of a job without what a server has written for the old one."""
    fields = {name: each for name, each in given.value.items() if name not in _SERVERS}
    notes = {name: each for name, each in given.entries("annotations") if name != APPLIED}
    if "annotations" in fields and len(notes) < len(fields["annotations"].value):
        kept = {"annotations": fields["annotations"].with_value(notes)} if notes else {}
        fields = {name: each for name, each in fields.items() if name != "annotations"} | kept
    return given.with_value(fields)


def _deadline(source: SourceJob) -> MarkedTree | None:
    seconds = source.policy("activeDeadlineSeconds")
    return seconds if seconds and seconds.value >= 1 and has_deadline(source) else None


def _trainer(source: SourceJob, *, torch: bool) -> MarkedTree:
    replica = source.lead
    container = training_container(replica.value["template"])
    renamed = of_one_job(source)
    made = source.nodes[0].training
    assert made
    added = [translated(each, RANK_OF_POD, renamed) for each in needed(container, operators_own(made))]
    if torch:
        added = [each for each in added if text(each, "name") not in TRAINERS]
    env = environment(container, added, renamed)
    given = container.get("env")
    resources = _resources(source, container)
    last = list(source.replicas.values())[-1].get("replicas")
    fields = {
        "numNodes": last.with_value(source.count) if last else by_migration(source.count),
        "numProcPerNode": _processes(source) if torch else None,
        "image": container.get("image"),
        "command": _words(container, "command", renamed),
        "args": _words(container, "args", renamed),
        "env": (given.with_value(env) if given else by_migration(env)) if env else None,
        "resourcesPerNode": resources,
    }
    return replica.with_value(present(fields))


def _resources(source: SourceJob, container: MarkedTree) -> MarkedTree | None:
    """The resources of a node; for a gang, with the requests that training-operator counts and the trainer does not: the limits."""
    given = container.get("resources")
    if given is None or not given.value:
        return None
    limits = given.get("limits")
    if not source.gang_scheduler or limits is None or "requests" in given.value:
        return given
    return given.with_value({**given.value, "requests": limits})


def _words(container: MarkedTree, field: str, renamed: Callable[[str], str]) -> MarkedTree | None:
    given = container.get(field)
    return words(given, renamed) if given and given.value else None


def _processes(source: SourceJob) -> MarkedTree | None:
    """The processes of a node, where the release takes the word."""
    given = source.spec.get("nprocPerNode") or source.spec.get("elasticPolicy", "nProcPerNode")
    if given is None:
        return None
    word = str(given.value)
    if word.isdecimal() and word.isascii() and int(word) > 0:
        return given.with_value(int(word))
    return given if word in ("cpu", "gpu", "auto") and not reached(source.release, "2.2.0") else None


def _with_runtime(source: SourceJob, *, torch: bool) -> list[MarkedTree]:
    """A runtime with one replicated job, and the job."""
    replica = source.lead
    without = (*_OF_JOB, "resources")
    template = pod_template(
        source,
        replica,
        source.nodes[0],
        rank=RANK_OF_POD,
        renamed=of_one_job(source),
        without=without if not _claims(source) else _OF_JOB,
        has_port=torch,
    )
    job = {"name": "node", "template": job_template(source, replica, template, labelled=True, nodes=source.count)}
    policy = {"numNodes": source.count, **({"torch": {}} if torch else {})}
    runtime = _runtime(source, {"mlPolicy": policy}, [job])
    return [runtime, _train_job(source, _runtime_name(source), shipped=False, torch=torch)]


def _claims(source: SourceJob) -> bool:
    return training_container(source.lead.value["template"]).get("resources", "claims") is not None


def _with_roles(source: SourceJob) -> list[MarkedTree]:
    """A runtime with a Job for the Master, and one for each Worker: the number of a Job in the JobSet is the rank."""
    jobs: list[dict[str, Any]] = []
    for name, replica in source.replicas.items():
        is_master = name == "Master"
        node = source.nodes[0 if is_master else 1]
        template = pod_template(source, replica, node, rank=RANK_OF_JOB, renamed=of_roles(source))
        job = job_template(source, replica, template, labelled=is_master, nodes=1)
        jobs.append({"name": "master" if is_master else "node", "replicas": source.count_of(name), "template": job})
    clean = source.policy("cleanPodPolicy")
    ends = clean is not None and clean.value != "None"
    success = {"successPolicy": by_migration({"operator": "All", "targetReplicatedJobs": ["master"]}, clean)} if ends else {}
    runtime = _runtime(source, {}, jobs, **success)
    return [runtime, _train_job(source, _runtime_name(source), shipped=False, trains=False)]


def _runtime_name(source: SourceJob) -> str:
    return source.name or text(source.tree, "metadata", "generateName").rstrip("-")


def _runtime(source: SourceJob, spec: dict[str, Any], jobs: list[dict[str, Any]], **jobset: Any) -> MarkedTree:
    ttl = source.policy("ttlSecondsAfterFinished") if not reached(source.release, _RUNS_AGAIN) else None
    namespace = source.tree.get("metadata", "namespace")
    metadata = present({"name": _runtime_name(source), "namespace": namespace})
    gang = _gang(source)
    scheduled = [_scheduled(source, each) for each in jobs] if gang else jobs
    inside = {**present({"ttlSecondsAfterFinished": ttl}), **jobset, "replicatedJobs": scheduled}
    labels = {"trainer.kubeflow.org/framework": "torch"}
    queue = _queue(source) if source.is_of_volcano else {}
    return by_migration(
        {
            "apiVersion": API_VERSION,
            "kind": "TrainingRuntime",
            "metadata": {**metadata, "labels": labels},
            "spec": {**spec, **gang, "template": {**queue, "spec": inside}},
        }
    )


def _queue(source: SourceJob) -> dict[str, Any]:
    queue = source.policy("schedulingPolicy", "queue")
    return {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": queue}}} if queue and queue.value else {}


def _gang(source: SourceJob) -> dict[str, Any]:
    """The policy of the runtime by which its pods are scheduled all at once, where training-operator had them so."""
    if not source.gang_scheduler or (source.is_of_volcano and not reached(source.release, "2.1.0")):
        return {}
    seconds = source.policy("schedulingPolicy", "scheduleTimeoutSeconds")
    return {"podGroupPolicy": {"volcano": {}} if source.is_of_volcano else {"coscheduling": present({"scheduleTimeoutSeconds": seconds})}}


def _scheduled(source: SourceJob, job: dict[str, Any]) -> dict[str, Any]:
    """A replicated job whose pods are the gang scheduler's."""
    template = job["template"]["spec"]["template"]
    pod = template.value["spec"]
    named = {"schedulerName": by_migration("volcano" if source.is_of_volcano else source.gang_scheduler)}
    priority = source.policy("schedulingPolicy", "priorityClass") if source.is_of_volcano else None
    scheduled = template.with_value(
        {**template.value, "spec": pod.with_value({**named, **present({"priorityClassName": priority}), **pod.value})}
    )
    return {**job, "template": {**job["template"], "spec": {**job["template"]["spec"], "template": scheduled}}}
