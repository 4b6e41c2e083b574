"""`jobspec lint`: tell what is accepted, will run, and bites."""

from __future__ import annotations

import sys

from jobspec.commands.files import find, reader
from jobspec.commands.inputs import load, require_workload
from jobspec.commands.output import deliver
from jobspec.commands.validate import check_files
from jobspec.lint.linting import lint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.commands.files import Found
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.results import FileResult


def run(inputs: Inputs) -> int:
    """Check files, folders and standard input as `validate` does, lint what is accepted, and report; 1 where an error was found."""
    setting = load(inputs)
    found = find(inputs.paths)
    results = setting.wrong or linted(found, setting, skip_unknown=inputs.skip_unknown)
    results = require_workload(setting.overlays, results)
    deliver([*setting.remarks, *results], setting.cluster.releases, inputs, sys.stdout, read=reader(found))
    return 0 if all(each.valid for each in results) else 1


def linted(found: Sequence[Found], setting: Setting, *, skip_unknown: bool) -> list[FileResult]:
    """The results of files, with what lint finds in them."""
    return lint(check_files(found, setting, skip_unknown=skip_unknown, outcome=True, documents=True), setting.cluster.target)
