"""Command lines of training containers: the launcher, torchrun with its options, the program.

Follows `get_args_parser` and `config_from_args`, torch/distributed/run.py, 2.7: each option has the variable `PET_<OPTION>` as default.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any


#: How a command line starts its program: by the launcher, in a shell, directly, or by the unknown entrypoint of the image.
LAUNCHER, SHELL, PROGRAM, IMAGE = "launcher", "shell", "program", "image"
SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
_PYTHON = "python"
ACCELERATE, DEEPSPEED = "accelerate", "deepspeed"
"""Launchers besides torchrun whose options are known."""
#: How the variables begin that give torchrun its options.
OF_TORCHRUN = "PET_"
#: The variables by which processes find each other, set by the operators: those of torchrun, which are its options, then by framework.
TORCH = NNODES, NPROC_PER_NODE, NODE_RANK, MASTER_ADDR, MASTER_PORT = tuple(
    f"{OF_TORCHRUN}{name}" for name in ("NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
)
ENDPOINT = f"{OF_TORCHRUN}RDZV_ENDPOINT"
JAX = _, _, COORDINATOR = ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")
OPEN_MPI = tuple(
    f"OMPI_MCA_{name}" for name in ("orte_default_hostfile", "orte_keep_fqdn_hostnames", "orte_set_default_slots", "plm_rsh_args")
)
XGBOOST = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")
#: The variables in which an operator says the rank of a pod, the address and the port of the rendezvous.
RANKS = ("RANK", NODE_RANK)
ADDRESSES = (MASTER_ADDR, "MASTER_ADDR")
PORTS = ("MASTER_PORT", MASTER_PORT)
#: The words that torchrun takes for the number of processes in a pod, which it then counts itself.
PROCESS_WORDS = ("auto", "cpu", "gpu", "xpu")
#: That in which a pod of an indexed Job finds its number.
INDEX = "JOB_COMPLETION_INDEX"
#: The variables by which launchers of all kinds pass a program its rank or where to meet; and how these, and others of theirs, begin.
RANKS_OF_LAUNCHERS = frozenset(
    (
        *("RANK", "NODE_RANK", "WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"),
        *("JAX_PROCESS_ID", "DMLC_TASK_ID"),
    )
)
#: The variables that launchers and operators alone set, and no image.
OF_LAUNCHERS = frozenset(
    (
        *RANKS_OF_LAUNCHERS,
        *("LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT", "NNODES", "NUM_NODES", "NPROC_PER_NODE", "SLURM_NODEID", "SLURM_NNODES"),
        *(*TORCH, ENDPOINT, *JAX, *XGBOOST, INDEX),
    )
)
#: The variables that torchrun sets for its processes.
OF_PROCESSES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT")
#: Options by the settings that variables give as well, with what the launcher does without either.
SETTINGS = {
    "nnodes": "1:1",
    "nproc_per_node": "1",
    "node_rank": "0",
    "master_addr": "127.0.0.1",
    "master_port": "29500",
    "rdzv_backend": "static",
    "rdzv_endpoint": "",
    "rdzv_id": "none",
    "rdzv_conf": "",
    "max_restarts": "0",
    "standalone": "",
}


class CommandLine(Record):
    """The command line of a container: the way it starts, the program, the launcher's options."""

    how: str
    program: Sequence[str]
    """The words of the program, without the launcher's and the interpreter's own."""
    options: Mapping[str, str] = {}
    """The launcher's settings on the command line, by name."""

    def setting(self, name: str, environment: Mapping[str, str]) -> str:
        """Return a setting of the launcher: from the command line, the variable, or its default."""
        return self.options.get(name, environment.get(f"{OF_TORCHRUN}{name.upper()}", SETTINGS[name]))


def command_line(command: Sequence[str], arguments: Sequence[str]) -> CommandLine:
    """Return the command line of a container's `command` and `args`."""
    if not command:
        return CommandLine(IMAGE, arguments)
    words = [*command, *arguments]
    if is_shell(words[0]):
        return CommandLine(SHELL, words)
    start = length_of_start(words)
    if start:
        return _launched(words[start:])
    if not starts_python(words):
        return CommandLine(PROGRAM, words)
    unbuffered = next((number for number, word in enumerate(words[1:]) if word != "-u"), len(words) - 1)
    return CommandLine(PROGRAM, [_PYTHON, *words[1 + unbuffered :]])


