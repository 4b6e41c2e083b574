"""`jobspec comment`: write a report as the one comment of a pull or merge request, and update it."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from typing import Any

from jobspec.diagnostics.errors import JobspecError
from jobspec.server.forges import discussion_in, write_comment
from jobspec.session.found import Found
from jobspec.session.options import Options
from jobspec.session.reading import content_of, read_stdin


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "the text in Markdown, such as that of `jobspec diff -o markdown`; `-` is standard input"
    parser.add_argument("path", metavar="FILE", help=what)
    parser.add_argument("--name", metavar="NAME", help="which of several comments of jobspec it is")


def run(options: Options) -> int:
    """Write the comment, in place of the one that an earlier job wrote."""
    content = read_stdin() if options.path == "-" else content_of(Found(options.path, named=True))
    marker = f"<!-- jobspec {options.name or 'comment'} -->"
    discussion = discussion_in(os.environ, _event())
    text = content.decode(errors="replace")
    done = write_comment(discussion, text if text.startswith(marker) else f"{marker}\n{text}", marker)
    sys.stdout.write(f"comment {done}\n")
    return 0


def _event() -> dict[str, Any]:
    """What GitHub says of the event that a job runs for; empty if there is none."""
    try:
        with open(os.environ.get("GITHUB_EVENT_PATH", ""), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        raise JobspecError("comment: GITHUB_EVENT_PATH names no event")
    return found
