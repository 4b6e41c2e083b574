"""Write a folder whole or not at all.

The new tree is built beside the old one and exchanged with it in one system call. Where the system has none, files are
replaced one by one under a journal, which the next run completes.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: The first line of every file that a render writes; only a folder of such files is ever replaced.
HEADER = "# Rendered by jobspec; changes made here are lost."


def replace(folder: str, files: Mapping[str, str]) -> list[str]:
    """Make *folder* hold exactly *files* (name to text, below the header), and return their paths.

    Raises JobspecError, with nothing changed, where the folder holds what jobspec did not write, or cannot be written.
    """
    folder = os.path.normpath(folder)
    try:
        _clean_up(folder)
        _refuse_foreign(folder)
        _exchange(_build(folder, files), folder)
    except OSError as error:
        raise JobspecError(f"{folder}: cannot write: {error.strerror}") from None
    return [os.path.join(folder, name) for name in sorted(files)]


def _names(folder: str) -> tuple[str, str, str]:
    """Prefix of what is built beside the folder; the staged tree of an unfinished replacement; its journal."""
    parent, name = os.path.split(os.path.abspath(folder))
    prefix = os.path.join(parent, f".{name}.jobspec-")
    return prefix, prefix + "staged", prefix + "journal"


def _build(folder: str, files: Mapping[str, str]) -> str:
    prefix, _, _ = _names(folder)
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    new = f"{prefix}{os.getpid()}-{secrets.token_hex(4)}"
    os.mkdir(new)
    try:
        for name, text in files.items():
            with open(os.path.join(new, name), "w", encoding="utf-8", newline="\n") as file:
                file.write(f"{HEADER}\n{text}")
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return new


def _refuse_foreign(folder: str) -> None:
    """A folder is replaced as a whole, so nothing may be in it but what a render wrote."""
    if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
        raise JobspecError(f"{folder} is no folder: choose another place with --to")
    if not os.path.isdir(folder):
        return
    foreign = [name for name in sorted(os.listdir(folder)) if not _is_ours(os.path.join(folder, name))]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise JobspecError(
            f"{folder} holds {foreign[0]}{more}, which jobspec did not write and would remove: choose another folder with --to"
        )


def _is_ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER.encode()


def _exchange(new: str, folder: str) -> None:
    if not os.path.isdir(folder):
        os.rename(new, folder)
    elif _swap(new, folder):
        shutil.rmtree(new, ignore_errors=True)
    else:
        _replace_under_journal(new, folder)


def _swap(one: str, other: str) -> bool:
    """Exchange two folders in one system call; False where the system or the file system cannot."""
    if sys.platform not in ("linux", "darwin"):
        return False
    import ctypes
    import errno

    libc = ctypes.CDLL(None, use_errno=True)
    here = -100  # AT_FDCWD
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        failed = libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), 2)  # RENAME_EXCHANGE
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


def _replace_under_journal(new: str, folder: str) -> None:
    """Stage the tree, say so in a journal, and only then touch the folder; from there on every step can be repeated."""
    _, staged, journal = _names(folder)
    os.rename(new, staged)
    with open(journal + ".new", "w", encoding="utf-8") as file:
        file.write("the tree beside this file replaces the folder of its name\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(journal + ".new", journal)
    _complete(folder)


def _complete(folder: str) -> None:
    _, staged, journal = _names(folder)
    wanted = set(os.listdir(staged))
    os.makedirs(folder, exist_ok=True)
    for name in wanted:
        beside = os.path.join(folder, f".{name}.new")
        shutil.copyfile(os.path.join(staged, name), beside)
        os.rename(beside, os.path.join(folder, name))
    for name in os.listdir(folder):
        if name not in wanted:
            os.unlink(os.path.join(folder, name))
    os.unlink(journal)
    shutil.rmtree(staged)


def _clean_up(folder: str) -> None:
    """Complete what an earlier run had begun to exchange, and remove what it had only begun to build."""
    prefix, staged, journal = _names(folder)
    if os.path.exists(journal) and os.path.isdir(staged):
        _complete(folder)
    parent, start = os.path.split(prefix)
    for name in os.listdir(parent) if os.path.isdir(parent) else ():
        if name.startswith(start) and not _in_use(name.removeprefix(start)):
            path = os.path.join(parent, name)
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def _in_use(rest: str) -> bool:
    """Whether the process that builds this tree is still alive."""
    pid = rest.partition("-")[0]
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return int(pid) != os.getpid()
