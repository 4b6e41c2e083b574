"""`jobspec validate`: predict an API server's verdict on files."""

from __future__ import annotations

from jobspec.session.inputs import settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import THIS_FOLDER, Option, Options, judging_options, outcome_option
from jobspec.session.verdict import check_and_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def options() -> list[Option]:
    """Its options."""
    return judging_options(
        Option("--from", dest="stored", metavar="PATH", exclusive=True, what="check as updates of the objects in this file or folder"),
        Option("--from-ref", dest="stored_ref", metavar="REF", exclusive=True, what="check as updates of the same files at this Git ref"),
        Option("--apply", choices=("client", "server"), what="with --from or --from-ref: the side that applies the updates"),
        outcome_option(),
    )


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.session.arguments import Help, add_paths, declare

    shown = Help(
        examples=(
            ("jobspec validate job.yaml", "would a server accept it, and would it run?"),
            ("jobspec validate jobs/ --target kubernetes=1.33", "on this release of Kubernetes"),
            ("jobspec validate jobs/ --from-ref main", "as updates of what is on the branch main"),
            ("jobspec validate job.yaml --overlay cpu", "with an overlay applied"),
        ),
        used_most="output fix diff target cluster no-outcome fail-on changed-since",
        not_shown="unsafe-fixes",
    )
    declare(add_paths(parser, by_default=THIS_FOLDER), options(), shown=shown)


def run(options: Options) -> int:
    """Check files, folders and standard input, and report; 1 if an error was found, or what the settings say."""
    return check_and_report(options, settings_of(options), Depth(options.outcome))
