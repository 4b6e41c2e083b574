"""`jobspec lint`: tell what is accepted, will run, and bites."""

from __future__ import annotations

import sys

from jobspec.commands.files import find, reader
from jobspec.commands.inputs import load, require_workload
from jobspec.commands.output import deliver, how_to_run
from jobspec.commands.validate import check_files, with_projects
from jobspec.lint.linting import lint, usual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from jobspec.choice.settings import Settings
    from jobspec.commands.files import Found
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.commands.project import Plan
    from jobspec.commands.trials import Say
    from jobspec.commands.validate import Advise
    from jobspec.diagnostics import Diagnostic
    from jobspec.lint.rule import Rule
    from jobspec.pipeline import Checked
    from jobspec.results import FileResult


def run(inputs: Inputs, *, fix: bool, diff: bool, settings: Settings | None, write_baseline: str | None) -> int:
    """Check files, folders and standard input as `validate` does, lint what is accepted, and report; 1 where an error was found.

    *fix* mends first what has one safe remedy, *diff* shows that and writes nothing.
    """
    setting = load(inputs)
    if settings:
        from jobspec.commands.contracts import with_contracts

        setting = with_contracts(setting, settings)
    found = find(inputs.paths, markdown=inputs.markdown)
    if (fix or diff) and not setting.wrong:
        from jobspec.commands.fixing import fix_files

        if fix_files(inputs, found, setting, settings, _sayer(setting, settings), diff=diff):
            return 1
    results, marked = (setting.wrong, []) if setting.wrong else linted(found, setting, settings, skip_unknown=inputs.skip_unknown)
    results = require_workload(setting.overlays, results)
    results, read = with_projects(results, inputs, found, setting.cluster, _adviser(_chosen(settings)))
    fails = not all(each.valid for each in results)
    if settings or marked or read or write_baseline is not None:
        from jobspec.commands.choosing import verdict_of

        results, fails = verdict_of(results, settings, found, marked=marked, read=read, write_baseline=write_baseline, lint=True)
    deliver([*setting.remarks, *results], setting.cluster.releases, inputs, sys.stdout, read=reader(found))
    return 1 if fails else 0


def linted(
    found: Sequence[Found], setting: Setting, settings: Settings | None, *, skip_unknown: bool
) -> tuple[list[FileResult], list[str]]:
    """The results of files, with what lint finds in them; and the files that have comments for jobspec."""
    checked, marked = check_files(found, setting, skip_unknown=skip_unknown, outcome=True, documents=True)
    return lint(checked, setting.cluster.target, _chosen(settings), run=how_to_run(found)), marked


def _chosen(settings: Settings | None) -> Callable[[Rule], bool]:
    """The rules that are looked at: the usual ones, and those that are selected by name, less those that are ignored."""
    if not settings:
        return usual
    return lambda rule: (rule.by_default or rule.name in settings.select) and settings.tells(rule.name, "lint")


def _sayer(setting: Setting, settings: Settings | None) -> Say:
    """What is said of some of the files of a run, among the others."""

    def say(files: Sequence[Checked], about: Collection[str]) -> list[FileResult]:
        paths = [each for each in files if each.result.path in about]
        return lint(files, setting.cluster.target, _chosen(settings), run=how_to_run(paths), only=about)

    return say


def _adviser(chosen: Callable[[Rule], bool]) -> Advise:
    """What is said of a planned project besides its mistakes."""

    def advise(planned: Plan, told: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        from jobspec.commands.lint_project import advice_on

        return advice_on(planned, told, chosen)

    return advise
