"""Read which processes a run on this machine starts, and its limits, from the options."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from jobspec.diagnostics.errors import JobspecError
from jobspec.programs.command_lines import OF_PROCESSES, starts_python
from jobspec.run.pods import LocalPod
from jobspec.run.processes import LocalProcess, RunLimits
from jobspec.session.options import Options

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_BACK_OFF = 10.0  # seconds, of the kubelet


def _shell_words(option: str, text: str | None) -> list[str] | None:
    """The words of a command line, as a shell reads them. Raises JobspecError for an open quote."""
    import shlex

    try:
        return None if text is None else shlex.split(text)
    except ValueError as error:
        raise JobspecError(f"{option} {text}: {str(error).lower()}") from None


def make_processes(pods: Sequence[LocalPod], options: Options) -> list[LocalProcess]:
    """The processes of pods. Raises JobspecError for a program that is not on this machine."""
    command, arguments = _shell_words("--command", options.command), _shell_words("--args", options.args)
    ours = {
        name: value for name, value in os.environ.items() if name not in OF_PROCESSES and not name.startswith(("PET_", "TORCHELASTIC_"))
    }
    found = []
    for pod in pods:
        words = [*(command or pod.command), *(pod.arguments if arguments is None else arguments)]
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


def parse_kill(text: str, pods: Sequence[LocalPod]) -> tuple[str, float]:
    """The pod and the seconds of `worker-1@30s`."""
    name, _, after = text.partition("@")
    known = [each.name for each in pods]
    seconds = _seconds(after)
    if name not in known or seconds is None:
        raise JobspecError(f"--kill {text}: write POD@TIME, such as {known[-1]}@30s; the pods are {', '.join(known)}")
    return name, seconds


def _seconds(text: str) -> float | None:
    """The seconds of `90s`, `10m`, `2h` or a plain number of them; None for another text."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    return float(number) * _UNITS[unit] if number.replace(".", "", 1).isdecimal() else None


def read_limits(options: Options) -> RunLimits:
    """The limits that options set. Raises JobspecError for what is not a time or a number."""
    seconds = None if options.timeout is None else _time("--timeout", options.timeout)
    back_off = _BACK_OFF if options.back_off is None else _time("--back-off", options.back_off)
    most = options.max_restarts
    if most is not None and not most.isdecimal():
        raise JobspecError(f"--max-restarts {most}: write a number")
    return RunLimits(None if most is None else int(most), seconds, back_off)


def _time(option: str, text: str) -> float:
    seconds = _seconds(text)
    if seconds is None:
        raise JobspecError(f"{option} {text}: write a time, such as 90s or 10m")
    return seconds
