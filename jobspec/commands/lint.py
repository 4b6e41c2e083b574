"""`jobspec lint`: validate files, and report what is accepted and still slow, costly or fragile."""

from __future__ import annotations

from jobspec.commands.inputs import Judging, RunContext, settings_of
from jobspec.commands.options import PROJECT_OR_FOLDER, Option, Options, add_paths, declare, judging_options
from jobspec.commands.output import how_to_run
from jobspec.commands.validate import check_and_report
from jobspec.diagnostics import FileResult, Rule
from jobspec.lint.linting import DEFAULT_RULES, RULES, lint
from jobspec.pipeline import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Collection, Sequence

    from jobspec.rules.ignores import ReportFilter


def options() -> list[Option]:
    """Its options."""
    return judging_options()


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser, by_default=PROJECT_OR_FOLDER), options())


def run(options: Options) -> int:
    """Check files, folders and standard input as `validate` does, lint what is accepted, and report; 1 where an error was found."""
    settings = settings_of(options)
    rules = chosen(settings)

    def judge(files: Sequence[Checked], run_context: RunContext, about: Collection[str] | None) -> list[FileResult]:
        asked = files if about is None else [each for each in files if each.result.path in about]
        return lint(files, run_context.cluster, rules, run=how_to_run(asked), only=about)

    return check_and_report(options, settings, Judging(judge, outcome=True, rules=rules))


def chosen(settings: ReportFilter | None) -> Sequence[Rule]:
    """The rules to run: those that are on by default and those that are selected by name, without the ignored ones."""
    if not settings:
        return DEFAULT_RULES
    selected = settings.select or ()
    return [rule for rule in RULES if (rule.by_default or rule.name in selected) and settings.reports(rule.name, "lint")]
