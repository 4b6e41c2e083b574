"""Files that a command gives new contents: shown as a diff, or all written or none, after what an earlier run has left undone there."""

from __future__ import annotations

import os
import sys

from jobspec import replacements
from jobspec.commands.files import STDIN
from jobspec.diagnostics import JobspecError
from jobspec.gitops.tree import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.commands.files import Found
    from jobspec.replacements import Replacement


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


def show(changed: Mapping[str, Replacement]) -> None:
    """Print what changes in files, by their paths, as a diff that `git apply` takes in the current folder."""
    named = {_in_diff(path): each for path, each in changed.items()}
    sys.stdout.writelines(
        differences({name: each.before for name, each in named.items()}, {name: each.after for name, each in named.items()})
    )
    sys.stdout.flush()


def _in_diff(path: str) -> str:
    """The file that a path leads to, as from the current folder, or, where it lies elsewhere, as from the root."""
    if path == STDIN:
        return path
    whole = os.path.realpath(path) if os.path.isfile(path) else os.path.abspath(path)
    name = os.path.relpath(whole)
    return whole.lstrip(os.sep) if name.split(os.sep)[0] == os.pardir else name
