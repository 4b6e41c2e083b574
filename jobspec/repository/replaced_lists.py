"""Lists of custom resources that a merge patch of kustomize replaces as a whole, and what of the base is lost by that.

Follows `PatchStrategicMergeTransformer`, sigs.k8s.io/kustomize/api, 0.21: lists are merged by keys where its OpenAPI schema has some, which
is so of the kinds of Kubernetes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Marks, Path, spell
from jobspec.documents.document import Document
from jobspec.repository.origins import merged_into, written_as
from jobspec.repository.source_files import SourceFiles
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

_SHOWN = 4  # what is lost, in a message


def lost_by_patches(document: Document, source: str, kustomizations: Sequence[str], files: SourceFiles) -> Iterator[Diagnostic]:
    """A warning for each list of an object, built of a file, in which the patch of a kustomization replaces what the file has."""
    if not is_custom(document.api_version) or any(_has_schema(each, files) for each in kustomizations):
        return
    base = written_as(source, document.data, files)
    shape = shapes.load(document.api_version, document.kind, choose(()))
    for patch, marks in merged_into(document.data, kustomizations, files) if base else ():
        for path, lost in _losses(patch, base.data if base else None, document.data, (), shape):
            yield _replaced(document, marks, path, lost)


def is_custom(api_version: str) -> bool:
    """Whether kustomize knows nothing of the fields of a version's kinds."""
    group = api_version.rpartition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.endswith(".x-k8s.io"))


def _has_schema(kustomization: str, files: SourceFiles) -> bool:
    """Whether a kustomization gives kustomize a schema, which may have merge keys."""
    return any(isinstance(each.data, dict) and each.data.get("openapi") for each in files.documents(kustomization)[:1])


def _losses(patch: Any, base: Any, built: Any, path: Path, shape: Shape | None) -> Iterator[tuple[Path, list[str]]]:
    """The lists that are built as a patch has them, and what of the base is not in them any more."""
    shape = _as_pod(patch, base, shape)
    if isinstance(patch, dict) and isinstance(base, dict) and isinstance(built, dict):
        for key in patch.keys() & base.keys() & built.keys():
            yield from _losses(patch[key], base[key], built[key], (*path, key), shape and shape.at((key,)))
    elif _keys_of(patch, shape) and _keys_of(base, shape) and not any("$patch" in each for each in patch):
        gone = set(_missing(base, built, shape))
        if lost := [each for each in _missing(base, patch, shape) if each in gone]:
            yield path, lost


def _as_pod(patch: Any, base: Any, shape: Shape | None) -> Shape | None:
    """The shape of a value; that of a pod spec if the value is by its fields one, and its own shape has no merge keys."""
    containers = shape and shape.at(("containers",))
    is_pod = isinstance(patch, dict) and isinstance(base, dict) and isinstance(base.get("containers"), list)
    if not is_pod or (containers and containers.merge):
        return shape
    pod = shapes.load("v1", "Pod", choose(()))
    return pod and pod.at(("spec",))


def _keys_of(value: Any, shape: Shape | None) -> list[str]:
    """The keys by which the items of a list are to be merged: those of its shape, or `name` if all items have one; none for others."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return []
    keys = (shape.merge or shape.keys) if shape else []
    keys = [each for each in keys if all(each in item for item in value)] or ["name"]
    return keys if all(key in each for each in value for key in keys) else []


def _missing(before: Any, after: Any, shape: Shape | None) -> Iterator[str]:
    """What is in a list of items with keys, or in one of them, and not in another one."""
    shape = _as_pod(after, before, shape) if isinstance(before, dict) else shape
    if keys := _keys_of(before, shape):
        several = after if isinstance(after, list) else []
        named = {tuple(str(each.get(key)) for key in keys): each for each in several if isinstance(each, dict)}
        for each in before:
            name = tuple(str(each[key]) for key in keys)
            yield from _missing(each, named[name], shape and shape.items) if name in named else ["/".join(name)]
    elif isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from _missing(value, after[key], shape and shape.at((key,))) if key in after else [str(key)]


def _replaced(document: Document, marks: Marks, path: Path, lost: Sequence[str]) -> Diagnostic:
    shown = ", ".join(f"`{each}`" for each in lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
    return Diagnostic(
        "list-replaced-by-patch",
        f"the patch replaces the whole list `{path[-1]}`: {shown} of the base {'is' if len(lost) == 1 else 'are'} lost",
        marks.nearest(path).place(),
        field=spell(path),
        document=document.index,
        severity="warning",
        hint=f"kustomize has no merge keys for {document.kind}: --fix writes a schema for it (`jobspec schema kustomize --into`)",
    )
