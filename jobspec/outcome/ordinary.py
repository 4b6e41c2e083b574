"""The outcome of an accepted job. Most are ordinary, which a look at the job shows; all others are expanded and judged as a whole.

A server accepts every object that an operator makes of an ordinary job, and the programs of its pods find each other. To expand a job and
to judge its objects takes several times as long as the look.

Pods of a Job or CronJob are those that the server has judged with the object; such a job is ordinary unless it starts torchrun.

The look asks the server's rules about a pod of each role, with the port, the init container and the restart policy that the operator sets,
and the operator's own functions about the autoscaler and about services of further ports. Variables, labels and owners that it sets are
right in any pod. Sufficient conditions by hand are left where those would take too long to import or to ask: `_is_plain` for templates of
few fields, `_template` for what the trainer makes of a TrainJob without patches, and `find_each_other` for programs, in the words of
`programs.command_lines`. A property test holds all of it to the whole judgement (`judgement.judged`).
"""

from __future__ import annotations

from jobspec.apis.kinds import CONFIG_MAP, JOBSET, POD_TEMPLATES, PYTORCHJOB, RAY_CRON_JOB, RAY_JOB, TRAINING_JOBS, TRAINJOB, UNKNOWN
from jobspec.apis.releases import QUEUES, RELEASES, Target
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.record import Record
from jobspec.go.values import without_nulls
from jobspec.kubernetes.metadata import bad_dns1035_label, metadata_problems
from jobspec.kubernetes.structural import schema_problems_at
from jobspec.operators.training_operator import MANAGED_BY, OBJECT_NAME, POLICIES_OF_PODS, PORT, PORT_NUMBER, WAITING
from jobspec.operators.workloads import CONTAINERS, NODE, OF_CONTAINER, REPLICA_SPECS, TEMPLATE, queue_of, resumed, suspension
from jobspec.programs import command_lines
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster

    Data = dict[str, Any]


class Foresight(Record):
    """The foreseen outcome of a job."""

    diagnostics: Sequence[Diagnostic]
    runs: bool | None
    """Whether the job will run and train; None where that is not known."""


def foresee(
    job: Document, context: Sequence[Document], cluster: Cluster, policies: Index | None = None, *, is_reviewed: bool = True
) -> Foresight | None:
    """Foresee the outcome of an accepted job. If its runtime is not given, return None.

    A suspended job is judged as resumed.

    *context*: the documents that it may refer to; *policies*: the objects that decide on pods; *is_reviewed*: whether webhooks, where the
    cluster has them, have seen the job.
    """
    runtime = None
    if job.group_kind == TRAINJOB:
        from jobspec.operators.trainer.runtimes import runtime_of

        runtime = runtime_of(job, context, cluster.target)
        if runtime is None:
            return None
    resumed_job = resumed(job)
    concerned = (
        cluster.complete is not UNKNOWN or cluster.contracts or (policies is not None and bool(policies.deciding_on_pods(job.namespace)))
    )
    concerned = concerned or (policies is not None and _may_use_config_maps(job, runtime, policies))
    has_known_form = is_reviewed and _has_known_form(job, runtime, cluster, policies)
    accepted, trains = _looked_at(resumed_job, runtime, cluster.target) if has_known_form else (False, False)
    found: list[Diagnostic] | None = []
    if concerned or not trains:
        from jobspec.outcome.judgement import judged

        found = judged(resumed_job, context, cluster, policies, skip_server_checks=accepted)
    if found is None:
        return Foresight((), runs=None)
    in_queue = bool(queue_of(job))
    if (policies is not None and policies.have_queues) or (in_queue and job.group_kind == TRAINJOB and QUEUES in cluster.target):
        from jobspec.kubernetes.index import Index
        from jobspec.outcome.queueing import is_queued, queue_outcomes

        index = policies or Index()
        in_queue = is_queued(job, cluster.target, index)
        found += map(job.diagnostic, queue_outcomes(job, context, cluster, index)) if in_queue else ()
    if job.group_kind in (RAY_JOB, RAY_CRON_JOB):
        from jobspec.operators.kuberay.refusals import suspension_refusals

        found += suspension_refusals(job, cluster.target, in_queue=in_queue)
    is_resumed = in_queue and job.group_kind not in TRAINING_JOBS  # Kueue resumes what it admits; these it does not queue by default
    rules = {each.rule for each in found}
    if not rules & {"no-pods-created", "refused-by-operator"} and (not is_resumed or "kind-not-queued" in rules):
        found += suspension(job)
    return Foresight(found, runs=_runs(found))


