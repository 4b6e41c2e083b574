"""Command lines of accelerate and DeepSpeed: their options, and how many processes they start in a pod.

Follows `_validate_launch_command` and `prepare_multi_gpu_env` of accelerate's commands/launch.py and utils/launch.py, and `parse_args` of
deepspeed/launcher/runner.py.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.programs.command_lines import ACCELERATE, DEEPSPEED, CommandWord, file_name, read
from jobspec.programs.torchrun import STATIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The words that start each launcher.
_STARTS = {ACCELERATE: [ACCELERATE, "launch"], DEEPSPEED: [DEEPSPEED]}
_SWITCHES = {
    ACCELERATE: frozenset(
        (
            *("--cpu", "--use-cpu", "--multi-gpu", "--tpu", "--ipex", "--use-xpu", "--use-deepspeed", "--use-fsdp", "--use-megatron-lm"),
            *("--use-parallelism-config", "--enable-cpu-affinity", "--same-network", "--module", "--no-python", "--quiet", "--debug"),
            *("--dynamo-use-fullgraph", "--dynamo-use-dynamic", "--dynamo-use-regional-compilation", "--tpu-use-cluster"),
            *("--tpu-use-sudo", "--help"),
        )
    ),
    DEEPSPEED: frozenset(
        (
            *("--no-ssh", "--no-ssh-check", "--module", "--no-python", "--no-local-rank", "--force-multi", "--save-pid"),
            *("--elastic-training", "--bind-cores-to-rank", "--help"),
        )
    ),
}
#: The options with which accelerate starts processes as torchrun does, on however many GPUs.
_AS_TORCHRUN = frozenset(("--multi-gpu", "--use-fsdp"))
#: The options with which it uses no GPU.
_WITHOUT_GPUS = frozenset(("--cpu", "--use-cpu", "--tpu"))


class LauncherCommand(Record):
    """A call of accelerate or DeepSpeed."""

    name: str
    options: Sequence[CommandWord]
    """The options before the script, with their full names, `-` in place of `_`."""

    def option(self, name: str) -> CommandWord | None:
        """The last option of a name; None if there is none."""
        return next((each for each in reversed(self.options) if each.option == name), None)

    def starts_several(self, gpus: int) -> bool:
        """True if accelerate surely starts its processes by torchrun's own code, in a pod with a number of GPUs."""
        given = {each.option for each in self.options}
        several = _number(self.option("--num-processes")) or 0
        return self.name == ACCELERATE and not given & _WITHOUT_GPUS and bool(given & _AS_TORCHRUN or (several > 1 and gpus > 1))

    def count(self) -> CommandWord | None:
        """The option that gives the number of processes; None if there is none."""
        return self.option("--num-processes" if self.name == ACCELERATE else "--num-gpus")

    def processes(self, pods: int, gpus: int) -> int | None:
        """Return how many processes start in each of some pods that train together; None if only a run shows that.

        The number of accelerate is that of all machines together, that of DeepSpeed is one for each.
        """
        number = _number(self.count())
        if self.name == DEEPSPEED or number is None:
            return number
        machines = _number(self.option("--num-machines")) if self.option("--num-machines") or pods > 1 else 1
        is_sure = self.starts_several(gpus) or (self.option("--use-deepspeed") is not None)
        return number // machines if machines and is_sure else None

    def machine_rank(self, gpus: int) -> CommandWord | None:
        """The option that gives accelerate the number of its machine among several that have to differ; None if there is none."""
        backend, machines = self.option("--rdzv-backend"), self.option("--num-machines")
        counts = machines is not None and machines.value != "1" and (backend is None or backend.value == STATIC)
        return self.option("--machine-rank") if counts and self.starts_several(gpus) else None

    def lacks_machine_rank(self, gpus: int) -> bool:
        """True if accelerate surely counts several machines, and neither an option nor a named file says which one this is."""
        several = (_number(self.option("--num-machines")) or 0) > 1
        given = self.option("--machine-rank") or self.option("--config-file")
        return self.name == ACCELERATE and several and given is None and self.starts_several(gpus)


def launcher_command(words: Sequence[str]) -> LauncherCommand | None:
    """Read words as a call of accelerate or DeepSpeed; None for another program."""
    name = file_name(words[0]) if words else ""
    start = _STARTS.get(name)
    if start is None or [name, *words[1 : len(start)]] != start:
        return None
    options = list[CommandWord]()
    for each in read(words, _full_name, _SWITCHES[name], unknown_take_values=True):
        if each.at < len(start):
            continue
        if not each.option or each.option == "--module" or (each.value or "").endswith(".py"):  # the last is a switch before the script
            break
        options.append(each)
    return LauncherCommand(name, options)


def _full_name(option: str) -> str:
    """The name of an option with `-` in place of `_`; empty for a word that is none."""
    return {"-m": "--module", "-q": "--quiet"}.get(option, option.replace("_", "-") if option.startswith("--") else "")


def _number(given: CommandWord | None) -> int | None:
    """The value of an option as a number; None if it is none."""
    value = (given and given.value) or ""
    return int(value) if value.isdecimal() else None
