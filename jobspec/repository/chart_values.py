"""The values that helm renders a chart with, as its command line takes them."""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ChartValues(Record):
    """Files of values, and values that stand in a command line.

    Values of the command line override those of files, and later ones earlier ones.
    """

    files: Sequence[str] = ()
    given: Sequence[str] = ()
    """Values in helm's grammar, such as `image.tag=1.4`."""
    contents: Sequence[tuple[str, str]] = ()
    """Names of values, each with the path of a file whose text is the value."""

    @property
    def reads(self) -> list[str]:
        """The paths of all files that helm reads for the values."""
        return [*self.files, *(path for _, path in self.contents)]

    @property
    def words(self) -> list[str]:
        """The options of helm."""
        found = [("--values", each) for each in self.files]
        found += [("--set", each) for each in self.given]
        found += [("--set-file", f"{name}={_escaped(path)}") for name, path in self.contents]
        return [word for each in found for word in each]

    def at(self, place: Callable[[str], str]) -> ChartValues:
        """Return the values with the files at other places."""
        contents = [(name, place(path)) for name, path in self.contents]
        return ChartValues(list(map(place, self.files)), self.given, contents)

    def among(self, is_there: Callable[[str], bool]) -> ChartValues:
        """Return the values without those of files that are not there."""
        contents = [each for each in self.contents if is_there(each[1])]
        return ChartValues(list(filter(is_there, self.files)), self.given, contents)


def values_of(files: Sequence[str], given: Sequence[str], contents: Sequence[str]) -> ChartValues:
    """Return the values that options of a command line say.

    Raises JobspecError if a file has no name of a value.
    """
    pairs = [each.partition("=")[::2] for each in contents]
    if wrong := [text for text, (name, path) in zip(contents, pairs, strict=True) if not (name and path)]:
        raise JobspecError(f"--helm-set-file: expected NAME=FILE, got `{wrong[0]}`")
    return ChartValues(files, given, pairs)


def _escaped(path: str) -> str:
    """Return a path in helm's grammar, where a comma separates values."""
    return path.replace("\\", "\\\\").replace(",", "\\,")
