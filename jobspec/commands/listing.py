"""`jobspec list`: the variants of a project, the overlays with their parameters, and the known releases."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import CHOSEN, RELEASES
from jobspec.diagnostics.errors import JobspecError
from jobspec.overlays.load import shipped
from jobspec.project.matrix import matrix_words
from jobspec.reports.terminal import wrapped
from jobspec.session.arguments import declare
from jobspec.session.inputs import overlay_file
from jobspec.session.options import Option, Options
from jobspec.session.overlay_pages import described, parameter_lines
from jobspec.session.terminal import width_of

_NARROW = 40  # columns


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    parser.add_argument("what", nargs="?", choices=list(_LISTS), help="only this list; by default all three")
    parser.add_argument("--project", default=PROJECT_FILE, metavar="FILE", help=f"the project; {PROJECT_FILE} by default")
    declare(parser, [Option("--output", "-o", dest="report_format", choices=("text", "json"), what="output format")])


def run(options: Options) -> int:
    """Print the lists. Raises JobspecError for variants of a project that is not there, or that has an error."""
    wanted = [options.what] if options.what else list(_LISTS)
    if not options.what and not os.path.isfile(options.project):
        wanted.remove("variants")
    found = {name: _LISTS[name](options) for name in wanted}
    if options.output == "json":
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    else:
        parts = [[f"{name}:", *_table_lines(rows)] for name, rows in found.items()]
        sys.stdout.write("\n\n".join("\n".join(lines) for lines in parts) + "\n")
    return 0


def _variants(options: Options) -> list[dict[str, Any]]:
    from jobspec.session.project import plan
    from jobspec.session.trees import ProjectFiles

    if not os.path.isfile(options.project):
        raise JobspecError(f"{options.project}: no such file; a project elsewhere is named by `--project FILE`")
    planned = plan(options, ProjectFiles(options.project))
    if wrong := [each for result in planned.results for each in result.diagnostics if each.severity == "error"]:
        raise JobspecError(f"{wrong[0].mark}: {wrong[0].message}; `jobspec validate {options.project}` reports all")
    return [
        {
            "name": each.name,
            "base": each.entry.value["base"].data() if "base" in each.entry.value else None,
            "overlays": [_overlay_named(use) for use in each.entry.value["overlays"].data()] if "overlays" in each.entry.value else [],
            "matrix": dict(each.values),
        }
        for each in planned.combinations
    ]


def _overlay_named(use: Any) -> str:
    """An overlay of a variant as `--overlay` and `--set` write it: `gpu-nccl gpus=2`."""
    if not isinstance(use, Mapping):
        return str(use)
    return " ".join(f"{name} {' '.join(f'{key}={value}' for key, value in (given or {}).items())}".strip() for name, given in use.items())


_LISTS: dict[str, Callable[[Options], list[dict[str, Any]]]] = {
    "variants": _variants,
    "overlays": lambda _: [described(overlay_file(name)) for name in shipped()],
    "targets": lambda _: [{"name": each, "releases": list(RELEASES[each]), "newest": list(RELEASES[each])[-1]} for each in CHOSEN],
}


def _table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as a table: a name and its description."""
    wide = max((len(row["name"]) for row in rows), default=0)
    lines: list[str] = []
    for row in rows:
        if "releases" in row:
            text = ", ".join(row["releases"])
        elif "parameters" in row:
            text = row["description"]
        else:
            text = ", ".join([str(row["base"] or "no base"), *row["overlays"], *matrix_words(row["matrix"])])
        width = max(width_of(sys.stdout), _NARROW)
        lines += wrapped(text, width, " " * (wide + 4), first=f"  {row['name']:{wide}}  ")
        for name, about in row.get("parameters", {}).items():
            lines += parameter_lines(name, about, width, " " * (wide + 4))
    return lines
