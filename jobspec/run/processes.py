"""Run pods as processes: their output line by line, restarts, and the end of the job."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from jobspec import kinds
from jobspec.documents.document import Document
from jobspec.operators.jobset.objects import ROLE

#: Takes the name of a pod and a line that it wrote, without its end.
Write = Callable[[str, str], None]
#: Takes an event of the job, in words.
Say = Callable[[str], None]
Condition = Literal["Succeeded", "Failed"]
_GRACE = 30.0  # seconds that a pod has to end after SIGTERM
_LINE = 1 << 20  # bytes; a longer line is cut


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """What a pod runs."""

    name: str
    role: str
    command: Sequence[str]
    environment: Mapping[str, str]
    """All of its variables."""


class LocalRun:
    """One run of a job."""

    def __init__(self, processes: Sequence[LocalProcess], life: Life, *, write: Write, say: Say) -> None:
        self._processes = processes
        self._life = life
        self._write = write
        self._say = say
        self._running: dict[str, Process] = {}
        self._ended: dict[tuple[str, str], int] = {}
        self._failed: list[str] = []  # the names of pods, once for each end that was not for good
        self._over: asyncio.Future[Condition] = asyncio.get_running_loop().create_future()

    async def condition(self, kills: Sequence[tuple[str, float]]) -> Condition:
        """Run to the end, or to an interrupt, and leave no process behind.

        *kills*: names of pods, and the seconds after which each is killed once.
        """
        async with asyncio.TaskGroup() as tasks:
            pods = [tasks.create_task(self._live(each)) for each in self._processes]
            extras = [tasks.create_task(self._kill(name, seconds)) for name, seconds in kills]
            if self._life.deadline is not None:
                extras.append(tasks.create_task(self._expire(self._life.deadline)))
            try:
                condition = await self._over
                await self._end_others(condition)
            except asyncio.CancelledError:  # an interrupt: the second one does not wait
                await self._end_others("Failed")
                raise
            finally:
                for task in [*extras, *pods]:
                    task.cancel()
        return condition

    async def _live(self, pod: LocalProcess) -> None:
        """Start a pod's process, and again as its policy says."""
        try:
            while True:
                code = await self._once(pod)
                if self._over.done():
                    return
                if not self._life.starts_again(pod.role, code):
                    self._end(pod, code)
                    return
                self._failed.append(pod.name)
                if self._life.too_many(len(self._failed)):
                    self._say(f"{pod.name} ended with {code}, and the job has had all its restarts")
                    self._finish("Failed")
                    return
                self._say(f"{pod.name} ended with {code} and starts again (restart {len(self._failed)})")
        finally:
            process = self._running.pop(pod.name, None)
            if process is not None:
                _signal(process, signal.SIGKILL)
                await process.wait()

    async def _once(self, pod: LocalProcess) -> int:
        """Run a pod's process once; its exit code, as the kubelet has it: 128 and the signal's number for one that was killed."""
        process = await asyncio.create_subprocess_exec(
            *pod.command,
            env=dict(pod.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LINE,
            start_new_session=True,
        )
        self._running[pod.name] = process
        if self._over.done():  # while this process was started, so that it was not among those that were told to end
            _signal(process, signal.SIGTERM)
        assert process.stdout
        while line := await _line(process.stdout):
            self._write(pod.name, line.decode(errors="replace").rstrip("\r\n"))
        code = await process.wait()
        del self._running[pod.name]
        return code if code >= 0 else 128 - code

    def _end(self, pod: LocalProcess, code: int) -> None:
        self._say(f"{pod.name} ended with {code}")
        self._ended[pod.role, pod.name] = code
        condition = self._life.condition(self._ended, [(each.role, each.name) for each in self._processes])
        if condition:
            self._finish(condition)

    def _finish(self, condition: Condition) -> None:
        if not self._over.done():
            self._over.set_result(condition)

    async def _end_others(self, condition: Condition) -> None:
        """Give what still runs time to end by itself after a success, then SIGTERM and time to heed it."""
        if condition == "Succeeded" and await self._all_end(_GRACE):
            return
        if self._running:
            self._say(f"ending {', '.join(sorted(self._running))}")
        for process in self._running.values():
            _signal(process, signal.SIGTERM)
        await self._all_end(_GRACE)

    async def _all_end(self, seconds: float) -> bool:
        until = asyncio.get_running_loop().time() + seconds
        while self._running and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.05)
        return not self._running

    async def _kill(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        process = self._running.get(name)
        self._say(f"killing {name}" if process else f"{name} runs no more, and is not killed")
        if process:
            _signal(process, signal.SIGKILL)

    async def _expire(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._say(f"the job has not ended after {seconds:g} s, its activeDeadlineSeconds")
        self._finish("Failed")


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, or a part of one that is longer than the limit; empty at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError as error:
        return await stream.readexactly(error.consumed)


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to a pod's process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


# When a pod is started again, and when its job is over.
#
# Follows `JobController.ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
# pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4; for TrainJobs
# `Controller.syncJob`, k8s.io/kubernetes pkg/controller/job, 1.36, and `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers, 0.12.


_RETRYABLE = 128  # exit codes from here on say that a signal ended the process, for the policy ExitCode
_RETRIES = 6  # of a Job that does not say `backoffLimit`


class Life:
    """The rules of one job."""

    __slots__ = ("_is_enough", "deadline", "limit", "policies", "rounds")

    def __init__(
        self,
        policies: Mapping[str, str],
        *,
        limit: int | None,
        deadline: float | None,
        rounds: int = 1,
        one_is_enough: Collection[str] = (),
    ) -> None:
        self.policies = policies
        """The restart policy of each role."""
        self.limit = limit
        """How many restarts in all its pods may have before the job fails; None is no limit."""
        self.deadline = deadline
        """The seconds after which the job fails; None is no limit."""
        self.rounds = rounds
        """How often all of the job is started before it has failed."""
        self._is_enough = frozenset(one_is_enough)

    def starts_again(self, role: str, code: int) -> bool:
        """Whether a pod whose process ended with *code* is started again, unless the job is over."""
        policy = self.policies[role]
        if policy == "ExitCode":
            return code >= _RETRYABLE
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def too_many(self, restarts: int) -> bool:
        """Whether so many restarts of all pods together are the end of the job."""
        return self.limit is not None and restarts > 0 and restarts >= self.limit

    def condition(self, ended: Mapping[tuple[str, str], int], pods: Sequence[tuple[str, str]]) -> Condition | None:
        """What becomes of a job whose pods, as role and name, *ended* for good with these exit codes; None while it goes on."""
        if any(ended.values()):
            return "Failed"
        if any(role in self._is_enough for role, _ in ended):
            return "Succeeded"
        return "Succeeded" if len(ended) == len(pods) else None


def life_of(job: Document, objects: Sequence[dict[str, Any]]) -> Life:
    """The rules of a job that its operator expands to these *objects*."""
    return _of_pytorchjob(job.data["spec"]) if job.group_kind == kinds.PYTORCHJOB else _of_trainjob(job.data["spec"], objects)


def _of_pytorchjob(spec: dict[str, Any]) -> Life:
    replicas = {name.lower(): each or {} for name, each in spec["pytorchReplicaSpecs"].items()}
    policy = spec.get("runPolicy") or {}
    return Life(
        {name: each.get("restartPolicy") or "OnFailure" for name, each in replicas.items()},
        limit=policy.get("backoffLimit"),
        deadline=policy.get("activeDeadlineSeconds"),
        one_is_enough=["master"] if "master" in replicas else ["worker"] if spec.get("elasticPolicy") else [],
    )


def _of_trainjob(spec: dict[str, Any], objects: Sequence[dict[str, Any]]) -> Life:
    """A Job makes a new pod for one that failed, whatever the restart policy; a JobSet may make all of its Jobs anew."""
    jobs = {each["metadata"]["labels"][ROLE]: each["spec"] for each in objects if each["kind"] == "Job"}
    jobsets = [each["spec"] for each in objects if each["kind"] == "JobSet"]
    limits = [each.get("backoffLimit", _RETRIES) for each in jobs.values()]
    deadlines = [each["activeDeadlineSeconds"] for each in (spec, *jobs.values()) if each.get("activeDeadlineSeconds")]
    return Life(
        dict.fromkeys(jobs, "OnFailure"),
        limit=min(limits, default=_RETRIES) + 1,
        deadline=min(deadlines, default=None),
        rounds=1 + max((each.get("failurePolicy", {}).get("maxRestarts", 0) for each in jobsets), default=0),
    )
