"""`jobspec run`: a job on this machine, one process for each of its pods."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Coroutine, Sequence
from typing import Any

from jobspec.apis.kinds import (
    CRON_JOB,
    JOB,
    JOBSET,
    LEADER_WORKER_SET,
    MPIJOB,
    PYTORCHJOB,
    RAY_CLUSTER,
    RAY_CRON_JOB,
    RAY_JOB,
    RAY_SERVICE,
    TRAINJOB,
)
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.rules import UNJUDGED
from jobspec.diagnostics.wording import counted, shortened
from jobspec.documents.document import Document
from jobspec.operators.expansion import expand
from jobspec.operators.life import RestartRules
from jobspec.operators.trainer.runtimes import RuntimeReference, runtime_of
from jobspec.operators.workloads import is_workload
from jobspec.run.endings import restart_rules
from jobspec.run.pods import LocalPod, ObjectValues, local_pods
from jobspec.run.processes import LocalProcess, LocalRun, RunLimits
from jobspec.session.arguments import Help, add_paths, declare
from jobspec.session.delivery import deliver
from jobspec.session.finding import unbuilt
from jobspec.session.found import Found
from jobspec.session.inputs import load_run_context, settings_of
from jobspec.session.judging import Depth
from jobspec.session.local_pods import make_processes, parse_kill, read_limits
from jobspec.session.options import Option, Options, input_options, outcome_option, repository_options
from jobspec.session.reading import reader
from jobspec.session.terminal import takes_colour
from jobspec.session.verdict import results_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    command = Option("--command", metavar="COMMAND", what="run this in each pod instead of the container's `command`; its `args` are kept")
    arguments = Option("--args", metavar="ARGS", what="pass these to each program instead of the container's `args`")
    limits = [
        Option("--max-restarts", metavar="NUMBER", what="fail after this number of restarts in all, whatever the job allows"),
        Option("--timeout", metavar="TIME", what="fail after this time, such as 90s or 10m"),
        Option(
            "--back-off",
            metavar="TIME",
            what="back-off before the second restart of a pod, doubled each time; 10s by default, as the kubelet's",
        ),
    ]
    kill = Option("--kill", metavar="POD@TIME", repeatable=True, what="kill the process of a pod once, such as worker-1@30s")
    declare(
        add_paths(parser),
        [*input_options(), *repository_options(), outcome_option(), command, arguments, *limits, kill],
        paths="PATH [PATH ...]",
        shown=Help(
            examples=(
                ("jobspec run job.yaml", "each pod as a process, with the ranks that its operator gives it"),
                ("jobspec run job.yaml --command 'python train.py'", "a program of this machine in place of the image's"),
                ("jobspec run job.yaml --kill worker-0@5s", "what happens if a worker is lost"),
            ),
            used_most="command args timeout kill max-restarts target overlay set",
            not_shown="skip-unknown closed-world no-admission output output-file statistics",
        ),
    )


_COLOURS = (36, 33, 35, 32, 34, 91)  # of a terminal: cyan, yellow, magenta, green, blue, bright red


_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run(options: Options) -> int:
    """Run the training job in the files; 0 where it succeeds, 1 where it fails or is refused."""
    options = options.changed(skip_unknown=True, variants_of_bases=False)
    context = load_run_context(options)
    given = results_of(options, context, settings_of(options), Depth(options.outcome, documents=True), encrypted=False)
    results = [*context.remarks, *given.files]
    if not given.valid:
        deliver(results, context.cluster.releases, options, sys.stderr, read=reader(given.read))
        return 1
    documents = [document for each in given.applied for document in each.checked.documents]
    job = _job_among(documents, given.found)
    if any(each.rule == UNJUDGED for result in given.files if result.path == job.file for each in result.diagnostics):
        deliver(results, context.cluster.releases, options, sys.stderr, read=reader(given.read))
        sys.stderr.write("jobspec: nothing is run before these placeholders are filled in, by --substitute or --set-env\n")
        return 1
    home = next(each for each in given.applied if any(job is one for one in each.checked.documents))
    expansion = expand(job, home.context, home.cluster.target)
    known = {(each.rule, str(each.mark)) for result in results for each in result.diagnostics}
    further = [each for each in expansion.diagnostics if (each.rule, str(each.mark)) not in known]
    results = [each.with_diagnostics(further if each.path == job.file else ()) for each in results]
    if any(each.diagnostics for each in results):
        deliver(results, context.cluster.releases, options, sys.stderr, read=reader(given.read))
    if not all(each.valid for each in results):
        return 1
    objects: list[dict[str, Any]] = [each.data() for each in expansion.objects]
    pods = local_pods(objects, job.group_kind, ObjectValues(documents))
    if not pods:
        ref = RuntimeReference(job.data)
        if ref.name and runtime_of(job, home.context, home.cluster.target) is None:
            raise JobspecError(f"no {ref.kind} `{ref.name}` among the files: pass its file")
        raise JobspecError(f"the operator creates no pod of {job.kind} {job.name}: there is nothing to run")
    processes = make_processes(pods, options)
    wanted = [parse_kill(each, pods) for each in options.kill]
    limits = read_limits(options)
    _say_what_is_left_out(pods)
    try:
        return asyncio.run(_until_signal(_run(processes, restart_rules(job, objects), wanted, limits)))
    except* OSError as group:  # such as a closed pipe: of all tasks the first
        raise group.exceptions[0] from None


def _job_among(documents: Sequence[Document], found: Sequence[Found]) -> Document:
    jobs = [each for each in documents if each.group_kind in (PYTORCHJOB, TRAINJOB)]
    others = [] if jobs else [each for each in documents if is_workload(each)]
    if others:
        job = others[0]
        raise JobspecError(f"run cannot start {job.kind} {job.name} here: {_WHY_NOT.get(job.group_kind, _OTHER_VARIABLES)}")
    if len(jobs) != 1:
        names = shortened([f"{each.kind} {each.name}" for each in jobs]) if jobs else "none" + unbuilt(found, "run")
        more = "; pass a file with one" if jobs else ""
        raise JobspecError(f"run takes one PyTorchJob or TrainJob, and the files hold {names}{more}")
    return jobs[0]


_OTHER_VARIABLES = "it gives processes the ranks and addresses of PyTorchJobs and TrainJobs only"
_MIGRATE = "it takes PyTorchJobs and TrainJobs; where this one trains with torchrun, `jobspec migrate --to TrainJob` makes one of it"
_RAY = "its programs are submitted to a Ray cluster, whose pods need host names and ports of their own"
#: Kind -> why its pods are no processes of one machine.
_WHY_NOT = {
    **dict.fromkeys((JOB, CRON_JOB, JOBSET), _MIGRATE),
    MPIJOB: "its launcher starts the ranks by ssh in pods of the workers; run its `mpirun` by hand, with `-np` and without a hostfile",
    **dict.fromkeys((RAY_CLUSTER, RAY_JOB, RAY_SERVICE, RAY_CRON_JOB), _RAY),
    LEADER_WORKER_SET: "its pods meet at `LWS_LEADER_ADDRESS`, a host name of the cluster, and run until they are deleted",
}


def _say_what_is_left_out(pods: Sequence[LocalPod]) -> None:
    containers = dict.fromkeys(f"`{name}` of {pod.role}" for pod in pods for name in pod.left_out)
    variables = dict.fromkeys(f"`{name}` of {pod.role}" for pod in pods for name in pod.unset)
    if containers:
        sys.stderr.write(f"jobspec: skipped, since only the training container runs here: {', '.join(containers)}\n")
    if variables:
        sys.stderr.write(f"jobspec: not set, since there is no cluster to give the value: {', '.join(variables)}\n")


async def _until_signal(work: Coroutine[Any, Any, str]) -> int:
    """The exit code of a run: 0 where the job succeeds; 128 and the number of the signal that ended it."""
    ended: list[signal.Signals] = []
    task = asyncio.create_task(work)

    def end(number: signal.Signals) -> None:
        ended.append(number)
        task.cancel()

    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return 0 if await task == "Succeeded" else 1
    except asyncio.CancelledError:
        if not ended:
            raise
        return 128 + ended[0]


async def _run(processes: Sequence[LocalProcess], rules: RestartRules, kills: Sequence[tuple[str, float]], limits: RunLimits) -> str:
    coloured = takes_colour(sys.stdout)
    width = max(len(each.name) for each in processes)
    colours = {each.name: _COLOURS[number % len(_COLOURS)] for number, each in enumerate(processes)}

    def write(name: str, line: str) -> None:
        prefix = f"{name:{width}} |"
        sys.stdout.write(f"\033[{colours[name]}m{prefix}\033[0m {line}\n" if coloured else f"{prefix} {line}\n")
        sys.stdout.flush()

    def say(event: str) -> None:
        sys.stderr.write(f"jobspec: {event}\n")
        sys.stderr.flush()

    condition, restarts = "Failed", 0
    for number in range(rules.rounds):
        if number:
            say(f"the whole job restarts (restart {number} of {rules.rounds - 1})")
        once = LocalRun(processes, rules, limits, write=write, say=say)
        condition = await once.condition(kills if not number else ())
        restarts += once.restarts
        if condition == "Succeeded" or once.is_out_of_time:
            break
    say(f"the job has {condition.lower()}" + (f" after {counted(restarts, 'restart')}" if restarts else ""))
    return condition
