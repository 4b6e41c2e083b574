"""`jobspec render`: jobs with overlays laid on them, checked, as a stream or a folder of files."""

from __future__ import annotations

import sys

from jobspec import shapes, trees
from jobspec.arrange import arrange
from jobspec.commands.inputs import Inputs, check_together, load_kinds, load_layers, require_workload
from jobspec.commands.output import deliver, one_by_one, watched
from jobspec.diagnostics import JobspecError
from jobspec.documents.files import find
from jobspec.documents.writer import write
from jobspec.manifests import check
from jobspec.targets import KINDS, choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Document
    from jobspec.documents.files import Found
    from jobspec.judge import World
    from jobspec.manifests import Checked
    from jobspec.reports import FileReport
    from jobspec.targets import Target


def run(inputs: Inputs, *, to: str | None) -> int:
    """Render to standard output, or to the folder *to*, whole or not at all; 1 where an error was found."""
    if to == "":
        raise JobspecError("--to needs the name of a folder")
    target = choose(inputs.targets)
    kinds, wrong = load_kinds(inputs, target)
    layers, broken = load_layers(inputs, target)
    broken = wrong + broken
    found = find(inputs.paths)

    def check_each(works: list[tuple[Found, World]]) -> list[Checked]:
        return watched(works, lambda work: check(work[0], target, layers, work[1]), one_by_one)

    checked = [] if broken else check_together(found, target, inputs.world(kinds=kinds), check_each)
    reports = broken or [each.report for each in checked]
    documents = [document for each in checked for document in each.documents]
    if layers:
        documents = _companions_once(documents)
    require_workload(layers, reports)
    _tell_duplicates(documents, reports)
    if not all(report.valid for report in reports):
        deliver(reports, target, inputs, sys.stderr if inputs.output == "text" or to is None else sys.stdout)
        return 1
    documents = [document for document in documents if KINDS.get((document.api_version, document.kind)) != "jobspec"]
    if not documents:
        raise JobspecError("nothing to render: the files hold no object of a cluster")
    if to is None:
        sys.stdout.write(write(_arranged(document, target) for document in documents))
        skipped = any(row["status"] == "skipped" for report in reports for row in report.documents)
        if inputs.output != "text" or inputs.output_file or skipped or any(report.diagnostics for report in reports):
            deliver(reports, target, inputs, sys.stderr)
    else:
        written = trees.replace(to, {name: write([_arranged(document, target)]) for name, document in _files(documents).items()})
        if inputs.output == "text":
            sys.stdout.writelines(f"{path}\n" for path in written)
        deliver(reports, target, inputs, sys.stderr if inputs.output == "text" else sys.stdout)
    return 0


def _arranged(document: Document, target: Target) -> object:
    return arrange(document.data, shapes.load(document.api_version, document.kind, target))


def _companions_once(documents: list[Document]) -> list[Document]:
    """Jobs of several files may share a companion, such as a volume claim; the same one is not rendered twice."""
    once: list[Document] = []
    for document in documents:
        if not (document.marks.mark.layer and any(document.data == other.data for other in once)):
            once.append(document)
    return once


def _tell_duplicates(documents: list[Document], reports: list[FileReport]) -> None:
    """Two documents that are one object would overwrite each other on a server."""
    seen: dict[tuple[str, ...], Document] = {}
    for document in documents:
        group = document.api_version.rpartition("/")[0]
        first = seen.setdefault((group, document.kind, document.namespace, document.name), document)
        if first is not document and document.name:
            message = f"{document.kind} `{document.name}` stands twice; first in {first.marks.nearest(('metadata', 'name')).place()}"
            problem = document.problem("duplicate-resource", message, ("metadata", "name"), hint="give one of them another name")
            owner = next(report for report in reports if report.path == document.file)
            owner.diagnostics.append(problem)


def _files(documents: list[Document]) -> dict[str, Document]:
    """Each document by the name of its file: `<kind>-<name>.yaml`, with the namespace before the name where that is not enough.

    Raises JobspecError for documents that even then would be the same file.
    """
    plain = [_file_name(document) for document in documents]
    files: dict[str, Document] = {}
    for name, document in zip(plain, documents, strict=True):
        full = _file_name(document, namespace=document.namespace) if plain.count(name) > 1 else name
        if full in files:
            raise JobspecError(f"two documents would both be {full}: in {files[full].file} and in {document.file}; rename one of them")
        files[full] = document
    return files


def _file_name(document: Document, *, namespace: str = "") -> str:
    metadata = document.data["metadata"]
    parts = [document.kind.lower(), namespace, metadata.get("name") or metadata["generateName"]]
    return "-".join(part for part in parts if part) + ".yaml"
