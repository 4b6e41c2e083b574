"""`jobspec explain`: a rule, a field of a kind, an overlay, or which objects an admission policy matches."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.diagnostics.errors import JobspecError
from jobspec.session.arguments import declare
from jobspec.session.explaining import explained
from jobspec.session.options import Options, target_option
from jobspec.session.terminal import is_terminal, width_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add(
        "name",
        nargs="?",
        metavar="RULE|KIND.PATH|OVERLAY|FILE",
        help="a rule, the name in brackets after a message; a field as messages spell it, such as TrainJob.spec.trainer; an overlay; or "
        "the file of an admission policy; without it, all rules are listed",
    )
    add("paths", nargs="*", metavar="FILE", help="with an admission policy: the files with the objects that it may match")
    declare(parser, [target_option("explain the field as of this release, not of the newest")])
    add("--recursive", action="store_true", help="print the names and types of all fields below, nothing else")
    add("--markdown", action="store_true", help="print the pages of all rules as Markdown, which is docs/rules.md")


def _listed(rules: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each rule. On a terminal, what the rule finds is broken to its width."""
    from jobspec.reports.terminal import wrapped

    for name, text in rules.items():
        said = text.partition(". ")[0].rstrip(".")
        width = max(width_of(sys.stdout), 60) if is_terminal(sys.stdout) else sys.maxsize
        yield "".join(f"{line}\n" for line in wrapped(said, width, " " * 34, first=f"{name:32}"))


def run(options: Options) -> int:
    """Print the explanation of a rule or an overlay by its name, or of a field by `KIND.PATH`; without a name, a line for each rule."""
    if options.name and options.markdown:
        raise JobspecError("--markdown is for all rules: remove the name")
    if options.name is None:
        from jobspec.lint.catalogue import rules
        from jobspec.lint.rule_pages import page

        sys.stdout.writelines([page()] if options.markdown else _listed(rules()))
    elif options.paths or (os.path.isfile(options.name) and options.name.endswith(MANIFEST_ENDINGS)):
        from jobspec.session import policies

        sys.stdout.writelines(f"{line}\n" for line in policies.explained(options))
    else:
        sys.stdout.write(explained(options.name, options.target, recursive=options.recursive))
    return 0
