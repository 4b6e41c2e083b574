"""Check which fields an update of a PersistentVolumeClaim changes.

Follows `ValidatePersistentVolumeClaimUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. A stored claim without `status.phase`
is assumed to be bound to a volume of the size that it requests, and its storage class to allow expansion.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.persistentvolumeclaim_source import sources
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_REQUESTS: Path = ("spec", "resources", "requests")
_STORAGE: Path = (*_REQUESTS, Key("storage"))
_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that came before the field
_ANEW = "put back what was there, or make another claim"
_MAX_DIGITS = 4  # of an exponent; with more, quantities are compared by their text


def claim_update_problems(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of changes from the stored claim *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    status = mapping(old, "status")
    bound = status.get("phase", "Bound") == "Bound"
    for field, path in _changed(new_spec, old_spec):
        yield Problem("immutable-field", path, f"`{field}` of a claim cannot change{_was(old_spec.get(field))}", _ANEW)
    yield from _class_changes(data, old)
    if not bound and new_spec.get("volumeAttributesClassName") != old_spec.get("volumeAttributesClassName"):
        path = (*_SPEC, "volumeAttributesClassName")
        yield Problem("immutable-field", path, "`volumeAttributesClassName` of a claim cannot change before it is bound", _ANEW)
    yield from _resources(mapping(new_spec, "resources"), mapping(old_spec, "resources"), status, bound=bound)


def _changed(new: dict[str, Any], old: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """The changed fields that cannot change, and their paths."""
    if new.get("accessModes") != old.get("accessModes"):
        yield "accessModes", (*_SPEC, "accessModes")
    if _pruned(new.get("selector")) != _pruned(old.get("selector")):
        yield "selector", (*_SPEC, "selector")
    if old.get("volumeName") and new.get("volumeName") != old["volumeName"]:
        yield "volumeName", (*_SPEC, "volumeName")
    if (new.get("volumeMode") or "Filesystem") != (old.get("volumeMode") or "Filesystem"):
        yield "volumeMode", (*_SPEC, "volumeMode")
    kept = _source(old) is not None and bool(mapping(new, "dataSourceRef").get("namespace"))  # which it drops only without a stored source
    if kept or _source(new) != _source(old):
        field = "dataSourceRef" if new.get("dataSourceRef") or (old.get("dataSourceRef") and not new.get("dataSource")) else "dataSource"
        yield field, (*_SPEC, field)


def _source(spec: dict[str, Any]) -> Any:
    """The source of the volume: either field, since the server sets the other to the same."""
    source, reference = sources(spec)
    return _pruned(reference or source)


def _class_changes(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of the storage class: it can be set later, or move from the annotation to the field, but not change."""
    new_class, old_class = mapping(data, "spec").get("storageClassName"), mapping(old, "spec").get("storageClassName")
    new_note, old_note = (mapping(each, "metadata", "annotations").get(_CLASS) for each in (data, old))
    moved = old_note is not None and old_class is None and new_class == old_note and new_note in (None, old_note)
    if moved:
        return
    if (new_note or "") != (old_note or ""):
        message = f"the annotation `{_CLASS}` of a claim cannot change{_was(old_note)}"
        yield Problem("immutable-field", ("metadata", "annotations", Key(_CLASS)), message, _ANEW)
    is_first = old_class is None and new_class is not None and old_note in (None, new_class)
    if new_class != old_class and not is_first:
        message = f"`storageClassName` of a claim cannot change{_was(old_class)}"
        yield Problem("immutable-field", (*_SPEC, "storageClassName"), message, _ANEW)


def _resources(new: dict[str, Any], old: dict[str, Any], status: dict[str, Any], *, bound: bool) -> Iterator[Problem]:
    for part in ("limits", "requests"):
        was, now = (_amounts(each.get(part)) for each in (old, new))
        for name in {**was, **now}:
            if was.get(name) != now.get(name) and not (bound and (part, name) == ("requests", "storage")):
                message = f"`{name}` in the {part} of a claim cannot change{_was(mapping(old, part).get(name))}"
                yield Problem("immutable-field", ("spec", "resources", part, Key(name)), message, _ANEW)
    if bound:
        yield from _size(mapping(new, "requests").get("storage"), mapping(old, "requests").get("storage"), status)


def _size(new: Any, old: Any, status: dict[str, Any]) -> Iterator[Problem]:
    """The problem of a smaller request: a bound claim can take back an expansion, but not shrink its volume."""
    least = mapping(status, "capacity").get("storage", 0 if "phase" in status else old)
    now, was, has = _amount(new), _amount(old), _amount(least)
    if now is not None and was is not None and has is not None and now < was and now <= has:
        message = f"a volume does not shrink: it has `{least}`, and `{new}` is asked for"
        yield Problem("immutable-field", _STORAGE, message, f"ask for at least `{old}`, or make another claim")


def _amount(quantity: Any) -> Decimal | None:
    """The number of a quantity; None if it is no quantity, or has so long an exponent that the number would be huge."""
    from jobspec.validation.cel import quantities

    text = str(quantity).strip()
    if len(text.lower().partition("e")[2]) > _MAX_DIGITS:
        return None
    try:
        return quantities.number_of(quantities.quantity(text))
    except ValueError:
        return None


def _amounts(quantities: Any) -> dict[str, Any]:
    """The numbers of quantities, by resource; the text of one that is not compared as a number."""
    amounts = {name: (_amount(quantity or 0), quantity) for name, quantity in mapping(quantities).items()}  # Go decodes null as zero
    return {name: quantity if number is None else number for name, (number, quantity) in amounts.items()}


def _pruned(value: Any) -> Any:
    """A value without the nulls and the empty lists and mappings inside it."""
    if isinstance(value, dict):
        return {name: _pruned(inner) for name, inner in value.items() if inner not in (None, [], {})}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _was(old: Any) -> str:
    return "" if isinstance(old, dict | list) else f"; it was {describe(old)}" if old is not None else "; there was none"
