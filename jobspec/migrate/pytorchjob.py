"""The TrainJobs that a PyTorchJob may become: with a shipped runtime, or with a runtime of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from jobspec.apis.kinds import PYTORCHJOB, TRAINJOB
from jobspec.apis.releases import Target
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.migrate import facts
from jobspec.migrate.facts import NAME, JobNode
from jobspec.migrate.writing import (
    NAME_OF_JOB,
    by_migration,
    own_metadata,
    present,
    renamed_variable,
    template_metadata,
    without_nulls,
    words,
)
from jobspec.operators.batch import UNLIMITED
from jobspec.operators.trainer.life import has_deadline, makes_again
from jobspec.operators.trainer.plugin_variables import COMPLETION_INDEX
from jobspec.operators.trainer.runtimes import ANCESTOR, API_VERSION, RESERVED, TRAINER, knows_volcano, takes_words_for_processes
from jobspec.operators.training_operator import PORT
from jobspec.operators.training_operator.life import leaves_running_pods
from jobspec.operators.workloads import CONTAINERS, OF_CONTAINER
from jobspec.programs.command_lines import LAUNCHER, PORTS, RANKS, command_line

SHIPPED = "torch-distributed"


def ways(source: SourceJob) -> Iterator[list[MarkedTree]]:
    """Yield the candidates for a migrated job, from the simplest to the most faithful.

    A candidate is the list of manifests that replace the job, with the TrainJob last.
    """
    if source.is_uniform():
        yield [_train_job(source, SHIPPED, shipped=True)]
        yield _with_runtime(source, torch=True)
        yield _with_runtime(source, torch=False)
    else:
        yield _with_roles(source)
        yield _with_runtime(source, torch=True)


def _train_job(source: SourceJob, runtime: str, *, shipped: bool, torch: bool = True, trains: bool = True) -> MarkedTree:
    """Return the TrainJob.

    *torch*: its runtime has the policy `torch`. *trains*: the TrainJob itself says what its nodes run.
    """
    tree = source.tree
    ref = {"name": runtime} if shipped else {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": runtime}
    managed = source.policy("managedBy")
    spec = {
        "managedBy": managed if managed and managed.value not in facts.OWN_MANAGERS else None,
        "suspend": source.policy("suspend"),
        "activeDeadlineSeconds": _deadline(source),
        "runtimeRef": by_migration(ref),
        "trainer": _trainer(source, torch=torch) if trains else None,
    }
    fields = {
        "apiVersion": tree.value["apiVersion"].with_value(API_VERSION),
        "kind": tree.value["kind"].with_value("TrainJob"),
        "metadata": own_metadata(tree.value["metadata"]),
        "spec": source.spec.with_value(present(spec)),
    }
    return tree.with_value(fields)


def _deadline(source: SourceJob) -> MarkedTree | None:
    seconds = source.policy("activeDeadlineSeconds")
    return seconds if seconds and seconds.value >= 1 and has_deadline(source.release) else None


def _trainer(source: SourceJob, *, torch: bool) -> MarkedTree:
    replica = source.lead
    container = training_container(replica.value["template"])
    renamed = renaming(source, of_one_job)
    made = source.nodes[0].training
    assert made
    added = [translated(each, RANK_OF_POD, renamed) for each in needed(container, operators_own(made))]
    if torch:
        added = [each for each in added if text(each, "name") not in RESERVED["torch"]]
    env = environment(container, added, renamed)
    given = container.get("env")
    resources = _resources_per_node(source, container)
    last = list(source.replicas.values())[-1].get("replicas")
    fields = {
        "numNodes": last.with_value(source.count) if last else by_migration(source.count),
        "numProcPerNode": _processes(source) if torch else None,
        "image": container.get("image"),
        "command": _renamed_words(container, "command", renamed),
        "args": _renamed_words(container, "args", renamed),
        "env": (given.with_value(env) if given else by_migration(env)) if env else None,
        "resourcesPerNode": resources,
    }
    return replica.with_value(present(fields))


def _resources_per_node(source: SourceJob, container: MarkedTree) -> MarkedTree | None:
    """Return the resources of a node. For a gang, the limits are added as requests.

    training-operator counts such requests, and the trainer does not.
    """
    given = container.get("resources")
    if given is None or not given.value:
        return None
    limits = given.get("limits")
    if not source.gang_scheduler or limits is None or "requests" in given.value:
        return given
    return given.with_value({**given.value, "requests": limits})


def _renamed_words(container: MarkedTree, field: str, renamed: Callable[[str], str]) -> MarkedTree | None:
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
    return given if word in ("cpu", "gpu", "auto") and takes_words_for_processes(source.release) else None


def _with_runtime(source: SourceJob, *, torch: bool) -> list[MarkedTree]:
    """A runtime with one replicated job, and the job."""
    replica = source.lead
    has_claims = training_container(replica.value["template"]).get("resources", "claims") is not None
    without, renamed = OF_CONTAINER if has_claims else (*OF_CONTAINER, "resources"), renaming(source, of_one_job)
    template = pod_template(source, replica, source.nodes[0], rank=RANK_OF_POD, renamed=renamed, without=without, has_port=torch)
    job = {"name": "node", "template": job_template(source, replica, template, labelled=True, nodes=source.count)}
    policy = {"numNodes": source.count, **({"torch": {}} if torch else {})}
    runtime = _runtime(source, {"mlPolicy": policy}, [job])
    return [runtime, _train_job(source, _runtime_name(source), shipped=False, torch=torch)]


def _with_roles(source: SourceJob) -> list[MarkedTree]:
    """Return a runtime with a Job for the Master and a Job for each Worker, and the TrainJob.

    The number of a Job in the JobSet is the rank.
    """
    jobs: list[dict[str, Any]] = []
    for name, replica in source.replicas.items():
        is_master = name == "Master"
        node = source.nodes[0 if is_master else 1]
        template = pod_template(source, replica, node, rank=RANK_OF_JOB, renamed=renaming(source, of_roles))
        job = job_template(source, replica, template, labelled=is_master, nodes=1)
        jobs.append({"name": "master" if is_master else "node", "replicas": source.count_of(name), "template": job})
    clean = source.policy("cleanPodPolicy")
    ends = clean is not None and not leaves_running_pods(clean.value)
    success = {"successPolicy": by_migration({"operator": "All", "targetReplicatedJobs": ["master"]}, clean)} if ends else {}
    runtime = _runtime(source, {}, jobs, **success)
    return [runtime, _train_job(source, _runtime_name(source), shipped=False, trains=False)]


def _runtime_name(source: SourceJob) -> str:
    return source.document.name or text(source.tree, "metadata", "generateName").rstrip("-")


def _runtime(source: SourceJob, spec: dict[str, Any], jobs: list[dict[str, Any]], **jobset: Any) -> MarkedTree:
    ttl, gang = source.policy("ttlSecondsAfterFinished") if not makes_again(source.release) else None, _gang(source)
    metadata = present({"name": _runtime_name(source), "namespace": source.tree.get("metadata", "namespace")})
    metadata["labels"] = {"trainer.kubeflow.org/framework": "torch"}
    scheduled = [_scheduled(source, each) for each in jobs] if gang else jobs
    inside = {**present({"ttlSecondsAfterFinished": ttl}), **jobset, "replicatedJobs": scheduled}
    whole = {**spec, **gang, "template": {**(_queue(source) if source.is_of_volcano else {}), "spec": inside}}
    return by_migration({"apiVersion": API_VERSION, "kind": "TrainingRuntime", "metadata": metadata, "spec": whole})


def _queue(source: SourceJob) -> dict[str, Any]:
    queue = source.policy("schedulingPolicy", "queue")
    return {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": queue}}} if queue and queue.value else {}


def _gang(source: SourceJob) -> dict[str, Any]:
    """The pod group policy of the runtime, where training-operator scheduled the pods as a gang."""
    if not source.gang_scheduler or (source.is_of_volcano and not knows_volcano(source.release)):
        return {}
    seconds = source.policy("schedulingPolicy", "scheduleTimeoutSeconds")
    return {"podGroupPolicy": {"volcano": {}} if source.is_of_volcano else {"coscheduling": present({"scheduleTimeoutSeconds": seconds})}}


def _scheduled(source: SourceJob, job: dict[str, Any]) -> dict[str, Any]:
    """A replicated job whose pods are the gang scheduler's."""
    template = job["template"]["spec"]["template"]
    pod = template.value["spec"]
    named = {"schedulerName": by_migration("volcano" if source.is_of_volcano else source.gang_scheduler)}
    priority = source.policy("schedulingPolicy", "priorityClass") if source.is_of_volcano else None
    spec = pod.with_value({**named, **present({"priorityClassName": priority}), **pod.value})
    scheduled = template.with_value({**template.value, "spec": spec})
    return {**job, "template": {**job["template"], "spec": {**job["template"]["spec"], "template": scheduled}}}


