"""The command line of mpirun: how many processes it starts, and on which hosts, by Open MPI and by Hydra of Intel MPI and MPICH.

Follows mpirun(1) of Open MPI 4.1 and 5.0, and `HYD_uii_mpx_get_parameters`, src/pm/hydra of MPICH 4.2. An option is read up to the program;
one that neither knows ends the reading.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.programs.command_lines import file_name
from jobspec.programs.shells import read_script, script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = frozenset(("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "mpiexec.hydra", "orterun", "prterun"))
"""The names of mpirun."""
_COUNTS = frozenset(("np", "n", "c"))
_PAIRS = frozenset(("mca", "gmca", "omca", "prtemca", "pmixmca", "genv", "env"))
_HOSTS = frozenset(
    (
        *("H", "host", "hosts", "hostfile", "machinefile", "machine", "f", "default-hostfile", "rankfile", "rf"),
        *("add-host", "add-hostfile"),
    )
)
_SPREADS = frozenset(("bynode", "pernode", "bysocket"))
_PLACED = frozenset((*_SPREADS, "N", "npernode", "npersocket", "ppn", "perhost", "map-by", "cpus-per-proc", "cpus-per-rank"))
_VALUES = frozenset(
    (
        *(*_COUNTS, *_HOSTS, *(_PLACED - _SPREADS)),
        *("x", "rank-by", "bind-to", "wdir", "wd", "path", "prefix", "output-filename", "report-uri", "tune", "am", "timeout", "stdin"),
        *("iface", "launcher", "launcher-exec", "rmk", "bootstrap", "bootstrap-exec", "genvlist", "envlist", "output", "display"),
        *("pmi-port", "runtime-options", "personality", "cpu-set", "cpu-list", "max-restarts"),
    )
)
_SWITCHES = frozenset(
    (
        *(
            "allow-run-as-root",
            "tag-output",
            "timestamp-output",
            "report-bindings",
            "byslot",
            "oversubscribe",
            "nooversubscribe",
            "nolocal",
        ),
        *("v", "verbose", "q", "quiet", "d", "debug", "display-map", "display-allocation", "use-hwthread-cpus", "enable-recovery"),
        *("merge-stderr-to-stdout", "continuous", "noprefix", "genvall", "genvnone", "envall", "envnone", "l", "prepend-rank"),
        *("print-rank-map", "bind-to-none", "bind-to-core", "bind-to-socket", *_SPREADS),
    )
)


class MpirunCommand(Record):
    """A call of mpirun."""

    count: int | None = None
    """The number of processes that it is given; None where it starts one in each slot, or where only a run shows it."""
    at: int = 0
    """The number of the word that says it; of a script, that of the script."""
    names_hosts: bool = False
    """Whether it is given other hosts than those of the default list."""
    places: bool = False
    """Whether it is told how many processes a host gets, or in which order hosts get them."""
    oversubscribes: bool = False
    """Whether a host may get more processes than it has slots."""


def mpirun_in(words: Sequence[str]) -> MpirunCommand | None:
    """Return the call of mpirun in a command line.

    If there is none, or if a shell's script calls it under conditions or several times, return None.
    """
    at = script_at(words)
    if at is None:
        return _read(words) if words and file_name(words[0]) in PROGRAMS else None
    script = read_script(words[at])
    calls = [each for each in script.commands if file_name(each.words[0]) in PROGRAMS]
    if not script.is_straight or len(calls) != 1 or calls[0].is_alternative:
        return None
    found = _read(calls[0].words)
    return MpirunCommand(found.count, at, found.names_hosts, found.places, found.oversubscribes)


def mentions_mpirun(words: Sequence[str]) -> bool:
    """True if a command line, or a script in it, has the name of mpirun or of what calls it."""
    return any(file_name(part.strip("\"'();&|")) in (*PROGRAMS, "horovodrun") for word in words for part in word.split())


def _read(words: Sequence[str]) -> MpirunCommand:
    """The options of a call, up to the program; after an option that is not known, nothing is sure."""
    count: int | None = None
    place, given, at = 0, set[str](), 1
    while at < len(words) and words[at].startswith("-"):
        name, joined, value = words[at].lstrip("-").partition("=")
        following = _following(name, joined=bool(joined))
        if following is None:
            return MpirunCommand()
        said = words[at + 1 : at + 1 + following] or [value]
        if name in _COUNTS:
            count, place = _number(said[0]), at + following
        if "oversubscribe" in " ".join(said).lower():
            given.add("oversubscribe")
        if name != "map-by" or said[0].lower() != "slot":  # which is the default
            given.add(name)
        at += 1 + following
    return MpirunCommand(
        None if ":" in words[at:] else count,  # several programs, each with a number
        place,
        names_hosts=bool(given & _HOSTS),
        places=bool(given & _PLACED),
        oversubscribes="oversubscribe" in given,
    )


def _following(name: str, *, joined: bool) -> int | None:
    """How many words an option takes; None for one that is not known."""
    if joined or name in _SWITCHES:
        return 0
    return 2 if name in _PAIRS else 1 if name in _VALUES else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None
