"""Ask git: one program, run without a shell, whose errors become ours."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError


def git(folder: str, *arguments: str, why: str, stdin: bytes = b"") -> bytes:
    """What git prints in a folder. Raises JobspecError with *why* and git's own words where it fails."""
    import subprocess

    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)  # noqa: S603 (no shell; a ref is no option)
    except FileNotFoundError:
        raise JobspecError(f"{why}: there is no `git` on the path") from None
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip()
        raise JobspecError(why + (f": {error}" if error else ""))
    return done.stdout
