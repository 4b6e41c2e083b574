"""Ask git: one program, run without a shell, whose errors become ours."""

from __future__ import annotations

import os

from jobspec.diagnostics.errors import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


def git(folder: str, *arguments: str, why: str, stdin: bytes = b"", codes: Collection[int] = (0,)) -> bytes:
    """What git prints in a folder. Raises JobspecError with *why* and git's own words where it ends with none of some exit codes."""
    import subprocess

    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)  # noqa: S603 (no shell; a ref is no option)
    except FileNotFoundError:
        raise JobspecError(f"{why}: git is not installed") from None
    if done.returncode not in codes:
        error = done.stderr.decode(errors="replace").strip()
        raise JobspecError(why + (f": {error}" if error else ""))
    return done.stdout


def git_files(folder: str, tree: str, path: str, *, why: str, wanted: Callable[[str, bytes], bool]) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file at or below a path in a tree of Git's; *wanted* chooses by name and mode."""
    rows = git(folder, "ls-tree", "-r", "-z", tree, "--", path, why=why).split(b"\0")
    listed = [(os.fsdecode(name), about.split()) for about, _, name in (row.partition(b"\t") for row in rows) if name]
    chosen = [(name, about[2]) for name, about in listed if wanted(name, about[0])]
    answers = git(folder, "cat-file", "--batch", why=why, stdin=b"".join(blob + b"\n" for _, blob in chosen))
    start = 0
    for name, _ in chosen:
        line = answers.index(b"\n", start)
        start = line + 2 + int(answers[start:line].split()[2])
        yield name, answers[line + 1 : start - 1]
