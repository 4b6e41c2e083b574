"""The schema by which kustomize merges the lists of the kinds in a repository, and where kustomizations name it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from jobspec.apis.kinds import every
from jobspec.apis.releases import Target
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.problems import Change, set_to
from jobspec.diagnostics.record import Record
from jobspec.documents.atomic_writes import Replacement
from jobspec.documents.decoding import decode
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.go.values import mapping, texts
from jobspec.journey.reading import read as read_file
from jobspec.kubernetes import common_kinds
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.operators.workloads import written_pod_specs
from jobspec.repository.kustomizations import LISTS
from jobspec.repository.roles import joined
from jobspec.schemas import shapes
from jobspec.schemas.merge_additions import additions
from jobspec.schemas.merge_schema import TITLE, MergedKind, merge_document
from jobspec.session.finding import find
from jobspec.session.fixes import with_remedies
from jobspec.session.folders import repository_root
from jobspec.session.reading import source_of
from jobspec.session.source_files import DiskFiles

SCHEMA_FILE = "kustomize-schema.json"
"""The name of the schema beside a kustomization, since kustomize reads none from outside of its folder."""


Kind: TypeAlias = tuple[str, str]
"""An `apiVersion` and a `kind`."""


def schema_text(paths: Sequence[str], target: Target, custom: CustomKinds | None = None) -> str:
    """Return the schema of the kinds in some files and folders.

    Without a path, return the schema of all kinds that jobspec has structures of.
    """
    return _as_json(schema_document(paths, target, custom))


def schema_document(
    paths: Sequence[str], target: Target, custom: CustomKinds | None = None, only: Collection[Kind] | None = None
) -> dict[str, Any]:
    """Return the schema as data; with *only*, that of these kinds."""
    kinds = _kinds_of(documents_in(paths, target), target, custom) if paths else _every_kind(target)
    return merge_document((each for each in kinds if only is None or (each.api_version, each.kind) in only), target)


def _as_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


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


class NamedSchema(Record):
    """The schema of a kustomization."""

    kustomization: str
    entry: Replacement
    """The text of the kustomization without and with the name of the schema."""
    path: str
    own: str | None
    """The text of a schema that the user wrote; None if jobspec writes all of it."""

    def contents(self, document: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the new contents of the files, by path. Raises JobspecError if the user's schema cannot be edited."""
        text = _as_json(document) if self.own is None else self._extended(self.own, additions(_data_of(self.own, self.path), document))
        return {self.path: text.encode(), self.kustomization: self.entry.after}

    def _extended(self, text: str, changes: Sequence[Change]) -> str:
        new, made = with_remedies(text, [(0, changes)], file=self.path) if changes else (text, [])
        if changes and not made:
            raise JobspecError(f"{self.path}: cannot be edited; {_TO_ADD}")
        return new


_TO_ADD = "add the definitions that `jobspec schema kustomize PATH` prints for the manifests at PATH"


def schema_of(folder: str) -> NamedSchema:
    """Return the schema that the kustomization of a folder names, or is to name.

    Raises JobspecError if its schema is no file of the repository, or it cannot be edited.
    """
    path = kustomization_of(folder)
    naming = next(_naming_schemas(path), "")

    def entry(data: Mapping[str, Any]) -> Change | None:
        if naming == path and not mapping(data, "openapi").get("path"):
            raise JobspecError(f"{path}: its `openapi` has no `path`; write `openapi: {{path: {SCHEMA_FILE}}}`, then run this again")
        return None if naming else set_to(("openapi",), {"path": SCHEMA_FILE})

    edited = edited_kustomization(path, entry)
    name = str(mapping(_kustomization_in(naming), "openapi").get("path") or "") if naming else ""
    place = os.path.normpath(os.path.join(os.path.dirname(naming or path), name or SCHEMA_FILE))
    return NamedSchema(path, edited, place, _own_schema(naming or path, name))


def _naming_schemas(path: str, seen: Collection[str] = ()) -> Iterator[str]:
    """Yield the kustomizations of a build that have an `openapi` entry, in the order in which kustomize looks: the first one counts.

    Follows `accumulateDirectory`, sigs.k8s.io/kustomize/api internal/target, and `SetSchema`, kyaml openapi, 0.21.
    """
    data = _kustomization_in(path)
    if data.get("openapi"):
        yield path
    for entry in (each for field in LISTS for each in texts(data, field)):
        folder = joined(os.path.dirname(path), entry)
        inside = next((each for each in _kustomizations_of(folder) if os.path.realpath(each) not in seen), "")
        if inside:
            yield from _naming_schemas(inside, {*seen, os.path.realpath(inside)})


def _kustomization_in(path: str) -> dict[str, Any]:
    return mapping({"": next((each.data for each in DiskFiles().documents(path)), None)}, "")


def _own_schema(kustomization: str, name: str) -> str | None:
    """Return the text of the schema that a kustomization names; None for one that jobspec wrote, or is to write."""
    place = os.path.join(os.path.dirname(kustomization), name)
    is_file = bool(name) and os.path.isfile(place)
    if not is_file and name in ("", SCHEMA_FILE):
        return None
    top = os.path.realpath(repository_of(os.path.dirname(kustomization) or os.curdir))
    if not is_file or os.path.commonpath([top, os.path.realpath(place)]) != top:
        raise JobspecError(f"{kustomization}: its `openapi` names {name}, which is not a file of this repository; {_TO_ADD}")
    with open(place, "rb") as file:
        text = decode(file.read(), place)
    if not isinstance(text, str):
        raise JobspecError(f"{place}: {text.message}")
    return None if mapping(_data_of(text, place), "info").get("title") == TITLE else text


def _data_of(text: str, path: str) -> dict[str, Any]:
    """Return an OpenAPI document as data. Raises JobspecError for anything else."""
    from jobspec.documents.reader import read

    documents, problems = read(text, file=path)
    if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise JobspecError(f"{path}: not an OpenAPI document that can be edited; {_TO_ADD}")
    return documents[0].data


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
    if found := next(_kustomizations_of(folder), ""):
        return found
    raise JobspecError(f"{folder}: no kustomization in this folder")


def _kustomizations_of(folder: str) -> Iterator[str]:
    paths = (os.path.normpath(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
    return (each for each in paths if os.path.isfile(each))


def repository_of(folder: str) -> str:
    """Return the folder of the repository around a folder.

    Without a repository, return the working folder if it holds the folder, or else the folder itself.
    """
    root = repository_root(os.path.realpath(folder))
    is_below = os.path.commonpath([os.getcwd(), os.path.realpath(folder)]) == os.getcwd()
    return os.path.relpath(root) if root else os.curdir if is_below else folder
