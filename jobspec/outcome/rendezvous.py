"""Whether the processes of a job find each other, as many as they wait for."""

from __future__ import annotations

from jobspec.apis.kinds import CRON_JOB, JOB, JOBSET, LEADER_WORKER_SET, PYTORCHJOB, TRAINJOB
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.rules import Finding
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, marked, number, place_of, text
from jobspec.kubernetes.problems import listed
from jobspec.operators.workloads import REPLICATED_JOB
from jobspec.outcome.endings import runtime_reference
from jobspec.programs import command_lines
from jobspec.programs.command_lines import INDEX, PROCESS_WORDS, RANKS_OF_LAUNCHERS
from jobspec.programs.torchrun import STATIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.operators.expansion import ExpandedJob, ExpandedRole
    from jobspec.outcome.training_program import Started, TrainingProgram


#: What has an operator give the pods of its kind an address.
_HINTS = {PYTORCHJOB: "add a `Master`, or an `elasticPolicy`", TRAINJOB: "label the replicated job as the trainer's"}
_RANK_HINTS = {LEADER_WORKER_SET: "write `--node-rank=$(LWS_WORKER_INDEX)`"}
#: The kinds whose Jobs may run fewer pods at a time than they need to be complete.
_OF_BATCH = (JOB, CRON_JOB, JOBSET)
#: The kinds of jobs for programs of PyTorch.
_FOR_PYTORCH = (PYTORCHJOB, TRAINJOB)
_RANK_HINT = "use `--rdzv-backend=c10d`, which needs no rank, or give each pod its own `PET_NODE_RANK`"