def _may_use_config_maps(job: Document, runtime: Document | None, given: Index) -> bool:
    """Return whether a job may take scripts or variables from a given ConfigMap."""
    if not given.names(CONFIG_MAP, job.namespace):
        return False
    from jobspec.operators.mounted_scripts import may_use_config_maps

    return may_use_config_maps(job.data, runtime.data if runtime else None)


def _has_known_form(job: Document, runtime: Document | None, cluster: Cluster, policies: Index | None) -> bool:
    """Whether a job and its runtime keep our schemas and the rules of webhooks: an update may not, nor what others define or change."""
    others = cluster.custom_kinds
    is_defined = others is not None and any(others.defines(each) for each in (job, runtime) if each)
    return cluster.webhooks and cluster.stored is None and not is_defined and not (policies is not None and policies.change_objects)


def _runs(found: Sequence[Diagnostic]) -> bool | None:
    """Whether a job with these diagnostics runs; None where that is not certain."""
    if has_error(found):
        return False
    return None if any(each.severity == "warning" or each.rule == "no-pods-created" for each in found) else True


def _looked_at(job: Document, runtime: Document | None, target: Target) -> tuple[bool, bool]:
    """What `looked_at` says of a PyTorchJob or TrainJob; of other kinds, whether a server has judged their pods, and what these start."""
    if job.group_kind in (PYTORCHJOB, TRAINJOB):
        return looked_at(job, runtime, target)
    accepted = job.group_kind in POD_TEMPLATES
    return accepted, accepted and not _mentions(job.data["spec"], command_lines.NAMES)


def _mentions(value: Any, words: Sequence[str]) -> bool:
    """Whether a text inside a value has one of some words in it."""
    if isinstance(value, str):
        return any(each in value for each in words)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_mentions(each, words) for each in inner)


def looked_at(job: Document, runtime: Document | None, target: Target) -> tuple[bool, bool]:
    """Whether a look at an accepted job shows that a server accepts all its objects, and whether it shows that it is ordinary."""
    job = _as_stored(job)
    if runtime is None:
        accepted = _has_accepted_objects(job, target)
        return accepted, accepted and _trains(job.data["spec"])
    runtime = _as_stored(runtime)
    template, nodes = _template(job, runtime), _nodes(job, runtime)
    if template is None or not _has_accepted_jobset(job, template, nodes, target):
        return False, False
    return True, job.data["spec"].get("trainer") is not None and _jobset_trains(job, runtime, template, nodes)


def _as_stored(resource: Document) -> Document:
    """A custom resource as a server keeps it: without nulls."""
    return resource.changed(without_nulls(resource.data)) if _has_null(resource.data) else resource


def _has_null(value: Any) -> bool:
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return value is None or any(map(_has_null, inner))


# Pods, as the server's rules judge them.


_PLAIN = frozenset(("name", "image", "imagePullPolicy", "command", "args", "env", "resources"))
"""The fields of a container that has nothing of which rules say much."""
_WELL_KNOWN, _LONG = {"cpu", "memory", "nvidia.com/gpu"}, 10
_OF_CLASS = ("priority", "preemptionPolicy")
"""What a pod has by its class, about which plugins of the server decide."""
_MOST_ANSWERS = 4096
_answers: dict[str, bool] = {}
"""Whether a server accepts pods, by their text: the jobs of a repository have few different ones."""


def _once(text: str, is_accepted: Callable[[], bool]) -> bool:
    """Whether a server accepts the pods of a text, which is asked once."""
    if (answer := _answers.get(text)) is None:
        if len(_answers) > _MOST_ANSWERS:
            _answers.clear()
        answer = _answers[text] = is_accepted()
    return answer


def _is_accepted(template: Data, target: Target) -> bool:
    """Whether a server accepts a pod of a decoded template; the name matters only for the claims of ephemeral volumes."""
    from jobspec.kubernetes.pods.pod import new_pod_problems

    given, spec = template.get("metadata") or {}, template["spec"]
    metadata = {"name": "a", **{name: given[name] for name in ("labels", "annotations", "finalizers") if given.get(name)}}
    is_typed = all(type(each) is str for name in ("labels", "annotations") for each in metadata.get(name, {}).values())
    has_ephemeral = any("ephemeral" in each for each in spec.get("volumes", ()))
    if not is_typed or has_ephemeral or not spec.keys().isdisjoint(_OF_CLASS):
        return False
    of_metadata = metadata_problems(metadata, names="subdomain", builtin=True)
    of_pod = new_pod_problems({"metadata": metadata, "spec": spec}, None, target["kubernetes"])
    return not any(True for found in (of_metadata, of_pod) for _ in found)


