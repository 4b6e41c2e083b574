"""Rendered trees on disk: as they are, as they were committed, and compared with or replaced by what they should be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from jobspec.commands.files import git
from jobspec.diagnostics import JobspecError
from jobspec.documents.atomic_writes import Wanted, complete, read_folder, replace_folder
from jobspec.project import tree
from jobspec.project.tree import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.project.tree import Files


class OwnedTree:
    """A folder, and what is to be in it."""

    __slots__ = ("_wanted", "folder")

    def __init__(self, folder: str, wanted: Callable[[Files, dict[str, str]], Files]) -> None:
        self.folder = folder
        self._wanted = wanted

    def wanted(self, found: Files) -> Files:
        """The whole tree to be, given the one that is there. Raises JobspecError where its inventory is none."""
        return self._wanted(found, hashes_in(self.folder, found))

    def refuse_loss(self, found: Files, wanted: Files) -> None:
        """Raises JobspecError where files would be lost that somebody else wrote or changed."""
        state = tree.state_of(found, hashes_in(self.folder, found), wanted)
        if state.foreign:
            more = f" and {len(state.foreign) - 1} more" if len(state.foreign) > 1 else ""
            raise JobspecError(
                f"{self.folder} holds {state.foreign[0]}{more}, which jobspec did not write and would remove: nothing is written"
            )
        if state.edited:
            before = {path: wanted[path] for path in state.edited if path in wanted}
            lines = "".join(differences(before, {path: found[path] for path in state.edited}, self.folder))
            names = ", ".join(f"{self.folder}/{path}" for path in state.edited)
            hint = "put the change into a base, an overlay or the project, then restore or delete the file"
            raise JobspecError(f"{names}: edited by hand since it was rendered; nothing is written: {hint}\n{lines}")


def compare(owned: Sequence[OwnedTree]) -> list[str]:
    """The lines of a unified diff from the trees as they are to those to be."""
    found = [read_folder(each.folder) for each in owned]
    return [line for each, here in zip(owned, found, strict=True) for line in differences(here, each.wanted(here), each.folder)]


def write(owned: Sequence[OwnedTree]) -> list[str]:
    """Replace each of the trees in one step, and return the paths of the files that changed.

    Raises JobspecError, with none of them changed, where one of them holds what would be lost.
    """
    for each in owned[1:]:  # the first is looked at in any case before anything is replaced
        complete([each.folder])
        found = read_folder(each.folder)
        each.refuse_loss(found, each.wanted(found))
    return [path for each in owned for path in _replace(each)]


def _replace(tree: OwnedTree) -> list[str]:
    changed: list[str] = []

    def wanted() -> Wanted | None:
        found = read_folder(tree.folder)
        files = tree.wanted(found)
        tree.refuse_loss(found, files)
        same = {path for path, content in files.items() if found.get(path) == content}
        changed.extend(f"{tree.folder}/{path}" for path in sorted(files) if path not in same)
        return Wanted(files, same=same) if files != found else None

    replace_folder(tree.folder, wanted)
    return changed


# A file of a rendered tree: the project that renders it, and how it differs from what that would render now.


def hashes_in(folder: str, found: Files) -> dict[str, str]:
    """What the inventory of a tree says; nothing where there is none."""
    try:
        return tree.parse(found.get(tree.NAME, b"").decode())
    except ValueError:
        hint = "restore it from Git, or remove the folder if nothing in it was edited"
        raise JobspecError(f"{folder}/{tree.NAME} is no inventory of a rendered tree: {hint}") from None


def before(folder: str) -> dict[str, dict[str, bytes]]:
    """The tree before this render, by folder and path: what is committed at HEAD, or what is on disk where Git does not keep the tree.

    What was rendered since the last commit was never synced by anybody, so that it is no run.
    """
    committed = _committed(folder)
    if committed is None:
        found = read_folder(folder)
        committed = tree.ours(found, hashes_in(folder, found))
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
