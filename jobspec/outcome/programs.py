"""The program of a container, what starts the processes that train, and whether it takes its arguments."""

from __future__ import annotations

from jobspec.diagnostics import Finding, Key, Mark, Path, Problem, Reasons, reasons_of
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, place_in, place_of, text
from jobspec.kinds import PYTORCHJOB, QUEUE_KINDS, TRAINJOB, VALIDATING_POLICY, CompleteKinds
from jobspec.kubernetes.problems import closest, listed
from jobspec.operators.batch import is_indexed
from jobspec.operators.life import makes_again
from jobspec.operators.made import with_generated_names
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER
from jobspec.programs import command_lines
from jobspec.programs.command_lines import INDEX, ONE_NODE, PROCESS_WORDS, RANKS_OF_LAUNCHERS, TORCHRUN, CommandWord
from jobspec.targets import QUEUES
from jobspec.workloads import JOB_INDEX, QUEUE, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Severity
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.policies import Decision
    from jobspec.operators.expansion import ExpandedJob, ExpandedRole
    from jobspec.operators.kueue.world import World
    from jobspec.programs.command_lines import Contract

    Started = tuple[ExpandedRole, "TrainingProgram"]
    Words = Sequence[MarkedTree]
    #: The word of an option of torchrun, and its value.
    Option = tuple[MarkedTree, str]


#: The options by which torchrun finds the others.
_PLACES = ("--rdzv-endpoint", "--master-addr")


class TrainingProgram:
    """What a container runs."""

    __slots__ = ("_start", "container", "texts", "variables", "words")

    def __init__(self, container: MarkedTree) -> None:
        self.container = container
        self.words = [each for field in ("command", "args") for each in items(container.get(field))]
        """The words of `command` and `args`; none where the image's own program runs."""
        self.texts = _texts(self.words)
        self._start = command_lines.length_of_start(self.texts)
        self.variables = {text(each, "name"): each for each in items(container.get("env"))}
        """By name; of two of one name the last counts, as for Kubernetes."""

    @property
    def is_torchrun(self) -> bool:
        """Whether the container starts torchrun directly, not in a shell command string."""
        return self._start > 0

    @property
    def is_plain_python(self) -> bool:
        """Whether the container starts a Python file or module directly, without a launcher."""
        return command_lines.is_plain_python(self.texts)

    def mentions(self, *texts: str) -> bool:
        """Whether one of the words contains one of the texts."""
        return any(each in word for word in self.texts for each in texts)

    @property
    def launched(self) -> Sequence[MarkedTree]:
        """The words after `torchrun`; none for another program."""
        return self.words[self._start :] if self._start else ()

    @property
    def is_launch(self) -> bool:
        """Whether the container starts `python -m torch.distributed.launch`, torchrun's predecessor."""
        return self._start > 1 and self.texts[2] == "torch.distributed.launch"

    def option(self, *names: str) -> Option | None:
        """The first of torchrun's options that is there and is one of these; None where none is."""
        words = self.launched
        return next(((words[each.at], each.value or "") for each in command_lines.options_of(_texts(words)) if each.option in names), None)

    @property
    def knows_where_others_are(self) -> bool:
        """Whether a variable or an option says where the processes meet."""
        return bool({command_lines.MASTER_ADDR, command_lines.ENDPOINT} & self.variables.keys()) or self.option(*_PLACES) is not None


def started(job: ExpandedJob) -> list[Started]:
    """The training roles, each with its program; without roles that run the default program of their image."""
    found = [(role, role.training_container()) for role in job.roles]
    programs = [(role, TrainingProgram(container)) for role, container in found if container]
    return [(role, program) for role, program in programs if program.words]


# Whether the program of a container accepts its arguments: torchrun its options, an image's program the flags of its contract.
#
# If not, it exits with 2, and so does every restart.
_ENDS = "and exits with 2"


def wrong_torchrun_options(started: Sequence[Started]) -> Iterator[Finding]:
    """Report options that torchrun does not take, and values that it does not take for them."""
    return (each for _, program in started if program.is_torchrun for each in _torchrun_options(program))


def wrong_flags(started: Sequence[Started], contracts: Mapping[str, Contract]) -> Iterator[Finding]:
    """Report flags that the contract of an image does not have, and wrong values. *contracts*: by image, without tag and digest."""
    for _, program in started if contracts else ():
        contract = command_lines.contract_of(contracts, text(program.container, "image"))
        flags = _flags(program, contract) if contract else None
        if contract and flags is not None:
            yield from _wrong_flags(flags, contract)


