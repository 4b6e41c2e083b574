"""`jobspec validate`: what an API server would say to these files."""

from __future__ import annotations

import os
import sys

from jobspec.commands.inputs import Inputs, load_layers, require_workload
from jobspec.documents.files import find
from jobspec.manifests import check
from jobspec.reports import REPORTS
from jobspec.targets import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.files import Found
    from jobspec.reports import FileReport

_WORTH_SPREADING = 48  # files; starting processes costs about as much as checking these


def run(inputs: Inputs) -> int:
    """Check files, folders and standard input, and report; 1 where an error was found."""
    target = choose(inputs.targets)
    layers, reports = load_layers(inputs, target)
    found = find(inputs.paths)

    def report(each: Found) -> FileReport:
        return check(each, target, layers, skip_unknown=inputs.skip_unknown).report

    if not reports and len(found) >= _WORTH_SPREADING and (os.cpu_count() or 1) > 1:
        from jobspec.commands.spread import spread

        reports = spread(found, report)
    elif not reports:
        reports = [report(each) for each in found]
    require_workload(layers, reports)
    sys.stdout.write(REPORTS[inputs.output](reports, target))
    return 0 if all(each.valid for each in reports) else 1
