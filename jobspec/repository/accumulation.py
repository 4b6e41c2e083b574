"""Find the file of each built object, and the kustomizations that change it, without a look at annotations.

Follows `KustTarget.accumulateTarget` and `multiTransformer`, sigs.k8s.io/kustomize/api, 0.21. By `buildMetadata`, kustomize says the same
in annotations. It reads and writes them for each object at each step, so that builds take more than twice as long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.apis.kinds import CONFIG_MAP, NAMESPACE, SECRET
from jobspec.diagnostics.grouping import gathered, grouped
from jobspec.documents.reader import read
from jobspec.go.values import structs, texts
from jobspec.repository.followed_fields import followed_fields
from jobspec.repository.kustomizations import PLUGINS
from jobspec.repository.layers import Layer, closure, generator_options, is_known, keeps_identities, patches_in, renamed
from jobspec.repository.roles import GENERATORS

#: The fields of a kustomization each of which has it change objects.
_TRANSFORMING = (
    *("patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations"),
    *("patchesJson6902", "replicas", "images", "imageTags", "replacements"),
)
_HASH = re.compile(r"-[a-z0-9]{10}$")
"""The hash at the end of a generated name."""
_PATCHED = re.compile(r"/(?:metadata(?:/name(?:space)?)?|kind|apiVersion)\b(?!/)")
"""Paths in JSON patches to the fields of `Identity`, or around them."""
_REPLACED = re.compile(r"\W*(?:kind|apiVersion|\*|metadata\W*(?:name|namespace)?\W*$)")
"""Paths in replacements to the same fields."""


class Identity(NamedTuple):
    """The fields that identify an object of a build."""

    api_version: str
    kind: str
    name: str
    namespace: str


#: Where an object comes from, its manifest or what generates it, and the kustomizations that change it, the innermost first.
ObjectOrigin = tuple[str, list[str]]


class _Accumulated(NamedTuple):
    """An object in a kustomization."""

    identity: Identity
    source: str
    """Its manifest, or the kustomization that generates it."""
    has_hash: bool = False
    """Whether its name gets a hash."""
    changed_in: tuple[str, ...] = ()
    """The kustomizations that change it, innermost first."""
    earlier: tuple[Identity, ...] = ()
    """Its identities in the kustomizations below."""


class _Unclear(Exception):
    """Files alone do not say what a kustomization is built of."""


def origins_of(
    objects: Sequence[Identity], root: Layer, layers: Mapping[str, Layer], listed: Callable[[str], Sequence[Identity]]
) -> list[ObjectOrigin] | None:
    """Return the origin of each built object, by real paths.

    If files alone do not determine all origins, return None. *listed*: returns the objects in the manifest at a real path; none if that is
    not clear.
    """
    try:
        there = _accumulated(root, layers, listed, [])
        every = [layers[folder] for folder in closure(root, layers)]
        written = _written(every)
    except _Unclear:
        return None
    found = _matched(objects, there, written)
    if found is None:
        return None
    used = set(map(id, found))
    may_be_deleted = any("$patch" in text for each in every for text in patches_in(each))
    if len(used) < len(found) or (len(used) < len(there) and not may_be_deleted):
        return None
    return [(each.source, list(dict.fromkeys(each.changed_in))) for each in found]


class _Written(NamedTuple):
    """The names and namespaces that JSON patches write."""

    names: frozenset[str]
    """The names. Kustomizations above may add a prefix and a suffix."""
    has_namespaces: bool


def _written(layers: Sequence[Layer]) -> _Written:
    """Return the names and namespaces that JSON patches of kustomizations write.

    Raises _Unclear if they write kinds, or anything else writes names.
    """
    followed = followed_fields(layers)
    rows = [each for rows in followed.configured.values() for each in rows]
    specs = [*rows, *(each for row in rows for each in structs(dict(row), "fieldSpecs"))]
    replaced = [field for target in followed.replaced for field in texts(dict(target), "fieldPaths")]
    if any(each.get("path") == "metadata/name" for each in specs) or any(map(_REPLACED.match, replaced)):
        raise _Unclear
    values = gathered(each for layer in layers for patch in patches_in(layer) for each in _values_in(patch))
    return _Written(frozenset(map(str, values.get("name", ()))), "namespace" in values)


def _values_in(patch: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and namespaces that a JSON patch writes.

    Each has the name of its field before it. Raises _Unclear if the patch writes a kind, or copies a value.
    """
    documents = read(patch, file="")[0] if _PATCHED.search(patch) else []
    for operation in (each for document in documents for each in structs(document.data)):
        how, path = operation.get("op"), str(operation.get("path"))
        if how == "test" or not _PATCHED.fullmatch(path):
            continue
        field = path.removeprefix("/metadata/")
        if field not in ("name", "namespace") or how not in ("add", "replace", "remove"):
            raise _Unclear
        yield field, operation.get("value")


