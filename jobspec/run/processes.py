"""Run pods as processes: their output line by line, restarts, and the end of the job."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from jobspec.operators.life import RestartRules
from jobspec.operators.training_operator.life import counts_restarts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.life import Condition


#: Takes the name of a pod and a line that it wrote, without its end.
Write = Callable[[str, str], None]
#: Takes an event of the job, in words.
Say = Callable[[str], None]
_GRACE = 30.0  # seconds that a pod has to end after SIGTERM
_TIMEOUT = "the --timeout"
_LINE = 1 << 20  # bytes; a longer line is cut


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """A pod as a process: its command line and its environment."""

    name: str
    role: str
    command: Sequence[str]
    environment: Mapping[str, str]
    """All of its variables."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a user for a run, beside the rules of its job."""

    restarts: int | None = None
    """The most restarts in all; None is no limit."""
    seconds: float | None = None
    """The time after which the job fails; None is no limit."""
    back_off: float = 0.0
    """The seconds before the second restart of a pod; each further one waits twice as long, up to 30 times, as the kubelet does."""

    def delay(self, restarts: int) -> float:
        """Return the seconds before the next start of a pod that was restarted *restarts* times."""
        return min(self.back_off * 2 ** min(restarts - 1, 5), self.back_off * 30) if restarts else 0.0


class LocalRun:
    """One run of a job."""

    def __init__(
        self, processes: Sequence[LocalProcess], rules: RestartRules, limits: RunLimits | None = None, *, write: Write, say: Say
    ) -> None:
        self._processes = processes
        self._rules = rules
        self._limits = limits or RunLimits()
        self._restarted: list[str] = []  # the names of pods, once for each new start
        self._expired: list[str] = []
        self._write = write
        self._say = say
        self._running: dict[str, Process] = {}
        self._ended: dict[tuple[str, str], int] = {}
        self._failed: list[str] = []  # the names of pods, once for each end that was not for good
        self._counted: list[str] = []  # those among them that count towards the job's own limit
        self._over: asyncio.Future[Condition] = asyncio.get_running_loop().create_future()

    @property
    def restarts(self) -> int:
        """Return how often pods were started again."""
        return len(self._restarted)

    @property
    def is_out_of_time(self) -> bool:
        """True if the user's own time is over."""
        return _TIMEOUT in self._expired

    async def condition(self, kills: Sequence[tuple[str, float]]) -> Condition:
        """Run to the end, or to an interrupt, and leave no process behind.

        *kills*: names of pods, and the seconds after which each is killed once.
        """
        async with asyncio.TaskGroup() as tasks:
            pods = [tasks.create_task(self._live(each)) for each in self._processes]
            extras = [tasks.create_task(self._kill(name, seconds)) for name, seconds in kills]
            limits = ((self._rules.deadline, "its activeDeadlineSeconds"), (self._limits.seconds, _TIMEOUT))
            extras += [tasks.create_task(self._expire(seconds, limit)) for seconds, limit in limits if seconds is not None]
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
                if not self._rules.starts_again(pod.role, code):
                    self._end(pod, code)
                    return
                delay = self._limits.delay(self._failed.count(pod.name))
                most = self._limits.restarts
                if most is not None and len(self._failed) >= most:
                    self._say(f"{pod.name} exited with code {code}, and --max-restarts is {most}")
                    self._finish("Failed")
                    return
                self._failed.append(pod.name)
                if counts_restarts(self._rules.policies[pod.role]):
                    self._counted.append(pod.name)
                if self._rules.too_many(len(self._counted)):
                    self._say(f"{pod.name} exited with code {code}: restart {len(self._counted)} reaches the limit of the job")
                    self._finish("Failed")
                    return
                self._restarted.append(pod.name)
                wait = f" in {delay:g} s" if delay else ""
                self._say(f"{pod.name} exited with code {code} and restarts{wait} (restart {len(self._failed)})")
                await asyncio.sleep(delay)
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
        if self._over.done():  # while this process was started, so that it was not among those that were asked to end
            _signal(process, signal.SIGTERM)
        assert process.stdout
        while line := await _line(process.stdout):
            self._write(pod.name, line.decode(errors="replace").rstrip("\r\n"))
        code = await process.wait()
        del self._running[pod.name]
        return code if code >= 0 else 128 - code

    def _end(self, pod: LocalProcess, code: int) -> None:
        self._say(f"{pod.name} exited with code {code}")
        self._ended[pod.role, pod.name] = code
        condition = self._rules.condition(self._ended, [(each.role, each.name) for each in self._processes])
        if condition:
            self._finish(condition)

    def _finish(self, condition: Condition) -> None:
        if not self._over.done():
            self._over.set_result(condition)

    async def _end_others(self, condition: Condition) -> None:
        """Give what still runs time to end by itself after a success, then SIGTERM and time to heed it."""
        if condition == "Succeeded" and await self._all_end():
            return
        if self._running:
            self._say(f"stopping {', '.join(sorted(self._running))}")
        for process in self._running.values():
            _signal(process, signal.SIGTERM)
        await self._all_end()

    async def _all_end(self) -> bool:
        until = asyncio.get_running_loop().time() + _GRACE
        while self._running and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.05)
        return not self._running

    async def _kill(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        process = self._running.get(name)
        self._say(f"killing {name}" if process else f"{name} has already exited: not killed")
        if process:
            _signal(process, signal.SIGKILL)

    async def _expire(self, seconds: float, limit: str) -> None:
        await asyncio.sleep(seconds)
        self._expired.append(limit)
        self._say(f"the job is still running after {seconds:g} s, {limit}")
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