# A PyTorchJob as its migration looks at it: its replica types, its policies, and what the operator makes of it.


class SourceJob:
    """One PyTorchJob, and the release that it goes to."""

    __slots__ = ("document", "gang_scheduler", "nodes", "release", "replicas", "spec", "tree")

    def __init__(self, document: Document, objects: Sequence[MarkedTree], target: Target, *, gang_scheduler: str) -> None:
        """*objects*: what training-operator makes of it."""
        self.document = document
        self.release = target["trainer"]
        self.gang_scheduler = gang_scheduler
        """The gang scheduler of its pods; empty without one."""
        self.tree = without_nulls(with_marks(document.data, document.marks))
        self.spec: MarkedTree = self.tree.value["spec"]
        self.replicas = dict(sorted(self.spec.entries("pytorchReplicaSpecs")))
        """Master first."""
        self.nodes: list[JobNode] = [each for each in facts.nodes_of(objects, document.group_kind) if each.training]

    @property
    def is_of_volcano(self) -> bool:
        """True if Volcano schedules the job's pods as a gang."""
        return self.gang_scheduler.lower() == "volcano"

    @property
    def lead(self) -> MarkedTree:
        """Return the replica type of node 0."""
        lead: MarkedTree = next(iter(self.replicas.values()))
        return lead

    @property
    def count(self) -> int:
        """Return the number of the job's pods."""
        return sum(self.count_of(name) for name in self.replicas)

    def count_of(self, name: str) -> int:
        """Return the number of a replica type's pods."""
        given = self.replicas[name].get("replicas")
        return int(given.value) if given else 1

    def policy(self, *path: str) -> MarkedTree | None:
        """Return a field of the run policy."""
        return self.spec.get("runPolicy", *path)

    def restart(self, replica: MarkedTree) -> str:
        """Return the restart policy of a replica type, with the operator's default."""
        return text(replica, "restartPolicy") or "OnFailure"

    def is_uniform(self) -> bool:
        """True if the pods of all replica types are the same."""
        seen = [(self.restart(each), each.value["template"].data()) for each in self.replicas.values()]
        return all(each == seen[0] for each in seen)


