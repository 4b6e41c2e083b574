"""What is said of files with other texts: each text is checked once, and a file is seen among all the others."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.commands.files import skips_unknown
from jobspec.commands.output import how_to_run, with_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from jobspec.cluster import Cluster
    from jobspec.commands.files import Found
    from jobspec.diagnostics import Diagnostic
    from jobspec.pipeline import Checked
    from jobspec.results import FileResult

    #: All files, and the paths of those that are asked about, to the results of these.
    Say = Callable[[Sequence[Checked], Collection[str]], Sequence[FileResult]]


class Trials:
    """Judges files with the texts that they would have."""

    __slots__ = ("_checked", "_cluster", "_found", "_say", "_skips")

    def __init__(self, found: Sequence[Found], cluster: Cluster, say: Say, *, skip_unknown: bool) -> None:
        self._found = {each.path: each for each in found}
        self._cluster = cluster
        self._say = say
        self._skips = skip_unknown
        self._checked: dict[tuple[str, str], Checked] = {}

    def __call__(self, texts: Mapping[str, str], about: Collection[str]) -> dict[str, Sequence[Diagnostic]]:
        """The texts of all files, and the paths of some, to everything that is said of these."""
        new = [each for each in texts.items() if each not in self._checked]
        for each, checked in zip(new, with_progress(new, self._check, how_to_run(new)), strict=True):
            self._checked[each] = checked
        resolved = pipeline.resolve([self._checked[each] for each in texts.items()], self._cluster)
        return {each.path: each.diagnostics for each in self._say(resolved, about) if each.path in about}

    def _check(self, file: tuple[str, str]) -> Checked:
        path, text = file
        source = pipeline.Source(path, text, skip_unknown=self._skips or skips_unknown(self._found[path]))
        return pipeline.checked(source, (), self._cluster)
