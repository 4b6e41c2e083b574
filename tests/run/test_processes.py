"""Processes of pods where starting one takes long."""

import asyncio
import os
import signal
from typing import Any

import pytest

from jobspec.operators.life import RestartRules
from jobspec.run import processes
from jobspec.run.processes import LocalProcess, LocalRun

#: Says that it heeds SIGTERM, and takes its time then.
SLOW_TO_END = "trap 'sleep 1; exit 0' TERM; echo ready; while :; do sleep 0.1; done"


def test_a_pod_that_is_started_while_its_job_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, asyncio.subprocess.Process] = {}
    start = asyncio.create_subprocess_exec

    async def waiting(*command: str, **options: Any) -> asyncio.subprocess.Process:
        """Start the Master when a worker is ready, and the other worker when both get the signal to end."""
        if command[0] in happens:
            await happens[command[0]].wait()
        started[command[0]] = await start(*command, **options)
        return started[command[0]]

    def pod(name: str, *command: str) -> LocalProcess:
        return LocalProcess(name, name.partition("-")[0], command, os.environ)

    async def run() -> str:
        happens.update(false=asyncio.Event(), sleep=asyncio.Event())
        pods = [pod("master-0", "false"), pod("worker-0", "sh", "-c", SLOW_TO_END), pod("worker-1", "sleep", "60")]
        life = RestartRules({"master": "Never", "worker": "Never"}, limit=None, deadline=None)
        return await LocalRun(pods, life, write=lambda *_: happens["false"].set(), say=say).condition(())

    def say(event: str) -> None:
        if event == "stopping worker-0":
            happens["sleep"].set()

    happens: dict[str, asyncio.Event] = {}
    monkeypatch.setattr(asyncio, "create_subprocess_exec", waiting)
    monkeypatch.setattr(processes, "_GRACE", 5.0)
    assert asyncio.run(run()) == "Failed"
    assert {name: each.returncode for name, each in started.items()} == {"false": 1, "sh": 0, "sleep": -signal.SIGTERM}