# A pod template of a PyTorchJob as one of a runtime: its training container has another name, and a Job restarts pods by its own rules.


_OLD_CONTAINER, _NEW_CONTAINER = CONTAINERS[PYTORCHJOB], CONTAINERS[TRAINJOB]


def training_container(template: MarkedTree) -> MarkedTree:
    """Return the container that trains in a template of a PyTorchJob."""
    containers = {text(each, "name"): each for each in items(template.get("spec", "containers"))}
    return containers[_OLD_CONTAINER]


def pod_template(
    source: SourceJob,
    replica: MarkedTree,
    node: JobNode,
    *,
    rank: str,
    renamed: Callable[[str], str],
    without: Collection[str] = (),
    has_port: bool = False,
) -> MarkedTree:
    """Return a replica type's template for the nodes of a TrainJob.

    *without*: the fields of the training container that the TrainJob says itself. *has_port*: the trainer adds the port at which
    processes meet.
    """
    template = replica.value["template"]
    spec = template.value["spec"]

    host_network = spec.get("hostNetwork")
    takes_port = not has_port and host_network is not None and host_network.value is True

    def container(each: MarkedTree) -> MarkedTree:
        is_training = text(each, "name") == _OLD_CONTAINER
        made = _container_of_node(each, node, rank=rank, renamed=renamed, training=is_training, without=without if is_training else ())
        return _with_port(made, node) if is_training and takes_port else made

    containers = spec.value["containers"].with_value([container(each) for each in items(spec.get("containers"))])
    fields = {name: each for name, each in facts.with_new_names(spec).value.items() if name != "restartPolicy"}
    policy = replica.get("restartPolicy")
    word = "OnFailure" if source.restart(replica) in ("OnFailure", "Always") else "Never"
    restart = policy.with_value(word) if policy else by_migration(word)
    pod: MarkedTree = spec.with_value({"restartPolicy": restart, **fields, "containers": containers})
    whole: MarkedTree = template.with_value({**template.value, **template_metadata(template), "spec": pod})
    return whole


