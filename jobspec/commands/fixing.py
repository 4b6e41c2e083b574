"""Fixes in files: `--fix` writes them, `--diff` shows them."""

from __future__ import annotations

import sys

from jobspec.commands.files import PAGES, STDIN, Found, content_of
from jobspec.commands.output import replace
from jobspec.diagnostics import JobspecError
from jobspec.documents.markdown import kept, page_of
from jobspec.documents.text import decode
from jobspec.fixes.rounds import Mended, mend
from jobspec.gitops.tree import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from jobspec.commands.inputs import Inputs
    from jobspec.diagnostics import Diagnostic

    #: A file and its text to everything that is said of it.
    Judge = Callable[[Found, str], Sequence[Diagnostic]]


class FixedFile:
    """A file before and after its fixes."""

    __slots__ = ("before", "found", "mended")

    def __init__(self, found: Found, before: str, mended: Mended) -> None:
        self.found = found
        self.before = before
        self.mended = mended


def fix_files(inputs: Inputs, found: Sequence[Found], judge: Judge, *, diff: bool) -> bool:
    """Write the fixes of files, or show them (*diff*); whether any are shown, which are all that is printed then."""
    if inputs.overlays:
        raise JobspecError("--fix and --diff are for files as they stand; leave --overlay out")
    if diff:
        return show_fixes(found, judge)
    write_fixes(found, judge)
    return False


def write_fixes(found: Sequence[Found], judge: Judge) -> list[FixedFile]:
    """Mend files, each whole or not at all, and say on standard error what was mended and what could not be.

    Raises JobspecError where a file cannot be written.
    """
    if any(each.path == STDIN for each in found):
        raise JobspecError("--fix cannot write standard input; --diff shows the fixes")
    fixed = _fixed(found, judge)
    for each in fixed:
        if each.mended.text != each.before:
            try:
                replace(each.found.path, each.mended.text.encode())
            except OSError as error:
                raise JobspecError(f"{each.found.path}: {error.strerror}") from None
    _tell(fixed, sys.stderr, done="fixed")
    return fixed


def show_fixes(found: Sequence[Found], judge: Judge) -> bool:
    """Print the fixes as a diff; whether there are any."""
    fixed = _fixed(found, judge)
    before = {each.found.path.lstrip("/"): each.before.encode() for each in fixed}
    after = {each.found.path.lstrip("/"): each.mended.text.encode() for each in fixed}
    sys.stdout.writelines(differences(before, after))
    sys.stdout.flush()
    _tell(fixed, sys.stderr, done="would be fixed")
    return before != after


def _fixed(found: Sequence[Found], judge: Judge) -> list[FixedFile]:
    return [fixed for each in found if (fixed := _fix(each, judge))]


def _fix(found: Found, judge: Judge) -> FixedFile | None:
    """A file with its fixes; None where there is nothing to mend."""
    text = decode(content_of(found), found.path)
    if not isinstance(text, str):
        return None
    is_page = found.path.endswith(PAGES)
    mended = mend(kept(text) if is_page else text, lambda new: judge(found, new), file=found.path)
    if not mended.done and not mended.refused:
        return None
    return FixedFile(found, text, Mended(page_of(mended.text), mended.done, mended.refused) if is_page else mended)


def _tell(fixed: Sequence[FixedFile], stream: TextIO | None, *, done: str) -> None:
    if stream is None:
        return
    for each in fixed:
        number = len(each.mended.done)
        if number:
            stream.write(f"{each.found.path}: {number} problem{'s' if number > 1 else ''} {done}\n")
        for diagnostic in each.mended.refused:
            stream.write(f"{diagnostic.mark}: not {done}, mend it by hand [{diagnostic.rule}]\n")
