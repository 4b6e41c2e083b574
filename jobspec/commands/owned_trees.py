"""Folders that belong to jobspec alone: compared with what is to be in them, or replaced by it, so that nobody else's work is lost."""

from __future__ import annotations

from jobspec import trees
from jobspec.commands.rendered_tree import hashes_in
from jobspec.diagnostics import JobspecError
from jobspec.gitops import inventory
from jobspec.gitops.tree import differences
from jobspec.trees import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.gitops.tree import Files


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
        state = inventory.state_of(found, hashes_in(self.folder, found), wanted)
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
    found = [trees.read_tree(each.folder) for each in owned]
    return [line for each, here in zip(owned, found, strict=True) for line in differences(here, each.wanted(here), each.folder)]


def write(owned: Sequence[OwnedTree]) -> list[str]:
    """Replace each of the trees in one step, and return the paths of the files that changed.

    Raises JobspecError, with none of them changed, where one of them holds what would be lost.
    """
    for each in owned[1:]:  # the first is looked at in any case before anything is replaced
        trees.complete_interrupted(each.folder)
        found = trees.read_tree(each.folder)
        each.refuse_loss(found, each.wanted(found))
    return [path for each in owned for path in _replace(each)]


def _replace(tree: OwnedTree) -> list[str]:
    changed: list[str] = []

    def wanted() -> Wanted | None:
        found = trees.read_tree(tree.folder)
        files = tree.wanted(found)
        tree.refuse_loss(found, files)
        same = {path for path, content in files.items() if found.get(path) == content}
        changed.extend(f"{tree.folder}/{path}" for path in sorted(files) if path not in same)
        return Wanted(files, same=same) if files != found else None

    trees.replace_tree(tree.folder, wanted)
    return changed
