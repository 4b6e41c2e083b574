"""Entries of kustomizations that change nothing: targets that select no object, images that no container has.

kustomize says nothing of them. Follows `SelectByPatchTarget` and `ImageTagTransformer`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path, spell
from jobspec.documents.document import Document
from jobspec.go.values import mapping, structs
from jobspec.repository.followed_fields import FollowedFields, followed_fields
from jobspec.repository.layers import MARKINGS, Layer, closure, entries_of, is_known, keeps_identities, objects_of, patches_in
from jobspec.repository.roles import joined

#: The fields with entries that select objects.
_SELECTING = ("patches", "patchesJson6902", "replacements", "images")
#: The conditions of a selector that say which objects, and a text that only a pattern for all names fits.
_CHOOSING, _NO_NAME = ("kind", "name", "labelSelector", "annotationSelector"), "?"
_RENAMED_BY = ("namePrefix", "nameSuffix")
_IN_PODS = frozenset(("containers", "initContainers"))


def may_have_idle_entries(layer: Layer) -> bool:
    """True if a kustomization has entries that select objects."""
    return any(map(layer.data.get, _SELECTING))


def idle_entries(
    layer: Layer, layers: Mapping[str, Layer], using: Mapping[str, Sequence[Layer]], document: Document, shown: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each entry of a kustomization that changes nothing.

    *layers*: all kustomizations of the repository by their folders. *using*: those that are built of each folder. *document*: the
    kustomization with its places. *shown*: the path that users know of a real one.
    """
    if material := _material_of(layer, layers, using):
        followed = followed_fields(layers[folder] for folder in closure(layer, layers))
        yield from _idle(layer, material, followed, document, shown)


class _Material(NamedTuple):
    """What a kustomization changes."""

    objects: Sequence[Mapping[str, Any]]
    below: Sequence[dict[str, Any]]
    """The data of the kustomizations that have changed the objects before."""
    affixes: Sequence[tuple[str, str]]
    """The prefixes and suffixes that these may have given to an object."""
    patches: str
    """The texts of all patches, its own among them."""


def _material_of(layer: Layer, layers: Mapping[str, Layer], using: Mapping[str, Sequence[Layer]]) -> _Material | None:
    """What a kustomization changes, in all builds that use it; None if files alone do not say so.

    If it lists no object, a script may add some before the build, as by `kustomize edit add resource`.
    """
    is_component = layer.data.get("kind") == "Component"
    tops = list(using.get(layer.folder, ())) if is_component else [layer]
    around = {folder: layers[folder] for top in tops for folder in closure(top, layers)}
    if not tops or (is_component and tops == [layer]):
        return None
    if not all(map(is_known, around.values())):
        return None
    objects = [dict(each) for one in around.values() for each in objects_of(one)]
    if not objects:
        return None
    if not all(map(keeps_identities, around.values())):
        return None
    patches = "\n".join(text for each in around.values() for text in patches_in(each))
    below = [each.data for folder, each in around.items() if folder != layer.folder]
    return _Material(objects, below, _affixes(below), patches)


# Entries.


def _idle(
    layer: Layer, material: _Material, followed: FollowedFields, document: Document, shown: Mapping[str, str]
) -> Iterator[Diagnostic]:
    for field in ("patches", "patchesJson6902"):
        for number, each in enumerate(entries_of(layer.data, field)):
            if each.get("target") and not any(_selects(each["target"], one, material) for one in material.objects):
                yield _selecting_nothing(document, (field, number, "target"), "the patch", each["target"], material, layer)
    below = [*material.below, layer.data]
    after = material._replace(below=below, affixes=_affixes(below))
    for within, path, target in _targets(layer, document, shown):
        selected = [one for one in material.objects if _selects(target.get("select"), one, after)]
        if target.get("select") and not selected:
            yield _selecting_nothing(within, (*path, "select"), "the replacement", target["select"], after, layer)
        elif selected and all(any(_rejects(each, one) for each in entries_of(target, "reject")) for one in selected):
            hint = "kustomize says nothing and goes on: `reject` excludes all objects that `select` selects"
            yield within.problem("selects-nothing", _idle_message("the replacement"), (*path, "reject"), hint=hint, severity="warning")
    yield from _idle_images(layer, material, followed, document)


