"""Settings of torchrun: the option that is given, else the variable, else torchrun's default; and where its nodes then meet.

Follows `get_args_parser`, `config_from_args` and `run`, torch/distributed/run.py, `env` and `check_env`, argparse_util.py beside it, and
`StaticTCPRendezvous`, torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py, 2.15.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.programs.command_lines import OPTIONS, SETTINGS, expand_references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The backends of torchrun's rendezvous: the first is the default.
STATIC, C10D = "static", "c10d"
#: Those that ask a server which outlives the job.
ETCD = ("etcd", "etcd-v2", "etcd-experimental")
#: The option of a run's name, and the name that all runs without one have.
RUN_ID, SAME_RUN = "rdzv_id", SETTINGS["rdzv_id"]
#: The addresses of a pod itself.
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "[::1]")  # noqa: S104 (in a pod)
#: The settings of a rendezvous that the static one does not read.
_NOT_OF_STATIC = ("join_timeout", "last_call_timeout", "close_timeout", "keep_alive_interval", "heartbeat_timeout")
#: The options that torch has long had, whose variables are read as another type than text.
_SWITCHES = ("--standalone", "--module", "--no-python", "--run-path")
_NUMBERS = ("--max-restarts", "--node-rank", "--master-port", "--monitor-interval")


class TorchrunSettings(Record):
    """The settings that torchrun is given in a pod."""

    options: Mapping[str, str]
    """The options of the command line by name, such as `--nnodes`; a switch is empty."""
    variables: Mapping[str, str]
    """The values of the pod's variables, as far as the manifest says them."""
    unknown: frozenset[str]
    """The variables whose value only a run shows."""

    def value(self, name: str) -> str | None:
        """The value of a setting such as `nnodes`; None where only a run shows it."""
        option, variable = f"--{name.replace('_', '-')}", f"PET_{name.upper()}"
        if option in self.options:
            said = expand_references(self.options[option], self.variables)
            return None if "$(" in said else said
        return None if variable in self.unknown else self.variables.get(variable, SETTINGS[name])

    @property
    def is_standalone(self) -> bool | None:
        """Whether torchrun makes a rendezvous of its own; None where only a run shows that."""
        if "--standalone" in self.options:
            return True
        said = self.value("standalone")
        return None if said is None else said.strip().lstrip("+-0") != ""

    @property
    def nodes(self) -> tuple[int, int] | None:
        """The least and the most nodes; None where that is not known, or no number."""
        return nodes_of(self.value("nnodes") or "")

    @property
    def backend(self) -> str | None:
        """The backend of the rendezvous; None where only a run shows it."""
        return C10D if self.is_standalone else self.value("rdzv_backend")

    @property
    def endpoint(self) -> str | None:
        """Where the nodes meet, empty where nothing says it; None where only a run shows that."""
        said = self.value("rdzv_endpoint")
        if said or said is None or self.backend is None:
            return said
        return self.value("master_addr") if self.backend == STATIC else ""

    @property
    def meets_itself(self) -> bool:
        """Whether each pod surely waits at an address of its own: no endpoint for another backend than the static one, or its localhost."""
        if self.is_standalone:
            return True
        endpoint = self.endpoint
        if endpoint is None or self.backend is None or self.is_standalone is None:
            return False
        return not endpoint or endpoint in LOCAL or endpoint.rpartition(":")[0] in LOCAL

    @property
    def ignored_by_static(self) -> str:
        """What the static rendezvous ignores of the settings: the range of nodes, or a timeout of `--rdzv-conf`; empty for none."""
        if self.backend != STATIC:
            return ""
        if self.nodes and self.nodes[0] < self.nodes[1]:
            return "nnodes"
        keys = [each.partition("=")[0].strip() for each in (self.value("rdzv_conf") or "").split(",")]
        return "rdzv_conf" if any(each in _NOT_OF_STATIC for each in keys) else ""

    @property
    def shares_its_run(self) -> bool:
        """Whether all jobs at one server of etcd have the run of this one: nothing names it."""
        return self.backend in ETCD and self.value(RUN_ID) in ("", SAME_RUN)

    def refused_variables(self) -> Iterator[tuple[str, str, int]]:
        """The variables whose value torchrun does not take: name, what it takes, and the code that it exits with.

        A number is read where the option is not given; a switch, always.
        """
        for option in (*_SWITCHES, *_NUMBERS):
            name = f"PET_{option[2:].replace('-', '_').upper()}"
            said = self.variables.get(name)
            if said is None or name in self.unknown:
                continue
            if option in _SWITCHES and not _is_integer(said):
                yield name, "0 or 1", 1
            elif option in _NUMBERS and option not in self.options:
                is_taken, what = _PARSED[OPTIONS[option]["type"]]
                if not is_taken(said):
                    yield name, what, 2


def nodes_of(text: str) -> tuple[int, int] | None:
    """Return the least and the most nodes of a number or a range such as `1:4`.

    If the text is neither, return None.
    """
    said = text.split(":")
    return (int(said[0]), int(said[-1])) if len(said) < 3 and all(map(_is_integer, said)) else None


def _is_integer(text: str) -> bool:
    """Whether Python's `int` takes a text."""
    try:
        int(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    """Whether Python's `float` takes a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


_PARSED = {"integer": (_is_integer, "an integer"), "number": (_is_number, "a number")}
