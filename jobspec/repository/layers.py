"""Kustomizations as layers: what each is built of, and the objects and patches that files have for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.grouping import gathered
from jobspec.go.values import mapping, structs
from jobspec.repository.kustomizations import References
from jobspec.repository.roles import GENERATORS, inline_patches_of, joined, patches_of
from jobspec.repository.source_files import SourceFiles

#: The fields of metadata that selectors are about.
MARKINGS = ("labels", "annotations")
_RENAMING = ("allowNameChange", "allowKindChange")
_NOT_RENAMED = frozenset(("CustomResourceDefinition", "APIService", "Namespace"))
"""Kinds whose names prefixes and suffixes do not change."""


class Layer(NamedTuple):
    """A kustomization: its folder, what it refers to, and its data."""

    folder: str
    references: References
    data: dict[str, Any]
    files: SourceFiles
    """Reads what it refers to."""


def closure(layer: Layer, layers: Mapping[str, Layer]) -> list[str]:
    """The folder of a kustomization, and those of all that it is built of."""
    found: dict[str, None] = {}
    left = [layer.folder]
    while left:
        folder = left.pop()
        if folder in layers and folder not in found:
            found[folder] = None
            left += layers[folder].references.folders
    return list(found)


def layers_using(layers: Mapping[str, Layer]) -> Mapping[str, Sequence[Layer]]:
    """Return the kustomizations that are built of each folder, itself among them."""
    return gathered((folder, each) for each in layers.values() for folder in closure(each, layers))


def is_known(layer: Layer) -> bool:
    """Whether files alone say what a kustomization is built of."""
    return not (layer.references.obstacles or layer.references.missing or layer.references.unknown_fields)


def objects_of(layer: Layer) -> Iterator[Mapping[str, Any]]:
    """The objects that a kustomization lists or generates."""
    for path in layer.references.manifests:
        for document in layer.files.documents(path):
            data = document.data if isinstance(document.data, dict) else {}
            yield from structs(data, "items") if document.kind == "List" else [data]
    for field, kind in zip(GENERATORS, ("ConfigMap", "Secret"), strict=True):
        for each in structs(layer.data, field):
            options = generator_options(layer.data, each)
            metadata = {"name": each.get("name"), "namespace": each.get("namespace")}
            yield {"apiVersion": "v1", "kind": kind, "metadata": {**metadata, **{name: options.get(name) for name in MARKINGS}}}


def generator_options(data: Mapping[str, Any], generator: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a generator.

    Follows `MergeGlobalOptionsIntoLocal`, sigs.k8s.io/kustomize/api, 0.21.
    """
    everywhere, own = mapping(data, "generatorOptions"), mapping(generator, "options")
    has_no_hash = bool(everywhere.get("disableNameSuffixHash") or own.get("disableNameSuffixHash"))
    return {**{each: {**mapping(everywhere, each), **mapping(own, each)} for each in MARKINGS}, "disableNameSuffixHash": has_no_hash}


def renamed(name: str, kind: str, data: Mapping[str, Any]) -> str:
    """Return the name that a kustomization gives to an object."""
    return name if kind in _NOT_RENAMED else f"{data.get('namePrefix') or ''}{name}{data.get('nameSuffix') or ''}"


def keeps_identities(layer: Layer) -> bool:
    """Whether patches keep the kinds and names of objects."""
    return not any(word in text for text in (str(layer.data.get("patches")), *patches_in(layer)) for word in _RENAMING)


def patches_in(layer: Layer) -> Iterator[str]:
    """The texts of the patches of a kustomization."""
    yield from inline_patches_of(layer.data)
    folder = layer.folder
    for name in patches_of(layer.data):
        try:
            yield layer.files.text(joined(folder, name)) if name else ""
        except OSError:
            continue


def entries_of(data: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """The entries of a list, each at its own index."""
    found = data.get(field)
    return [each if isinstance(each, dict) else {} for each in found] if isinstance(found, list) else []
