"""The variables by which training-operator tells a program its rank, in a TrainJob: a pod takes its rank from its own metadata."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.migration.hosts import NAME, NAME_FIELD
from jobspec.migration.made import by_migration
from jobspec.migration.program import known_port
from jobspec.operators.trainer.frameworks import COMPLETION_INDEX
from jobspec.programs.launcher import LAUNCHER, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobspec.documents.marked_tree import MarkedTree

RANK_OF_JOB = "metadata.labels['jobset.sigs.k8s.io/job-global-index']"
"""Where a pod finds the number of its Job in the JobSet."""
RANK_OF_POD = COMPLETION_INDEX
"""Where a pod finds its number in its Job."""
_RANKS = ("RANK", "PET_NODE_RANK")
_PORTS = ("MASTER_PORT", "PET_MASTER_PORT")
_NAME = by_migration({"name": NAME, "valueFrom": {"fieldRef": {"fieldPath": NAME_FIELD}}})
#: The variables that the trainer sets itself where the runtime has the policy `torch`, and refuses in a TrainJob.
TRAINERS = frozenset(("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"))
#: Those that only a program reads which nobody has launched.
_UNLAUNCHED = ("MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK")


def operators_own(container: MarkedTree) -> list[MarkedTree]:
    """The variables that training-operator has added to a container."""
    return [each for each in items(container.get("env")) if str(each.mark).startswith("training-operator")]


def translated(added: MarkedTree, rank: str, renamed: Callable[[str], str]) -> MarkedTree:
    """A variable of training-operator as one of a TrainJob. *renamed*: replaces the names of hosts in a text."""
    name = text(added, "name")
    if name in _RANKS:
        return by_migration({"name": name, "valueFrom": {"fieldRef": {"fieldPath": rank}}}, added)
    value = renamed(text(added, "value"))
    return by_migration({"name": name, "value": port_of_trainer(value) if name in _PORTS else value}, added)


def port_of_trainer(port: str) -> str:
    """The port at which processes meet: the one that the job says, else the trainer's."""
    return known_port("trainer") if port == known_port("training-operator") else port


def environment(container: MarkedTree, added: list[MarkedTree], renamed: Callable[[str], str]) -> list[MarkedTree]:
    """A container's own variables but those that the operator's override, then the operator's; the job's name first, if it is used."""
    names = {text(each, "name") for each in added}
    own = [_renamed(each, renamed) for each in items(container.get("env")) if text(each, "name") not in names]
    found = [*own, *added]
    words = [renamed(text_of(each)) for field in ("command", "args") for each in items(container.get(field))]
    is_used = any(f"$({NAME})" in each for each in [*words, *(text(each, "value") for each in found)])
    return [_NAME, *found] if is_used else found


def _renamed(variable: MarkedTree, renamed: Callable[[str], str]) -> MarkedTree:
    value = variable.get("value")
    if value is None or not isinstance(value.value, str):
        return variable
    return variable.with_value({**variable.value, "value": value.with_value(renamed(value.value))})


def needed(container: MarkedTree, added: list[MarkedTree]) -> Iterator[MarkedTree]:
    """The operator's variables that the program can see: a launcher replaces some by its own, unless its command line refers to them."""
    words = [text_of(each) for field in ("command", "args") for each in items(container.get(field))]
    launched = command_line([text_of(each) for each in items(container.get("command"))], []).how == LAUNCHER
    for each in added:
        name = text(each, "name")
        if not launched or name not in _UNLAUNCHED or any(f"$({other})" in word for word in words for other in _UNLAUNCHED):
            yield each


def text_of(tree: MarkedTree) -> str:
    """The text of a scalar."""
    return str(tree.value)