def _launched(words: Sequence[str]) -> CommandLine:
    """The command line of torchrun, given by the words behind its name."""
    given = list(options_of(words))
    options = {(each.option or each.name).lstrip("-").replace("-", "_"): each.value or "" for each in given}
    rest = words[given[-1].value_at + 1 :] if given else words
    if rest[:1] == ["--"]:
        rest = rest[1:]
    interpreter = [] if "no_python" in options else [_PYTHON, *(["-m"] if "module" in options else [])]
    return CommandLine(LAUNCHER, [*interpreter, *rest], options)


# The options of torchrun, and a command line's.
#
# Follows `get_args_parser`, torch torch/distributed/run.py, 2.15. `-` and `_` are the same in its options, and a beginning that is that of
# one option alone is enough.
_TEXT: Mapping[str, Any] = {"type": "string"}
_INTEGER: Mapping[str, Any] = {"type": "integer"}
_SWITCH: Mapping[str, Any] = {"type": "boolean"}
#: Option -> what it takes, in the manner of a contract.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        (
            *("--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id", "--rdzv-conf", "--event-log-handler"),
            *("--role", "--log-dir", "--redirects", "--tee", "--log-line-prefix-template", "--local-ranks-filter"),
            *("--duplicate-stdout-filters", "--duplicate-stderr-filters", "--master-addr", "--local-addr", "--logs-specs"),
            *("--signals-to-handle",),
        ),
        _TEXT,
    ),
    **dict.fromkeys(("--max-restarts", "--node-rank", "--master-port", "--shutdown-timeout"), _INTEGER),
    "--monitor-interval": {"type": "number"},
    "--start-method": {"enum": ["spawn", "fork", "forkserver"]},
    "--numa-binding": {"enum": ["node", "socket", "exclusive", "core-complex"]},
    "--print-completion": {},
    **dict.fromkeys(("--standalone", "--module", "--no-python", "--run-path", "--virtual-local-rank", "--help"), _SWITCH),
}
#: The switch that `python -m torch.distributed.launch` has besides.
OF_LAUNCH = "--use-env"
#: The programs that start the processes of a node.
NAMES = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
_ALL = (*OPTIONS, OF_LAUNCH)
_SWITCHES = frozenset((*(name for name, each in OPTIONS.items() if each is _SWITCH), OF_LAUNCH))
#: What the words of those command lines mention that start another launcher with Python.
_LAUNCHERS = ("accelerate", "deepspeed", "torch.distributed", "ray", "horovod", "mpirun", "composer", "colossalai")
#: The programs, and Python's modules, that start processes of training.
LAUNCHERS = frozenset((*NAMES, "accelerate", "colossalai", "composer", "deepspeed", "horovodrun", "mpiexec", "mpirun"))
#: Python's own switches whose value is the next word.
_SWITCHES_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_SHORT = {"-m": "--module", "-r": "--redirects", "-t": "--tee", "-h": "--help"}


def length_of_start(words: Sequence[str]) -> int:
    """Return how many words of a command line start torchrun.

    1 for its name, 3 for `python -m torch.distributed.run`, 0 for any other start.
    """
    if words and file_name(words[0]) in NAMES:
        return 1
    start = length_of_python(words)
    return start + 2 if start and words[start : start + 1] == ["-m"] and "".join(words[start + 1 : start + 2]) in NAMES else 0


def options_of(words: Sequence[str]) -> Iterator[CommandWord]:
    """Yield the options of torchrun in the words behind its name, up to its script.

    An unknown option counts as one with a value.
    """
    for each in read(words, meant, _SWITCHES, unknown_take_values=True):
        if each.name[:1] != "-":
            return
        yield each


def meant(option: str) -> str:
    """Return the full name of an option, or an empty string if there is none.

    The option may be written with `-` for `_`, in its short form, or by a beginning that no other option has.
    """
    found = _meant(option)
    return found[0] if len(found) == 1 else ""


