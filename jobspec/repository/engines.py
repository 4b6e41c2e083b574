"""How Argo CD and Flux apply folders: namespaces, substituted values, patches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jobspec.apis.kinds import CONFIG_MAP, PROJECT, GroupKind, is_cluster_scoped
from jobspec.diagnostics.grouping import gathered
from jobspec.documents.document import Document
from jobspec.go.values import mapping, structs
from jobspec.repository.in_build import AppliedFolder
from jobspec.repository.roles import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.repository.in_build import InBuild


FLUX: GroupKind = ("kustomize.toolkit.fluxcd.io", "Kustomization")
_ARGO_CD: GroupKind = ("argoproj.io", "Application")
#: The kinds that say how folders are applied, Argo CD's ConfigMap among them.
APPLYING_KINDS = (FLUX, _ARGO_CD, PROJECT, CONFIG_MAP)


def applied_folders(documents: Sequence[Document], top: str) -> dict[str, AppliedFolder]:
    """The folders below *top* that Flux's Kustomizations, Argo CD's Applications and the engines of projects apply.

    Of a folder that several apply, what they say alike counts.
    """
    found = gathered((joined(top, folder), how) for each in documents for folder, how in _applied_by(each, documents))
    agreed = {folder: _agreed(several) for folder, several in found.items()}
    return {folder: how for folder, how in agreed.items() if how != AppliedFolder()}


def _applied_by(document: Document, documents: Sequence[Document]) -> Iterator[tuple[str, AppliedFolder]]:
    """The folders that a document has an engine apply, from the top of the repository or where the document is, and how."""
    spec = mapping(document.data, "spec")
    if document.group_kind == FLUX:
        build = mapping(spec, "postBuild")
        values = {**_values_from(build, document.namespace, documents), **mapping(build, "substitute")} if build else None
        texts_of = {name: str(value) for name, value in values.items()} if values is not None else None
        namespace = str(spec.get("targetNamespace") or "")
        completed = frozenset({"namespace"} if namespace else ())
        yield str(spec.get("path") or ""), AppliedFolder(texts_of, namespace=namespace, completed=completed, is_recursive=True)
    elif document.group_kind == _ARGO_CD:
        namespace = str(mapping(spec, "destination").get("namespace") or "")
        for source in (mapping(spec, "source"), *structs(spec, "sources")):
            if source.get("path"):
                by_itself = "" if source.get("plugin") else f"Application `{document.name}`"
                recursive = bool(mapping(source, "directory").get("recurse"))
                yield str(source["path"]), AppliedFolder(default_namespace=namespace, application=by_itself, is_recursive=recursive)
    elif document.group_kind == PROJECT:
        argocd = mapping(spec, "engines", "argocd")
        if argocd and not argocd.get("plugin"):
            folder = os.path.join(os.path.dirname(document.file), str(spec.get("output") or "rendered"))
            yield os.path.abspath(folder), AppliedFolder(application=f"the engine of {os.path.basename(document.file)}")


def _agreed(several: Sequence[AppliedFolder]) -> AppliedFolder:
    """The settings that several ways to apply a folder share."""
    first, *others = several
    if not others:
        return first
    given = [each.values for each in several if each.values is not None]
    names = {name for values in given for name in values}
    common = {name for name in names if len({values.get(name) for values in given}) == 1}

    def same(values: Iterable[str]) -> str:
        first, *others = dict.fromkeys(values)
        return "" if others else first

    return AppliedFolder(
        {name: given[0][name] for name in sorted(common)} if given else None,
        namespace=same(each.namespace for each in several),
        default_namespace=same(each.default_namespace for each in several),
        application=next((each.application for each in several if each.application), ""),
        differing=frozenset(names - common),
        completed=first.completed.intersection(*(each.completed for each in others)),
        is_recursive=any(each.is_recursive for each in several),
    )


def _values_from(build: dict[str, Any], namespace: str, documents: Sequence[Document]) -> dict[str, Any]:
    """The values of the ConfigMaps and Secrets that a `postBuild` names, as far as files have them in plain text."""
    found: dict[str, Any] = {}
    for source in structs(build, "substituteFrom"):
        for each in documents:
            is_it = (each.kind, each.name) == (source.get("kind"), source.get("name")) and each.namespace in ("", namespace)
            data = mapping(each.data, "stringData" if each.kind == "Secret" else "data") if is_it else {}
            found |= {name: value for name, value in data.items() if not str(value).startswith("ENC[")}
    return found


def patched_by_flux(documents: Iterable[Document]) -> frozenset[str]:
    """What patches of Flux's Kustomizations, and patches inside of these, may fill in, such as `HelmRelease interval`."""
    found = set()
    for patch in (each for document in documents if document.group_kind == FLUX for each in structs(document.data, "spec", "patches")):
        text = str(patch.get("patch"))
        kinds = {*re.findall(r"\bkind: (\w+)", text), str(mapping(patch, "target").get("kind"))}
        found |= {f"{kind} {field}" for kind in kinds for field in re.findall(r"\w+(?=:)|(?<=/)\w+", text)}
    return frozenset(found)


def sources_of_values(document: Document) -> list[str]:
    """The names of the ConfigMaps and Secrets that a Kustomization of Flux takes values from."""
    build = mapping(document.data, "spec", "postBuild") if document.group_kind == FLUX else {}
    return [str(each["name"]) for each in structs(build, "substituteFrom") if each.get("name")]


def in_namespace(document: Document, within: InBuild) -> Document:
    """A document in the namespace that engines put it in; itself where that is its own, or its kind has none."""
    metadata = mapping(document.data, "metadata")
    namespace = within.by_engine.namespace or document.namespace or within.by_engine.default_namespace
    if not metadata or namespace == document.namespace or is_cluster_scoped(document.api_version, document.kind):
        return document
    return document.with_metadata({"namespace": namespace})
