"""What a container may learn about itself: fields of its pod, and resources of a container.

Follows `validateObjectFieldSelector` and `validateContainerResourceFieldSelector`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.quantities import canonical_quantity
from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.pods.complaints import missing, unsupported
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path

FIELDS_OF_VARIABLES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""What a variable can be taken from, besides single labels and annotations."""
_RESOURCES = tuple(f"{which}.{name}" for which in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_CPU = ("1m", "1")
_OLD_NAMES = {"spec.host": "spec.nodeName"}  # which are still taken
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")


def field_problems(reference: dict[str, Any], path: Path, fields: Sequence[str]) -> Iterator[Problem]:
    """The problems of a `fieldRef` at *path*, which can name one of *fields*, or a single label or annotation."""
    version, field = reference.get("apiVersion") or "v1", reference.get("fieldPath")
    if not field:
        yield missing("fieldPath", reference, path, "name a field of the pod, such as `metadata.name`")
        return
    at = (*path, "fieldPath")
    if version != "v1":
        yield Problem("unsupported-choice", (*path, "apiVersion"), f"the API version of pods is `v1`, not `{version}`", "leave it out")
        return
    around, key = _subscript(field)
    if key is None:
        if _OLD_NAMES.get(field, field) not in fields:
            yield unsupported(field, (*fields, "metadata.labels['KEY']", "metadata.annotations['KEY']"), at)
    elif around not in _SUBSCRIPTED:
        yield Problem("wrong-format", at, f"`{around}` has no keys; only labels and annotations have")
    elif why := bad_qualified_name(key.lower() if around == "metadata.annotations" else key):
        yield Problem("wrong-format", at, f'"{key}" is no key of a label or annotation: {why}')


def _subscript(field: str) -> tuple[str, str | None]:
    """The path of a map and the key in it, as in `metadata.labels['app']`; None for a path without a key."""
    around, bracket, key = field.removesuffix("']").partition("['")
    return (around, key) if field.endswith("']") and bracket and around else (field, None)


def resource_problems(reference: dict[str, Any], path: Path, *, in_volume: bool) -> Iterator[Problem]:
    """The problems of a `resourceFieldRef` at *path*; one in a volume has to name the container."""
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield missing("containerName", reference, path, "a volume belongs to no container, so name one")
    elif not resource:
        yield missing("resource", reference, path, "name a resource, such as `limits.memory`")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield unsupported(resource, (*_RESOURCES, "limits.hugepages-SIZE"), (*path, "resource"))
    yield from _divisor(resource, reference.get("divisor", "0"), (*path, "divisor"))


def _divisor(resource: str, divisor: str, path: Path) -> Iterator[Problem]:
    """The problem of the unit in which a resource is told; 0 stands for none."""
    amount = canonical_quantity(divisor)
    known = _CPU if resource.endswith(".cpu") else _SIZES
    if amount != "0" and amount not in known and (resource in _RESOURCES or resource.startswith(_HUGE_PAGES)):
        yield unsupported(amount, known, path)
