"""Signs that a container trains, for kinds of jobs that run programs of all sorts: a launcher, accelerators, an address, a name.

A Job may be a backup or a migration of a database. Only where one of these signs is there, it is looked at as training.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.accelerators import is_accelerator
from jobspec.programs.command_lines import LAUNCHERS, RANKS_OF_LAUNCHERS, TORCH, file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobspec.programs.shells import Script


#: Words in the names of programs that train.
_TRAINS = frozenset(("train", "trainer", "training", "pretrain", "pretraining", "finetune", "finetuning", "sft"))
#: Words in the names of programs that run until they are stopped.
_SERVES = frozenset(
    (
        "api",
        "bot",
        "controller",
        "daemon",
        "dashboard",
        "listener",
        "monitor",
        "operator",
        "scheduler",
        "serve",
        "server",
        "service",
        "worker",
    )
)
#: Commands that end soon.
_BRIEF = frozenset(("aws", "cp", "date", "echo", "gsutil", "mkdir", "mv", "rsync", "tee", "touch", "wait"))
#: The variables that say how processes of training meet. A program that does not train has no use for them.
_MEETING = RANKS_OF_LAUNCHERS | {*TORCH}


def training_containers(pods: Mapping[str, tuple[MarkedTree, int]], *, is_queued: bool) -> dict[str, str]:
    """The roles that train, given by name with a pod and the number of pods, each with the name of its container that does.

    *is_queued*: the job waits in a queue for accelerators or the like. If no role has a sign, the first one counts then.
    """
    found = {role: name for role, (pod, count) in pods.items() if (name := _training_container(pod, count))}
    if not found and is_queued:
        return {role: name for role, (pod, _) in list(pods.items())[:1] if (name := _first(pod))}
    return found


def _training_container(pod: MarkedTree, count: int) -> str:
    """The container of a pod that trains, by the strongest sign; empty where none does."""
    containers = items(pod.get("spec", "containers"))
    signs: tuple[Callable[[MarkedTree], bool], ...] = (_starts_launcher, _asks_for_accelerators, _has_meeting_place, _is_named_so)
    found = next((each for sign in signs for each in containers if sign(each)), None)
    return _first(pod) if found is None and count > 1 and _has_host_name(pod) else text(found, "name")


def training_container_of_template(pod: MarkedTree, *, is_job: bool) -> str:
    """The container that trains, in a pod of a kind of which only the template is known; empty if none has a sign.

    *is_job*: the kind is one of jobs by its name. Accelerators alone are no sign elsewhere: servers of models have them, too. A container
    with a probe serves.
    """
    from jobspec.kubernetes.pods.defaults import PROBES

    containers = [each for each in items(pod.get("spec", "containers")) if not any(each.get(probe) for probe in PROBES)]
    signs = (_starts_launcher, *((_asks_for_accelerators,) if is_job else ()), _has_meeting_place, _is_named_so)
    return text(next((each for sign in signs for each in containers if sign(each)), None), "name")


def meet(pod: MarkedTree) -> bool:
    """Whether the pods of a role that trains wait for each other: they have names to find each other by, or an address to meet at."""
    return _has_host_name(pod) or any(map(_has_meeting_place, items(pod.get("spec", "containers"))))


def _has_host_name(pod: MarkedTree) -> bool:
    """Whether other pods find a pod by its name."""
    return bool(text(pod, "spec", "hostname") and text(pod, "spec", "subdomain"))


def _first(pod: MarkedTree) -> str:
    return text(next(iter(items(pod.get("spec", "containers"))), None), "name")


def _starts_launcher(container: MarkedTree) -> bool:
    """Whether the command line of a container has the name of a launcher."""
    return any(each in LAUNCHERS for each in _programs(container))


def _is_named_so(container: MarkedTree) -> bool:
    """Whether Python runs a file or a module such as `train.py` or `finetune_model`."""
    names = _programs(container)
    has_python = any(each.startswith("python") for each in names)
    return has_python and any(part in _TRAINS for each in names for part in each.replace("-", "_").replace(".", "_").split("_"))


def ends_with_training(container: MarkedTree, script: Script | None) -> bool:
    """True if the last program of a container is a Python file or module named for training.

    Such a file is `train.py`, and not `train_server.py`. The module stands after `-m`. *script*: that of the container's shell.
    """
    if script is None:
        return _is_for_training(_programs(container))
    last = [each for each in script.commands if each.words and file_name(each.words[0]) not in _BRIEF][-1:]
    return script.is_straight and any(_is_for_training([file_name(word) for word in each.words]) for each in last)


def _is_for_training(words: Sequence[str]) -> bool:
    """True if a command has a Python file or module that is named for training, and not for a server."""
    files = [each for before, each in zip(["", *words], words, strict=False) if each.endswith(".py") or before == "-m"]
    parts = [set(each.replace("-", "_").replace(".", "_").split("_")) for each in files]
    return any(each & _TRAINS and not each & _SERVES for each in parts)


def _programs(container: MarkedTree) -> list[str]:
    """The words of a command line, without folders; those of a shell's script each on its own."""
    words = [str(each.value) for field in ("command", "args") for each in items(container.get(field))]
    return [file_name(part.strip("\"'();&|")) for word in words for part in word.split()]


def _asks_for_accelerators(container: MarkedTree) -> bool:
    asked = container.get("resources")
    return asked is not None and any(is_accelerator(name) for field in ("limits", "requests") for name, _ in asked.entries(field))


def _has_meeting_place(container: MarkedTree) -> bool:
    return any(text(each, "name") in _MEETING for each in items(container.get("env")))
