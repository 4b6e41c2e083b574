"""What folders hold, for a run that looks through the same folders several times."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    #: Called with an error of a folder that cannot be read.
    OnError = Callable[[OSError], object]


class Listing:
    """What folders hold, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, Sequence[os.DirEntry[str]]] = {}
        """By the real paths of the folders."""

    def __reduce__(self) -> tuple[type[Listing], tuple[()]]:
        """Pickle no entries, which belong to this process."""
        return Listing, ()

    def inside(self, folder: str) -> Sequence[os.DirEntry[str]]:
        """Return what the folder at a real path holds, by name. Raises OSError if it cannot be read."""
        if folder not in self._read:
            with os.scandir(folder) as found:
                self._read[folder] = sorted(found, key=lambda each: each.name)
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
            folders = [each.name for each in inside if _is_folder(each)]
            yield here, folders, [each.name for each in inside if not _is_folder(each)]
            links = {each.name for each in inside if each.is_symlink()}
            left += [(os.path.join(here, name), os.path.join(real, name)) for name in reversed(folders) if name not in links]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
