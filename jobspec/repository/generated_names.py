"""Names of generated ConfigMaps and Secrets that custom resources do not follow.

kustomize adds a hash to them, and changes references in the fields that it knows. Follows `builtinpluginconsts`,
sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path, spell
from jobspec.go.values import mapping
from jobspec.repository.layers import Layer, closure, entries_of, is_known, objects_of
from jobspec.repository.replaced_lists import is_custom
from jobspec.repository.roles import GENERATORS

#: Fields that refer to a ConfigMap or Secret, the field inside that has its name, and the generator of such objects.
_REFERRING = {
    "configMapKeyRef": ("name", "configMapGenerator"),
    "configMapRef": ("name", "configMapGenerator"),
    "configMap": ("name", "configMapGenerator"),
    "secretKeyRef": ("name", "secretGenerator"),
    "secretRef": ("name", "secretGenerator"),
    "secret": ("secretName", "secretGenerator"),
}
#: The fields by which kustomize is told of further references.
_TAUGHT = ("configurations", "crds", "openapi", "replacements", "vars")


def unfollowed_names(layers: Mapping[str, Layer], shown: Mapping[str, str]) -> Iterator[tuple[str, Diagnostic]]:
    """The path of each kustomization that generates an object whose name is not followed, and a warning about the generator.

    The parameters are those of `idle_entries`.
    """
    for layer in layers.values():
        path = shown.get(layer.references.path)
        if path and any(map(layer.data.get, GENERATORS)):
            yield from ((path, found) for found in _unfollowed(layer, layers, path))


def _unfollowed(layer: Layer, layers: Mapping[str, Layer], path: str) -> Iterator[Diagnostic]:
    """The generators of a kustomization whose names get a hash that a custom resource does not follow."""
    tops = [each for each in layers.values() if layer.folder in closure(each, layers)]
    around = {folder: layers[folder] for top in tops for folder in closure(top, layers)}
    if any(each.data.get(field) for each in around.values() for field in _TAUGHT) or not all(map(is_known, around.values())):
        return
    objects = [each for one in around.values() for each in objects_of(one) if is_custom(str(each.get("apiVersion")))]
    found = {reference[1:]: (reference[0], each) for each in objects for reference in _references_in(each, ())}
    document = next(iter(layer.files.documents(path)), None)
    for field in GENERATORS if document else ():
        for number, each in enumerate(entries_of(layer.data, field)):
            options = {**mapping(layer.data, "generatorOptions"), **mapping(each, "options")}
            is_hashed = not options.get("disableNameSuffixHash") and each.get("behavior", "create") == "create"
            if document and is_hashed and (known := found.get((field, str(each.get("name"))))):
                at, data = known
                whose = f"{data.get('kind')} `{mapping(data, 'metadata').get('name')}`"
                message = f"the name gets a hash, and `{spell(at)}` of {whose} keeps `{each['name']}`"
                hint = "set `options: {disableNameSuffixHash: true}`, or name the field in `nameReference` of a `configurations` file"
                yield document.problem("hashed-name", message, (field, number, "name"), hint=hint, severity="warning")


def _references_in(data: Any, path: Path) -> Iterator[tuple[Path, str, str]]:
    """The references to ConfigMaps and Secrets in an object: path, generator of such objects, and name."""
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        name, generator = _REFERRING.get(key, ("", "")) if isinstance(key, str) else ("", "")
        if generator and isinstance(each, dict) and isinstance(each.get(name), str):
            yield (*path, key, name), generator, each[name]
        yield from _references_in(each, (*path, key))
