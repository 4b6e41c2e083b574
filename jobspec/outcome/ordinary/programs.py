"""Ordinary programs: those that find each other, and as many as they wait for, by the variables that the operators set."""

from __future__ import annotations

from jobspec.programs.torchrun import OPTIONS, CommandWord, length_of_start, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_COUNTS = ("auto", "cpu", "gpu", "xpu")
_MOST = 1000
_ONE = ("", "1", "1:1")
_ENDING = ("--standalone", "--help")
"""Switches with which a pod trains alone, or not at all."""
_OF_RANKS = ("PET_", "MASTER_", "RANK", "WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "OMPI_", "SLURM_", "JAX_", "JOB_COMPLETION_INDEX")
"""How variables begin by which programs find each other."""


def is_process_count(value: Any) -> bool:
    """Whether torchrun takes a value as the number of processes in each pod."""
    return value in _COUNTS or (type(value) is int and 0 < value < _MOST) or (type(value) is str and is_count(value))


def is_count(text: str) -> bool:
    """Whether a text is a number of processes."""
    return text.isascii() and text.isdecimal() and not text.startswith("0") and len(text) < 4


def words_of(container: dict[str, Any]) -> list[str]:
    """The words of an ordinary container's `command` and `args`; none where the image's own program runs."""
    return [*container.get("command", ()), *container.get("args", ())]


def torchrun_words(words: Sequence[str]) -> Sequence[str] | None:
    """The words behind torchrun; None where a container does not start it itself."""
    start = length_of_start(words)
    return words[start:] if start else None


def sets_no_ranks(container: dict[str, Any]) -> bool:
    """Whether a container sets no variable by which programs find each other."""
    return not any(str(each["name"]).startswith(_OF_RANKS) for each in container.get("env", ()))


def launches_every_node(words: Sequence[str]) -> bool:
    """Whether torchrun takes the options before its script, and none of them tells it of one pod alone.

    *words*: those behind torchrun. An option that is shortened, or that takes neither a text nor a whole number, makes the answer no.
    """
    return all(_is_harmless(each) for each in options_of(words))


def _is_harmless(told: CommandWord) -> bool:
    takes = OPTIONS.get(told.name.replace("_", "-") if told.name != "-m" else "--module", {}).get("type")
    if takes == "boolean":
        return not told.is_joined and told.option not in _ENDING
    if takes not in ("string", "integer") or told.value is None or (told.option == "--nnodes" and told.value in _ONE):
        return False
    return takes == "string" or is_count(told.value) or "$(" in told.value