def _matched(objects: Sequence[Identity], there: Sequence[_Accumulated], written: _Written) -> list[_Accumulated] | None:
    """Return the object of a kustomization for each built one.

    That is the one of its name. If there is none, a patch has renamed it, and it is the only one of its kind that is left. If neither is
    clear, return None.
    """
    by_name = grouped(there, lambda each: (*each.identity[:3], each.has_hash))
    found: list[_Accumulated | None] = []
    for version, kind, name, namespace in objects:
        hashed = by_name.get((version, kind, _HASH.sub("", name), True), ()) if _HASH.search(name) else ()
        alike = [*by_name.get((version, kind, name, False), ()), *hashed]
        fitting = alike if len(alike) < 2 else [each for each in alike if each.identity.namespace == namespace]
        is_written = any(each in name for each in written.names) or (written.has_namespaces and len(alike) > 1)
        if len(fitting) != min(len(alike), 1) or (fitting and is_written):
            return None
        found.append(fitting[0] if fitting else None)
    used = set(map(id, found))
    left = grouped((each for each in there if id(each) not in used), lambda each: each.identity[:2])
    renamed_to = Counter(one[:2] for one, each in zip(objects, found, strict=True) if each is None)
    if any(times > 1 or len(left.get(kind, ())) != 1 for kind, times in renamed_to.items()):
        return None
    return [each or left[one[:2]][0] for one, each in zip(objects, found, strict=True)]


def _accumulated(
    layer: Layer, layers: Mapping[str, Layer], listed: Callable[[str], Sequence[Identity]], given: Sequence[_Accumulated]
) -> list[_Accumulated]:
    """Return the objects that a kustomization builds.

    *given*: the objects that a component changes; none for other kustomizations.
    """
    path, data = layer.references.path, layer.data
    if not is_known(layer) or any(map(data.get, PLUGINS)) or not keeps_identities(layer):
        raise _Unclear
    found = list(given)
    for manifest in layer.references.manifests:
        inside = listed(manifest)
        if not inside:
            raise _Unclear
        found += [_Accumulated(each, manifest) for each in inside]
    below = [layers.get(folder) for folder in layer.references.folders]
    for each in below:
        if each is None:
            raise _Unclear
        if not _is_component(each):
            found += _accumulated(each, layers, listed, [])
    found = _generated(found, path, data)
    for each in below:
        if each and _is_component(each):
            found = _accumulated(each, layers, listed, found)
    return [_changed(each, path, data) for each in found] if any(map(data.get, _TRANSFORMING)) else found


def _is_component(layer: Layer) -> bool:
    return layer.data.get("kind") == "Component"


def _generated(given: Sequence[_Accumulated], path: str, data: Mapping[str, Any]) -> list[_Accumulated]:
    """Return the *given* objects with those of generators.

    If a generator replaces an object, the object comes from the kustomization at *path*.
    """
    found = list(given)
    for field, (_, kind) in zip(GENERATORS, (CONFIG_MAP, SECRET), strict=True):
        for each in structs(data, field):
            identity = Identity("v1", kind, str(each.get("name")), str(each.get("namespace") or ""))
            has_hash = not generator_options(data, each)["disableNameSuffixHash"]
            behavior = each.get("behavior")
            if behavior not in ("merge", "replace"):
                found.append(_Accumulated(identity, path, has_hash))
                continue
            alike = [at for at, one in enumerate(found) if _comparable(identity) in map(_comparable, (one.identity, *one.earlier))]
            if len(alike) != 1:
                raise _Unclear
            old = found[alike[0]]
            source = path if behavior == "replace" else old.source
            found[alike[0]] = old._replace(source=source, has_hash=old.has_hash and has_hash)
    return found


def _comparable(identity: Identity) -> Identity:
    """Return an identity with the namespace that kustomize compares it by."""
    return identity._replace(namespace=identity.namespace or "default")


def _changed(one: _Accumulated, path: str, data: Mapping[str, Any]) -> _Accumulated:
    """Return an object as a kustomization changes it."""
    version, kind, name, namespace = one.identity
    if inside := str(data.get("namespace") or ""):
        name, namespace = (inside, namespace) if (version, kind) == ("v1", NAMESPACE[1]) else (name, inside)
    placed = Identity(version, kind, name, namespace)
    return one._replace(
        identity=placed._replace(name=renamed(name, kind, data)),
        changed_in=(*one.changed_in, path),
        earlier=(*one.earlier, one.identity, placed, placed._replace(name=f"{data.get('namePrefix') or ''}{name}")),
    )
