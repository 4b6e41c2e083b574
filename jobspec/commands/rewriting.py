"""Files that a command gives new contents: all of them or none; what an earlier run has left undone there is done first."""

from __future__ import annotations

import os
import sys

from jobspec import replacements
from jobspec.commands.files import STDIN
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.commands.files import Found


def complete_earlier(found: Sequence[Found], option: str, *, writes: bool) -> bool:
    """Complete what a run that was interrupted has begun in the folders of these files, and say so; whether there was any.

    Raises JobspecError where this run is to write nothing there (not *writes*), naming the *option* with which it would.
    """
    folders = {os.path.dirname(each.path) or os.curdir for each in found if each.path != STDIN}
    if not writes:
        for journal in replacements.interrupted(folders):
            raise JobspecError(f"{journal}: a run was interrupted that wrote some of its files: complete it with {option}")
        return False
    is_completed = replacements.complete(folders)
    if is_completed and sys.stderr:
        sys.stderr.write("jobspec: an earlier run that was interrupted here is completed\n")
    return is_completed
