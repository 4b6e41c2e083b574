"""What `validate` and `render` are given, and the overlays of a command line."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents.files import STDIN, text_of
from jobspec.judge import World
from jobspec.reports import FileReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.documents.files import Found
    from jobspec.documents.stored import Stored
    from jobspec.manifests import Checked
    from jobspec.overlays.layer import Layer
    from jobspec.targets import Target
    from jobspec.validation.custom_kinds import CustomKinds


class Inputs:
    """The arguments that both commands share."""

    __slots__ = (
        *("admission", "closed_world", "crds", "output", "output_file", "overlays", "paths", "schema_locations", "sets", "skip_unknown"),
        "targets",
    )

    def __init__(
        self,
        paths: Sequence[str],
        *,
        overlays: Sequence[str] = (),
        sets: Sequence[str] = (),
        targets: Sequence[str] = (),
        output: str = "text",
        output_file: str | None = None,
        skip_unknown: bool = False,
        admission: bool = True,
        closed_world: bool = False,
        crds: Sequence[str] = (),
        schema_locations: Sequence[str] = (),
    ) -> None:
        self.paths = paths
        self.overlays = overlays
        self.sets = sets
        self.targets = targets
        self.output = output
        self.output_file = output_file
        self.skip_unknown = skip_unknown
        self.admission = admission
        self.closed_world = closed_world
        self.crds = crds
        self.schema_locations = schema_locations

    def world(self, stored: Stored | None = None, kinds: CustomKinds | None = None) -> World:
        """What there is besides the files."""
        return World(skip_unknown=self.skip_unknown, webhooks=self.admission, closed=self.closed_world, stored=stored, kinds=kinds)


def check_together(
    found: Sequence[Found], target: Target, world: World, run: Callable[[list[tuple[Found, World]]], list[Checked]]
) -> list[Checked]:
    """Check files by *run*, each by itself; those that refer to what another one holds once more, with that at hand."""
    if any(each.path == STDIN for each in found):
        text_of(STDIN)  # a user or another program may take their time, and one process alone can read what several need
    checked = run([(each, world) for each in found])
    if any(each.offered for each in checked) and any(each.wanted for each in checked):
        from jobspec.commands.references import check_again

        return check_again(found, checked, target, world, run)
    return checked


def require_workload(layers: Sequence[Layer], reports: Sequence[FileReport]) -> None:
    """Add an error to the first report where overlays were to be laid and no file holds a training job."""
    if not layers or not all(report.valid for report in reports):
        return
    from jobspec.workloads import KINDS

    if not any((row["apiVersion"], row["kind"]) in KINDS for report in reports for row in report.documents):
        message = f"there is no training job to lay `{layers[0].name}` on"
        hint = f"the kinds are {', '.join(kind for _, kind in KINDS)}"
        reports[0].diagnostics.append(Diagnostic("no-workload", message, Mark(reports[0].path), hint=hint))


def load_kinds(inputs: Inputs, target: Target) -> tuple[CustomKinds | None, list[FileReport]]:
    """The kinds that the user brings along, and a report on each CRD's file that has an error."""
    if not inputs.crds and not inputs.schema_locations:
        return None, []
    from jobspec.validation.crd_files import find_crds
    from jobspec.validation.custom_kinds import CustomKinds

    crds, wrong = find_crds(inputs.crds, target)
    if wrong:
        return None, [FileReport(file, [], problems) for file, problems in wrong.items()]
    return CustomKinds(crds, inputs.schema_locations), []


def load_layers(inputs: Inputs, target: Target) -> tuple[list[Layer], list[FileReport]]:
    """The overlays ready to be laid, and a report on each overlay's file that has an error."""
    if not inputs.overlays and not inputs.sets:
        return [], []
    from jobspec.overlays.layer import load

    layers, problems = load(inputs.overlays, inputs.sets, target)
    files = dict.fromkeys(problem.mark.file for problem in problems)
    return layers, [FileReport(file, [], [problem for problem in problems if problem.mark.file == file]) for file in files]
