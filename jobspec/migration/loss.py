"""What a difference between two jobs means to their user: it is lost, it changes its meaning, or it is worth a note."""

from __future__ import annotations

from jobspec.migration.hosts import NAME
from jobspec.programs.launcher import LAUNCHER, SETTINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobspec.migration.facts import Difference, Fact, Key

LOST, CHANGED, NOTE = "migration-loss", "migration-change", "migration-note"
COST = {LOST: 1_000_000, CHANGED: 1_000, NOTE: 1}

_MEETING = ("master_addr", "master_port", "node_rank")
_LAUNCHER_WORDS = ("torchrun", "torch.distributed")


def meaning_in(before: Mapping[Key, Fact], difference: Difference) -> str:
    """The rule that a difference to the facts *before* comes under."""
    key = (*difference.key[:2], "program")
    how, words = before.get((*key, "how")), before.get((*key, "words"))
    return _meaning(difference, str(how.value) if how else "", " ".join(words.value) if words else "")


def _meaning(difference: Difference, how: str, words: str) -> str:
    """*how* and *words*: the program of the difference's node, before."""
    area, about = difference.key[-2], difference.key[-1]
    before, after = difference.before, difference.after
    if "env" in difference.key[1:-1]:
        return _variable(about, difference, how, words)
    if area == "launcher":
        return _setting(difference)
    if area == "life":
        return _life(about, difference)
    if before is None or not before.mark.line or (after is not None and before.mark.line and str(before.mark) == str(after.mark)):
        return CHANGED  # what nobody wrote, or what is in the runtime, which another release ships otherwise
    return LOST


def _variable(name: str, difference: Difference, how: str, words: str) -> str:
    """What steers torchrun is nothing to a program that is no launcher, and may be something to one that nobody sees."""
    if name == NAME:
        return NOTE
    if not name.startswith("PET_"):
        return CHANGED if difference.before is None else LOST
    if difference.before is None or how == "at once":
        return NOTE
    is_read = how == LAUNCHER or any(each in words for each in _LAUNCHER_WORDS)
    return LOST if is_read else CHANGED if how == "image" else NOTE


def _setting(difference: Difference) -> str:
    """Nodes that did not know where to meet are none that lose anything."""
    name = difference.key[-1]
    if name in _MEETING and difference.before and difference.before.value == SETTINGS[name]:
        return CHANGED
    return CHANGED if difference.before and difference.before.value in ("the node's own", "") else LOST


def _life(about: str, difference: Difference) -> str:
    before, after = difference.before, difference.after
    if about == "restarts":
        return CHANGED if before is None or before.value == "any number" else LOST
    if about == "ttlSecondsAfterFinished" and before and after:
        return CHANGED if str(before.value).split()[0] == str(after.value).split()[0] else LOST
    if about == "others after a failure":
        return NOTE
    if about == "succeeds":
        return CHANGED if before and "run on" in str(before.value) else LOST
    return CHANGED if before is None and after else LOST
