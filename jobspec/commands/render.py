"""`jobspec render`: jobs with overlays laid on them, checked, as a stream or a folder of files."""

from __future__ import annotations

import sys

from jobspec import shapes, trees
from jobspec.arrange import arrange
from jobspec.commands.inputs import Inputs, load_layers, require_workload
from jobspec.documents.files import find
from jobspec.documents.writer import write
from jobspec.manifests import check
from jobspec.reports import REPORTS
from jobspec.targets import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from jobspec.documents.document import Document
    from jobspec.reports import FileReport
    from jobspec.targets import Target


def run(inputs: Inputs, *, to: str | None) -> int:
    """Render to standard output, or to the folder *to*, whole or not at all; 1 where an error was found."""
    target = choose(inputs.targets)
    layers, broken = load_layers(inputs, target)
    found = find(inputs.paths)
    checked = [] if broken else [check(each, target, layers, skip_unknown=inputs.skip_unknown) for each in found]
    reports = broken or [each.report for each in checked]
    documents = [document for each in checked for document in each.documents]
    require_workload(layers, reports)
    _tell_duplicates(documents, reports)
    if not all(report.valid for report in reports):
        _report(reports, target, inputs.output, sys.stderr if inputs.output == "text" or to is None else sys.stdout)
        return 1
    if to is None:
        sys.stdout.write(write(_arranged(document, target) for document in documents))
        if inputs.output == "json" or any(report.diagnostics for report in reports):
            _report(reports, target, inputs.output, sys.stderr)
    else:
        written = trees.replace(to, {_file_name(document): write([_arranged(document, target)]) for document in documents})
        if inputs.output == "text":
            sys.stdout.writelines(f"{path}\n" for path in written)
        _report(reports, target, inputs.output, sys.stderr if inputs.output == "text" else sys.stdout)
    return 0


def _arranged(document: Document, target: Target) -> object:
    return arrange(document.data, shapes.load(document.api_version, document.kind, target))


def _report(reports: list[FileReport], target: Target, output: str, stream: TextIO) -> None:
    stream.write(REPORTS[output](reports, target))


def _tell_duplicates(documents: list[Document], reports: list[FileReport]) -> None:
    """Two documents that are one object would overwrite each other, in a folder as on a server."""
    seen: dict[str, Document] = {}
    for document in documents:
        if not document.name:
            continue
        name = _file_name(document)
        first = seen.setdefault(name, document)
        if first is not document:
            what = f"{document.kind} `{document.name}`"
            message = f"{what} stands twice; first in {first.marks.nearest(('metadata', 'name')).place()}"
            problem = document.problem("duplicate-resource", message, ("metadata", "name"), hint="give one of them another name")
            owner = next(report for report in reports if report.path == document.file)
            owner.diagnostics.append(problem)


def _file_name(document: Document) -> str:
    metadata = document.data["metadata"]
    return f"{document.kind.lower()}-{metadata.get('name') or metadata['generateName']}.yaml"
