"""Check what a PersistentVolumeClaim's volume is filled from: `dataSource` and `dataSourceRef`.

Follows `validateDataSource` and `validateDataSourceRef`, k8s.io/kubernetes pkg/apis/core/validation, and `DropDisabledFields` and
`EnforceDataSourceBackwardsCompatibility`, pkg/api/persistentvolumeclaim, 1.36.
"""

from __future__ import annotations

from jobspec.validation.complaints import missing_by_code
from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.problem import Problem
from jobspec.validation.wording import closest, describe, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CLAIM = "PersistentVolumeClaim"
_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")


def sources(spec: dict[str, Any]) -> tuple[Any, Any]:
    """`dataSource` and `dataSourceRef` of a new claim's spec, each None if the server drops it.

    It drops a `dataSourceRef` to another namespace, and without `dataSourceRef`, a `dataSource` that is neither a claim nor a snapshot.
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if isinstance(reference, dict) and reference.get("namespace"):
        reference = None
    if reference is None and isinstance(source, dict) and not _is_claim_or_snapshot(source):
        source = None
    return source, reference


def source_problems(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of the sources that the server keeps."""
    yield from given_source_problems(*sources(spec))


def given_source_problems(source: Any, reference: Any) -> Iterator[Problem]:
    """The problems of `dataSource` and `dataSourceRef`, each None if it is absent."""
    wrong = [*_source(source, "dataSource"), *_source(reference, "dataSourceRef")]
    yield from wrong
    if wrong or not isinstance(source, dict) or not isinstance(reference, dict):
        return
    apart = [field for field in ("apiGroup", "kind", "name") if source.get(field) != reference.get(field)]
    if apart:
        message = f"`dataSource` and `dataSourceRef` have to name the same source, and differ in {listed(apart)}"
        yield Problem("conflicting-values", ("spec", "dataSource"), message, "leave out `dataSource`; the server fills it in")


def _is_claim_or_snapshot(source: dict[str, Any]) -> bool:
    return (source.get("apiGroup") or "", source.get("kind")) in (("", _CLAIM), _SNAPSHOT)


def _source(source: Any, field: str) -> Iterator[Problem]:
    if not isinstance(source, dict):
        return
    path = ("spec", field)
    yield from (missing_by_code(name, source, path) for name in ("kind", "name") if not source.get(name))
    group, kind = source.get("apiGroup"), source.get("kind")
    if isinstance(group, str) and group and (why := bad_subdomain(group)):
        yield Problem("invalid-name", (*path, "apiGroup"), f"`{group}` is no name for an API group: {why}", _group_hint(group))
    if not group and kind and kind != _CLAIM:
        message = f"without an `apiGroup`, `kind` can only be `{_CLAIM}`, not {describe(kind)}"
        hint = f"add `apiGroup: {_SNAPSHOT[0]}`" if kind == _SNAPSHOT[1] else closest(kind, (_CLAIM,)) or "add the kind's `apiGroup`"
        yield Problem("unsupported-choice", (*path, "kind"), message, hint)


def _group_hint(group: str) -> str:
    """The hint for an API version written as API group."""
    name = group.partition("/")[0]
    return f"write `{name}`, without a version" if name != group and not bad_subdomain(name) else ""
