"""The fields that kustomizations name to kustomize, which then follows them: by `configurations`, `crds` and `replacements`.

Follows `TransformerConfig` and `LoadConfigFromCRDs`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec.apis.kinds import GroupKind
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.record import Record
from jobspec.go.values import mapping, structs, texts
from jobspec.repository.layers import Layer
from jobspec.repository.roles import joined

Spec = Mapping[str, Any]
"""A field specification: `path`, and the `group`, `version` and `kind` of the objects, each of which may be left out."""


class FollowedFields(Record):
    """What some kustomizations say of fields."""

    configured: Mapping[str, Sequence[Spec]]
    """The rows of their configurations, by the field of a configuration."""
    replaced: Sequence[Mapping[str, Any]]
    """The targets of their replacements."""
    is_complete: bool
    """True if no other file, such as a CRD, tells kustomize of name references."""

    def has(self, field: str, data: Mapping[str, Any], path: Path) -> bool:
        """Whether a configuration names a field of an object: `images`, `templateLabels`, `commonLabels`, `labels` or `replicas`."""
        return any(_names(each, data, path) for each in self.configured.get(field, ()))

    def has_rows_for(self, field: str, kind: str) -> bool:
        """Whether a configuration names any field of objects of a kind."""
        return any(each.get("kind") in (None, "", kind) for each in self.configured.get(field, ()))

    def follow(self, target: GroupKind, data: Mapping[str, Any], path: Path) -> bool:
        """Whether the name of a *target* at a path of an object follows it, or a replacement sets the name."""
        rows = (each for each in self.configured.get("nameReference", ()) if _is_for(each, *target))
        return (
            not self.is_complete
            or any(_names(spec, data, path) for row in rows for spec in structs(dict(row), "fieldSpecs"))
            or any(_sets(each, data, path) for each in self.replaced)
        )


def followed_fields(layers: Iterable[Layer]) -> FollowedFields:
    """Read what the configurations, replacements and CRDs of some kustomizations say of fields."""
    configured: dict[str, list[Spec]] = {}
    replaced: list[Mapping[str, Any]] = []
    is_complete = True
    for layer in layers:
        for data in _named_data(layer, "configurations"):
            for field in data:
                configured.setdefault(field, []).extend(structs(data, field))
        for data in _replacements_of(layer):
            replaced += structs(data, "targets")
        is_complete = is_complete and not any("x-kubernetes-object-ref" in text for text in _texts_of(layer, "crds"))
    return FollowedFields(configured, replaced, is_complete)


def _named_data(layer: Layer, field: str) -> Iterator[dict[str, Any]]:
    """The data of the files that a field of a kustomization names, which may be lists."""
    for name in texts(layer.data, field):
        for document in layer.files.documents(joined(layer.folder, name)) if "\n" not in name else ():
            data = document.data
            yield from (each for each in (data if isinstance(data, list) else [data]) if isinstance(each, dict))


def _texts_of(layer: Layer, field: str) -> Iterator[str]:
    for name in texts(layer.data, field):
        try:
            yield layer.files.text(joined(layer.folder, name))
        except OSError:
            continue


def _replacements_of(layer: Layer) -> Iterator[dict[str, Any]]:
    """The replacements of a kustomization: its own, those in files, those of transformers that it names."""
    for each in structs(layer.data, "replacements"):
        path = str(each.get("path") or "")
        if path:
            yield from _named_data(layer._replace(data={"replacements": [path]}), "replacements")
        else:
            yield each
    for each in _named_data(layer, "transformers"):
        yield from structs(each, "replacements")


def _is_for(spec: Mapping[str, Any], group: str, kind: str) -> bool:
    """Whether a specification, or a selector, is for objects of a kind."""
    return spec.get("kind") in (None, "", kind) and spec.get("group") in (None, "", group)


def _is_for_object(spec: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    group, _, version = str(data.get("apiVersion")).rpartition("/")
    return _is_for(spec, group, str(data.get("kind"))) and spec.get("version") in (None, "", version)


_SLASH = re.compile(r"(?<!\\)/")


def _names(spec: Spec, data: Mapping[str, Any], path: Path) -> bool:
    """Whether a specification names a field of an object, or of a name the object around it."""
    steps = [each.removesuffix("[]").replace("\\/", "/") for each in _SLASH.split(str(spec.get("path", "")).strip("/"))]
    field = [each for each in path if isinstance(each, str)]
    return _is_for_object(spec, data) and (steps == field or [*steps, "name"] == field)


#: The parts of a field path of a replacement: a selector of items in brackets, or a key, in which a backslash escapes dots.
_PARTS = re.compile(r"\[([^\]]*)\]|((?:\\.|[^.\\\[])+)")


def _sets(target: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> bool:
    """Whether the target of a replacement seems to set a field of an object, or what is around that."""
    if not _is_for_object(mapping(target, "select"), data):
        return False
    field = [each for each in path if isinstance(each, str)]
    return any(keys and field[: len(keys)] == keys for keys in map(_keys_in, texts(dict(target), "fieldPaths")))


def _keys_in(written: str) -> list[str]:
    """The keys of a field path, without what selects the items of lists."""
    keys = []
    for bracket, key in _PARTS.findall(written):
        step = bracket if bracket and "=" not in bracket else key.replace("\\.", ".")
        if step and step not in ("*", "-") and not step.isdecimal():
            keys.append(step)
    return keys
