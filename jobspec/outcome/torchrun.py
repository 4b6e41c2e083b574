"""The options of torchrun, and a command line's.

Follows `get_args_parser`, torch torch/distributed/run.py, 2.15. `-` and `_` are the same in its options, and a beginning that is that of
one option alone is enough.
"""

from __future__ import annotations

from jobspec.outcome.words import file_name, read, starts_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.outcome.words import CommandWord

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
_SHORT = {"-m": "--module", "-r": "--redirects", "-t": "--tee", "-h": "--help"}


def length_of_start(words: Sequence[str]) -> int:
    """How many words of a command line start torchrun: 1, or 3 of `python -m torch.distributed.run`; 0 where something else starts."""
    names = list(map(file_name, words[:3]))
    if names[:1] and names[0] in NAMES:
        return 1
    return 3 if starts_python(words) and names[1:2] == ["-m"] and names[2:3] and names[2] in NAMES else 0


def given(words: Sequence[str]) -> Iterator[CommandWord]:
    """What torchrun is told by the words behind its name, up to its script; an option that it does not have counts as one with a value."""
    for each in read(words, meant, _SWITCHES, unknown_take_values=True):
        if each.name[:1] != "-":
            return
        yield each


def meant(option: str) -> str:
    """The full name of an option as it is written: with `_` for `-`, in its short form, or by a beginning that no other has; else empty."""
    found = _meant(option)
    return found[0] if len(found) == 1 else ""


def is_unknown(option: str, *, is_launch: bool) -> bool:
    """Whether torchrun has no option of this name or beginning; short ones, which can hold their value as in `-r3`, are left out."""
    return option.startswith("--") and (not _meant(option) or (meant(option) == OF_LAUNCH and not is_launch))


def _meant(option: str) -> list[str]:
    if not option.startswith("--"):
        return [_SHORT[option]] if option in _SHORT else []
    spelt = option.replace("_", "-")
    return [spelt] if spelt in _ALL else [each for each in _ALL if each.startswith(spelt)]
