"""The schema by which kustomize merges the lists of the kinds in a repository, and where kustomizations name it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec.apis.kinds import every
from jobspec.apis.releases import Target
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.problems import Change, set_to
from jobspec.documents.atomic_writes import Replacement
from jobspec.documents.decoding import decode
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.journey.reading import read as read_file
from jobspec.kubernetes import common_kinds
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.operators.workloads import written_pod_specs
from jobspec.schemas import shapes
from jobspec.schemas.merge_schema import MergedKind, merge_document
from jobspec.session.finding import find
from jobspec.session.fixes import with_remedies
from jobspec.session.folders import repository_root
from jobspec.session.reading import source_of

SCHEMA_FILE = "kustomize-schema.json"
"""The name of the schema beside a kustomization, since kustomize reads none from outside of its folder."""


def schema_text(paths: Sequence[str], target: Target, custom: CustomKinds | None = None) -> str:
    """Return the schema of the kinds in some files and folders.

    Without a path, return the schema of all kinds that jobspec has structures of.
    """
    kinds = _kinds_of(documents_in(paths, target), target, custom) if paths else _every_kind(target)
    return json.dumps(merge_document(kinds, target), indent=1) + "\n"


def documents_in(paths: Iterable[str], target: Target) -> list[Document]:
    """Return the objects in the files below some paths, patches and what kustomizations generate left out."""
    found = find(paths, build=False)
    manifests = [read_file(source_of(each, skip_unknown=True), target) for each in found]
    return [each for file in manifests if file.settled is None for each in file.documents if each.api_version and each.kind]


def _every_kind(target: Target) -> Iterator[MergedKind]:
    for each in every():
        for version in each.api_versions if each.component != "jobspec" else ():
            yield MergedKind(version, each.name, shapes.load(version, each.name, target))


def _kinds_of(documents: Iterable[Document], target: Target, custom: CustomKinds | None) -> Iterator[MergedKind]:
    by_kind = grouped((each for each in documents if "kustomize" not in each.api_version), lambda each: (each.api_version, each.kind))
    for (version, kind), several in sorted(by_kind.items()):
        common = common_kinds.find(several[0], target)
        own = shapes.load(version, kind, target)
        shape = custom.shape(several[0]) if custom and custom.defines(several[0]) else own or (common.shape if common else None)
        pods = list(dict.fromkeys(path for each in several for path, _ in written_pod_specs(each)))
        yield MergedKind(version, kind, shape, pods, common.namespaced if common else None)


def with_schema(folder: str) -> tuple[str, Replacement]:
    """Return the path and the edited text of a folder's kustomization.

    The text has an entry of the schema, which lies beside the kustomization. Raises JobspecError if the kustomization names another
    schema, or cannot be edited.
    """
    path = kustomization_of(folder)

    def entry(data: Mapping[str, Any]) -> Change | None:
        named = data.get("openapi")
        if named and named != {"path": SCHEMA_FILE}:
            raise JobspecError(f"{path}: it has an `openapi` of its own; add the kinds by `jobspec schema kustomize --base FILE`")
        return None if named else set_to(("openapi",), {"path": SCHEMA_FILE})

    return path, edited_kustomization(path, entry)


def edited_kustomization(path: str, change: Callable[[Mapping[str, Any]], Change | None]) -> Replacement:
    """Return the text of a kustomization before and after a change of its data. Raises JobspecError if it cannot be edited."""
    from jobspec.documents.reader import read

    with open(path, "rb") as file:
        before = file.read()
    text = decode(before, path)
    documents, problems = read(text, file=path) if isinstance(text, str) else ((), (text,))
    if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise JobspecError(f"{path}: not a kustomization that can be edited")
    asked = change(documents[0].data)
    if asked is None:
        return Replacement(before, before)
    new, made = with_remedies(before.decode(), [(0, [asked])], file=path)
    if not made:
        raise JobspecError(f"{path}: cannot be edited; set `{asked.path[0]}` to {json.dumps(asked.value)} by hand")
    return Replacement(before, new.encode())


def kustomization_of(folder: str) -> str:
    """Return the kustomization in a folder. Raises JobspecError if there is none."""
    if os.path.basename(folder) in KUSTOMIZATIONS and os.path.isfile(folder):
        return folder
    for name in KUSTOMIZATIONS:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return path
    raise JobspecError(f"{folder}: no kustomization in this folder")


def repository_of(folder: str) -> str:
    """Return the folder of the repository around a folder.

    Without a repository, return the working folder if it holds the folder, or else the folder itself.
    """
    root = repository_root(os.path.realpath(folder))
    is_below = os.path.commonpath([os.getcwd(), os.path.realpath(folder)]) == os.getcwd()
    return os.path.relpath(root) if root else os.curdir if is_below else folder
