"""Turn a merge patch of a kustomization into a JSON patch, in its file or in the kustomization."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Path
from jobspec.diagnostics.problems import Change, remove, set_to
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.documents.wrapped import documents_in_text
from jobspec.documents.writer import write
from jobspec.go.values import mapping
from jobspec.repository.kustomizations import kustomizations_below
from jobspec.repository.layers import entries_of
from jobspec.repository.roles import joined
from jobspec.session.fixes import with_remedies
from jobspec.session.kustomize_schema import repository_of
from jobspec.session.source_files import DiskFiles

_FILES = DiskFiles()
_MERGING = "patchesStrategicMerge"


class _Entry(NamedTuple):
    """An entry of a kustomization with a patch."""

    kustomization: str
    field: str
    number: int
    data: Mapping[str, Any]
    """The entry; empty where it is the patch, or its path, itself."""


def with_json_patch(mark: Mark, operations: Sequence[Mapping[str, Any]]) -> tuple[str, str, dict[str, bytes]]:
    """Return the texts of the files in which the patch at a place is a JSON patch.

    Before the texts, return the path of the kustomization that has the patch, and a name for the patch. Raises JobspecError if no JSON
    patch stands for it, or several entries have it.
    """
    path = os.path.normpath(mark.file)
    if not operations:
        raise JobspecError(f"{mark}: no JSON patch stands for this patch; use --fix-lists schema")
    is_inline = os.path.basename(path) in KUSTOMIZATIONS
    entries = list(_inline_entries(path, mark.line) if is_inline else _entries_naming(path))
    if len(entries) != 1:
        raise JobspecError(f"{mark}: {len(entries)} entries of kustomizations have this patch; turn it into a JSON patch by hand")
    entry, text = entries[0], write([list(operations)])
    documents = list(_inline_documents(entry) if is_inline else _FILES.documents(path))
    at = max((n for n, each in enumerate(documents) if each.marks.mark.line <= mark.line), default=0)
    target = _target_of(documents[at], entry)
    if is_inline:
        if len(documents) != 1:
            raise JobspecError(f"{mark}: the patch has several documents; turn it into a JSON patch by hand")
        patched = {"patch": text, "target": target}
        name = f"the JSON patch of {target.get('kind')} {target.get('name')}"
        return entry.kustomization, name, {entry.kustomization: _edited(entry, patched, is_moved=True)}
    if len(documents) == 1:
        named = _edited(entry, {"path": _named(path, entry), "target": target}, is_moved=True)
        return entry.kustomization, path, {path: text.encode(), entry.kustomization: named}
    stem, end = os.path.splitext(path)
    new = f"{stem}-{str(target.get('kind')).lower()}-{target.get('name')}{end}"
    if os.path.exists(new):
        raise JobspecError(f"{new}: there is such a file; turn the patch into a JSON patch by hand")
    others = _without(_FILES.text(path), at, len(documents), mark)
    named = _edited(entry, {"path": _named(new, entry), "target": target}, is_moved=False)
    return entry.kustomization, new, {new: text.encode(), path: others.encode(), entry.kustomization: named}


def _entries_in(path: str) -> Iterator[tuple[_Entry, str, str]]:
    """Yield the entries of a kustomization that have patches, each with the path and the text that it may be."""
    data = next((each.data for each in _FILES.documents(path)), None)
    for field in ("patches", _MERGING):
        for number, each in enumerate(mapping({"": data}, "").get(field) or ()):
            if isinstance(each, dict):
                yield _Entry(path, field, number, each), str(each.get("path") or ""), str(each.get("patch") or "")
            elif isinstance(each, str):
                yield _Entry(path, field, number, {}), "" if "\n" in each else each, each if "\n" in each else ""


def _entries_naming(path: str) -> Iterator[_Entry]:
    real = os.path.realpath(path)
    for kustomization in kustomizations_below(repository_of(os.path.dirname(path) or os.curdir)):
        shown = os.path.relpath(kustomization)
        for entry, name, _ in _entries_in(shown):
            if name and os.path.realpath(joined(os.path.dirname(shown), name)) == real:
                yield entry


def _inline_entries(path: str, line: int) -> Iterator[_Entry]:
    """Yield the entry whose text begins last before a line."""
    before = [entry for entry, _, text in _entries_in(path) if text and _line_of(entry) <= line]
    yield from before[-1:] if all(each.field == before[0].field for each in before) else ()


def _line_of(entry: _Entry) -> int:
    return _FILES.documents(entry.kustomization)[0].marks.nearest(_text_path(entry)).mark.line


def _text_path(entry: _Entry) -> Path:
    return (entry.field, entry.number, *(["patch"] if entry.data else []))


def _inline_documents(entry: _Entry) -> Sequence[Document]:
    text = _FILES.text(entry.kustomization)
    return list(documents_in_text(_FILES.documents(entry.kustomization)[0], _text_path(entry), text))


def _target_of(patch: Document, entry: _Entry) -> dict[str, Any]:
    """Return the target of an entry, or that of the object that a patch names. Raises JobspecError if it may be several objects."""
    there = mapping({"": entry.data}, "", "target")
    if there:
        if not re.fullmatch(r"[\w.-]+", str(there.get("name") or "*")):
            raise JobspecError(f"{entry.kustomization}: the target of the patch may be several objects; turn it into a JSON patch by hand")
        return there
    group, _, version = patch.api_version.rpartition("/")
    metadata = mapping(patch.data, "metadata")
    about = {"group": group, "version": version, "kind": patch.kind, "name": metadata.get("name"), "namespace": metadata.get("namespace")}
    return {field: value for field, value in about.items() if value}


def _named(path: str, entry: _Entry) -> str:
    return os.path.relpath(path, os.path.dirname(entry.kustomization) or os.curdir)


def _edited(entry: _Entry, patched: Mapping[str, Any], *, is_moved: bool) -> bytes:
    """Return the text of a kustomization with an entry for a JSON patch, in place of one for a merge patch if that *is_moved*."""
    data = _FILES.documents(entry.kustomization)[0].data
    options = {field: each for field, each in entry.data.items() if field == "options"}
    changes: list[Change] = []
    text = _FILES.text(entry.kustomization)
    if is_moved and entry.field == "patches":
        text = _with_block(entry, patched["patch"], text) if "patch" in patched else text
        changes += [set_to(("patches", entry.number, "target"), patched["target"])] if not entry.data.get("target") else []
    else:
        count = len(entries_of(data, "patches"))
        added = {**patched, **options}
        changes += [set_to(("patches", count), added) if count else set_to(("patches",), [added])]
        changes += [remove((_MERGING, entry.number))] if is_moved else []
    for change in changes:
        text, made = with_remedies(text, [(0, [change])], file=entry.kustomization)
        if not made:
            raise JobspecError(f"{entry.kustomization}: cannot be edited; turn the patch into a JSON patch by hand")
    return text.encode()


def _with_block(entry: _Entry, patch: str, text: str) -> str:
    """Return the text of a kustomization with another patch in the literal block of an entry."""
    mark = _FILES.documents(entry.kustomization)[0].marks.nearest(_text_path(entry)).mark
    lines = text.split("\n")
    inside = lines[mark.line : mark.end_line - 1]
    if not lines[mark.line - 1][mark.column - 1 :].startswith("|") or not inside:
        raise JobspecError(f"{mark}: only a patch in a literal block (`|`) can be edited; turn it into a JSON patch by hand")
    indent = inside[0][: len(inside[0]) - len(inside[0].lstrip())]
    return "\n".join([*lines[: mark.line], *(f"{indent}{each}" for each in patch.splitlines()), *lines[mark.end_line - 1 :]])


def _without(text: str, at: int, count: int, mark: Mark) -> str:
    """Return the text of a file without one of its documents."""
    parts = re.split(r"(?m)^---[ \t]*\n", text)
    filled = [n for n, each in enumerate(parts) if re.search(r"(?m)^[^#\s]", each)]
    if len(filled) != count:
        raise JobspecError(f"{mark}: the file cannot be cut; turn the patch into a JSON patch by hand")
    return "---\n".join(each for n, each in enumerate(parts) if n != filled[at])
