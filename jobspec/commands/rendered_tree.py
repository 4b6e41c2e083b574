"""The rendered tree as it is on disk, and as it was committed."""

from __future__ import annotations

import os

from jobspec import trees
from jobspec.commands.git import git
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.gitops.tree import Files


def hashes_in(folder: str, found: Files) -> dict[str, str]:
    """What the inventory of a tree says; nothing where there is none."""
    try:
        return inventory.parse(found.get(inventory.NAME, b"").decode())
    except ValueError:
        hint = "restore it from Git, or remove the folder if nothing in it was edited"
        raise JobspecError(f"{folder}/{inventory.NAME} is no inventory of a rendered tree: {hint}") from None


def before(folder: str) -> dict[str, dict[str, bytes]]:
    """The tree before this render, by folder and path: what is committed at HEAD, or what is on disk where Git does not keep the tree.

    What was rendered since the last commit was never synced by anybody, so that it is no run.
    """
    committed = _committed(folder)
    if committed is None:
        found = trees.read_tree(folder)
        committed = inventory.ours(found, hashes_in(folder, found))
    folders: dict[str, dict[str, bytes]] = {}
    for path, content in committed.items():
        folders.setdefault(path.rpartition("/")[0], {})[path] = content
    return folders


def _committed(folder: str) -> Files | None:
    """The files of a tree at HEAD; None where there is no repository, or where it ignores the tree."""
    parent, name = _nearest(os.path.abspath(folder))
    if not _is_true("rev-parse", "--is-inside-work-tree", folder=parent):
        return None
    listed = _listed(parent, name)
    if not listed and _is_true("check-ignore", "--", f"{name}/", folder=parent):
        return None
    return dict(_contents(parent, listed))


def _nearest(folder: str) -> tuple[str, str]:
    """The nearest folder around another one that is there, and the path from it, with `/`: Git may keep what is gone from the disk."""
    parent, name = os.path.split(folder)
    while not os.path.isdir(parent):
        parent, above = os.path.split(parent)
        name = f"{above}/{name}"
    return parent, name


def _is_true(*arguments: str, folder: str) -> bool:
    """Whether git says yes to a question about a folder; it says no where there is no git."""
    try:
        return git(folder, *arguments, why="").strip() != b"false"
    except JobspecError:
        return False


def _listed(parent: str, name: str) -> list[tuple[str, bytes]]:
    """The files of a folder at HEAD with the hash of each; none before the first commit."""
    if not _is_true("rev-parse", "--verify", "--quiet", "HEAD^{tree}", folder=parent):
        return []
    listed = git(parent, "ls-tree", "-r", "-z", "HEAD", "--", f"{name}/", why=f"cannot list {name} at HEAD").split(b"\0")
    found = [(os.fsdecode(path), about.split()) for about, _, path in (line.partition(b"\t") for line in listed) if path]
    return [(path.removeprefix(f"{name}/"), about[2]) for path, about in found if about[0] in (b"100644", b"100755")]


def _contents(parent: str, listed: list[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The path and content of each file."""
    answer = git(parent, "cat-file", "--batch", why="cannot read HEAD", stdin=b"".join(blob + b"\n" for _, blob in listed))
    start = 0
    for path, _ in listed:
        end_of_line = answer.index(b"\n", start)
        size = int(answer[start:end_of_line].split()[2])
        yield path, answer[end_of_line + 1 : end_of_line + 1 + size]
        start = end_of_line + size + 2
