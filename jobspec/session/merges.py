"""Rendered trees in a merge that Git has not finished: what each side rendered, and what Git made of it.

Two branches that rendered the same variant conflict in generated files, although their sources merge. As with a lock file, the sources
are rendered again: what Git left in the tree, with conflict markers or without, may be overwritten as long as each side's own version is as
that side's inventory says. A file that somebody edited is still refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from dataclasses import dataclass

from jobspec.diagnostics.errors import JobspecError
from jobspec.project import tree
from jobspec.project.tree import Files
from jobspec.session.git import git, git_files

_REGULAR = (b"100644", b"100755")
#: What Git calls the commit that it could not apply to HEAD, where that is no merge: its files are those of the other side.
_APPLIED = ("CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD^", "refs/stash")


@dataclass(frozen=True)
class UnfinishedMerge:
    """A merge that left something in a tree."""

    sides: Sequence[Files]
    """The tree at HEAD, then the trees of the other sides."""
    left: Set[str]
    """The paths of files that are as Git left them."""
    conflicts: Set[str]
    """The paths that Git could not merge, of files that are gone, too."""

    def hashes(self, found: Files) -> dict[str, str]:
        """The inventory of the files *found*: those of all sides, and what Git left in place of files that were not edited."""
        inventories = [tree.inventory_in(each) or {} for each in self.sides]
        hashes = {path: digest for each in reversed(inventories) for path, digest in each.items()}
        for path, content in found.items():
            digest = tree.digest_of(content)
            if any(each.get(path) == digest for each in inventories) or (path in self.left and self._is_rendered(path, inventories)):
                hashes[path] = digest
        return hashes

    def _is_rendered(self, path: str, inventories: Sequence[dict[str, str]]) -> bool:
        """Whether each side that has a file has it as its inventory says."""
        both = zip(self.sides, inventories, strict=True)
        return all(tree.digest_of(side[path]) == hashes.get(path) for side, hashes in both if path in side)


def unfinished(folder: str) -> UnfinishedMerge | None:
    """The merge, rebase, cherry-pick or stash that left something in a tree, or the merge that HEAD is; None where there is none."""
    parent, name = nearest(os.path.abspath(folder))
    try:
        conflicts = _listed(parent, name, "diff", "--name-only", "--relative", "--diff-filter=U")
        sides = _sides(parent, conflicts=bool(conflicts))
        if not sides:
            return None
        tracked = _listed(parent, name, "ls-files")
        edited = _listed(parent, name, "diff", "--name-only", "--relative", "--no-ext-diff") - conflicts
        return UnfinishedMerge([files_at(parent, name, each) for each in sides], tracked - edited, conflicts)
    except JobspecError:  # there is no repository, or it has no commit
        return None


def _sides(folder: str, *, conflicts: bool) -> list[str]:
    """The commits whose trees were merged, ours first; none where nothing was."""
    if merged := merged_commits(folder):
        return ["HEAD", *merged]
    applied = [each for each in _APPLIED if conflicts and _exists(folder, each)]
    if applied:
        return ["HEAD", applied[0]]
    return ["HEAD^1", "HEAD^2"] if _exists(folder, "HEAD^2") else []


def merged_commits(folder: str) -> list[str]:
    """The commits that are being merged into HEAD; none where no merge is going on."""
    path = git(folder, "rev-parse", "--git-path", "MERGE_HEAD", why="").rstrip(b"\n")
    try:
        with open(os.path.join(os.fsencode(folder), path), encoding="ascii") as file:
            return file.read().split()
    except FileNotFoundError:  # hooks run before `git merge` writes it, and find the commits in their environment
        return [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]


def files_at(folder: str, name: str, commit: str) -> Files:
    """The files of a tree at a commit, by their paths in the tree; *name* is the path of the tree from a folder of the repository."""
    found = git_files(folder, commit, f"{name}/", why=f"cannot read {name} at {commit}", wanted=lambda _, mode: mode in _REGULAR)
    return {path.removeprefix(f"{name}/"): content for path, content in found}


def nearest(folder: str) -> tuple[str, str]:
    """The nearest folder around another one that is there, and the path from it, with `/`: Git may keep what is gone from the disk."""
    parent, name = os.path.split(folder)
    while not os.path.isdir(parent):
        parent, above = os.path.split(parent)
        name = f"{above}/{name}"
    return parent, name


def _listed(folder: str, name: str, *arguments: str) -> set[str]:
    """The paths in a tree that git lists."""
    rows = git(folder, *arguments, "-z", "--", f"{name}/", why="").split(b"\0")
    return {os.fsdecode(path).removeprefix(f"{name}/") for path in rows if path}


def _exists(folder: str, commit: str) -> bool:
    try:
        git(folder, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", why="")
    except JobspecError:
        return False
    return True
