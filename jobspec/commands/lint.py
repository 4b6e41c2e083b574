"""`jobspec lint`: tell what is accepted, will run, and bites."""

from __future__ import annotations

import sys

from jobspec import pipeline
from jobspec.commands.files import PAGES, find, reader, skips_unknown
from jobspec.commands.inputs import load, require_workload
from jobspec.commands.output import deliver
from jobspec.commands.validate import check_files, how_to_run, is_project
from jobspec.lint.linting import DEFAULT, lint
from jobspec.lint.rules import RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.choice.settings import Settings
    from jobspec.commands.files import Found
    from jobspec.commands.fixing import Judge
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.diagnostics import Diagnostic
    from jobspec.lint.rule import Rule
    from jobspec.results import FileResult


def run(
    inputs: Inputs, *, fix: bool = False, diff: bool = False, settings: Settings | None = None, write_baseline: str | None = None
) -> int:
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

        if fix_files(inputs, found, _judge(found, inputs, setting, settings), diff=diff):
            return 1
    results, marked = (setting.wrong, []) if setting.wrong else linted(found, setting, settings, skip_unknown=inputs.skip_unknown)
    results = [_with_project(each, inputs, found, _rules(settings)) for each in require_workload(setting.overlays, results)]
    fails = not all(each.valid for each in results)
    if settings or marked or write_baseline is not None:
        from jobspec.commands.choosing import verdict_of

        results, fails = verdict_of(results, settings, found, marked=marked, write_baseline=write_baseline, lint=True)
    deliver([*setting.remarks, *results], setting.cluster.releases, inputs, sys.stdout, read=reader(found))
    return 1 if fails else 0


def linted(
    found: Sequence[Found], setting: Setting, settings: Settings | None, *, skip_unknown: bool
) -> tuple[list[FileResult], list[str]]:
    """The results of files, with what lint finds in them; and the files that have comments for jobspec."""
    checked, marked = check_files(found, setting, skip_unknown=skip_unknown, outcome=True, documents=True)
    return lint(checked, setting.cluster.target, _rules(settings), run=how_to_run(found)), marked


def _rules(settings: Settings | None) -> Sequence[Rule]:
    """The rules that are looked at: the usual ones, and those that are selected by name, less those that are ignored."""
    if not settings:
        return DEFAULT
    return [each for each in RULES if (each.by_default or each.name in settings.select) and settings.tells(each.name, "lint")]


def _judge(found: Sequence[Found], inputs: Inputs, setting: Setting, settings: Settings | None) -> Judge:
    """What is said of one file with another text, among the other files as they are."""
    before, _ = check_files(found, setting, skip_unknown=inputs.skip_unknown, documents=True)
    checked = {each.result.path: each for each in before}

    def judge(each: Found, text: str) -> Sequence[Diagnostic]:
        source = pipeline.Source(each.path, text, skip_unknown=inputs.skip_unknown or skips_unknown(each))
        checked[each.path] = pipeline.checked(source, (), setting.cluster)
        files = pipeline.resolve(list(checked.values()), setting.cluster)
        results = lint(files, setting.cluster.target, _rules(settings))
        (diagnostics,) = (result.diagnostics for result in results if result.path == each.path)
        return settings.selected(diagnostics) if settings else diagnostics

    return judge


def _with_project(result: FileResult, inputs: Inputs, found: Sequence[Found], rules: Sequence[Rule]) -> FileResult:
    """The result of a project that the user names, with what is wrong in its variants, and what bites."""
    named = {each.path for each in found if each.named and not each.path.endswith(PAGES)}
    if result.path not in named or not any(map(is_project, result.documents)):
        return result
    from jobspec.commands.lint_project import advice_on

    return result.with_diagnostics(advice_on(result.path, inputs, [each.path for each in found], rules))
