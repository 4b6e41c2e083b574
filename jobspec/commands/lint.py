"""`jobspec lint`: validate files, and report what is accepted and still slow, costly or fragile."""

from __future__ import annotations

import sys

from jobspec.commands.files import find_for, reader, reported
from jobspec.commands.inputs import load_setting, require_workload, settings_of
from jobspec.commands.options import (
    Option,
    Options,
    add_paths,
    choice_options,
    declare,
    fix_options,
    input_options,
    kind_options,
    repository_options,
)
from jobspec.commands.output import deliver, how_to_run
from jobspec.commands.validate import check_files, marked_files, only_changed, with_projects
from jobspec.diagnostics import Diagnostic, FileResult
from jobspec.lint.linting import RULES, USUAL_RULES, lint
from jobspec.pipeline import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Collection, Iterable, Sequence

    from jobspec.commands.project import Plan
    from jobspec.findings import Rule
    from jobspec.rules.ignores import ReportFilter


def options() -> list[Option]:
    """Its options."""
    return [*input_options(), *repository_options(), *kind_options(), *fix_options(), *choice_options()]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser, number="*"), options())


def run(options: Options) -> int:
    """Check files, folders and standard input as `validate` does, lint what is accepted, and report; 1 where an error was found."""
    settings = settings_of(options)
    setting = load_setting(options)
    if settings:
        from jobspec.commands.cluster import with_contracts

        setting = setting.with_cluster(with_contracts(setting.cluster, settings))
    rules = _chosen(settings)

    def say(files: Sequence[Checked], about: Collection[str]) -> list[FileResult]:
        """What is said of some of the files, among the others."""
        paths = [each for each in files if each.result.path in about]
        return lint(files, setting.cluster.target, rules, run=how_to_run(paths), only=about)

    def advise(planned: Plan, told: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """What is said of a planned project besides its mistakes."""
        from jobspec.commands.project import advice_on

        return advice_on(planned, told, rules)

    if (options.fix or options.diff) and not setting.wrong:
        from jobspec.commands.fixing import fix_files

        if fix_files(options, setting, settings, say):
            return 1
    found = find_for(
        options, build=options.build, kubernetes=setting.cluster.target["kubernetes"], exclude=settings.exclude if settings else ()
    )
    checked = check_files(found, setting, skip_unknown=options.skip_unknown, outcome=True, definitions=False)
    results = setting.wrong or lint(checked, setting.cluster.target, rules, run=how_to_run(found))
    marked = marked_files(checked)
    results = reported(results, found, skip_unknown=options.skip_unknown, values=setting.values)
    results = require_workload(setting.overlays, results)
    results, read = with_projects(results, options, found, setting.cluster, advise)
    if options.changed_since is not None:
        results = only_changed(results, found, read, options)
    fails = not all(each.valid for each in results)
    if settings or marked or read or options.write_baseline is not None:
        from jobspec.commands.choosing import verdict_of

        results, fails = verdict_of(results, settings, found, options, marked=marked, read=read, lint=True)
    deliver([*setting.remarks, *results], setting.cluster.releases, options, sys.stdout, read=reader(found))
    return 1 if fails else 0


def _chosen(settings: ReportFilter | None) -> Sequence[Rule]:
    """The rules that are looked at: the usual ones, and those that are selected by name, less those that are ignored."""
    if not settings:
        return USUAL_RULES
    selected = settings.select or ()
    return [rule for rule in RULES if (rule.by_default or rule.name in selected) and settings.tells(rule.name, "lint")]
