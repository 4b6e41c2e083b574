"""Fixes in files: `--fix` writes them, `--diff` shows them."""

from __future__ import annotations

import sys

from jobspec.commands.choosing import wanted
from jobspec.commands.files import STDIN, Found, content_of
from jobspec.commands.rewriting import complete_earlier, show
from jobspec.commands.trials import Trials
from jobspec.diagnostics import JobspecError
from jobspec.documents.document import PAGES
from jobspec.documents.markdown import kept, page_of
from jobspec.documents.reader import decode
from jobspec.fixes.rounds import Mended, mend_files
from jobspec.replacements import Replacement, replace_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from jobspec.choice.settings import Settings
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.commands.trials import Say
    from jobspec.diagnostics import Diagnostic


class FixedFile:
    """A file before and after its fixes."""

    __slots__ = ("before", "found", "mended")

    def __init__(self, found: Found, before: str, mended: Mended) -> None:
        self.found = found
        self.before = before
        self.mended = mended


def fix_files(inputs: Inputs, found: Sequence[Found], setting: Setting, settings: Settings | None, say: Say, *, diff: bool) -> bool:
    """Write the fixes of files, or show them (*diff*); whether any are shown, which are all that is printed then.

    *say* tells what is said of some of the files; what *settings* and comments ignore stays as it is.
    """
    if inputs.overlays:
        raise JobspecError("--fix and --diff are for files as they stand; leave --overlay out")
    if not diff and any(each.path == STDIN for each in found):
        raise JobspecError("--fix cannot write standard input; --diff shows the fixes")
    complete_earlier(found, "--fix", writes=not diff)
    fixed = _fixed(found, Trials(found, setting.cluster, say, skip_unknown=inputs.skip_unknown), settings)
    if diff:
        return _show(fixed)
    _write(fixed)
    return False


def _fixed(found: Sequence[Found], judge: Trials, settings: Settings | None) -> list[FixedFile]:
    """The files that have anything to mend, with their fixes."""
    before = {each.path: (each, text) for each in found if isinstance(text := decode(content_of(each), each.path), str)}
    texts = {path: kept(text) if path.endswith(PAGES) else text for path, (_, text) in before.items()}

    def choose(path: str, text: str, said: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
        return wanted(said, path, page_of(text) if path.endswith(PAGES) else text, settings)

    mended = mend_files(texts, judge, choose)
    return [FixedFile(*before[path], _of_page(each) if path.endswith(PAGES) else each) for path, each in mended.items() if each.has_any]


def _of_page(mended: Mended) -> Mended:
    return Mended(page_of(mended.text), mended.done, mended.refused)


def _changed(fixed: Sequence[FixedFile]) -> dict[str, Replacement]:
    """What changes in files, by their paths."""
    wanted = {each.found.path: Replacement(each.before.encode(), each.mended.text.encode()) for each in fixed}
    return {path: each for path, each in wanted.items() if each.before != each.after}


def _write(fixed: Sequence[FixedFile]) -> None:
    """Write files, all or none, and say on standard error what was mended and what could not be.

    Raises JobspecError, with nothing changed, where a file cannot be written.
    """
    changed = _changed(fixed)
    if changed:
        replace_all(changed)
    _tell(fixed, sys.stderr, done="fixed")


def _show(fixed: Sequence[FixedFile]) -> bool:
    """Print the fixes as a diff; whether there are any."""
    changed = _changed(fixed)
    show(changed)
    _tell(fixed, sys.stderr, done="would be fixed")
    return bool(changed)


def _tell(fixed: Sequence[FixedFile], stream: TextIO | None, *, done: str) -> None:
    if stream is None:
        return
    for each in fixed:
        number = len(each.mended.done)
        if number:
            stream.write(f"{each.found.path}: {number} problem{'s' if number > 1 else ''} {done}\n")
        for diagnostic in each.mended.refused:
            stream.write(f"{diagnostic.mark}: not {done}, mend it by hand [{diagnostic.rule}]\n")