def _container_of_node(
    each: MarkedTree, node: JobNode, *, rank: str, renamed: Callable[[str], str], training: bool, without: Collection[str]
) -> MarkedTree:
    fields = {name: child for name, child in each.value.items() if name not in (*without, "ports")}
    if training:
        fields["name"] = each.value["name"].with_value(_NEW_CONTAINER)
    if ports := [port for port in items(each.get("ports")) if not training or text(port, "name") != PORT]:
        fields["ports"] = each.value["ports"].with_value(ports)
    for field in ("command", "args"):
        if field in fields:
            fields[field] = words(fields[field], renamed)
    made = node.pod.container(text(each, "name"))
    if "env" not in without and made:
        added = [translated(one, rank, renamed) for one in operators_own(made)]
        env = environment(each, added, renamed)
        fields["env"] = each.value["env"].with_value(env) if "env" in each.value else by_migration(env)
    return each.with_value(fields)


def _with_port(container: MarkedTree, node: JobNode) -> MarkedTree:
    """Give a container the port of its node at which processes meet.

    training-operator's container has the port in the same way.
    """
    made = node.training
    given = next(each for each in items(made and made.get("ports")) if text(each, "name") == PORT)
    number = port_of_trainer(text(given.value["containerPort"]))
    port = by_migration({"name": PORT, "containerPort": int(number)}, given)
    ports = container.get("ports")
    others = items(ports)
    return container.with_value({**container.value, "ports": (ports or port).with_value([*others, port])})


def job_template(source: SourceJob, replica: MarkedTree, template: MarkedTree, *, labelled: bool, nodes: int) -> dict[str, Any]:
    """Return the template of a replicated job: its label, its pods, and how they live."""
    labels = {"metadata": {"labels": {ANCESTOR: TRAINER}}} if labelled else {}
    return {**labels, "spec": {**_life(source, replica, nodes=nodes), "template": template}}


def _life(source: SourceJob, replica: MarkedTree, *, nodes: int) -> dict[str, Any]:
    policy = source.restart(replica)
    cause = replica.get("restartPolicy")
    limit = source.policy("backoffLimit")
    allowed = by_migration(0 if policy == "Never" else UNLIMITED, cause)
    if limit and policy in ("OnFailure", "Always"):
        allowed = limit
    rule = by_migration({"rules": [facts.exit_code_rule()]}, cause) if policy == "ExitCode" else None
    deadline = source.policy("activeDeadlineSeconds") if not has_deadline(source.release) else None
    success = _success(source) if nodes > 1 else None
    fields = {"activeDeadlineSeconds": deadline, "backoffLimit": allowed, "podFailurePolicy": rule, "successPolicy": success}
    return present(fields)


