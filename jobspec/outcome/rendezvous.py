"""Whether the processes of a job find each other, as many as they wait for; and how a TrainJob ends."""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.findings import Finding, place_of
from jobspec.kinds import PYTORCHJOB, TRAINJOB
from jobspec.operators.trainer.life import makes_again
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER
from jobspec.outcome.programs import Program, TorchrunOption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.operators.expansion import ExpandedJob, ExpandedRole
    from jobspec.outcome.programs import Started


_RANKS = ("RANK", "NODE_RANK", "WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "JAX_PROCESS_ID")
_NUMBER_WORDS = ("auto", "cpu", "gpu", "xpu")


def rendezvous_outcomes(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """What becomes of the processes that the roles of a job have *started*, by where each is told to look for the others."""
    for rule in _RULES:
        yield from rule(job, started)


def _no_rendezvous(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """Nobody tells torchrun where the pods meet: each waits at its own address for the others, for ever."""
    for role, program in started:
        several = text(program.variables.get("PET_NNODES"), "value") not in ("", "1", "1:1")
        if not several or not program.is_torchrun or program.knows_where_others_are or program.option("--standalone", "--nnodes"):
            continue
        message = f"torchrun in {role.name} waits for the others at its own address, for ever: nothing tells the pods where they meet"
        hint = "add a `Master`, or an `elasticPolicy`" if job.job.group_kind == PYTORCHJOB else "label the replicated job as the trainer's"
        yield Finding(program.words[0], message, hint, rule="no-rendezvous")


def _trains_alone(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The program reads no rank, or nothing tells it one: all pods do the same work, each by itself."""
    pods = _pods(job)
    for role, program in started:
        if pods == 1:
            continue
        told = program.option("--standalone") or _single_node(program)
        if program.is_torchrun and role.count > 1 and not program.option("--nnodes") and "PET_NNODES" not in program.variables:
            message = (
                f"each of the {role.count} pods of {role.name} trains alone: torchrun is told of no other, neither here nor by the operator"
            )
            yield Finding(*_untold(job, program.words[0], message), rule="trains-alone", severity="warning")
        elif program.is_torchrun and told:
            word = told.word.value
            message = f"`{word}` has each of the {pods} pods train alone: {job.operator} tells torchrun of all of them by variables"
            yield Finding(told.word, message, f"leave `{word}` out", rule="trains-alone", severity="warning")
        elif (
            program.is_plain_python and not set(_RANKS) & program.variables.keys() and not program.mentions("PET_", "JOB_COMPLETION_INDEX")
        ):
            sets = "only what torchrun reads" if any(name.startswith("PET_") for name in program.variables) else "no rank"
            message = f"each of the {pods} pods trains alone: {job.operator} sets {sets}, and {role.name} starts Python itself"
            yield Finding(program.words[0], message, "start the program with `torchrun`", rule="trains-alone", severity="warning")


def _untold(job: ExpandedJob, word: MarkedTree, message: str) -> tuple[Mark | MarkedTree, str, str]:
    """Why the trainer tells torchrun nothing: a job without `trainer`, or a runtime without `torch`; place, message and remedy."""
    if job.job.group_kind == TRAINJOB and job.job.data["spec"].get("trainer") is None:
        place = job.job.marks.nearest(("spec", "runtimeRef", "name")).place()
        return place, message, "write `trainer: {}` into `spec`, for which the trainer looks"
    return word, message, "give the runtime the policy `torch`, or torchrun the flags `--nnodes`, `--node-rank` and `--master-addr`"


def _single_node(program: Program) -> TorchrunOption | None:
    """The option by which torchrun is told that there is one pod; None where it is not."""
    option = program.option("--nnodes")
    return option if option and option.value in ("1", "1:1") else None


def _ranks_missing(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The operator counts several processes in each pod, and only torchrun would start them: the others are waited for."""
    for role, program in started:
        size = text(program.variables.get("WORLD_SIZE"), "value")
        pods = _pods(job)
        if program.is_plain_python and size.isdecimal() and int(size) > pods and not program.variables["WORLD_SIZE"].mark.line:
            message = (
                f"{role.name} starts one process in each of {pods} pods, and `WORLD_SIZE` is {size}: {int(size) - pods} ranks never come"
            )
            hint = "start the program with `torchrun`, or leave `nprocPerNode` out"
            yield Finding(program.words[0], message, hint, rule="ranks-missing", severity="warning")


def _wrong_process_count(_: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The number of processes is none that torchrun takes: it ends at once."""
    for _role, program in started:
        variable = program.variables.get("PET_NPROC_PER_NODE")
        number = text(variable, "value")
        if variable is None or not program.is_torchrun or program.option("--nproc-per-node") or not number or number in _NUMBER_WORDS:
            continue
        if not number.isdecimal() or int(number) < 1:
            words = ", ".join(f"`{each}`" for each in _NUMBER_WORDS)
            message = f"torchrun ends at once: it takes no `{number}` as the number of processes in each pod"
            yield Finding(variable.get("value"), message, f"write a number, or one of {words}", rule="wrong-process-count")


def unknown_address(job: ExpandedJob, started: Sequence[Started]) -> Iterator[Finding]:
    """The operator tells the processes to meet at a name that no pod and no service of the job has."""
    services = {text(each, "metadata", "name") for each in job.of_kind("Service")}
    for role, program in started:
        for name in ("PET_MASTER_ADDR", "MASTER_ADDR"):
            variable = program.variables.get(name)
            address = text(variable, "value")
            if variable is None or variable.mark.line or not address or address in services or _is_of_pod(address, job):
                continue
            message = f"the pods of {role.name} are told to meet at `{address}` (`{name}`), and no pod or service has that name"
            hint = (
                "call the replicated job that trains `node`, and leave `network.subdomain` out" if job.job.group_kind != PYTORCHJOB else ""
            )
            yield Finding(_of_address(job, role), message, hint, rule="unknown-address")
            break


def _of_address(job: ExpandedJob, role: ExpandedRole) -> Mark | None:
    """The line that gives the pods another address: the subdomain of the JobSet, or the name of its replicated job; None without one."""
    for jobset in job.of_kind("JobSet"):
        named = next((each for each in items(jobset.get("spec", "replicatedJobs")) if text(each, "name") == role.name), None)
        return place_of(jobset.get("spec", "network", "subdomain")) or place_of(named.get("name") if named else None)
    return None


def _is_of_pod(address: str, job: ExpandedJob) -> bool:
    return any(address in (pod.name, pod.host_name) for role in job.roles() for pod in role.pods)


def _pods(job: ExpandedJob) -> int:
    """How many pods train."""
    return sum(role.count for role in job.roles() if role.training)


_RULES = (_no_rendezvous, _trains_alone, _ranks_missing, _wrong_process_count, unknown_address)


# How a TrainJob ends: complete without any training, or never, since it starts again and again.


def complete_without_training(job: ExpandedJob) -> Iterator[Finding]:
    """Nothing trains, and the job counts as complete: it has no pods, or the image's own program ends at once."""
    for each in job.of_kind("Job"):
        completions = each.get("spec", "completions")
        if text(each, "metadata", "labels", ANCESTOR) == TRAINER and completions is not None and completions.value == 0:
            message = "the job is complete at once, without any training: its number of nodes is 0"
            yield Finding(completions, message, "write at least 1", rule="complete-without-training")
    for role in job.roles():
        container = role.training_container()
        if container and not Program(container).words and _is_shipped(job, container.get("image")):
            message = f"{role.name} runs the own program of the runtime's image, which is none that trains: the job is complete at once"
            yield Finding(
                _reference(job), message, "write `command` in `spec.trainer`", rule="complete-without-training", severity="warning"
            )


def _is_shipped(job: ExpandedJob, image: MarkedTree | None) -> bool:
    """Whether a value stands in a runtime that the trainer ships: all of that is at the reference."""
    return image is not None and str(image.mark) == str(_reference(job))


def _reference(job: ExpandedJob) -> Mark:
    return job.job.marks.nearest(("spec", "runtimeRef", "name")).place()


def restarts_for_ever(job: ExpandedJob) -> Iterator[Finding]:
    """A job that fails starts again without end: the trainer makes its JobSet again, which is deleted when it has ended."""
    again = makes_again(job.target["trainer"])
    for jobset in job.of_kind("JobSet"):
        ttl = jobset.get("spec", "ttlSecondsAfterFinished")
        if ttl is not None and again:
            which = "a failed job" if again == "failed" else "the job, complete or failed,"
            message = f"{which} starts again without end: its JobSet is deleted after {ttl.value} s, and the trainer makes it again"
            yield Finding(ttl, message, "leave `ttlSecondsAfterFinished` out", rule="restarts-for-ever", severity="warning")
