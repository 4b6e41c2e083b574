"""What `validate` and `render` are given, and the overlays of a command line."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Mark
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


def require_workload(layers: Sequence[Layer], reports: Sequence[FileReport]) -> None:
    """Add an error to the first report where overlays were to be laid and no file holds a training job."""
    if not layers or not all(report.valid for report in reports):
        return
    from jobspec.workloads import KINDS

    if not any((row["apiVersion"], row["kind"]) in KINDS for report in reports for row in report.documents):
        message = f"there is no training job to lay `{layers[0].name}` on"
        hint = f"the kinds are {', '.join(kind for _, kind in KINDS)}"
        reports[0].diagnostics.append(Diagnostic("no-workload", message, Mark(reports[0].path), hint=hint))


def load_layers(inputs: Inputs, target: Target) -> tuple[list[Layer], list[FileReport]]:
    """The overlays ready to be laid, and a report on each overlay's file that has an error."""
    if not inputs.overlays and not inputs.sets:
        return [], []
    from jobspec.overlays.layer import load

    layers, problems = load(inputs.overlays, inputs.sets, target)
    files = dict.fromkeys(problem.mark.file for problem in problems)
    return layers, [FileReport(file, [], [problem for problem in problems if problem.mark.file == file]) for file in files]