def _texts(words: Words) -> list[str]:
    return [str(each.value) for each in words]


def _wrong_value(given: CommandWord, words: Words, contract: Contract, program: str) -> Iterator[Finding]:
    """What is wrong with the value of a known option; one with `$(NAME)` in it is not known before the pod runs."""
    place, name = words[given.at], given.name
    if not contract.refuses(given):
        return
    if given.option in contract.switches:
        message = f"{program} accepts no value for `{name}`, {_ENDS}"
        yield Finding(place, message, f"write `{name}` alone, or remove it", rule="wrong-flag-value")
    elif given.value is None:
        message = f"{program} needs a value for `{name}`, {_ENDS}"
        yield Finding(place, message, f"a value that starts with `-` needs the form `{name}=VALUE`", rule="wrong-flag-value")
    else:
        message = f"{program} accepts {contract.expected(given.option, given.value)} for `{name}`, not `{given.value}`, {_ENDS}"
        yield Finding(words[given.value_at], message, rule="wrong-flag-value")


def _torchrun_options(program: TrainingProgram) -> Iterator[Finding]:
    """What is wrong with the options before the script. An older or newer torch may know others, so that these are warnings."""
    words = program.launched
    for given in command_lines.options_of(_texts(words)):
        if given.option == "--help":
            return
        if command_lines.is_unknown(given.name, is_launch=program.is_launch):
            message = f"torchrun of torch 2.15 has no option `{given.name}`, {_ENDS}"
            yield Finding(words[given.at], message, closest(given.name, command_lines.OPTIONS), rule="unknown-flag", severity="warning")
            return
        if not given.option:
            return  # whether the next word is its value is unknown
        yield from _wrong_value(given, words, TORCHRUN, "torchrun")


def _flags(program: TrainingProgram, contract: Contract) -> Words | None:
    """The words that the contract's program gets; None where another program runs, or a shell."""
    words: Words = program.words
    if not program.container.get("command"):
        return words
    words = _behind_torchrun(program.launched) if program.is_torchrun else words[command_lines.length_of_python(program.texts) :]
    first = _texts(words[:2])
    return words[2:] if contract.program and first in (["-m", contract.program], ["--module", contract.program]) else None


def _behind_torchrun(words: Words) -> Words:
    """The words from torchrun's `-m` on; none where it starts a file."""
    for given in command_lines.options_of(_texts(words)):
        if given.option == "--module":
            return words[given.at :]
        if not given.option:
            break
    return ()


def _wrong_flags(words: Words, contract: Contract) -> Iterator[Finding]:
    """What is wrong with the flags; the words after an unknown flag may be its values."""
    program = contract.program or "the program"
    is_known = True
    for given in command_lines.read(_texts(words), lambda name: name if name in contract.flags else "", contract.switches):
        place = words[given.at]
        if given.option:
            yield from _wrong_value(given, words, contract, program)
        elif command_lines.is_flag(given.name):
            hint = closest(given.name, contract.flags)
            yield Finding(place, f"{program} has no flag `{given.name}`, {_ENDS}", hint, rule="unknown-flag")
        elif is_known:
            message = f"{program} accepts only flags, {_ENDS} at `{given.name}`"
            yield Finding(place, message, "a flag takes one value, which follows it", rule="unknown-flag")
        is_known = bool(given.option)


# Whether the processes of a job find each other, as many as they wait for; and how a TrainJob ends.


