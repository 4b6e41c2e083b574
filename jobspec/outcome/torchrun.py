"""The options of torchrun.

Follows `get_args_parser`, torch torch/distributed/run.py, 2.15. `-` and `_` are the same in its options, and a beginning that is that of
one option alone is enough.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
_SHORT = {"-m": "--module", "-r": "--redirects", "-t": "--tee", "-h": "--help"}


def meant(option: str) -> str:
    """The full name of an option as it is written: with `_` for `-`, in its short form, or by a beginning that no other has; else empty."""
    found = _meant(option)
    return found[0] if len(found) == 1 else ""


def is_unknown(option: str) -> bool:
    """Whether torchrun has no option of this name or beginning; short ones, which can hold their value as in `-r3`, are left out."""
    return option.startswith("--") and not _meant(option)


def _meant(option: str) -> list[str]:
    if not option.startswith("--"):
        return [_SHORT[option]] if option in _SHORT else []
    spelt = option.replace("_", "-")
    return [spelt] if spelt in OPTIONS else [each for each in OPTIONS if each.startswith(spelt)]
