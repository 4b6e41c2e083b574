"""Mark files that Git ignores or that settings exclude as skipped."""

from __future__ import annotations

import os

from jobspec.diagnostics.record import Record
from jobspec.session.folders import folders_above, with_those_around
from jobspec.session.found import skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import GitIgnoreSpec

    from jobspec.session.disk import Disk
    from jobspec.session.found import Found


IGNORE_FILE = ".jobspecignore"


def without_ignored(found: Sequence[Found], folders: Sequence[str]) -> list[Found]:
    """Mark files that Git ignores as skipped. If Git ignores all of them, mark none.

    Git is asked about files that it does not track, since it ignores no others, and needs long to look for each.
    """
    walked = [each.path for each in found if not each.named]
    around = with_those_around({*folders, *map(os.path.dirname, walked)})
    if not any(os.path.isfile(os.path.join(each, ".gitignore")) for each in around):
        return list(found)
    tracked = set(_said_by_git("ls-files", "-z"))
    untracked = [each for each in walked if each not in tracked]
    ignored = set(_said_by_git("check-ignore", "-z", "--stdin", given=untracked)) if untracked else ()
    if not ignored or len(ignored) == len(set(walked)):
        return list(found)
    return [skipped(each.path, "ignored file") if each.path in ignored and not each.named else each for each in found]


def _said_by_git(*words: str, given: Sequence[str] = ()) -> list[str]:
    """Return the paths that Git prints, if it reads the *given* ones; none without Git."""
    import subprocess

    names = b"".join(os.fsencode(each) + b"\0" for each in given)
    try:
        done = subprocess.run(["git", *words], input=names, capture_output=True, check=False)  # noqa: S603, S607 (no shell, and no path as an option)
    except OSError:
        return []
    return [os.fsdecode(each) for each in done.stdout.split(b"\0") if each]


def is_ignored(path: str, folder: str) -> bool:
    """Return True if Git ignores a file or folder, which need not exist.

    *folder*: a folder in the repository whose patterns count.
    """
    own = "-C", folder or os.curdir, "-c", "core.excludesFile="
    place = os.path.abspath(path)
    return bool(_said_by_git(*own, "check-ignore", "-z", "--stdin", given=[place, os.path.join(place, "")]))


def is_left_out_of_checkout(paths: Sequence[str], folder: str) -> bool:
    """Return True if Git tracks one of some files, and a sparse checkout leaves it out.

    *folder*: a folder in the repository.
    """
    own = "--literal-pathspecs", "-C", folder or os.curdir
    given = [os.path.relpath(each, folder or os.curdir) for each in paths]
    return any(each[:1] == "S" and each[2:] in given for each in _said_by_git(*own, "ls-files", "-t", "-z", "--", *given))


class Patterns(Record):
    """Patterns of files, as a `.gitignore` has them, and the folder that they begin at."""

    folder: str
    lines: Sequence[str]


def ignore_files(folders: Sequence[str], disk: Disk) -> list[Patterns]:
    """The patterns of the `.jobspecignore` in each of some folders and above them."""
    around = dict.fromkeys(
        os.path.normpath(os.path.join(each, up)) for each in folders for up in (os.curdir, *folders_above(each, disk.root))
    )
    found = []
    for folder in (os.curdir, *around):
        path = os.path.join(folder, IGNORE_FILE)
        if os.path.isfile(path):
            found.append(Patterns(folder, disk.read(path).decode(errors="replace").splitlines()))
    return found


def without_excluded(found: Sequence[Found], excluded: Sequence[Patterns]) -> list[Found]:
    """The files, of which those that patterns match are skipped and counted, but for those that the user named."""
    if not excluded:
        return list(found)
    specs = [(each.folder, _spec_of(each.lines)) for each in excluded]

    def is_excluded(path: str) -> bool:
        return any(spec.match_file(os.path.relpath(path, folder)) for folder, spec in specs)

    return [skipped(each.path, "excluded file") if not each.named and is_excluded(each.path) else each for each in found]


def _spec_of(lines: Sequence[str]) -> GitIgnoreSpec:
    """Return the patterns in lines as one. As for Git, a line that is no pattern, such as `[9-0]`, matches no file."""
    import re
    import warnings

    from pathspec import GitIgnoreSpec

    usable = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Python warns of brackets that another version may read otherwise
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except (ValueError, re.error):
                continue
            usable.append(line)
        return GitIgnoreSpec.from_lines(usable)
