"""Which file each object of a build comes from, and which kustomizations change it, as far as files alone say so.

Follows `KustTarget.accumulateTarget` and `multiTransformer`, sigs.k8s.io/kustomize/api, 0.21. By `buildMetadata`, kustomize says the same
in annotations. It reads and writes them for each object at each step, so that builds take more than twice as long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.apis.kinds import CONFIG_MAP, NAMESPACE, SECRET
from jobspec.diagnostics.grouping import grouped
from jobspec.go.values import structs
from jobspec.repository.kustomizations import PLUGINS
from jobspec.repository.layers import Layer, closure, is_known, keeps_identities, options_of, patches_in, renamed
from jobspec.repository.roles import GENERATORS

#: The fields of a kustomization each of which has it change objects.
_TRANSFORMING = (
    *("patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations"),
    *("patchesJson6902", "replicas", "images", "imageTags", "replacements"),
)
_HASH = re.compile(r"-[a-z0-9]{10}$")
"""What kustomize adds to the name of a generated object."""


class Identity(NamedTuple):
    """By what an object of a build is known."""

    api_version: str
    kind: str
    name: str
    namespace: str


class ObjectOrigin(NamedTuple):
    """Where an object of a build comes from."""

    source: str
    """The real path of its manifest, or of the kustomization that generates it."""
    changed_in: tuple[str, ...] = ()
    """The real paths of the kustomizations that change it, the innermost first."""


class _Accumulated(NamedTuple):
    """An object as a kustomization has it."""

    identity: Identity
    origin: ObjectOrigin
    has_hash: bool = False
    """Whether the name gets a hash at the end."""


class _Unclear(Exception):
    """Files alone do not say what a kustomization is built of."""


def origins_of(
    objects: Sequence[Identity], root: Layer, layers: Mapping[str, Layer], listed: Callable[[str], Sequence[Identity]]
) -> list[ObjectOrigin] | None:
    """Return where each object of the build of a kustomization comes from.

    *listed*: gives the objects in a manifest, given by its real path; none if that is not clear. If files alone do not say where each
    object comes from, return None.
    """
    try:
        there = _accumulated(root, layers, listed, [])
    except _Unclear:
        return None
    found = _matched(objects, there)
    if found is None:
        return None
    used = set(map(id, found))
    may_be_deleted = any("$patch" in text for folder in closure(root, layers) for text in patches_in(layers[folder]))
    if len(used) < len(found) or (len(used) < len(there) and not may_be_deleted):
        return None
    return [each.origin for each in found]


def _matched(objects: Sequence[Identity], there: Sequence[_Accumulated]) -> list[_Accumulated] | None:
    """Return the object of a kustomization that each built one is: the one of its name, or else the only one of its kind that is left.

    The name of that one was changed by a patch or a replacement. If this is not clear, return None.
    """
    by_name = grouped(there, lambda each: (*each.identity[:3], each.has_hash))
    found: list[_Accumulated | None] = []
    for version, kind, name, namespace in objects:
        hashed = by_name.get((version, kind, _HASH.sub("", name), True), ()) if _HASH.search(name) else ()
        alike = [*by_name.get((version, kind, name, False), ()), *hashed]
        fitting = alike if len(alike) < 2 else [each for each in alike if each.identity.namespace == namespace]
        if len(fitting) != min(len(alike), 1):
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
    if not is_known(layer) or any(map(data.get, PLUGINS)) or not keeps_identities(layer):
        raise _Unclear
    found = list(given)
    for manifest in layer.references.manifests:
        inside = listed(manifest)
        if not inside:
            raise _Unclear
        found += [_Accumulated(each, ObjectOrigin(manifest)) for each in inside]
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
            behavior = each.get("behavior")
            if behavior == "replace":
                alike = [at for at, one in enumerate(found) if one.identity[:3] == identity[:3]]
                if len(alike) != 1:
                    raise _Unclear
                replaced = found[alike[0]]
                found[alike[0]] = replaced._replace(origin=replaced.origin._replace(source=path))
            elif behavior != "merge":
                has_hash = not options_of(data, each).get("disableNameSuffixHash")
                found.append(_Accumulated(identity, ObjectOrigin(path), has_hash))
    return found


def _changed(one: _Accumulated, path: str, data: Mapping[str, Any]) -> _Accumulated:
    """Return an object after the changes of a kustomization."""
    version, kind, name, namespace = one.identity
    if inside := str(data.get("namespace") or ""):
        name, namespace = (inside, namespace) if (version, kind) == ("v1", NAMESPACE[1]) else (name, inside)
    identity = Identity(version, kind, renamed(name, kind, data), namespace)
    return one._replace(identity=identity, origin=ObjectOrigin(one.origin.source, (*one.origin.changed_in, path)))