def no_rendezvous(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The pods do not meet: each waits at its own address for the others, until its timeout."""
    for role, program in started:
        settings = program.settings if program.is_torchrun else None
        if settings is None or settings.nodes is None or settings.nodes[0] < 2:
            continue
        if not settings.meets_itself:
            alike = _pods_of_one_rank(job, role, started)
            if alike > 1 and settings.backend == STATIC and program.has_one_rank:
                message = f"torchrun in {role.name} never starts: all {alike} pods have node rank {settings.value('node_rank')}"
                hint = _RANK_HINTS.get(job.job.group_kind, _RANK_HINT)
                yield Finding(program.place_of("node_rank"), message, hint, rule="no-rendezvous")
            continue
        where = "at its own address"
        if settings.is_standalone:
            place, why, hint = program.place_of("standalone"), "`--standalone`", "remove `--standalone`"
        elif settings.endpoint and program.gives("rdzv_endpoint", "master_addr"):
            if text(role.pod_tree, "spec", "hostNetwork") == "True":
                continue
            setting = "rdzv_endpoint" if settings.value("rdzv_endpoint") else "master_addr"
            place, why = program.place_of(setting), f"the endpoint is `{settings.endpoint}`"
            hint, where = "leave the address to the operator, or write that of the first pod", "at itself"
        elif settings.backend != STATIC:
            place, why = program.place_of("rdzv_backend"), f"the backend {settings.backend} has no endpoint"
            hint = "remove `--rdzv-backend`, or add `--rdzv-endpoint` with the address of the first pod"
        else:
            place, why = program.start, "no rendezvous address"
            hint = _HINTS.get(job.job.group_kind, "set `PET_MASTER_ADDR`, or give `--rdzv-endpoint`")
        message = f"torchrun in {role.name} never starts: {why}, each pod waits {where} for {settings.nodes[0]} nodes"
        yield Finding(place, message, hint, rule="no-rendezvous")


def _too_few_pods(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """Report a number of nodes by a flag of torchrun that is above the number of pods."""
    for role, program in started:
        if waits_for_more_pods(job, program):
            said, pods = program.settings.value("nnodes"), _number_of_pods(job)
            message = f"torchrun in {role.name} never starts: it waits for {said} nodes, the job has {counted(pods, 'pod')}"
            yield Finding(program.place_of("nnodes"), message, "remove the flag: the operator sets the number", rule="no-rendezvous")


def _too_few_at_once(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """Report a Job whose pods wait for pods that are created only when those have ended."""
    if job.job.group_kind not in _OF_BATCH:
        return
    jobs = [marked(job.job)] if job.job.group_kind == JOB else job.of_kind("Job")
    for role, program in started:
        settings = program.settings if program.is_torchrun else None
        if settings is None or settings.nodes is None or settings.meets_itself:
            continue
        own = [each for each in jobs if text(each, "metadata", "labels", REPLICATED_JOB) in ("", role.name)]
        total = sum(number(each, "spec", "completions", default=0) for each in own)
        nodes, pods = settings.nodes[settings.backend == STATIC], _number_of_pods(job)
        if pods == role.count < nodes <= total:
            fields = [own[0].get("spec", name) for name in ("parallelism", "completions")]
            place = next((each for each in fields if each and each.mark.line), program.place_of("nnodes"))
            message = f"torchrun in {role.name} never starts: it waits for {nodes} nodes, {pods} of {counted(total, 'pod')} run at a time"
            yield Finding(place, message, f"set `parallelism` to {total // len(own)}, as `completions`", rule="no-rendezvous")


def waits_for_more_pods(job: ExpandedJob, program: TrainingProgram) -> bool:
    """True if torchrun surely waits for more nodes, by its flag, than the job ever has pods.

    If the nodes meet elsewhere than at a pod of the job, or another rule says why they do not meet, return False.
    """
    settings = program.settings if program.is_torchrun and program.option("--nnodes") else None
    if settings is None or settings.nodes is None or settings.endpoint is None or job.job.group_kind not in _FOR_PYTORCH:
        return False
    host, is_static = settings.endpoint.rpartition(":")[0] or settings.endpoint, settings.backend == STATIC
    names = [name for role in job.roles for pod in role.pods for name in (pod.name, pod.host_name)]
    is_own = any(host == each or host.startswith(f"{each}.") for each in names)
    waits_by_another_rule = settings.meets_itself or (is_static and program.has_one_rank)
    scaled = [text(each, "spec", "maxReplicas") for each in job.of_kind("HorizontalPodAutoscaler")]
    most = max(_number_of_pods(job), *(int(each) for each in scaled if each.isdecimal()), 0)
    return is_own and not waits_by_another_rule and settings.nodes[is_static] > most


def _trains_alone(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The pods do not train together: the program reads no rank, or nothing sets one, or torchrun counts one node."""
    pods = _number_of_pods(job)
    for role, program in started:
        if pods == 1 or job.job.group_kind not in _FOR_PYTORCH:  # pods of other kinds may well be for themselves
            continue
        if program.is_torchrun:
            yield from _with_one_node(job, role, program, pods)
        elif program.is_plain_python and not RANKS_OF_LAUNCHERS & program.variables.keys() and not program.mentions("PET_", INDEX):
            sets = "only what torchrun reads" if any(name.startswith("PET_") for name in program.variables) else "no rank"
            message = f"each of the {pods} pods trains alone: {job.operator} sets {sets}, and {role.name} starts Python itself"
            yield Finding(program.words[0], message, "start the program with `torchrun`", rule="trains-alone", severity="warning")


def _without_hosts(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """Report DeepSpeed without a file of hosts in several pods: it trains with the GPUs of its own pod, and reads no rank.

    Follows `main` and `fetch_hostfile`, deepspeed/launcher/runner.py, 0.9 to 0.17.
    """
    launched = [(role, program, program.other_launcher) for role, program in started]
    found = [(role, program, each) for role, program, each in launched if each and each[0].name == command_lines.DEEPSPEED]
    pods = sum(role.meeting for role, _, _ in found)
    for _, program, (command, words) in found:
        if pods < 2 or job.job.group_kind not in _FOR_PYTORCH or command_lines.NNODES not in program.variables or _may_have_hosts(program):
            continue
        said = command.option("--num-nodes")
        if said and (said.value or "").isdecimal() and said.value not in ("0", "1"):
            message = f"deepspeed exits at once: it has no file of hosts, and `--num_nodes` is {said.value}"
        else:
            message = f"each of the {pods} pods trains alone: deepspeed has no file of hosts"
        yield Finding(words[said.value_at] if said else program.words[0], message, _WITHOUT_HOSTS, rule="trains-alone", severity="warning")


_WITHOUT_HOSTS = "start the program with `torchrun`, which reads the operator's variables: DeepSpeed needs no launcher of its own"


def _may_have_hosts(program: TrainingProgram) -> bool:
    """Whether deepspeed may find a file of hosts: its command line names one, or one is mounted where it looks for it."""
    mounts = [text(each, "mountPath").rstrip("/") for each in items(program.container.get("volumeMounts"))]
    return program.mentions("hostfile") or any(each in ("/job", "/job/hostfile") for each in mounts)


def _to_train_together(program: TrainingProgram, what: str, pods: int) -> str:
    """The hint about torchrun that trains with one node: the settings to remove, and to write if the operator gives no number of nodes."""
    is_alone = program.gives("standalone")
    if command_lines.NNODES not in program.variables:
        return f"{'remove `--standalone`, and ' if is_alone else ''}write `--nnodes={pods}`"
    nodes = program.settings.value("nnodes") if is_alone and program.option("--nnodes") else ""
    return f"remove `{what}`{f' and `--nnodes={nodes}`, so that the number of nodes comes from the operator' if nodes else ''}"


def _with_one_node(job: ExpandedJob, role: ExpandedRole, program: TrainingProgram, pods: int) -> Iterator[Finding]:
    """What becomes of several pods whose torchrun trains with one node, by where they meet and whether their ranks differ."""
    settings = program.settings
    least, most = settings.nodes or (0, 0)
    if not program.gives("nnodes", "standalone", "rdzv_backend"):
        if role.count > 1 and most == 1:
            message = f"each of the {role.count} pods of {role.name} trains alone: torchrun runs with one node"
            yield Finding(*_why_no_variables(job, program.start, message), rule="trains-alone", severity="warning")
        return
    if least != 1 or (most > 1 and not settings.meets_itself):
        return
    name = "standalone" if settings.is_standalone else "nnodes" if program.gives("nnodes") else "rdzv_backend"
    place = program.place_of(name)
    what = str(place.value) if program.option(f"--{name.replace('_', '-')}") else f"PET_{name.upper()}"
    if settings.backend == STATIC and not program.has_one_rank and not program.option("--node-rank"):
        message = f"`{what}`: only the first of the {pods} pods trains, the others fail, since none of them has rank 0"
    elif not settings.meets_itself and settings.backend is not None and settings.backend != STATIC:
        message = f"`{what}`: only one of the {pods} pods trains, the others fail when it ends"
    else:
        message = f"`{what}` has each of the {pods} pods train alone"
    hint = _to_train_together(program, what, pods)
    yield Finding(place, message, hint, rule="trains-alone", severity="warning")


def _why_no_variables(job: ExpandedJob, word: MarkedTree, message: str) -> tuple[Mark | MarkedTree, str, str]:
    """Why the trainer sets no variables for torchrun: a job without `trainer`, or a runtime without `torch`; place, message and remedy."""
    if job.job.group_kind == TRAINJOB and job.job.data["spec"].get("trainer") is None:
        return runtime_reference(job), message, "add `trainer: {}` to `spec`"
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


def _wrong_count(_: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The number of nodes, or of processes in each, is not one that torchrun accepts: it exits at once."""
    for _role, program in started:
        settings = program.settings if program.is_torchrun else None
        processes = settings.value("nproc_per_node") if settings and not program.option("--nproc-per-node") else None
        if processes is not None and not command_lines.is_process_count(processes):
            message = f"torchrun exits at once: `{processes}` is not a valid number of processes per pod"
            hint = f"write a number, or one of {listed(PROCESS_WORDS)}"
            yield Finding(program.place_of("nproc_per_node"), message, hint, rule="wrong-process-count")
        nodes = settings.value("nnodes") if settings else None
        if settings and nodes is not None and (settings.nodes is None or not 0 < settings.nodes[0] <= settings.nodes[1]):
            message = f"torchrun exits at once: `{nodes}` is not a valid number of nodes"
            yield Finding(program.place_of("nnodes"), message, "write a number, or a range such as `2:4`", rule="wrong-process-count")


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
            hint = "name the replicated job that trains `node`, and remove `network.subdomain`" if job.job.group_kind == TRAINJOB else ""
            yield Finding(_of_address(job, role), message, hint, rule="unknown-address")
            break


def _of_address(job: ExpandedJob, role: ExpandedRole) -> Mark | None:
    """The line that gives the pods another address: the subdomain of the JobSet, or the name of its replicated job; None without one."""
    for jobset in job.of_kind("JobSet"):
        named = next((each for each in items(jobset.get("spec", "replicatedJobs")) if text(each, "name") == role.name), None)
        return place_of(jobset.get("spec", "network", "subdomain")) or place_of(named.get("name") if named else None)
    return None


def _number_of_pods(job: ExpandedJob) -> int:
    """How many pods train together."""
    return sum(role.meeting for role in job.roles if role.training)


def _pods_of_one_rank(job: ExpandedJob, role: ExpandedRole, started: Sequence[Started]) -> int:
    """How many pods meet that torchrun gives the node rank of a role; leaders and workers of one group meet."""
    if job.job.group_kind != LEADER_WORKER_SET:
        return role.meeting
    rank = next(program.settings.value("node_rank") for each, program in started if each is role)
    same = [
        each for each, program in started if program.is_torchrun and program.has_one_rank and program.settings.value("node_rank") == rank
    ]
    return sum(each.meeting for each in same)


RENDEZVOUS_RULES = (
    no_rendezvous,
    _too_few_pods,
    _too_few_at_once,
    _trains_alone,
    _without_hosts,
    _ranks_missing,
    _wrong_count,
    unknown_address,
)
