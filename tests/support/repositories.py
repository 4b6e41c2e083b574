"""Git repositories in folders of tests."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.manifests import write
from tests.support.processes import program

_AUTHOR = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false")


def git(folder: Path, *arguments: str) -> str:
    """What git prints in a folder, where it has to succeed."""
    return program("git", *_AUTHOR, *arguments, cwd=folder, check=True).stdout


def committed(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder whose files are committed, together with those that were there before; a new repository where it is none."""
    folder.mkdir(exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=state")
    return folder