def is_unknown(option: str, *, is_launch: bool) -> bool:
    """True if torchrun has no option of this name or beginning.

    Short options are left out: they can hold their value as in `-r3`.
    """
    return option.startswith("--") and (not _meant(option) or (meant(option) == OF_LAUNCH and not is_launch))


def _meant(option: str) -> list[str]:
    if not option.startswith("--"):
        return [_SHORT[option]] if option in _SHORT else []
    spelt = option.replace("_", "-")
    return [spelt] if spelt in _ALL else [each for each in _ALL if each.startswith(spelt)]


# The words of a command line, as argparse reads them.
class CommandWord(Record):
    """A word of a command line, and its value."""

    at: int
    """The number of the word."""
    name: str
    option: str
    """The option that the name means; empty where it means none."""
    value: str | None
    """None of a switch, and where none follows."""
    value_at: int
    """The number of the word that the value stands in."""
    is_joined: bool
    """Whether the value is written behind a `=`."""


def read(
    words: Sequence[str], meaning: Callable[[str], str], switches: Collection[str], *, unknown_take_values: bool = False
) -> Iterator[CommandWord]:
    """Yield the words one by one, up to a word whose reading is unknown before the pod runs.

    *meaning* returns the option that a name means, or an empty string. *switches* are options without a value.
    """
    at = 0
    while at < len(words):
        name, joined, value = words[at].partition("=")
        if "$(" in name or name == "--":
            return
        option = meaning(name)
        takes_value = option not in switches if option else unknown_take_values and name.startswith("--")
        follows = takes_value and not joined and at + 1 < len(words) and not is_flag(words[at + 1])
        value_at = at + 1 if follows else at
        said = words[value_at] if follows else value if joined else None
        yield CommandWord(at, name, option, said, value_at=value_at, is_joined=bool(joined))
        at = value_at + 1


def is_shell(word: str) -> bool:
    """True if a word is the name or the path of a shell."""
    return file_name(word) in SHELLS


def starts_python(words: Sequence[str]) -> bool:
    """True if the first word of a command line is Python."""
    return bool(words) and file_name(words[0]).rstrip("0123456789.") == "python"


def is_plain_python(words: Sequence[str]) -> bool:
    """True if a command line starts a Python file or module directly, without a launcher."""
    if not starts_python(words) or len(words) == 1:
        return False
    first = "".join(words[length_of_python(words) :][:1])
    mentions = any(each in word for word in words for each in _LAUNCHERS)
    return first != "-c" and (first != "-m" or "." not in words[-1]) and not mentions


def length_of_python(words: Sequence[str]) -> int:
    """Return how many words of a command line are Python and its own switches.

    The words end before `-m`, `-c` or a script. If the command line does not start Python, return 0.
    """
    if not starts_python(words):
        return 0
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "-c", "-m"):
        at += 2 if words[at] in _SWITCHES_WITH_VALUE else 1
    return at


def file_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def expand_references(text: str, values: Mapping[str, str]) -> str:
    """Replace each `$(NAME)` in a text by the value of a known variable. `$$` is a dollar sign.

    Follows `Expand`, k8s.io/kubernetes third_party/forked/golang/expansion, 1.36.
    """
    if "$" not in text:
        return text
    import re

    def value_of(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else values.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", value_of, text)


def references(text: str) -> list[str]:
    """The names in `$(NAME)` of a text, of which `$$(NAME)` is none."""
    found: list[str] = []
    rest = text.replace("$$", "")
    while "$(" in rest:
        name, closed, rest = rest.partition("$(")[2].partition(")")
        found += [name] if closed else []
    return found


def is_process_count(text: str) -> bool:
    """True if torchrun accepts a text as the number of processes in a pod."""
    return text in PROCESS_WORDS or (text.isdecimal() and int(text) > 0)


def is_flag(word: str) -> bool:
    """True if argparse takes a word for a flag.

    A flag begins with `-`, and is neither a negative number nor a dash alone.
    """
    return word[:1] == "-" and len(word) > 1 and not word[1:].replace(".", "", 1).isdecimal()