def _no_rendezvous(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """Nothing says where the pods meet: each waits at its own address for the others, forever."""
    for role, program in started:
        several = text(program.variables.get(command_lines.NNODES), "value") not in ("", *ONE_NODE)
        if not several or not program.is_torchrun or program.knows_where_others_are or program.option("--standalone", "--nnodes"):
            continue
        message = f"torchrun in {role.name} waits forever: no rendezvous address, each pod uses its own"
        hint = "add a `Master`, or an `elasticPolicy`" if job.job.group_kind == PYTORCHJOB else "label the replicated job as the trainer's"
        yield Finding(program.words[0], message, hint, rule="no-rendezvous")


def _trains_alone(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The program reads no rank, or nothing sets one: all pods do the same work, each by itself."""
    pods = _number_of_pods(job)
    for role, program in started:
        if pods == 1:
            continue
        nodes = program.option("--nnodes")
        option = program.option("--standalone") or (nodes if nodes and nodes[1] in ONE_NODE else None)
        if program.is_torchrun and role.count > 1 and not nodes and command_lines.NNODES not in program.variables:
            message = f"each of the {role.count} pods of {role.name} trains alone: torchrun runs with one node"
            yield Finding(*_why_no_variables(job, program.words[0], message), rule="trains-alone", severity="warning")
        elif program.is_torchrun and option:
            word, _ = option
            message = f"`{word.value}` has each of the {pods} pods train alone: {job.operator} sets torchrun's variables for all of them"
            yield Finding(word, message, f"remove `{word.value}`", rule="trains-alone", severity="warning")
        elif program.is_plain_python and not RANKS_OF_LAUNCHERS & program.variables.keys() and not program.mentions("PET_", INDEX):
            sets = "only what torchrun reads" if any(name.startswith("PET_") for name in program.variables) else "no rank"
            message = f"each of the {pods} pods trains alone: {job.operator} sets {sets}, and {role.name} starts Python itself"
            yield Finding(program.words[0], message, "start the program with `torchrun`", rule="trains-alone", severity="warning")


def _why_no_variables(job: ExpandedJob, word: MarkedTree, message: str) -> tuple[Mark | MarkedTree, str, str]:
    """Why the trainer sets no variables for torchrun: a job without `trainer`, or a runtime without `torch`; place, message and remedy."""
    if job.job.group_kind == TRAINJOB and job.job.data["spec"].get("trainer") is None:
        return _reference(job), message, "add `trainer: {}` to `spec`"
    return word, message, "give the runtime the policy `torch`, or torchrun the flags `--nnodes`, `--node-rank` and `--master-addr`"


def _ranks_missing(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The operator counts several processes in each pod, and only torchrun would start them: the others are waited for."""
    for role, program in started:
        size = text(program.variables.get("WORLD_SIZE"), "value")
        pods = _number_of_pods(job)
        if program.is_plain_python and size.isdecimal() and int(size) > pods and not program.variables["WORLD_SIZE"].mark.line:
            message = f"hangs: `WORLD_SIZE` is {size}, but `{role.name}` starts {pods} process{'es' * (pods != 1)}, one per pod"
            hint = "start the program with `torchrun`, or remove `nprocPerNode`"
            yield Finding(program.words[0], message, hint, rule="ranks-missing", severity="warning")


def _wrong_process_count(_: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The number of processes is not one that torchrun accepts: it exits at once."""
    for _role, program in started:
        variable = program.variables.get(command_lines.NPROC_PER_NODE)
        number = text(variable, "value")
        if variable is None or not program.is_torchrun or program.option("--nproc-per-node") or not number:
            continue
        if not command_lines.is_process_count(number):
            message = f"torchrun exits at once: `{number}` is not a valid number of processes per pod"
            hint = f"write a number, or one of {listed(PROCESS_WORDS)}"
            yield Finding(variable.get("value"), message, hint, rule="wrong-process-count")


def unknown_address(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The operator has the processes meet at a name that no pod and no service of the job has."""
    services = {text(each, "metadata", "name") for each in job.of_kind("Service")}
    for role, program in started:
        for name in command_lines.ADDRESSES:
            variable = program.variables.get(name)
            address = text(variable, "value")
            if variable is None or variable.mark.line or not address or address in services:
                continue
            if any(address in (pod.name, pod.host_name) for each in job.roles for pod in each.pods):
                continue
            message = f"`{role.name}` never connects: no pod or Service is named `{address}` (`{name}`)"
            hint = "name the replicated job that trains `node`, and remove `network.subdomain`" if job.job.group_kind != PYTORCHJOB else ""
            yield Finding(_of_address(job, role), message, hint, rule="unknown-address")
            break


def _of_address(job: ExpandedJob, role: ExpandedRole) -> Mark | None:
    """The line that gives the pods another address: the subdomain of the JobSet, or the name of its replicated job; None without one."""
    for jobset in job.of_kind("JobSet"):
        named = next((each for each in items(jobset.get("spec", "replicatedJobs")) if text(each, "name") == role.name), None)
        return place_of(jobset.get("spec", "network", "subdomain")) or place_of(named.get("name") if named else None)
    return None


def _number_of_pods(job: ExpandedJob) -> int:
    """How many pods train."""
    return sum(role.count for role in job.roles if role.training)


RENDEZVOUS_RULES = (_no_rendezvous, _trains_alone, _ranks_missing, _wrong_process_count, unknown_address)


# How a TrainJob ends: complete without any training, or never, since it starts again and again.
def complete_without_training(job: ExpandedJob) -> Iterator[Finding]:
    """Nothing trains, and the job counts as complete: it has no pods, or the image's own program ends at once."""
    for each in job.of_kind("Job"):
        completions = each.get("spec", "completions")
        if text(each, "metadata", "labels", ANCESTOR) == TRAINER and completions is not None and completions.value == 0:
            message = "completes without training: the number of nodes is 0"
            yield Finding(completions, message, "write at least 1", rule="complete-without-training")
    reference = _reference(job)
    for role in job.roles:
        container = role.training_container()
        image = container.get("image") if container and not TrainingProgram(container).words else None
        if image and str(image.mark) == str(reference):  # where all of a runtime is that the trainer ships
            message = f"completes without training: `{role.name}` runs the default program of the runtime's image"
            hint = "write `command` in `spec.trainer`"
            yield Finding(reference, message, hint, rule="complete-without-training", severity="warning")


def _reference(job: ExpandedJob) -> Mark:
    return job.job.marks.nearest(("spec", "runtimeRef", "name")).place()


def restarts_forever(job: ExpandedJob) -> Iterator[Finding]:
    """A job that fails starts again without end: the trainer makes its JobSet again, which is deleted when it has ended."""
    again = makes_again(job.target["trainer"])
    for jobset in job.of_kind("JobSet"):
        ttl = jobset.get("spec", "ttlSecondsAfterFinished")
        if ttl is not None and again:
            which = "a failed job" if again == "failed" else "the job, complete or failed,"
            message = f"{which} restarts forever: its JobSet is deleted after {ttl.value} s, and the trainer recreates it"
            yield Finding(ttl, message, "remove `ttlSecondsAfterFinished`", rule="restarts-forever", severity="warning")


# Pods and the cluster's policies: refused by Pod Security, LimitRanges and classes, over a quota, or waiting for objects.


def policy_outcomes(job: ExpandedJob, policies: PolicyObjects | None, *, complete: CompleteKinds) -> Iterator[Finding]:
    """What the server's plugins say of a job's pods, by the *policies* of its cluster, which lists all objects of the *complete* kinds."""
    namespace = job.job.namespace
    concerned = policies is not None and policies.are_looked_up(namespace)
    if not concerned and not complete and not any(role.sets_own_priority() for role in job.roles):
        return
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.quotas import exceeds, job_quota_problems
    from jobspec.kubernetes.admission.review import review_pod

    policies = policies or PolicyObjects(complete=complete)
    if complete.every:
        policies = policies.with_others(_made(job, namespace))
    counted = []
    for role in job.roles:
        review = review_pod(with_generated_names(role.pod_tree), namespace, policies, job.target)
        counted.append((review.pod, role.count))
        refused = [each for each in review.refusals if not exceeds(each)]
        yield from _findings_by_line("pods-refused", "pods refused", refused, role)
        yield from _findings_by_line("pod-waits", "pods wait forever", review.waits, role)
    for problem in job_quota_problems(counted, namespace, policies):
        yield Finding(None, f"{problem.message}: some pods are never created", problem.hint, rule="never-fits")


def unschedulable(job: ExpandedJob, cluster: Cluster) -> Iterator[Finding]:
    """Why no node of a pinned cluster can run pods of a job, however little else runs there."""
    from jobspec.kubernetes.pods.resources import filled_in
    from jobspec.operators.kueue.topology import no_node_for

    world = _world_in(cluster)
    is_queued = value_at(job.job.data, ("metadata", "labels", QUEUE))
    added = [it for flavor in world.flavors.values() for it in flavor.tolerations] if is_queued else []
    for role in job.roles if world.nodes else ():
        spec = role.pod_tree.get("spec")
        if spec is None or text(spec, "nodeName"):
            continue
        if why := no_node_for(filled_in(spec.data(), job.target["kubernetes"]), world.nodes or (), added):
            message = f"no node of the pinned cluster can run a pod of `{role.name}`: {why}"
            hint = "request less for each pod, or pin the cluster again; an autoscaler may add such nodes"
            yield Finding(role.pod_tree.get("spec", "containers"), message, hint, rule="unschedulable", severity="warning")


def _world_in(cluster: Cluster) -> World:
    """The queues and nodes of a pinned cluster."""
    from jobspec.operators.kueue.world import world_of

    return cluster.once("world", lambda: world_of(each.data for each in cluster.objects))


def never_admitted(job: Document, context: Sequence[Document], cluster: Cluster, policies: PolicyObjects) -> Iterator[Finding]:
    """Why Kueue never admits a job, or does not queue it; objects that *policies* do not list may exist in the cluster."""
    from dataclasses import replace

    from jobspec.operators.kueue.admission import ask
    from jobspec.operators.kueue.versions import RELEASE, not_queued
    from jobspec.operators.kueue.workload import workload_of
    from jobspec.operators.kueue.world import world_of

    place = ("metadata", "labels", Key(QUEUE))
    target = cluster.target
    closed = all(policies.complete.lack(kind, job.namespace) for kind in QUEUE_KINDS)
    world = world_of(policies.queues(), others=policies, closed=closed)
    bypasses, hint = not_queued(job.group_kind, target.get(QUEUES, RELEASE), world.configuration)
    if bypasses:
        weight: Severity = "warning" if cluster.installed.get(QUEUES) or world.configuration else "info"
        yield Finding(place, bypasses, hint, rule="kind-not-queued", severity=weight)
    workload = workload_of(job, context, target, world)
    answer = ask(workload, replace(world, nodes=_world_in(cluster).nodes), {})
    if answer.verdict != "never" or (not job.namespace and world.namespaces_of(answer.workload.queue) != [""]):
        return  # whoever applies a job without a namespace says which queue of the name it is in
    tried = "; ".join(f"`{each.flavor}`: {', '.join(each.reasons)}" for pods in answer.pod_sets for each in pods.tried if each.reasons)
    if lacks_nodes := ask(workload, world, {}).verdict != "never":
        tried = "request less, or a wider level; or pin the cluster again: an autoscaler may add such nodes"
    severity: Severity = "warning" if bypasses or lacks_nodes else "error"
    message = f"never admitted by Kueue: {answer.reason}"
    yield Finding(place, message, tried, rule="never-admitted", severity=severity)


#: Kind of an object that an operator creates -> the rule that reports its refusal.
REFUSED = {
    "HorizontalPodAutoscaler": "autoscaler-refused",
    "Job": "job-refused",
    "JobSet": "jobset-refused",
    "PersistentVolumeClaim": "claim-refused",
    "Pod": "pods-refused",
    "Service": "service-refused",
}


def refused_by_policies(job: ExpandedJob, policies: PolicyObjects, context: Sequence[Document]) -> Iterator[Finding]:
    """What admission policies in CEL say of the objects of a job: one of all pods of a role, and all others but ConfigMaps and the like."""
    from jobspec.kubernetes.admission.policies import Request, concerned, decisions
    from jobspec.operators.api_defaults import with_api_defaults
    from jobspec.operators.policies import request_for

    def is_met(made: MarkedTree) -> bool:
        """Whether a policy may be for objects of its kind."""
        return bool(concerned(Request({name: text(made, name) for name in ("apiVersion", "kind")}), policies, VALIDATING_POLICY))

    others = [each for each in job.objects if text(each, "kind") in REFUSED and text(each, "kind") != "Pod"]
    for stored in with_api_defaults([*filter(is_met, [*others, *(role.pod_tree for role in job.roles)])], context, job.target):
        yield from (decided(each, stored) for each in decisions(request_for(stored, job, policies), policies))


def decided(decision: Decision, made: MarkedTree) -> Finding:
    """What a policy says of an object that an operator makes."""
    kind, place = str(made.value["kind"].value), place_in(made, decision.path)
    what = "pods" if kind == "Pod" else f"{kind} `{text(made, 'metadata', 'name')}`"
    by_severity = REFUSED.get(kind, "pods-refused") if decision.severity == "error" else "refused-by-policy"
    rule = by_severity if decision.is_evaluated else "policy-not-evaluated"
    return Finding(place, decision.sentence(what), decision.hint, rule=rule, severity=decision.severity)


def lost_objects(job: ExpandedJob) -> Iterator[Finding]:
    """The pods and Jobs that their owner does not know as its own: policies take from them the labels and annotations that it looks for."""
    indexed = {text(each, "metadata", "name") for each in job.of_kind("Job") if is_indexed(each)}
    for made, what in [*((role.pod_tree, "pods") for role in job.roles), *((each, "Jobs") for each in job.of_kind("Job"))]:
        metadata = made.value["metadata"]
        owner = next((each for each in items(metadata.get("ownerReferences")) if text(each, "kind") in _KNOWN_BY), None)
        if owner is None:
            continue
        known_by, follows = _KNOWN_BY[text(owner, "kind")]
        for field, names in known_by.items():
            missing = [each for each in names if not text(metadata, field, each)]
            if missing and (field == "labels" or text(owner, "name") in indexed):
                which = f"the {field if missing[1:] else field.removesuffix('s')} {listed(missing)}"
                message = f"{what} without {which}: their {text(owner, 'kind')} {follows}"
                by = next((each.mark.file for _, each in metadata.entries(field) if each.mark.file.startswith("policy ")), "a policy")
                hint = f"{by} takes {'them' if missing[1:] else 'it'} away: add to the {field} of {what}, and do not replace them"
                yield Finding(None, message, hint, rule="pods-lost", severity="error")


#: Kind of an owner -> the labels and annotations by which it knows what it has made, Jobs with numbers by the latter, and what follows.
_KNOWN_BY: dict[str, tuple[dict[str, tuple[str, ...]], str]] = {
    "Job": (
        {"labels": ("batch.kubernetes.io/controller-uid",), "annotations": (JOB_INDEX,)},
        "does not know them, and makes others forever",
    ),
    "JobSet": ({"labels": ("jobset.sigs.k8s.io/restart-attempt",)}, "cannot tell their attempt, and never ends"),
    "PyTorchJob": (
        {"labels": tuple(f"training.kubeflow.org/{each}" for each in ("operator-name", "job-name", "replica-type", "replica-index"))},
        "does not know them, and never ends",
    ),
}


def _made(job: ExpandedJob, namespace: str) -> list[dict[str, Any]]:
    """The objects of the operator that pods may wait for, in the namespace of the job."""
    made = [each.data() for each in job.objects if each.value["kind"].value in ("ConfigMap", "Secret", "PersistentVolumeClaim")]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in made]


def _findings_by_line(rule: str, what: str, problems: Sequence[Problem], role: ExpandedRole) -> Iterator[Finding]:
    """The outcomes of one rule, one for each line that causes them."""
    pod = role.pod_tree
    by_line: dict[tuple[str, ...], tuple[Mark | None, list[Problem]]] = {}
    for each in problems:
        place, message = place_in(pod, each.path), each.message
        if isinstance(message, Reasons) and (container := _of_operator(pod, each.path)):
            said = Reasons(f"{message.cause} the operator's own init container", [f"`{container}` breaks"])
            by_line.setdefault((str(place), said), (None, [Problem(each.rule, (), said, _INIT_CONTAINER)]))
        else:
            cause = message.cause if isinstance(message, Reasons) else ""
            by_line.setdefault((str(place), cause), (place, []))[1].append(each)
    for place, several in by_line.values():
        hints = "; ".join(dict.fromkeys(each.hint for each in several if each.hint))
        severity: Severity = "warning" if rule == "pod-waits" else "error"
        yield Finding(place, _together(what, several), hints, rule=rule, severity=severity)


def _together(what: str, problems: Sequence[Problem]) -> str:
    """The messages of problems as one; those of one cause with all its reasons."""
    first = problems[0].message
    if isinstance(first, Reasons):
        return Reasons(f"{what}: {first.cause}", reasons_of(problems))
    return f"{what}: {'; '.join(dict.fromkeys(each.message for each in problems))}"


_INIT_CONTAINER = "no job can change it: enforce `baseline`, or give the operator a `--pytorch-init-container-template-file`"


def _of_operator(pod: MarkedTree, path: Path) -> str:
    """The name of the container at or above a path, if an operator added that container; else empty."""
    if len(path) < 3 or path[1] != "initContainers":
        return ""
    container = items(pod.get("spec", "initContainers"))[int(path[2])]
    return text(container, "name") if not container.mark.line else ""
