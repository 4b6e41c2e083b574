"""What the API server's own code refuses in the update of a PersistentVolumeClaim, beyond what it refuses in any claim.

Follows `ValidatePersistentVolumeClaimUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.

A stored claim whose file says no `status.phase` is taken to be bound to a volume of the size that it asks for, as claims of jobs are.
Whether its storage class lets a volume grow, only the cluster knows; here it does.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.persistentvolumeclaim import sources
from jobspec.validation.problem import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_REQUESTS: Path = ("spec", "resources", "requests")
_STORAGE: Path = (*_REQUESTS, Key("storage"))
_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that came before the field
_ANEW = "put back what was there, or make another claim"
_MOST_DIGITS = 4  # of an exponent; with more, quantities are told apart by their text
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def claim_update_problems(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """What in a claim cannot be made of the stored one."""
    new_spec, old_spec = _mapping(data, "spec"), _mapping(old, "spec")
    status = _mapping(old, "status")
    bound = status.get("phase", "Bound") == "Bound"
    for field, path in _changed(new_spec, old_spec):
        yield Problem("immutable-field", path, f"`{field}` of a claim cannot change{_was(old_spec.get(field))}", _ANEW)
    yield from _class_changes(data, old)
    if not bound and new_spec.get("volumeAttributesClassName") != old_spec.get("volumeAttributesClassName"):
        path = (*_SPEC, "volumeAttributesClassName")
        yield Problem("immutable-field", path, "`volumeAttributesClassName` of a claim cannot change before it is bound", _ANEW)
    yield from _resources(_mapping(new_spec, "resources"), _mapping(old_spec, "resources"), status, bound=bound)


def _changed(new: dict[str, Any], old: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """The fields that are not what they were, and where they stand."""
    if new.get("accessModes") != old.get("accessModes"):
        yield "accessModes", (*_SPEC, "accessModes")
    if _pruned(new.get("selector")) != _pruned(old.get("selector")):
        yield "selector", (*_SPEC, "selector")
    if old.get("volumeName") and new.get("volumeName") != old["volumeName"]:
        yield "volumeName", (*_SPEC, "volumeName")
    if (new.get("volumeMode") or "Filesystem") != (old.get("volumeMode") or "Filesystem"):
        yield "volumeMode", (*_SPEC, "volumeMode")
    kept = _source(old) is not None and bool(_mapping(new, "dataSourceRef").get("namespace"))  # which the server drops unseen elsewhere
    if kept or _source(new) != _source(old):
        field = "dataSourceRef" if new.get("dataSourceRef") or (old.get("dataSourceRef") and not new.get("dataSource")) else "dataSource"
        yield field, (*_SPEC, field)


def _source(spec: dict[str, Any]) -> Any:
    """What the volume is filled from: either field, since the server fills in the other."""
    source, reference = sources(spec)
    return _pruned(reference or source)


def _class_changes(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """A claim without a storage class gets one later, and an annotation becomes the field; nothing else about it changes."""
    new_class, old_class = _mapping(data, "spec").get("storageClassName"), _mapping(old, "spec").get("storageClassName")
    new_note, old_note = (_mapping(_mapping(each, "metadata"), "annotations").get(_CLASS) for each in (data, old))
    moved = old_note is not None and old_class is None and new_class == old_note and new_note in (None, old_note)
    if moved:
        return
    if (new_note or "") != (old_note or ""):
        message = f"the annotation `{_CLASS}` of a claim cannot change{_was(old_note)}"
        yield Problem("immutable-field", ("metadata", "annotations", Key(_CLASS)), message, _ANEW)
    given_first = old_class is None and new_class is not None and old_note in (None, new_class)
    if new_class != old_class and not given_first:
        message = f"`storageClassName` of a claim cannot change{_was(old_class)}"
        yield Problem("immutable-field", (*_SPEC, "storageClassName"), message, _ANEW)


def _resources(new: dict[str, Any], old: dict[str, Any], status: dict[str, Any], *, bound: bool) -> Iterator[Problem]:
    for part in ("limits", "requests"):
        was, now = (_amounts(each.get(part)) for each in (old, new))
        for name in {**was, **now}:
            if was.get(name) != now.get(name) and not (bound and (part, name) == ("requests", "storage")):
                message = f"`{name}` in the {part} of a claim cannot change{_was(_mapping(old, part).get(name))}"
                yield Problem("immutable-field", ("spec", "resources", part, Key(name)), message, _ANEW)
    if bound:
        yield from _size(_mapping(new, "requests").get("storage"), _mapping(old, "requests").get("storage"), status)


def _size(new: Any, old: Any, status: dict[str, Any]) -> Iterator[Problem]:
    """A bound claim may ask for more, and for less again as long as its volume has not grown so far."""
    least = _mapping(status, "capacity").get("storage", 0 if "phase" in status else old)
    now, was, has = _amount(new), _amount(old), _amount(least)
    if now is not None and was is not None and has is not None and now < was and now <= has:
        message = f"a volume does not shrink: it has `{least}`, and `{new}` is asked for"
        yield Problem("immutable-field", _STORAGE, message, f"ask for at least `{old}`, or make another claim")


def _amount(quantity: Any) -> Fraction | None:
    """The number that a quantity is, at Go's precision of a billionth; None for what is none."""
    from fractions import Fraction
    from math import ceil

    text = str(quantity).strip()
    if "e" in text.lower() and len(text.lower().rpartition("e")[2]) > _MOST_DIGITS:
        return None
    number = text.rstrip("KMGTPEinumk")
    suffix = text[len(number) :]
    if suffix not in _BINARY and suffix not in _DECIMAL:
        return None
    try:
        value = Fraction(number) * (2 ** (10 * _BINARY[suffix]) if suffix in _BINARY else Fraction(10) ** _DECIMAL[suffix])
    except ValueError:
        return None
    return Fraction(ceil(value * 10**9), 10**9)


def _amounts(quantities: Any) -> dict[str, Any]:
    given = quantities if isinstance(quantities, dict) else {}
    amounts = {name: (_amount(quantity or 0), quantity) for name, quantity in given.items()}  # to Go, a null in there is zero
    return {name: quantity if number is None else number for name, (number, quantity) in amounts.items()}


def _pruned(value: Any) -> Any:
    """A value inside of which what is empty is not there."""
    if isinstance(value, dict):
        return {name: _pruned(inner) for name, inner in value.items() if inner not in (None, [], {})}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _mapping(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _was(old: Any) -> str:
    return "" if isinstance(old, dict | list) else f"; it was {describe(old)}" if old is not None else "; there was none"
