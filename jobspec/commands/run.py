"""`jobspec run`: a job on this machine, one process for each of its pods."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from jobspec.commands.files import find, reader
from jobspec.commands.inputs import load_setting
from jobspec.commands.options import Option, Options, add_paths, declare, input_options
from jobspec.commands.output import deliver, takes_colour
from jobspec.commands.validate import check_files
from jobspec.diagnostics import JobspecError
from jobspec.documents.document import Document
from jobspec.operators.expansion import expand, restart_rules
from jobspec.operators.life import RestartRules
from jobspec.programs.command_lines import OF_PROCESSES, starts_python
from jobspec.run.pods import LocalPod, ObjectValues, local_pods
from jobspec.run.processes import LocalProcess, LocalRun
from jobspec.workloads import CONTAINERS


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    command = Option("--command", metavar="COMMAND", what="run this in each pod instead of the container's `command`; `args` stay")
    kill = Option("--kill", metavar="POD@TIME", repeatable=True, what="kill the process of a pod once, such as worker-1@30s; repeatable")
    declare(add_paths(parser), [*input_options(), command, kill])


_COLOURS = (36, 33, 35, 32, 34, 91)  # of a terminal: cyan, yellow, magenta, green, blue, bright red
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
#: What tells a process its rank: of this machine's own environment, nothing of it may reach a pod.


def run(options: Options) -> int:
    """Run the training job in the files; 0 where it succeeds, 1 where it fails or is refused."""
    setting = load_setting(options)
    found = find(options.paths)
    checked = check_files(found, setting, skip_unknown=True)
    results = [*setting.remarks, *(setting.wrong or [each.result for each in checked])]
    if not all(each.valid for each in results):
        deliver(results, setting.cluster.releases, options, sys.stderr, read=reader(found))
        return 1
    documents = [document for each in checked for document in each.documents]
    job = _job_among(documents)
    expansion = expand(job, documents, setting.cluster.target)
    results = [each.with_diagnostics(expansion.diagnostics if each.path == job.file else ()) for each in results]
    if any(each.diagnostics for each in results):
        deliver(results, setting.cluster.releases, options, sys.stderr, read=reader(found))
    if not all(each.valid for each in results):
        return 1
    objects: list[dict[str, Any]] = [each.data() for each in expansion.objects]
    pods = local_pods(objects, job.group_kind, ObjectValues(documents), _free_port)
    if not pods:
        raise JobspecError(f"the operator creates no pod of {job.kind} {job.name}: there is nothing to run")
    processes = _processes(pods, options.command)
    wanted = [_kill(each, pods) for each in options.kill]
    _say_what_is_left_out(pods)
    return 0 if asyncio.run(_run(processes, restart_rules(job, objects), wanted)) == "Succeeded" else 1


def _job_among(documents: Sequence[Document]) -> Document:
    jobs = [each for each in documents if each.group_kind in CONTAINERS]
    if len(jobs) != 1:
        names = ", ".join(f"{each.kind} {each.name}" for each in jobs)
        raise JobspecError(f"run takes one training job, and the files hold {names or 'none'}")
    return jobs[0]


def _processes(pods: Sequence[LocalPod], command: str | None) -> list[LocalProcess]:
    """The processes of pods. Raises JobspecError for a program that is not on this machine."""
    import shlex

    ours = {
        name: value for name, value in os.environ.items() if name not in OF_PROCESSES and not name.startswith(("PET_", "TORCHELASTIC_"))
    }
    found = []
    for pod in pods:
        words = [*(shlex.split(command) if command else pod.command), *pod.arguments]
        environment = {**ours, **pod.environment}
        _require_program(pod, words, given=bool(command or pod.command), path=environment.get("PATH"))
        found.append(LocalProcess(pod.name, pod.role, words, environment))
    return found


def _require_program(pod: LocalPod, words: Sequence[str], *, given: bool, path: str | None) -> None:
    if not given:
        raise JobspecError(f"{pod.name} runs the command of its image, which is not known here; give it as --command 'python train.py'")
    if shutil.which(words[0], path=path) is None:
        raise JobspecError(f"{pod.name} runs `{words[0]}`, which is not on this machine; give another as --command")
    script = words[1] if len(words) > 1 else ""
    if starts_python(words) and script.startswith("/") and not os.path.exists(script):
        raise JobspecError(f"{pod.name} runs `{script}`, a file of its image that is not on this machine; give --command")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _kill(text: str, pods: Sequence[LocalPod]) -> tuple[str, float]:
    """The pod and the seconds of `worker-1@30s`."""
    name, _, after = text.partition("@")
    known = [each.name for each in pods]
    number, unit = (after[:-1], after[-1:]) if after[-1:] in _UNITS else (after, "s")
    if name not in known or not number.replace(".", "", 1).isdecimal():
        raise JobspecError(f"--kill {text}: write POD@TIME, such as {known[-1]}@30s; the pods are {', '.join(known)}")
    return name, float(number) * _UNITS[unit]


def _say_what_is_left_out(pods: Sequence[LocalPod]) -> None:
    containers = dict.fromkeys(f"`{name}` of {pod.role}" for pod in pods for name in pod.left_out)
    variables = dict.fromkeys(f"`{name}` of {pod.role}" for pod in pods for name in pod.unset)
    if containers:
        sys.stderr.write(f"jobspec: not run here, since only the training container is: {', '.join(containers)}\n")
    if variables:
        sys.stderr.write(f"jobspec: not set here, since only a cluster has the value: {', '.join(variables)}\n")


async def _run(processes: Sequence[LocalProcess], rules: RestartRules, kills: Sequence[tuple[str, float]]) -> str:
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

    condition = "Failed"
    for number in range(rules.rounds):
        if number:
            say(f"all of the job starts again (restart {number} of {rules.rounds - 1})")
        condition = await LocalRun(processes, rules, write=write, say=say).condition(kills if not number else ())
        if condition == "Succeeded":
            break
    say(f"the job has {condition.lower()}")
    return condition