def _success(source: SourceJob) -> MarkedTree | None:
    """Who has to succeed, where the operator ends the others then."""
    clean = source.policy("cleanPodPolicy")
    if clean is None or leaves_running_pods(clean.value):
        return None
    if "Master" in source.replicas:
        return by_migration({"rules": [{"succeededIndexes": "0"}]}, clean)
    return by_migration({"rules": [{"succeededCount": 1}]}, clean) if source.spec.get("elasticPolicy") else None


# The names of a PyTorchJob's pods in its texts, replaced by those that the same nodes have as pods of a TrainJob.
#
# They begin with a variable for the job's name, so that they are right in a job of another name, too, such as a variant of a project.


def renaming(source: SourceJob, new_name: Callable[[int], str]) -> Callable[[str], str]:
    """Return a function to replace each pod's name in a text.

    *new_name*: returns the name of the host with a rank.
    """
    return facts.with_other_hosts({node.pod.host_name: new_name(rank) for rank, node in enumerate(source.nodes)})


def of_one_job(rank: int) -> str:
    """Return the host with a rank if all nodes are pods of the replicated job `node`."""
    return f"$({NAME})-node-0-{rank}.$({NAME})"


def of_roles(rank: int) -> str:
    """Return the host with a rank: the Master in the Job `master`, each Worker in a Job `node`."""
    return f"$({NAME})-{f'node-{rank - 1}' if rank else 'master-0'}-0.$({NAME})"


# The variables that give a program its rank: training-operator's, and in a TrainJob the pod's own metadata.


RANK_OF_JOB = "metadata.labels['jobset.sigs.k8s.io/job-global-index']"
"""Where a pod finds the number of its Job in the JobSet."""
RANK_OF_POD = COMPLETION_INDEX
"""Where a pod finds its number in its Job."""
#: Those that a launcher replaces by its own.
_UNLAUNCHED = ("MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK")


def operators_own(container: MarkedTree) -> list[MarkedTree]:
    """Return the variables that training-operator has added to a container."""
    return [each for each in items(container.get("env")) if str(each.mark).startswith("training-operator")]


def translated(added: MarkedTree, rank: str, renamed: Callable[[str], str]) -> MarkedTree:
    """Translate a variable of training-operator into one of a TrainJob.

    *renamed*: replaces the names of hosts in a text.
    """
    name = text(added, "name")
    if name in RANKS:
        return by_migration({"name": name, "valueFrom": {"fieldRef": {"fieldPath": rank}}}, added)
    value = renamed(text(added, "value"))
    return by_migration({"name": name, "value": port_of_trainer(value) if name in PORTS else value}, added)


def port_of_trainer(port: str) -> str:
    """Return the port at which processes meet.

    If it is training-operator's default, return the trainer's; else the job's own.
    """
    return facts.known_port("trainer") if port == facts.known_port("training-operator") else port


def environment(container: MarkedTree, added: list[MarkedTree], renamed: Callable[[str], str]) -> list[MarkedTree]:
    """Return a container's own variables, then the operator's, which override own ones.

    If the job's name is used, its variable comes first.
    """
    names = {text(each, "name") for each in added}
    own = [renamed_variable(each, renamed) for each in items(container.get("env")) if text(each, "name") not in names]
    found = [*own, *added]
    words = [renamed(text(each)) for field in ("command", "args") for each in items(container.get(field))]
    is_used = any(f"$({NAME})" in each for each in [*words, *(text(each, "value") for each in found)])
    return [NAME_OF_JOB, *found] if is_used else found


def needed(container: MarkedTree, added: list[MarkedTree]) -> Iterator[MarkedTree]:
    """Yield the operator's variables that the program can see.

    A launcher replaces some variables by its own, unless its command line refers to them.
    """
    words = [text(each) for field in ("command", "args") for each in items(container.get(field))]
    launched = command_line([text(each) for each in items(container.get("command"))], []).how == LAUNCHER
    for each in added:
        name = text(each, "name")
        if not launched or name not in _UNLAUNCHED or any(f"$({other})" in word for word in words for other in _UNLAUNCHED):
            yield each
