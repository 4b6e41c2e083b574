"""What folders hold, for a run that looks through the same folders several times."""

from __future__ import annotations

import os
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    #: Called with an error of a folder that cannot be read.
    OnError = Callable[[OSError], object]


class FolderEntry(NamedTuple):
    """What a folder holds under a name."""

    name: str
    is_folder: bool
    """Whether it is a folder, or a link to one."""
    is_link: bool


class Listing:
    """What folders hold, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, Sequence[FolderEntry]] = {}
        """By the real paths of the folders."""

    def __reduce__(self) -> tuple[type[Listing], tuple[()]]:
        """Pickle no entries, which belong to this process."""
        return Listing, ()

    def inside(self, folder: str) -> Sequence[FolderEntry]:
        """Return what the folder at a real path holds, by name. Raises OSError if it cannot be read."""
        if folder not in self._read:
            with os.scandir(folder) as found:
                self._read[folder] = sorted([FolderEntry(each.name, _is_folder(each), each.is_symlink()) for each in found])
        return self._read[folder]

    def walk(self, top: str, onerror: OnError | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
        """Walk as `os.walk` does from the top down, with all names in order."""
        left = [(top, os.path.realpath(top))]
        while left:
            here, real = left.pop()
            try:
                inside = self.inside(real)
            except OSError as error:
                if onerror:
                    onerror(error)
                continue
            folders = [each.name for each in inside if each.is_folder]
            yield here, folders, [each.name for each in inside if not each.is_folder]
            links = {each.name for each in inside if each.is_link}
            left += [(os.path.join(here, name), os.path.join(real, name)) for name in reversed(folders) if name not in links]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
