"""Manifests as Python programs have them, as text, data or models, to documents."""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Path, marks_at, spell
from jobspec.documents.document import Document
from jobspec.documents.reader import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pydantic import BaseModel

    #: YAML or JSON text of any number of documents, the data of one, a model of one, or a document.
    Manifest = str | bytes | Mapping[str, Any] | BaseModel | Document


def document_of(manifest: Manifest, name: str, *, index: int = 0, layer: bool = False) -> Document:
    """Return the document of data or a model. All its marks are the file *name*.

    *layer*: the manifest is an overlay, and its name is the layer of the marks. Raises TypeError, with the path, if the data holds a
    value that JSON has no type for.
    """
    if isinstance(manifest, Document):
        return manifest
    plain = _as_json_types(manifest if isinstance(manifest, dict) else _dumped(manifest), ())
    mark = Mark(name, layer=_name_in(plain) if layer else "")
    return Document(plain, lambda: marks_at(plain, mark), file=name, index=index)


def documents_of(manifests: Iterable[Manifest], name: str) -> list[Document]:
    """Return the documents of manifests given as text, data or models.

    Raises JobspecError, with all problems of their YAML, if a text cannot be read.
    """
    found: list[Document] = []
    wrong = []
    for manifest in manifests:
        if isinstance(manifest, (str, bytes)):
            documents, problems = read(manifest if isinstance(manifest, str) else manifest.decode(), file=name)
            found += documents
            wrong += [f"{each.mark}: {each.message}" for each in problems]
        else:
            found.append(document_of(manifest, name))
    if wrong:
        raise JobspecError("\n".join(wrong))
    return found


def _name_in(data: Any) -> str:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _dumped(model: Any) -> Any:
    """Return the fields that are set in a model, under the names of the API.

    Any other mapping becomes a dict.
    """
    dump = getattr(model, "model_dump", None)
    if dump:
        return dump(by_alias=True, exclude_unset=True)
    if not hasattr(model, "keys"):
        raise TypeError(f"expected a string, a dict, a model or a Document, got {type(model).__name__}")
    return dict(model)


def _as_json_types(value: Any, path: Path) -> Any:
    """The value with the types of JSON. Raises TypeError, with the path, for others."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeError(f"{spell(path) or 'the manifest'}: a key must be a string, not {wrong!r}")
        return {key: _as_json_types(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json_types(inner, (*path, index)) for index, inner in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value - value == 0):
        return value
    raise TypeError(f"{spell(path) or 'the manifest'}: JSON cannot contain {value!r}")