def _is_plain(template: Data) -> bool:
    """Whether a template has nothing but the container that trains, and that an image, a command, variables and whole limits alone."""
    spec = template["spec"]
    if len(template) > 1 or len(spec) > 1 or len(spec["containers"]) > 1:
        return False
    (container,) = spec["containers"]
    image = container.get("image")
    return (
        container.keys() <= _PLAIN
        and type(image) is str
        and image.isprintable()
        and image == image.strip() != ""
        and container.get("imagePullPolicy", "Always") in ("Always", "IfNotPresent")
        and all(map(_is_plain_variable, container.get("env") or ()))
        and _has_plain_limits(container.get("resources") or {})
    )


def _is_plain_variable(variable: Data) -> bool:
    name = variable.get("name") or ""
    return variable.keys() == {"name", "value"} and name.isidentifier() and name.isascii()


def _has_plain_limits(resources: Data) -> bool:
    """Whether resources are limits in whole numbers of well-known ones, which are the requests as well."""
    limits = resources.get("limits") or {}
    amounts = [str(amount).removesuffix("Gi") for amount in limits.values()]
    return (
        resources.keys() <= {"limits", "requests"}
        and (resources.get("requests") or limits) == limits
        and limits.keys() <= _WELL_KNOWN
        and all(each.isascii() and each.isdecimal() and len(each) < _LONG for each in amounts)
    )


# PyTorchJobs.


_KNOWN_POLICIES = ("Always", "OnFailure", "Never", *POLICIES_OF_PODS)


def _has_accepted_objects(job: Document, target: Target) -> bool:
    """Whether a server accepts all objects of an accepted PyTorchJob."""
    from jobspec.operators.training_operator.webhook import has_webhook

    name, spec = job.data["metadata"].get("name"), job.data.get("spec") or {}
    roles = spec.get("pytorchReplicaSpecs") or {}
    is_whole = name and roles and all(map(_training_container, roles.values()))
    if not is_whole or not has_webhook(target["training-operator"]) or value_at(job.data, MANAGED_BY):
        return False
    longest = (OBJECT_NAME.format(name, role.lower(), (each.get("replicas") or 1) - 1) for role, each in roles.items())
    if any(map(bad_dns1035_label, longest)):
        return False
    has_ports = any(_training_container(each).get("ports") for each in roles.values())
    if has_ports or spec.get("elasticPolicy") is not None:
        reduced = _without_pods(job)
        if not _once(f"{reduced.data} {target}", lambda: _has_accepted_services(reduced, target, has_ports=has_ports)):
            return False
    return all(_has_accepted_pods(each, target, waits=role == "Worker" and "Master" in roles) for role, each in roles.items())


def _training_container(role: Data) -> Data:
    """The container that trains; empty where there is none."""
    spec = (role.get("template") or {}).get("spec") or {}
    return next((each for each in spec.get("containers") or () if each.get("name") == CONTAINERS[PYTORCHJOB]), {})


def _without_pods(job: Document) -> Document:
    """A job of any name with nothing in its templates but the ports of the containers that train."""
    spec = job.data["spec"]
    roles = {
        name: {**role, "template": {"spec": {"containers": [{each: container[each] for each in ("name", "ports") if each in container}]}}}
        for name, role in spec["pytorchReplicaSpecs"].items()
        for container in [_training_container(role)]
    }
    return job.reduced_to({**job.data, "metadata": {"name": "a"}, "spec": {**spec, "pytorchReplicaSpecs": roles}})


def _has_accepted_services(job: Document, target: Target, *, has_ports: bool) -> bool:
    """Whether a server accepts the autoscaler of a job, and the operator makes pods, whatever they are; and services of further ports."""
    from jobspec.kubernetes.builtin import builtin_problems
    from jobspec.operators.made import with_generated_names
    from jobspec.operators.training_operator.failures import reasons_for_nothing
    from jobspec.operators.training_operator.job import TrainingJob
    from jobspec.operators.training_operator.objects import reasons_for_no_pods, services

    if reasons_for_nothing(job, target):
        return False
    made = TrainingJob(job, target, gang_scheduler="", first_and_last_only=True)
    if reasons_for_no_pods(made, job, target):
        return False
    found = [with_generated_names(each) for replicas in made.replicas.values() for each in services(made, replicas)] if has_ports else []
    return not any(builtin_problems(each, "v1", "Service", target, encoded=True) for each in found)


