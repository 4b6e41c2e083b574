"""What `validate` and `render` are given, and the overlays of a command line."""

from __future__ import annotations

from jobspec.reports import FileReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.overlays.layer import Layer
    from jobspec.targets import Target


class Inputs:
    """The arguments that both commands share."""

    __slots__ = ("output", "overlays", "paths", "sets", "skip_unknown", "targets")

    def __init__(
        self,
        paths: Sequence[str],
        *,
        overlays: Sequence[str] = (),
        sets: Sequence[str] = (),
        targets: Sequence[str] = (),
        output: str = "text",
        skip_unknown: bool = False,
    ) -> None:
        self.paths = paths
        self.overlays = overlays
        self.sets = sets
        self.targets = targets
        self.output = output
        self.skip_unknown = skip_unknown


def load_layers(inputs: Inputs, target: Target) -> tuple[list[Layer], list[FileReport]]:
    """The overlays ready to be laid, and a report on each overlay's file that has an error."""
    if not inputs.overlays and not inputs.sets:
        return [], []
    from jobspec.overlays.layer import load

    layers, problems = load(inputs.overlays, inputs.sets, target)
    files = dict.fromkeys(problem.mark.file for problem in problems)
    return layers, [FileReport(file, [], [problem for problem in problems if problem.mark.file == file]) for file in files]
