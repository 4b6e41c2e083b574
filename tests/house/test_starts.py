"""Starts: the processor time of commands on one job, as a multiple of that of a bare interpreter in the same run."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.support.processes import command, environment
from tests.support.reference import ROOT

_JOBS = ROOT / "tests" / "cases" / "guides"
#: Command and job -> the most that a start may take: about an eighth above what it took on the slowest of four machines, whose bare
#: interpreters start in 11 to 19 ms.
CEILINGS = {
    ("validate", "simple"): 3.8,
    ("validate", "trainjob"): 4.0,
    ("lint", "simple"): 5.8,
    ("lint", "trainjob"): 6.2,
    ("render --overlay cpu", "simple"): 4.4,
    ("render --overlay cpu", "trainjob"): 4.6,
    ("expand", "simple"): 4.9,
    ("expand", "trainjob"): 5.7,
}
_FEWEST, _MOST = 8, 24
"""Rounds; as many as it takes until all are below their ceilings, since other processes only ever add time."""


def _processor_time(words: list[str], variables: Mapping[str, str]) -> float:
    """The seconds of user and system time of a process."""
    null = os.open(os.devnull, os.O_WRONLY)
    streams = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    try:
        _, status, used = os.wait4(os.posix_spawn(words[0], words, variables, file_actions=streams), 0)
    finally:
        os.close(null)
    assert status == 0, words
    return used.ru_utime + used.ru_stime


def test_starts_take_a_few_times_as_long_as_a_bare_interpreter(tmp_path: Path) -> None:
    variables = {name: value for name, value in environment(PYTHONPYCACHEPREFIX=str(tmp_path)).items() if not name.startswith("COV")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # the first round, which is not counted, compiles
    starts = {each: command(each[0].split()[0], _JOBS / f"{each[1]}.yaml", *each[0].split()[1:]) for each in CEILINGS}
    all_words = {"bare": [sys.executable, "-c", "pass"], **starts}
    for words in all_words.values():
        _processor_time(words, variables)
    times: dict[object, list[float]] = {each: [] for each in all_words}
    above: dict[object, float] = {}
    for number in range(_MOST):
        for each, words in all_words.items():
            times[each].append(_processor_time(words, variables))
        above = {each: found for each, most in CEILINGS.items() if (found := _multiple(times[each], times["bare"])) > most}
        if number + 1 >= _FEWEST and not above:
            break
    assert above == {}


def _multiple(times: list[float], bare: list[float]) -> float:
    """By the least times or by the middle ones: other processes slow a short one down less often, but most of the time as much."""
    return round(min(min(times) / min(bare), median(times) / median(bare)), 2)
