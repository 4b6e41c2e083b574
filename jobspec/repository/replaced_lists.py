"""Lists of custom resources that a merge patch of kustomize replaces as a whole, and what of the base is lost by that.

Follows `PatchStrategicMergeTransformer`, sigs.k8s.io/kustomize/api, 0.21: lists are merged by keys where its OpenAPI schema has some, which
is so of the kinds of Kubernetes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Marks, Path, spell
from jobspec.documents.document import Document
from jobspec.repository.origins import merged_into, written_as
from jobspec.repository.source_files import SourceFiles

_SHOWN = 4  # what is lost, in a message


def lost_by_patches(document: Document, source: str, kustomizations: Sequence[str], files: SourceFiles) -> Iterator[Diagnostic]:
    """A warning for each list of an object, built of a file, in which the patch of a kustomization replaces what the file has."""
    if not is_custom(document.api_version) or any(_has_schema(each, files) for each in kustomizations):
        return
    base = written_as(source, document.data, files)
    for patch, marks in merged_into(document.data, kustomizations, files) if base else ():
        for path, lost in _losses(patch, base.data if base else None, document.data, ()):
            yield _replaced(document, marks, path, lost)


def is_custom(api_version: str) -> bool:
    """Whether kustomize knows nothing of the fields of a version's kinds."""
    group = api_version.rpartition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.endswith(".x-k8s.io"))


def _has_schema(kustomization: str, files: SourceFiles) -> bool:
    """Whether a kustomization gives kustomize a schema, which may have merge keys."""
    return any(isinstance(each.data, dict) and each.data.get("openapi") for each in files.documents(kustomization)[:1])


def _losses(patch: Any, base: Any, built: Any, path: Path) -> Iterator[tuple[Path, list[str]]]:
    """The lists that are built as a patch has them, and what of the base is not in them any more."""
    if isinstance(patch, dict) and isinstance(base, dict) and isinstance(built, dict):
        for key in patch.keys() & base.keys() & built.keys():
            yield from _losses(patch[key], base[key], built[key], (*path, key))
    elif _is_named(patch) and _is_named(base) and patch == built and (lost := list(_missing(base, patch))):
        yield path, lost


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "name" in each for each in value)


def _missing(before: Any, after: Any) -> Iterator[str]:
    """What is in a list of named items, or in one of them, and not in another one."""
    if _is_named(before):
        named = {each["name"]: each for each in after if isinstance(each, dict) and "name" in each} if isinstance(after, list) else {}
        for each in before:
            yield from _missing(each, named[each["name"]]) if each["name"] in named else [str(each["name"])]
    elif isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from _missing(value, after[key]) if key in after else [str(key)]


def _replaced(document: Document, marks: Marks, path: Path, lost: Sequence[str]) -> Diagnostic:
    shown = ", ".join(f"`{each}`" for each in lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
    return Diagnostic(
        "list-replaced",
        f"the patch replaces the whole list `{path[-1]}`: {shown} of the base {'is' if len(lost) == 1 else 'are'} lost",
        marks.nearest(path).place(),
        field=spell(path),
        document=document.index,
        severity="warning",
        hint=f"kustomize has no merge keys for {document.kind}: repeat them, or write a JSON patch",
    )