def _has_accepted_pods(role: Data, target: Target, *, waits: bool) -> bool:
    """Whether a server accepts the pods of a role. *waits*: they have the init container of Workers, which counts for their resources."""
    template, given = role["template"], role.get("restartPolicy") or "OnFailure"
    policy = POLICIES_OF_PODS.get(given, given)

    def asked() -> bool:
        from jobspec.go.codec import decode_as_go

        shape = shapes.part("kubeflow.org/v1", "PyTorchJob", target, (*REPLICA_SPECS, "Worker", "template"))
        return _is_accepted(_completed(decode_as_go(template, shape), policy, waits=waits), target)

    return (given in _KNOWN_POLICIES and _is_plain(template)) or _once(f"{template} {policy} {waits} {target}", asked)


def _completed(template: Data, policy: str, *, waits: bool) -> Data:
    """A template with what the operator adds to it."""
    spec = template["spec"]
    initial = [*spec.get("initContainers", ()), *([WAITING] if waits else [])]
    containers = [_with_port(each) if each["name"] == CONTAINERS[PYTORCHJOB] else each for each in spec["containers"]]
    return {
        **template,
        "spec": {**spec, "containers": containers, "initContainers": initial, "restartPolicy": policy},
    }


def _with_port(container: Data) -> Data:
    own = container.get("ports", ())
    added = [] if any(each.get("name") == PORT for each in own) else [{"name": PORT, "containerPort": PORT_NUMBER}]
    return {**container, "ports": [*own, *added]}


def _trains(spec: Data) -> bool:
    """Whether the programs of a PyTorchJob with accepted objects find each other."""
    roles, policy = spec["pytorchReplicaSpecs"], spec.get("elasticPolicy")
    counts = [1 if each.get("replicas") is None else each["replicas"] for each in roles.values()]
    older = policy.get("nProcPerNode") if policy else None
    given = spec.get("nprocPerNode") if older is None else older
    processes = "auto" if given is None else str(given)
    nodes, has_master = sum(counts) if all(counts) else 0, "Master" in roles
    meets, has_ranks = has_master or policy is not None, has_master and processes in ("1", *command_lines.PROCESS_WORDS)
    containers = [_training_container(each) for each in roles.values()]
    if (policy is not None and not _meets_at_first_worker(policy)) or any(map(_sets_torchrun, containers)):
        return False
    return all(
        find_each_other(_words(each), nodes, processes, launchers_meet=meets, has_ranks=has_ranks or (not has_master and nodes == 1))
        for each in containers
    )


def _meets_at_first_worker(policy: Data) -> bool:
    """Whether several nodes of an elastic job meet as the operator arranges it."""
    least, most = policy.get("minReplicas"), policy.get("maxReplicas")
    are_several = (most or least or 2) > 1 and 0 < (least or 1) <= (most or least or 1)
    return are_several and not policy.get("standalone") and policy.get("rdzvBackend") in (None, "", "c10d") and not policy.get("rdzvHost")


def _sets_torchrun(container: Data) -> bool:
    """Whether variables of a container may be settings of torchrun."""
    return any((each.get("name") or "").startswith("PET_") for each in container.get("env") or ())


# TrainJobs without patches, of runtimes that train with torchrun in one replicated job.


_OF_JOB = {"runtimeRef", "activeDeadlineSeconds", "trainer"}
_PROCESSES = "numProcPerNode"
_OF_TRAINER = {*OF_CONTAINER, "resourcesPerNode", "numNodes", _PROCESSES}


def _has_accepted_jobset(job: Document, template: Data, nodes: int, target: Target) -> bool:
    """Whether a server accepts all objects of an accepted TrainJob of a pod *template*."""
    is_own_jobset = target["jobset"] == RELEASES["trainer"][target["trainer"]]["jobset"]  # another one may not know what the trainer sends
    last_pod = f"{job.data['metadata'].get('name', '')}-{NODE}-0-{nodes - 1}-abcde"
    if nodes < 1 or not is_own_jobset or bad_dns1035_label(last_pod):
        return False

    def asked() -> bool:
        from jobspec.go.codec import decode_as_go

        shape = shapes.part(f"{JOBSET[0]}/v1alpha2", JOBSET[1], target, ("spec", "replicatedJobs", 0, *TEMPLATE))
        return not schema_problems_at(template, shape, ()) and _is_accepted(decode_as_go(template, shape), target)

    return _is_plain(template) or _once(f"{template} {target}", asked)


def _nodes(job: Document, runtime: Document) -> int:
    """The number of nodes of a TrainJob."""
    given = (value_at(job.data, ("spec", "trainer", "numNodes")), value_at(runtime.data, ("spec", "mlPolicy", "numNodes")))
    return next((int(each) for each in given if each is not None), 1)


