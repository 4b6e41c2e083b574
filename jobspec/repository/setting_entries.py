"""Find the line of a kustomization, or of a file that it generates from, that set a value of a built object.

Follows `imagetag.SetImageValue`, `replicacount.Filter` and `generators.MakeConfigMap`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.document import Document
from jobspec.go.values import mapping
from jobspec.repository.layers import entries_of
from jobspec.repository.source_files import SourceFiles


class BuiltValue(NamedTuple):
    """A value of a built object."""

    path: Path
    value: Any
    data: Mapping[str, Any]
    """The object."""

    @property
    def name(self) -> str:
        """Return the name of the object, to which a prefix, a suffix and a hash may have been added."""
        return str(mapping(self.data, "metadata").get("name"))


def place_of_setting(kustomizations: Sequence[str], built: BuiltValue, files: SourceFiles) -> Mark | None:
    """Return where a field of a kustomization sets a value, of the outermost one that does.

    If none sets exactly this value, return the first field that may have set it. If there is none, or for a whole object, return None.
    """
    if not built.path:
        return None
    documents = [(path, each) for path in kustomizations for each in files.documents(path)[:1] if isinstance(each.data, dict)]
    steps = {str(step) for step in built.path}
    fields = [field for field, names in _SET_BY.items() if steps & names]
    for path, document in documents:
        for field in (*fields, "replacements"):
            if document.data.get(field):
                found = _SETTERS[field](document, field, built)
                place = next((document.marks.nearest(each).place() for each in found), None)
                if place := place or (_in_generating_file(path, document, field, built, files) if field in _GENERATORS else None):
                    return place
    maybe = (
        document.marks.nearest((field,)).place()
        for _, document in documents
        for field in (*fields, "replacements", "vars")
        if document.data.get(field)
    )
    return next(maybe, None)


#: Fields of a kustomization, and the steps of paths that they set.
_SET_BY: dict[str, frozenset[str]] = {
    "namespace": frozenset(("namespace",)),
    "images": frozenset(("image",)),
    "namePrefix": frozenset(("name",)),
    "nameSuffix": frozenset(("name",)),
    "replicas": frozenset(("replicas", "parallelism")),
    "labels": frozenset(("labels", "matchLabels", "selector")),
    "commonLabels": frozenset(("labels", "matchLabels", "selector")),
    "commonAnnotations": frozenset(("annotations",)),
    "configMapGenerator": frozenset(("data", "binaryData", "name")),
    "secretGenerator": frozenset(("data", "type", "name")),
}
_GENERATORS = ("configMapGenerator", "secretGenerator")


# Each field gives the paths of its entries that set exactly this value.


def _scalar(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    said = str(document.data[field])
    text = str(built.value)
    if said == text or (field == "namePrefix" and text.startswith(said)) or (field == "nameSuffix" and said in text):
        yield (field,)


def _image(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    for number, each in enumerate(entries_of(document.data, field)):
        name, rest = str(each.get("newName") or each.get("name")), [part for part in ("newTag", "digest") if each.get(part)]
        text = str(built.value)
        if text == name or text.startswith((f"{name}:", f"{name}@")):
            if set_by := next((part for part in rest if str(each[part]) in text[len(name) :]), None):
                yield field, number, set_by
            elif not rest and each.get("newName"):
                yield field, number, "newName"


def _replicas(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    for number, each in enumerate(entries_of(document.data, field)):
        if each.get("count") == built.value and str(each.get("name")) in built.name:
            yield field, number, "count"


def _pairs(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    entries = [(*((field, number)), "pairs") for number, _ in enumerate(entries_of(document.data, field))]
    for at in entries if field == "labels" else [(field,)]:
        pairs = mapping(document.data[field][at[1]], "pairs") if len(at) > 1 else mapping(document.data, field)
        last = str(built.path[-1])
        if last in pairs and str(pairs[last]) == str(built.value):
            yield (*at, last)


def _generated(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    for number, each in _entries_for(document, field, built):
        if built.path == ("metadata", "name"):
            yield field, number, "name"
        elif built.path == ("type",) and each.get("type") == built.value:
            yield field, number, "type"
        elif built.path[0] in _CONTENT:
            for at, literal in enumerate(_strings(each, "literals")):
                if literal.partition("=")[0] == built.path[-1]:
                    yield field, number, "literals", at


def _replaced(document: Document, field: str, built: BuiltValue) -> Iterator[Path]:
    for number, each in enumerate(entries_of(document.data, field)):
        for at, target in enumerate(entries_of(each, "targets")):
            select = mapping(target, "select")
            is_of = select.get("kind", built.data.get("kind")) == built.data.get("kind") and str(select.get("name", "")) in built.name
            for which, to in enumerate(_strings(target, "fieldPaths") if is_of else ()):
                if _last_of(to) == str(built.path[-1]):
                    yield field, number, "targets", at, "fieldPaths", which


def _last_of(field_path: str) -> str:
    """The last field of a path of a replacement, whose fields may have dots in brackets."""
    bare = field_path.rstrip("]") if field_path.endswith("]") else ""
    return bare.rpartition("[")[2] if bare and "=" not in bare.rpartition("[")[2] else field_path.rpartition(".")[2]


_SETTERS: dict[str, Callable[[Document, str, BuiltValue], Iterator[Path]]] = {
    "namespace": _scalar,
    "images": _image,
    "namePrefix": _scalar,
    "nameSuffix": _scalar,
    "replicas": _replicas,
    "labels": _pairs,
    "commonLabels": _pairs,
    "commonAnnotations": _pairs,
    "configMapGenerator": _generated,
    "secretGenerator": _generated,
    "replacements": _replaced,
}


# Files that a generator reads.


_CONTENT = ("data", "binaryData", "stringData")


def _entries_for(document: Document, field: str, built: BuiltValue) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a generator that make an object of this name."""
    for number, each in enumerate(entries_of(document.data, field)):
        if each.get("name") and str(each["name"]) in built.name:
            yield number, each


def _in_generating_file(path: str, document: Document, field: str, built: BuiltValue, files: SourceFiles) -> Mark | None:
    """Return the line of a file that a generator takes a key from: of a file of variables, or the first of a whole file."""
    key = str(built.path[-1])
    for _, each in _entries_for(document, field, built) if built.path[0] in _CONTENT else ():
        for named in _strings(each, "files"):
            name, _, file = named.rpartition("=")
            if key == (name or os.path.basename(file)):
                return Mark(named_path(path, file), 1, 1)
        for file in (*_strings(each, "envs"), *filter(None, [str(each.get("env") or "")])):
            for number, line in enumerate(_text(files, named_path(path, file)).splitlines(), 1):
                if line.strip().partition("=")[0] == key:
                    return Mark(named_path(path, file), number, 1, number, len(line) + 1)
    return None


def named_path(path: str, name: str) -> str:
    """Return the path of a file that another one names, spelt as that one's."""
    named = os.path.normpath(os.path.join(os.path.dirname(path), name))
    return os.path.join(os.curdir, named) if path.startswith("./") and not named.startswith("..") else named


def _text(files: SourceFiles, path: str) -> str:
    try:
        return files.text(path)
    except OSError:
        return ""


def _strings(data: Mapping[str, Any], field: str) -> list[str]:
    found = data.get(field)
    return [str(each) for each in found] if isinstance(found, list) else []
