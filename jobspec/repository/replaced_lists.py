"""Lists of custom resources that a merge patch of kustomize replaces as a whole, and what of the base is lost by that.

Follows `PatchStrategicMergeTransformer`, sigs.k8s.io/kustomize/api, 0.21: lists are merged by keys where its OpenAPI schema has some, which
is so of the kinds of Kubernetes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path, spell
from jobspec.diagnostics.problems import ReplacedList
from jobspec.documents.document import Document
from jobspec.go.values import mapping
from jobspec.repository.json_patches import Inexpressible, operations_of
from jobspec.repository.merge_keys import as_pod, keys_of
from jobspec.repository.origins import merged_into, written_as
from jobspec.repository.source_files import SourceFiles
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

_SHOWN = 4  # what is lost, in a message
#: Lists of pods that Kubernetes, too, replaces as a whole.
_ATOMIC = frozenset(("envFrom", "tolerations"))
_WORKLOADS = frozenset(("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"))


def lost_by_patches(document: Document, source: str, kustomizations: Sequence[str], files: SourceFiles) -> Iterator[Diagnostic]:
    """A warning for each list of an object, built of a file, in which the patch of a kustomization replaces what the file has."""
    is_seen = is_custom(document.api_version) or (document.kind in _WORKLOADS and _has_atomic_list(document.data))
    patches = list(merged_into(document.data, kustomizations, files)) if is_seen else []
    base = written_as(source, document.data, files) if patches else None
    shape = shapes.load(document.api_version, document.kind, choose(()))
    for patch, marks in patches if base else ():
        losses = list(_losses(patch, base.data if base else None, document.data, (), shape))
        if not is_custom(document.api_version):  # other patches took away what is gone of lists that merge
            losses = [each for each in losses if each[0][-1] in _ATOMIC]
        operations = _operations(patch, base.data if base else {}, shape) if losses else ()
        for path, lost in losses:
            place = marks.nearest(path).place()
            yield _emptied(document, place, path, lost) if path[-1] in _ATOMIC else _replaced(document, place, path, lost, operations)


def _operations(patch: Any, base: Any, shape: Shape | None) -> Sequence[Mapping[str, Any]]:
    try:
        return operations_of(patch, base, shape)
    except Inexpressible:
        return ()


def is_custom(api_version: str) -> bool:
    """Whether kustomize knows nothing of the fields of a version's kinds."""
    group = api_version.rpartition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.endswith(".x-k8s.io"))


def _losses(patch: Any, base: Any, built: Any, path: Path, shape: Shape | None) -> Iterator[tuple[Path, list[str]]]:
    """The lists that are built as a patch has them, and what of the base is not in them any more."""
    shape = as_pod(patch, base, shape)
    if isinstance(patch, dict) and isinstance(base, dict) and isinstance(built, dict):
        for key in patch.keys() & base.keys() & built.keys():
            yield from _losses(patch[key], base[key], built[key], (*path, key), shape and shape.at((key,)))
    elif _is_replaced(patch) and _is_replaced(base) and path[-1:] and path[-1] in _ATOMIC:
        if lost := [_name_of(each) for each in base if each not in (built or ())]:
            yield path, lost
    elif (keys := keys_of(patch, shape)) and keys_of(base, shape) and _is_replaced(patch):
        gone = set(_missing(base, built, shape))
        if lost := [each for each in _missing(base, patch, shape) if each in gone]:
            yield path, lost
        of_base, of_built = ({tuple(each.get(key) for key in keys): each for each in several} for several in (base, built or ()))
        for at, each in enumerate(patch):
            name = tuple(each[key] for key in keys)
            inside = _losses(each, of_base.get(name), of_built.get(name), (*path, at), shape and shape.items)
            yield from (found for found in inside if not lost or found[0][-1] in _ATOMIC)


def _is_replaced(value: Any) -> bool:
    """Whether a value is a list of objects, without a directive by which a patch says what becomes of the list."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "$patch" not in each for each in value)


def _name_of(item: Mapping[str, Any]) -> str:
    """The key of a toleration, or the name of what a container takes variables from."""
    names = [mapping(item, field).get("name") for field in ("configMapRef", "secretRef")]
    return str(next(filter(None, (item.get("key"), *names)), item.get("operator", "")))


def _has_atomic_list(data: Any) -> bool:
    """Whether a list without merge keys is somewhere in an object."""
    if isinstance(data, dict):
        return not _ATOMIC.isdisjoint(data) or any(map(_has_atomic_list, data.values()))
    return isinstance(data, list) and any(map(_has_atomic_list, data))


def _missing(before: Any, after: Any, shape: Shape | None) -> Iterator[str]:
    """What is in a list of items with keys, or in one of them, and not in another one."""
    shape = as_pod(after, before, shape) if isinstance(before, dict) else shape
    if keys := keys_of(before, shape):
        several = after if isinstance(after, list) else []
        named = {tuple(str(each.get(key)) for key in keys): each for each in several if isinstance(each, dict)}
        for each in before:
            name = tuple(str(each[key]) for key in keys)
            yield from _missing(each, named[name], shape and shape.items) if name in named else ["/".join(name)]
    elif isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from _missing(value, after[key], shape and shape.at((key,))) if key in after else [str(key)]


def _replaced(document: Document, mark: Mark, path: Path, lost: Sequence[str], operations: Sequence[Mapping[str, Any]]) -> Diagnostic:
    return Diagnostic(
        "list-replaced-by-patch",
        f"the patch replaces the whole list `{path[-1]}`: {_shown(lost)}",
        mark,
        field=spell(path),
        document=document.index,
        severity="warning",
        hint=f"kustomize has no merge keys for {document.kind}: --fix writes a schema for it, or a JSON patch with --fix-lists json-patch",
        replaced=ReplacedList(document.api_version, document.kind, lost, operations),
    )


def _emptied(document: Document, mark: Mark, path: Path, lost: Sequence[str]) -> Diagnostic:
    """What is reported of a list that has no merge keys in any kind, so that the user may mean to replace it."""
    return Diagnostic(
        "list-replaced-by-patch",
        f"the patch replaces the whole list `{path[-1]}`, which has no merge key: {_shown(lost)}",
        mark,
        field=spell(path),
        document=document.index,
        severity="info",
        hint="repeat them if they are to stay, or add to the list by a JSON patch whose path ends with `/-`",
    )


def _shown(lost: Sequence[str]) -> str:
    shown = ", ".join(f"`{each}`" for each in lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
    return f"{shown} of the base {'is' if len(lost) == 1 else 'are'} lost"
