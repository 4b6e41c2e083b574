"""Which file each object of a build comes from, and which kustomizations change it, as far as files alone say so.

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
from jobspec.repository.kustomizations import KNOWN_FIELDS, PLUGINS
from jobspec.repository.layers import Layer, closure, generator_options, is_known, keeps_identities, patches_in, renamed
from jobspec.repository.roles import GENERATORS

#: The fields of a kustomization each of which has it change objects.
_TRANSFORMING = (
    *("patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations"),
    *("patchesJson6902", "replicas", "images", "imageTags", "replacements"),
)
_HASH = re.compile(r"-[a-z0-9]{10}$")
"""What kustomize adds to the name of a generated object."""
_PATCHED = re.compile(r"/(?:metadata(?:/name(?:space)?)?|kind|apiVersion)\b(?!/)")
"""The paths in JSON patches of what objects are known by."""
_REPLACED = re.compile(r"\W*(?:kind|apiVersion|\*|metadata\W*(?:name|namespace)?\W*$)")
"""The paths in replacements of the same."""


class Identity(NamedTuple):
    """By what an object of a build is known."""

    api_version: str
    kind: str
    name: str
    namespace: str


#: Where an object comes from, its manifest or what generates it, and the kustomizations that change it, the innermost first.
ObjectOrigin = tuple[str, list[str]]


class _Accumulated(NamedTuple):
    """An object as a kustomization has it."""

    identity: Identity
    source: str
    """The manifest that it comes from, or the kustomization that generates it."""
    has_hash: bool = False
    """Whether the name gets a hash at the end."""
    changed_in: tuple[str, ...] = ()
    """The kustomizations that change it, the innermost first."""
    earlier: tuple[Identity, ...] = ()
    """By what it was known in the kustomizations below."""


class _Unclear(Exception):
    """Files alone do not say what a kustomization is built of."""


def origins_of(
    objects: Sequence[Identity], root: Layer, layers: Mapping[str, Layer], listed: Callable[[str], Sequence[Identity]]
) -> list[ObjectOrigin] | None:
    """Return where each object of the build of a kustomization comes from, by real paths.

    *listed*: gives the objects in a manifest, given by its real path; none if that is not clear. If files alone do not say where each
    object comes from, return None.
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
    """What JSON patches write of what objects are known by."""

    names: frozenset[str]
    """The names, which kustomizations above may give a prefix and a suffix."""
    has_namespaces: bool


def _written(layers: Sequence[Layer]) -> _Written:
    """Return what the patches of some kustomizations write.

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
    """Yield `name` or `namespace` and its value for each operation of a JSON patch that writes it."""
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
    """Return the object of a kustomization that each built one is: the one of its name, or else the only one of its kind that is left.

    A patch has changed the name of that one. If this is not clear, return None.
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
    """Return the objects that a kustomization has at its end; of a component with those that are *given* to it."""
    path, data = layer.references.path, layer.data
    if not is_known(layer) or not data.keys() <= KNOWN_FIELDS or any(map(data.get, PLUGINS)) or not keeps_identities(layer):
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
    """Return the objects of a kustomization with those of its generators. What replaces an object comes from the kustomization, too."""
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
    """Return an object after the changes of a kustomization."""
    version, kind, name, namespace = one.identity
    if inside := str(data.get("namespace") or ""):
        name, namespace = (inside, namespace) if (version, kind) == ("v1", NAMESPACE[1]) else (name, inside)
    placed = Identity(version, kind, name, namespace)
    return one._replace(
        identity=placed._replace(name=renamed(name, kind, data)),
        changed_in=(*one.changed_in, path),
        earlier=(*one.earlier, one.identity, placed, placed._replace(name=f"{data.get('namePrefix') or ''}{name}")),
    )