def _targets(layer: Layer, document: Document, shown: Mapping[str, str]) -> Iterator[tuple[Document, Path, dict[str, Any]]]:
    """Yield the targets of the replacements of a kustomization and its files, each with its document and path."""
    for number, each in enumerate(entries_of(layer.data, "replacements")):
        inside: list[tuple[Document, Path, dict[str, Any]]] = [(document, ("replacements", number), each)]
        if name := each.get("path"):
            real = joined(layer.folder, str(name))
            found = list(layer.files.documents(shown.get(real) or os.path.relpath(real)))[:1]
            inside = [(one, (), one.data) for one in found if isinstance(one.data, dict)]
            inside += [(one, (at,), item) for one in found if isinstance(one.data, list) for at, item in enumerate(one.data)]
        for within, path, replacement in inside:
            targets = entries_of(replacement, "targets") if isinstance(replacement, dict) else []
            yield from ((within, (*path, "targets", at), target) for at, target in enumerate(targets))


def _rejects(selector: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """True if an entry of `reject` fits an object as written, whose name is one of those that kustomize compares."""
    group, _, version = str(data.get("apiVersion")).rpartition("/")
    metadata = mapping(data, "metadata")
    own = {
        "group": group,
        "version": version,
        "kind": data.get("kind"),
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
    }
    wanted = {field: value for field, value in selector.items() if value}
    return bool(wanted) and wanted.keys() <= own.keys() and all(own[field] == value for field, value in wanted.items())


def _idle_message(what: str) -> str:
    return f"{what} selects no object, and changes nothing"


def _selecting_nothing(document: Document, path: Path, what: str, selector: Any, material: _Material, layer: Layer) -> Diagnostic:
    """Return a warning at an entry that selects nothing.

    The hint names a condition without which the entry selects an object, if the rest of the selector still says which.
    """
    field = next((each for each in _RENAMED_BY if layer.data.get(each)), "")
    hint = "kustomize says nothing and goes on: check kind and name" + (f", which are those before this `{field}`" if field else "")
    for key, wanted in selector.items() if isinstance(selector, dict) else ():
        others = {name: each for name, each in selector.items() if name != key and each}
        says_which = wanted and any(name in _CHOOSING and not _is_like(each, [_NO_NAME]) for name, each in others.items())
        found = next((each for each in material.objects if says_which and _selects(others, each, material)), None)
        if found:
            names = f"; names are those before this `{field}`" if field and key == "name" else ""
            hint = f"without `{key}: {wanted}` it selects {found.get('kind')} `{mapping(found, 'metadata').get('name')}`{names}"
            break
    return document.problem("selects-nothing", _idle_message(what), path, hint=hint, severity="warning")


def _selects(target: Any, data: Mapping[str, Any], material: _Material) -> bool:
    """Whether a selector seems to select an object."""
    if not isinstance(target, dict):
        return True
    group, _, version = str(data.get("apiVersion")).rpartition("/")
    metadata = mapping(data, "metadata")
    return (
        _is_like(target.get("kind"), [str(data.get("kind"))])
        and _is_like(target.get("group"), [group])
        and _is_like(target.get("version"), [version])
        and _is_like(target.get("name"), (f"{prefix}{metadata.get('name')}{suffix}" for prefix, suffix in material.affixes))
        and _is_like(target.get("namespace"), _namespaces(metadata, material.below))
        and all(_has_markings(target.get(_SELECTOR_OF[name]), name, metadata, material) for name in MARKINGS)
    )


def _is_like(pattern: Any, values: Iterable[str]) -> bool:
    try:
        return not pattern or any(each == pattern or re.fullmatch(str(pattern), each) for each in values)
    except re.error:  # Go has other patterns
        return True


def _affixes(below: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the prefixes and suffixes that an object may have got from some kustomizations.

    The first are empty.
    """
    given = {(str(each.get("namePrefix") or ""), str(each.get("nameSuffix") or "")) for each in below} - {("", "")}
    found = {("", "")}
    for _ in given:
        found |= {(f"{before}{prefix}", f"{suffix}{after}") for prefix, suffix in found for before, after in given}
    return sorted(found)


def _namespaces(metadata: Mapping[str, Any], below: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the namespaces that an object may have got."""
    yield str(metadata.get("namespace") or "default")
    yield from (str(each["namespace"]) for each in below if each.get("namespace"))


_SELECTOR_OF = {"labels": "labelSelector", "annotations": "annotationSelector"}
_REQUIREMENT = re.compile(r"\s*([\w./-]+)\s*(?:==?\s*([\w.-]*)\s*)?")


def _has_markings(selector: Any, field: str, metadata: Mapping[str, Any], material: _Material) -> bool:
    """Whether an object may have the labels or annotations of a selector, which patches and other kustomizations may add."""
    given = dict(mapping(metadata, field))
    for each in material.below:
        given |= mapping(each, "commonLabels" if field == "labels" else "commonAnnotations")
        given |= (
            {key: value for pairs in structs(each, "labels") for key, value in mapping(pairs, "pairs").items()} if field == "labels" else {}
        )
    for text in str(selector).split(",") if selector else ():
        found = _REQUIREMENT.fullmatch(text)
        if found and found[1] not in material.patches and (found[1] not in given or found[2] not in (None, str(given[found[1]]))):
            return False
    return True


# Images.


def _idle_images(layer: Layer, material: _Material, followed: FollowedFields, document: Document) -> Iterator[Diagnostic]:
    entries = entries_of(layer.data, "images")
    images = [(path, image, each) for each in material.objects for path, image in _images_in(each, ())] if entries else []
    renamed = [str(each.get("newName")) for data in (*material.below, layer.data) for each in entries_of(data, "images")]
    for number, each in enumerate(entries):
        name = str(each.get("name") or "")
        if not name or name in renamed or name in material.patches:
            continue
        having = [(path, each) for path, image, each in images if _is_like(name, [_bare(image)])]
        if any(_IN_PODS.intersection(path) or followed.has("images", each, path) for path, each in having):
            continue
        found = [path for path, _ in having]
        at: Path = ("images", number, "name")
        if found:
            message = f"the image does not reach `{spell(found[0])}`: kustomize knows `containers` and `initContainers` alone"
            specs = list(dict.fromkeys(map(field_path, found)))
            written = ", ".join(f"{{path: {each}}}" for each in specs)
            hint = f"write `images: [{written}]` into a file that `configurations` names, as --fix does, or write a patch"
            found_at = document.problem("image-not-reached", message, at, hint=hint, severity="warning")
            yield found_at.changed(configuration={"images": [{"path": each} for each in specs]})
        else:
            message = f"no container has the image `{name}`: the entry changes nothing"
            yield document.problem(
                "selects-nothing", message, at, hint="write the name as manifests have it, without a tag", severity="warning"
            )


def field_path(path: Path) -> str:
    """Return a path as kustomize has it in a field specification: without indices of items, and slashes in keys escaped."""
    return "/".join(str(step).replace("/", "\\/") for step in path if isinstance(step, str))


def _images_in(data: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts in fields named `image`, with their paths."""
    if isinstance(data, dict):
        for key, each in data.items():
            if key == "image" and isinstance(each, str):
                yield (*path, key), each
            yield from _images_in(each, (*path, key))
    elif isinstance(data, list):
        for index, each in enumerate(data):
            yield from _images_in(each, (*path, index))


def _bare(image: str) -> str:
    """An image without its tag and digest."""
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"
