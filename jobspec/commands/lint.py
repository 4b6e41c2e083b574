"""`jobspec lint`: validate files, and report what is accepted and still slow, costly or fragile."""

from __future__ import annotations

from jobspec.diagnostics.results import FileResult
from jobspec.journey.steps import Checked
from jobspec.lint.linting import lint
from jobspec.session.chosen_rules import chosen
from jobspec.session.inputs import Judging, RunContext, settings_of
from jobspec.session.options import PROJECT_OR_FOLDER, Option, Options, add_paths, declare, judging_options
from jobspec.session.processes import how_to_run
from jobspec.session.verdict import check_and_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Collection, Sequence


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