def _template(job: Document, runtime: Document) -> Data | None:
    """The pod template of a TrainJob, but for a port and variables of the trainer's; None where that has to merge more than a container."""
    from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER

    spec, of_runtime = job.data.get("spec") or {}, runtime.data.get("spec") or {}
    template = value_at(of_runtime, ("template", "spec", "replicatedJobs", 0, *TEMPLATE))
    job_template = {"metadata": {"labels": {ANCESTOR: TRAINER}}, "spec": {"template": template}}
    policy, trainer = of_runtime.get("mlPolicy") or {}, spec.get("trainer") or {}
    if (
        not template
        or template.keys() != {"spec"}
        or of_runtime != {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [{"name": NODE, "template": job_template}]}}}
        or policy.get("torch") is None
        or not policy.keys() <= {"torch", "numNodes"}
        or not spec.keys() <= _OF_JOB
        or not trainer.keys() <= _OF_TRAINER
        or template["spec"].get("restartPolicy", "Never") not in ("Never", "OnFailure")
    ):
        return None
    container = next((each for each in template["spec"].get("containers") or () if each.get("name") == NODE), None)
    if container is None or not container.keys().isdisjoint(("env", "ports", "resources")):
        return None
    resources = {"resources": trainer["resourcesPerNode"]} if "resourcesPerNode" in trainer else {}
    changed = {**container, **{name: trainer[name] for name in OF_CONTAINER if name in trainer}, **resources}
    containers = [changed if each is container else each for each in template["spec"]["containers"]]
    return {"spec": {**template["spec"], "containers": containers}}


def _jobset_trains(job: Document, runtime: Document, template: Data, nodes: int) -> bool:
    """Whether the programs of a TrainJob with accepted objects and a `trainer` find each other."""
    container = next(each for each in template["spec"]["containers"] if each["name"] == NODE)
    words = _words(container)
    said = (value_at(job.data, ("spec", "trainer", _PROCESSES)), value_at(runtime.data, ("spec", "mlPolicy", "torch", _PROCESSES)))
    processes = next((str(each) for each in said if each is not None), "auto")
    is_usual = bool(words) and words[0] != "tune" and not _sets_torchrun(container)
    return is_usual and find_each_other(words, nodes, processes, launchers_meet=True, has_ranks=nodes == 1)


# Programs: those that find each other, and as many as they wait for, by the variables that the operators set.


#: The words of scripts that start processes which may have to meet.
_IN_SCRIPTS = (*command_lines.NAMES, command_lines.DEEPSPEED, "python")
#: The options that say where the nodes meet.
_MEETING = ("--standalone", "--rdzv-backend", "--rdzv-endpoint", "--master-addr")


def _words(container: Data) -> list[str]:
    """The words of a container's `command` and `args`; none where the image's own program runs."""
    return [str(each) for name in ("command", "args") for each in container.get(name) or ()]


def find_each_other(words: Sequence[str], pods: int, processes: str, *, launchers_meet: bool, has_ranks: bool) -> bool:
    """Whether the processes that the *words* start in so many *pods* find each other, or no rule can say that they do not.

    *processes*: torchrun's `--nproc-per-node`; *launchers_meet*: whether the operator sets the address at which torchrun meets the others;
    *has_ranks*: whether it sets `RANK` and `WORLD_SIZE`, for one process in each pod.
    """
    if command_lines.is_plain_python(words):
        return has_ranks
    start = command_lines.length_of_start(words)
    if not start and words and command_lines.file_name(words[0]) == command_lines.DEEPSPEED:
        return pods == 1
    if not start:
        return not (words and command_lines.is_shell(words[0]) and any(each in word for word in words for each in _IN_SCRIPTS))
    options = list(command_lines.options_of(words[start:]))
    return (
        (launchers_meet or pods == 1)
        and command_lines.is_process_count(processes)
        and _are_taken(options)
        and not any(each.option == "--nnodes" and not _meet_in(pods, each.value) for each in options)
        and (pods == 1 or not any(each.option in _MEETING for each in options))
    )


def _are_taken(options: Sequence[command_lines.CommandWord]) -> bool:
    """Whether torchrun takes all options of a command line."""
    if not options:
        return True
    from jobspec.programs.contracts import TORCHRUN

    return not any(each.option in ("", command_lines.OF_LAUNCH) or TORCHRUN.refuses(each) for each in options)


def _meet_in(pods: int, nodes: str | None) -> bool:
    """Whether a number of nodes is surely two or more, and at most that of the pods."""
    return nodes is not None and nodes.isdecimal() and 1 < int(nodes) <= pods
