"""`jobspec lint`: validate files, and report what is accepted and still slow, costly or fragile."""

from __future__ import annotations

from jobspec.session.chosen_rules import chosen
from jobspec.session.inputs import settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import THIS_FOLDER, Option, Options, judging_options
from jobspec.session.verdict import check_and_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def options() -> list[Option]:
    """Its options."""
    return judging_options()


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.session.arguments import Help, add_paths, declare

    shown = Help(
        examples=(
            ("jobspec lint", "every manifest of this folder, with the project here"),
            ("jobspec lint jobs/ --target trainer=2.2", "as this release of the trainer would judge them"),
            ("jobspec lint jobs/ --cluster prod.yaml", "in the cluster that `jobspec pin` wrote down"),
            ("jobspec lint . --changed-since main -o github", "in CI: what a branch changes, as annotations"),
            ("jobspec lint jobs/ --diff", "what --fix would change"),
        ),
        used_most="output fix diff target cluster ignore fail-on changed-since",
    )
    declare(add_paths(parser, by_default=THIS_FOLDER), options(), shown=shown)


def run(options: Options) -> int:
    """Check files, folders and standard input as `validate` does, lint what is accepted, and report; 1 if an error was found."""
    settings = settings_of(options)
    return check_and_report(options, settings, Depth(chosen=chosen(settings)))
