"""What the program of a container sees: its command line, and its variables after a launcher has set its own.

torchrun takes the `PET_*` variables as settings, and sets `RANK`, `WORLD_SIZE` and the others for each process that it starts.

The number of processes follows `determine_local_world_size`, torch/distributed/run.py, 2.7: `auto` is `gpu` where there are GPUs. The rank
of a node follows `config_from_args` there: it counts where nodes do not agree on their ranks as they meet.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import items
from jobspec.local.pods import expand
from jobspec.migration.facts import Fact
from jobspec.migration.hosts import NAME
from jobspec.operators.expansion import value_of
from jobspec.programs.launcher import LAUNCHER, PROGRAM, SETTINGS, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.facts import Key
    from jobspec.migration.nodes import Hosts, JobNode
    from jobspec.programs.launcher import CommandLine

_PORTS = ("MASTER_PORT", "PET_MASTER_PORT")
_OF_JOBS = "JOB_COMPLETION_INDEX"  # which Kubernetes adds to the pods of every Job
THE_PORT = "<the operator's port>"
#: GPUs that torch counts as such.
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
#: What the launcher sets for its processes itself, whatever the container has.
_LAUNCHERS = frozenset(("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT"))


class Side:
    """One of two jobs: where its nodes are, and who runs it."""

    __slots__ = ("groups", "hosts", "operator", "size")

    def __init__(self, hosts: Hosts, operator: str, size: int, groups: Collection[str]) -> None:
        self.hosts = hosts
        self.operator = operator
        """The beginning of the places of what the operator sets itself: `training-operator` or `trainer`."""
        self.size = size
        """How many nodes there are."""
        self.groups = groups
        """The names of its pod groups."""


def program_facts(node: JobNode, container: MarkedTree, side: Side, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The facts of a container's program, by the beginning *key*."""
    variables, values = _variables(node, container, side)
    known = {**values, **{name: fact.value for name, fact in variables.items() if name in _PORTS}}
    command, arguments = (_words(container, field, known, side) for field in ("command", "args"))
    line = command_line(command, arguments)
    mark = _place(container)
    yield (*key, "program", "how"), Fact("at once" if line.how == PROGRAM else line.how, mark)
    yield (*key, "program", "words"), Fact(line.program, mark)
    if line.how == LAUNCHER:
        has_gpus = any(container.get("resources", "limits", each) for each in _GPUS)
        yield from _launcher_facts(line, variables, side, (*key, "launcher"), mark, has_gpus=has_gpus)
    for name, fact in variables.items():
        if name != _OF_JOBS and (line.how != LAUNCHER or (name not in _LAUNCHERS and not _steers(name))):
            yield (*key, "env", name), fact
    for number, source in enumerate(items(container.get("envFrom"))):
        yield (*key, "envFrom", str(number)), Fact(source.data(), source.place())


def _steers(name: str) -> bool:
    return name.startswith("PET_") and name[4:].lower() in SETTINGS


def _variables(node: JobNode, container: MarkedTree, side: Side) -> tuple[dict[str, Fact], dict[str, str]]:
    """The variables as facts, and with their values as the kubelet has them; the last of a name counts."""
    found: dict[str, Fact] = {}
    known: dict[str, str] = {}
    for variable in items(container.get("env")):
        name = str(variable.value["name"].value)
        given = variable.get("value") or variable.get("valueFrom") or variable
        value = expand(value_of(variable, node.pod.tree), known) + _if_any(variable)
        known[name] = value
        found.pop(name, None)
        found[name] = Fact(_seen(name, value, side), given.place())
    return found, known


def _if_any(variable: MarkedTree) -> str:
    """Whether a pod starts without that which a variable is taken from."""
    source = variable.get("valueFrom")
    optional = any(each.get("optional") and each.value["optional"].value for each in (source.value.values() if source else ()))
    return " (if there is one)" if optional else ""


def _seen(name: str, value: str, side: Side) -> str:
    """A value with nodes in place of host names; the port of the operator, where nobody chose another one, is the same on both sides."""
    if name == NAME:
        return "<the job's name>"
    if name in _PORTS and value == known_port(side.operator):
        return THE_PORT
    return side.hosts.in_text(value)


def known_port(operator: str) -> str:
    """The port at which an operator has processes meet, unless the job says another one."""
    return "29500" if operator == "trainer" else "23456"


def _words(container: MarkedTree, field: str, known: dict[str, str], side: Side) -> list[str]:
    return [side.hosts.in_text(expand(str(each.value), known)) for each in items(container.get(field))]


def _place(container: MarkedTree) -> Mark:
    return (container.get("command") or container.get("args") or container.get("image") or container).place()


def _launcher_facts(
    line: CommandLine, variables: dict[str, Fact], side: Side, key: Key, mark: Mark, *, has_gpus: bool
) -> Iterator[tuple[Key, Fact]]:
    """What the launcher goes by, and so the ranks and the world of the program."""
    known = {name: fact.value for name, fact in variables.items()}
    for name in SETTINGS:
        value = _as_torchrun_reads(name, line.setting(name, known), line, known, side)
        if name == "nproc_per_node" and has_gpus and value in ("auto", "gpu"):
            value = "one for each GPU"
        variable = variables.get(f"PET_{name.upper()}")
        yield (*key, name), Fact(value, variable.mark if variable and name not in line.options else mark)
    for name in line.options.keys() - SETTINGS.keys():
        yield (*key, name), Fact(line.options[name], mark)


def _as_torchrun_reads(name: str, value: str, line: CommandLine, known: dict[str, str], side: Side) -> str:
    is_alone = line.setting("nnodes", known) in ("1", "1:1") or "standalone" in line.options or "PET_STANDALONE" in known
    if name == "nnodes":
        least, _, most = value.partition(":")
        return least if least == (most or least) else value
    meets = line.setting("rdzv_backend", known) != "static"
    if name in ("master_addr", "master_port") and (is_alone or meets):
        return "the node's own"
    if name == "node_rank" and meets:
        return "as the nodes agree"
    if name == "master_port" and value == SETTINGS[name]:
        return THE_PORT
    if name == "master_addr" and side.size == 1 and value == "127.0.0.1":
        return "<node 0>"
    return value
