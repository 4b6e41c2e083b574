"""Manifests as Python programs have them, as text, data or models, to documents."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError, Mark, spell
from jobspec.documents.document import Document, marks_at
from jobspec.documents.reader import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pydantic import BaseModel

    from jobspec.diagnostics import Path

    #: YAML or JSON text of any number of documents, the data of one, a model of one, or a document.
    Manifest = str | bytes | Mapping[str, Any] | BaseModel | Document


def document_of(manifest: Mapping[str, Any] | BaseModel | Document, name: str, *, index: int = 0) -> Document:
    """The document of data or a model, which has one place, its *name*. Raises TypeError for what JSON cannot hold, with its path."""
    if isinstance(manifest, Document):
        return manifest
    data = manifest if isinstance(manifest, dict) else _dumped(manifest)
    plain = _plain(data, ())
    return Document(plain, lambda: marks_at(plain, Mark(name)), file=name, index=index)


def documents_of(manifests: Iterable[Manifest], name: str) -> list[Document]:
    """The documents of manifests that have to be readable. Raises JobspecError with all that is wrong with their YAML."""
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


def _dumped(model: Mapping[str, Any] | BaseModel) -> Any:
    """What was set in a model, by the names of the API; any other mapping as a dict."""
    dump = getattr(model, "model_dump", None)
    return dump(by_alias=True, exclude_unset=True) if dump else dict(model)


def _plain(value: Any, path: Path) -> Any:
    """The value as JSON has it."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeError(f"{spell(path) or 'the manifest'}: a key has to be text, not {wrong!r}")
        return {key: _plain(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, (*path, index)) for index, inner in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value - value == 0):
        return value
    raise TypeError(f"{spell(path) or 'the manifest'}: JSON cannot hold {value!r}")
