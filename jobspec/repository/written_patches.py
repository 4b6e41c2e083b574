"""The patches of a kustomization as they are written, and the keys that they set twice.

kustomize reads a merge patch without a look at equal keys. If the object has the mapping, the first one counts; if not, the mapping is
copied, and kustomize cannot print the object. Of a JSON patch the last one counts. Follows `Walker.walkMap`, sigs.k8s.io/kustomize/kyaml
yaml/walk, and `PatchTransformer`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.documents.wrapped import read_inside
from jobspec.repository.roles import PATCHES
from jobspec.repository.setting_entries import named_path
from jobspec.repository.source_files import SourceFiles


class WrittenPatch(NamedTuple):
    """An entry of a kustomization that is a patch, or names the file of one."""

    entry: dict[str, Any]
    """Empty if the entry is a text."""
    documents: Sequence[Document]
    problems: Sequence[Diagnostic]
    """What is wrong with its YAML. Keys that it sets twice are warnings."""


def has_patches(data: Mapping[str, Any]) -> bool:
    """True if a kustomization has patches."""
    return any(map(data.get, PATCHES))


def _is_any(_: Mapping[str, Any]) -> bool:
    return True


def written_patches(
    document: Document, path: str, files: SourceFiles, is_wanted: Callable[[Mapping[str, Any]], bool] = _is_any
) -> Iterator[WrittenPatch]:
    """Yield the patches of the kustomization *document* of a file whose entries are wanted."""
    for field in PATCHES:
        entries = document.data.get(field) if isinstance(document.data, dict) else None
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            each = entry if isinstance(entry, dict) else {}
            if not is_wanted(each):
                continue
            name, inline = (each.get("path"), each.get("patch")) if each else (entry, entry)
            if isinstance(inline, str) and (each or "\n" in inline.strip()):
                place = (field, number, "patch") if each else (field, number)
                yield WrittenPatch(each, *read_inside(document, place, files.text(path), form="patch"))
            elif name:
                yield WrittenPatch(each, *_read_file(named_path(path, str(name)), files))


def keys_set_twice(document: Document, path: str, files: SourceFiles) -> Iterator[Diagnostic]:
    """Yield a warning for each key that a patch of a kustomization sets twice."""
    for patch in written_patches(document, path, files):
        yield from (each for each in patch.problems if each.rule == "duplicate-key")


def _read_file(path: str, files: SourceFiles) -> tuple[Sequence[Document], Sequence[Diagnostic]]:
    try:
        return _read(files.text(path), path, os.getcwd())
    except OSError:
        return (), ()


@lru_cache(maxsize=1024)  # which the marks of each object ask for
def _read(text: str, path: str, _folder: str) -> tuple[Sequence[Document], Sequence[Diagnostic]]:
    return read(text, file=path, form="patch")
