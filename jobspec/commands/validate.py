"""`jobspec validate`: what an API server would say to these files."""

from __future__ import annotations

import os
import sys

from jobspec.commands.inputs import Inputs, check_together, load_kinds, load_layers, require_workload
from jobspec.commands.output import deliver, one_by_one, watched
from jobspec.documents.files import find
from jobspec.manifests import Checked, check
from jobspec.targets import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.files import Found
    from jobspec.documents.stored import Stored
    from jobspec.judge import World

_WORTH_SPREADING = 48  # files; starting processes costs about as much as checking these


def run(inputs: Inputs, *, stored: str | None = None, ref: str | None = None) -> int:
    """Check files, folders and standard input, and report; 1 where an error was found.

    What *stored* holds, a file or folder, or what the files were at *ref*, is what is updated.
    """
    target = choose(inputs.targets)
    kinds, wrong = load_kinds(inputs, target)
    world = inputs.world(_before(inputs, stored, ref), kinds)
    layers, reports = load_layers(inputs, target)
    reports = wrong + reports
    found = find(inputs.paths)

    def check_one(work: tuple[Found, World]) -> Checked:
        checked = check(work[0], target, layers, work[1])
        return Checked(checked.report, [], checked.offered, checked.wanted)  # between processes, documents would be a burden

    def check_each(works: list[tuple[Found, World]]) -> list[Checked]:
        if len(works) < _WORTH_SPREADING or (os.cpu_count() or 1) == 1:
            return watched(works, check_one, one_by_one)
        from jobspec.commands.spread import spread

        return watched(works, check_one, spread)

    if not reports:
        reports = [each.report for each in check_together(found, target, world, check_each)]
    require_workload(layers, reports)
    deliver(reports, target, inputs, sys.stdout)
    return 0 if all(each.valid for each in reports) else 1


def _before(inputs: Inputs, stored: str | None, ref: str | None) -> Stored | None:
    if stored is None and ref is None:
        return None
    from jobspec.commands.stored import from_files, from_ref

    return from_ref(ref, inputs.paths) if ref is not None else from_files(stored or "")
