"""Render checked files: the objects that they hold, and the text of these."""

from __future__ import annotations

from functools import lru_cache

from jobspec.apis.kinds import COMPONENTS, TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.documents.document import with_value_at, without_wrapped
from jobspec.documents.writer import write
from jobspec.operators.trainer.runtimes import has_runtime_patches
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.results import FileResult
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Checked


class RenderedDocuments(Record):
    """The documents that files render to, each object once, and the results of the files."""

    documents: list[Document]
    results: list[FileResult]


def rendered(files: Sequence[Checked], target: Target, *, companions_once: bool) -> RenderedDocuments:
    """Return the objects of checked files. An object that is given twice is an error.

    *companions_once*: overlays were applied, so that jobs of several files may share a companion, such as a volume claim.
    """
    documents = [document for each in files for document in without_wrapped(each.documents)]
    documents = _companions_once(documents) if companions_once and len(documents) > 1 else documents
    repeated = list(_repeated(documents))
    results = [each.result.with_diagnostics(problem for file, problem in repeated if file == each.result.path) for each in files]
    of_cluster = [each for each in documents if COMPONENTS.get((each.api_version, each.kind)) != "jobspec"]
    return RenderedDocuments([as_stored(each, target) for each in of_cluster], results)


def as_stored(document: Document, target: Target) -> Document:
    """Write the quantities of a TrainJob as the trainer's webhook does.

    To the server, another form changes an immutable field.

    The webhook does so where the job has a patch of its runtime, and Kueue gives one to every TrainJob.
    """
    if document.group_kind != TRAINJOB or not has_runtime_patches(target["trainer"]):
        return document
    from jobspec.go.codec import rewritten_quantities

    data = document.data
    for path, text in rewritten_quantities(data, shapes.load(document.api_version, document.kind, target)):
        data = with_value_at(data, path, text)
    return document.changed(data) if data is not document.data else document


def text_of(documents: Iterable[Document], target: Target) -> str:
    """The text of documents, each with its fields in the order in which people write them."""
    return write(arrange(each.data, shapes.load(each.api_version, each.kind, target)) for each in documents)


def files_of(documents: Sequence[Document]) -> dict[str, Document]:
    """Name the file of each document: `<kind>-<name>.yaml`.

    If that is not enough, the namespace comes before the name.

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


def _companions_once(documents: Iterable[Document]) -> list[Document]:
    once: list[Document] = []
    for document in documents:
        if not (document.marks.mark.layer and any(document.data == other.data for other in once)):
            once.append(document)
    return once


def _repeated(documents: Iterable[Document]) -> Iterator[tuple[str, Diagnostic]]:
    """File and diagnostic of each document that is the same object as an earlier one, and would overwrite it on a server."""
    seen: dict[tuple[str, ...], Document] = {}
    for document in documents:
        group = document.api_version.rpartition("/")[0]
        first = seen.setdefault((group, document.kind, document.namespace, document.name), document)
        if first is not document and document.name:
            message = f"{document.kind} `{document.name}` is duplicated; first in {first.marks.nearest(('metadata', 'name')).place()}"
            yield document.file, document.problem("duplicate-resource", message, ("metadata", "name"), hint="rename one of them")


# Put a manifest's keys in the order in which people write them.


_FIRST = ("apiVersion", "kind", "metadata", "name", "generateName", "namespace", "labels", "annotations", "type", "spec")
_LAST = ("data", "stringData", "binaryData", "status")


def arrange(data: Any, shape: Shape | None) -> Any:
    """The same data, each object's fields in the order of its model, the keys of maps by name.

    What no model describes begins with `apiVersion`, `kind` and `metadata` and is otherwise ordered by name.
    """
    if isinstance(data, list):
        items = shape.items if shape else None
        return [arrange(item, items) if isinstance(item, (dict, list)) else item for item in data]
    if not isinstance(data, dict):
        return data
    arranged = {}
    for key, below in _order(tuple(data), shape):
        value = data[key]
        arranged[key] = arrange(value, below) if isinstance(value, (dict, list)) else value
    return arranged


@lru_cache(maxsize=1000)  # most objects of a kind have the same few sets of fields
def _order(keys: tuple[str, ...], shape: Shape | None) -> list[tuple[str, Shape | None]]:
    """The keys of an object in that order, each with the shape of its value."""
    return [(key, shape.at((key,)) if shape else None) for key in order_of(keys, shape)]


def order_of(keys: Collection[str], shape: Shape | None) -> list[str]:
    """The keys of an object in that order."""
    if shape and shape.fields is not None:
        return [name for name in shape.fields if name in keys] + sorted(set(keys) - shape.fields.keys())
    if shape and shape.values:
        return sorted(keys)
    first = [name for name in _FIRST if name in keys]
    last = [name for name in _LAST if name in keys]
    return first + sorted(set(keys) - {*first, *last}) + last
