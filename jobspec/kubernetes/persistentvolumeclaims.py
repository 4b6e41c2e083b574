"""Check a PersistentVolumeClaim as the API server's Go code does: its spec, its data source, and what an update changes.

Follows `ValidatePersistentVolumeClaim`, k8s.io/kubernetes pkg/apis/core/validation, 1.30 to 1.37. Before 1.34, the server drops
`volumeAttributesClassName`. That code does not check `volumeName`, limits,
requests other than `storage`, a storage class in an annotation, names of data sources, and `status`, which a create drops.
`tests/live/test_claim_equals_server.py` compares with a server.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path, value_at
from jobspec.diagnostics.problems import Problem, Problems, set_to
from jobspec.go.quantities import comparable, exponent_of, is_endless
from jobspec.go.values import mapping
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.metadata import bad_subdomain, generation_problems
from jobspec.kubernetes.problems import closest, describe, excluded, fixed, listed, missing, named
from jobspec.kubernetes.suggestions import chosen, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.schemas.shapes import Shape


_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}  # kubectl's
_VOLUME_MODES = ("Filesystem", "Block")
_SPEC: Path = ("spec",)
_REQUESTS: Path = ("spec", "resources", "requests")
_LIMITS: Path = ("spec", "resources", "limits")
_QUANTITIES: tuple[Path, ...] = (_REQUESTS, _LIMITS, ("status", "capacity"), ("status", "allocatedResources"))


def claim_problems(data: Data, found: list[Problem], _: Shape, old: Data | None, release: str) -> list[Problem]:
    """Return the problems of a claim: those *found* in its structure, and those of Go code.

    If *old* is given, the claim is an update of it. Only the Go code decides which fields of the spec are required. A missing field is
    not reported if an unknown one was meant for it.
    """
    if old is not None:
        reported = {problem.path for problem in found}
        found = [*found, *(problem for problem in claim_update_problems(data, old, release) if problem.path not in reported)]
    kept = [problem for problem in found if problem.rule != "missing-field" or problem.path[:1] != _SPEC]
    reported = {problem.path for problem in kept}
    meant = {name for problem in kept if problem.rule == "unknown-field" for name in (problem.path[-1], problem.meant, problem.belongs)}
    spec = data.get("spec")
    of_sources = given_source_problems(*sources(spec)) if isinstance(spec, dict) else ()
    for problem in (*(generation_problems(data.get("metadata")) if old is None else ()), *claim_spec_problems(data, release), *of_sources):
        is_meant = problem.rule == "missing-field" and not meant.isdisjoint(problem.path[1:] or problem.path)
        if not is_meant and problem.path not in reported:
            kept.append(problem)
    return kept


def claim_spec_problems(data: Data, release: str) -> Problems:
    """Yield the problems of the spec of a claim or of a claim's template.

    Problems of the volume's sources are left out.
    """
    yield from _slow_quantities(data)
    spec = data.get("spec")
    if spec is None:
        message = "the claim has no `spec`, in which `accessModes` and `resources.requests.storage` are required"
        yield Problem("missing-field", _SPEC, message, at_key=True)
    if not isinstance(spec, dict):
        return
    yield from _access_modes(spec)
    yield from _storage(spec.get("resources"))
    yield from _class_name(spec, "storageClassName")
    if is_at_least(release, "1.34"):
        yield from _class_name(spec, "volumeAttributesClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        message = f"`volumeMode`: expected one of {listed(_VOLUME_MODES)}, got {describe(mode)}"
        yield Problem("unsupported-choice", (*_SPEC, "volumeMode"), message, closest(mode, _VOLUME_MODES))
    yield from selector_problems(spec.get("selector"), (*_SPEC, "selector"))


def _access_modes(spec: Data) -> Problems:
    path, modes = (*_SPEC, "accessModes"), spec.get("accessModes")
    if modes is None:
        yield missing("accessModes", spec, _SPEC, f"write it as a list of {listed(_MODES)}")
    if not isinstance(modes, list):
        return
    if not modes:
        yield Problem("wrong-size", path, "`accessModes`: expected at least 1 item, got 0", f"name one of {listed(_MODES)}")
    for index, mode in enumerate(modes):
        if mode not in _MODES:
            long = _SHORT_MODES.get(str(mode))
            hint = did_you_mean(long) if long else closest(mode, _MODES)
            message = f"an access mode is one of {listed(_MODES)}, not {describe(mode)}"
            remedy = set_to((*path, index), long) if long else chosen(mode, _MODES, (*path, index))
            yield Problem("unsupported-choice", (*path, index), message, hint, remedy=remedy)
    if {mode for mode in modes if mode in _MODES} > {"ReadWriteOncePod"}:
        message = "`ReadWriteOncePod`, by which one pod alone uses the volume, cannot be combined with other access modes"
        yield excluded(path, message, "keep either `ReadWriteOncePod` or the others")


def _storage(resources: Any) -> Problems:
    resources = {} if resources is None else resources
    requests = resources.get("requests") if isinstance(resources, dict) else resources
    requests = {} if requests is None else requests
    if not isinstance(requests, dict):
        return
    size = requests.get("storage")
    if size is None:
        yield missing(Key("storage"), requests, _REQUESTS, _storage_hint(requests, resources.get("limits")))
    elif not _is_positive(size) and not (isinstance(size, str) and is_endless(size)):
        yield Problem("out-of-range", (*_REQUESTS, Key("storage")), f"the size of a volume is more than 0, not {describe(size)}")


def _storage_hint(requests: Data, limits: Any) -> str:
    misspelt = next(filter(None, (closest(name, ("storage",)) for name in requests if name != "storage")), "")
    if misspelt:
        return misspelt
    if isinstance(limits, dict) and "storage" in limits:
        return "`limits` do not replace `requests`; write `storage` there"
    return "write the size as `resources: {requests: {storage: 10Gi}}`"


def _is_positive(quantity: Any) -> bool:
    """Whether a quantity is more than zero, however small: the server rounds up to a billionth."""
    if not isinstance(quantity, str):
        return not isinstance(quantity, int | float) or quantity > 0
    number = quantity.strip().lower().partition("e")[0]
    return not number.startswith("-") and not set("123456789").isdisjoint(number)


def _slow_quantities(data: Data) -> Problems:
    """The quantities with exponents so large that the request times out.

    The server writes out all digits of small quantities to round them, and those of large ones to compare them with zero.
    """
    for path in _QUANTITIES:
        for name, quantity in mapping(value_at(data, path)).items():
            is_compared = (path, name) == (_REQUESTS, "storage")
            if isinstance(quantity, str) and is_endless(quantity) and (is_compared or exponent_of(quantity) < 0):
                message = f"the exponent of {describe(quantity)} is so large that the API server hangs"
                yield Problem("out-of-range", (*path, Key(name)), message)


def _class_name(spec: Data, field: str) -> Problems:
    name = spec.get(field)
    if isinstance(name, str) and name:
        yield from named(name, "a class", bad_subdomain, (*_SPEC, field))


# Check what a PersistentVolumeClaim's volume is filled from: `dataSource` and `dataSourceRef`.
#
# Follows `validateDataSource` and `validateDataSourceRef`, k8s.io/kubernetes pkg/apis/core/validation, and `DropDisabledFields` and
# `EnforceDataSourceBackwardsCompatibility`, pkg/api/persistentvolumeclaim, 1.36.


_CLAIM = "PersistentVolumeClaim"
_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")


def sources(spec: Data) -> tuple[Any, Any]:
    """`dataSource` and `dataSourceRef` of a new claim's spec, each None if the server drops it.

    It drops a `dataSourceRef` to another namespace, and without `dataSourceRef`, a `dataSource` that is neither a claim nor a snapshot.
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if isinstance(reference, dict) and reference.get("namespace"):
        reference = None
    kinds_kept = (("", _CLAIM), _SNAPSHOT)
    if reference is None and isinstance(source, dict) and (source.get("apiGroup") or "", source.get("kind")) not in kinds_kept:
        source = None
    return source, reference


def given_source_problems(source: Any, reference: Any) -> Problems:
    """Yield the problems of `dataSource` and `dataSourceRef`. An absent one is None."""
    wrong = [*_data_source_problems(source, "dataSource"), *_data_source_problems(reference, "dataSourceRef")]
    yield from wrong
    if wrong or not isinstance(source, dict) or not isinstance(reference, dict):
        return
    apart = [field for field in ("apiGroup", "kind", "name") if source.get(field) != reference.get(field)]
    if apart:
        message = f"`dataSource` and `dataSourceRef` must name the same source, and differ in {listed(apart)}"
        yield excluded(("spec", "dataSource"), message, "remove `dataSource`; the server fills it in")


def _data_source_problems(source: Any, field: str) -> Problems:
    if not isinstance(source, dict):
        return
    path = ("spec", field)
    yield from (missing(name, source, path) for name in ("kind", "name") if not source.get(name))
    group, kind = source.get("apiGroup"), source.get("kind")
    if isinstance(group, str) and group and (why := bad_subdomain(group)):
        name = group.partition("/")[0]
        hint = f"write `{name}`, without a version" if name != group and not bad_subdomain(name) else ""
        yield Problem("invalid-name", (*path, "apiGroup"), f"`{group}` is not a valid name for an API group: {why}", hint)
    if not group and kind and kind != _CLAIM:
        message = f"without an `apiGroup`, `kind` can only be `{_CLAIM}`, not {describe(kind)}"
        hint = f"add `apiGroup: {_SNAPSHOT[0]}`" if kind == _SNAPSHOT[1] else closest(kind, (_CLAIM,)) or "add the kind's `apiGroup`"
        yield Problem("unsupported-choice", (*path, "kind"), message, hint)


# Check which fields an update of a PersistentVolumeClaim changes.
#
# Follows `ValidatePersistentVolumeClaimUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. A stored claim without `status.phase`
# is assumed to be bound to a volume of the size that it requests, and its storage class to allow expansion.


_STORAGE: Path = (*_REQUESTS, Key("storage"))
_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that came before the field
_ANEW = "restore the old value, or create another claim"


def claim_update_problems(data: Data, old: Data, release: str) -> Problems:
    """Yield the problems of changes from the stored claim *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    status = mapping(old, "status")
    bound = status.get("phase", "Bound") == "Bound"
    for field in _immutable_changes(new_spec, old_spec):
        yield fixed((*_SPEC, field), f"`{field}` of a claim cannot change{_was(old_spec.get(field))}", _ANEW)
    yield from _class_changes(data, old)
    is_other = new_spec.get("volumeAttributesClassName") != old_spec.get("volumeAttributesClassName")
    if not bound and is_other and is_at_least(release, "1.34"):
        path = (*_SPEC, "volumeAttributesClassName")
        yield fixed(path, "`volumeAttributesClassName` of a claim cannot change before it is bound", _ANEW)
    yield from _resized_problems(mapping(new_spec, "resources"), mapping(old_spec, "resources"), status, release, bound=bound)


def _immutable_changes(new: Data, old: Data) -> Iterator[str]:
    """The changed fields that cannot change."""
    if new.get("accessModes") != old.get("accessModes"):
        yield "accessModes"
    if _pruned(new.get("selector")) != _pruned(old.get("selector")):
        yield "selector"
    if old.get("volumeName") and new.get("volumeName") != old["volumeName"]:
        yield "volumeName"
    if (new.get("volumeMode") or "Filesystem") != (old.get("volumeMode") or "Filesystem"):
        yield "volumeMode"
    # a reference to another namespace is dropped only without a stored source
    kept = _source_of(old) is not None and bool(mapping(new, "dataSourceRef").get("namespace"))
    if kept or _source_of(new) != _source_of(old):
        yield "dataSourceRef" if new.get("dataSourceRef") or (old.get("dataSourceRef") and not new.get("dataSource")) else "dataSource"


def _source_of(spec: Data) -> Any:
    """The source of the volume: either field, since the server sets the other to the same."""
    source, reference = sources(spec)
    return _pruned(reference or source)


def _class_changes(data: Data, old: Data) -> Problems:
    """Yield the problems of a changed storage class.

    It can be set later, or move from the annotation to the field, but not change.
    """
    new_class, old_class = mapping(data, "spec").get("storageClassName"), mapping(old, "spec").get("storageClassName")
    new_note, old_note = (mapping(each, "metadata", "annotations").get(_CLASS) for each in (data, old))
    moved = old_note is not None and old_class is None and new_class == old_note and new_note in (None, old_note)
    if moved:
        return
    if (new_note or "") != (old_note or ""):
        yield fixed(("metadata", "annotations", Key(_CLASS)), f"the annotation `{_CLASS}` of a claim cannot change{_was(old_note)}", _ANEW)
    is_first = old_class is None and new_class is not None and old_note in (None, new_class)
    if new_class != old_class and not is_first:
        yield fixed((*_SPEC, "storageClassName"), f"`storageClassName` of a claim cannot change{_was(old_class)}", _ANEW)


def _resized_problems(new: Data, old: Data, status: Data, release: str, *, bound: bool) -> Problems:
    for part in ("limits", "requests"):
        was, now = (_compared_amounts(each.get(part)) for each in (old, new))
        for name in {**was, **now}:
            if was.get(name) != now.get(name) and not (bound and (part, name) == ("requests", "storage")):
                message = f"`{name}` in the {part} of a claim cannot change{_was(mapping(old, part).get(name))}"
                yield fixed(("spec", "resources", part, Key(name)), message, _ANEW)
    if bound:
        yield from _size(mapping(new, "requests").get("storage"), mapping(old, "requests").get("storage"), status, release)


def _size(new: Any, old: Any, status: Data, release: str) -> Problems:
    """Yield the problem of a smaller request.

    From 1.32 on, a bound claim can take back an expansion, but not shrink its volume.
    """
    least = mapping(status, "capacity").get("storage", 0 if "phase" in status else old)
    now, was, has = comparable(new), comparable(old), comparable(least)
    if isinstance(now, str) or isinstance(was, str) or isinstance(has, str):
        return
    if now < was and (now <= has or not is_at_least(release, "1.32")):
        message = f"a volume cannot shrink: it has `{least}`, and `{new}` is requested"
        yield fixed(_STORAGE, message, f"ask for at least `{old}`, or create another claim")


def _compared_amounts(quantities: Any) -> Data:
    """Return the keys to compare quantities by, by resource."""
    return {name: comparable(quantity or 0) for name, quantity in mapping(quantities).items()}  # Go decodes null as zero


def _pruned(value: Any) -> Any:
    """A value without the nulls and the empty lists and mappings inside it."""
    if isinstance(value, dict):
        return {name: _pruned(inner) for name, inner in value.items() if inner not in (None, [], {})}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _was(old: Any) -> str:
    return "" if isinstance(old, dict | list) else f"; it was {describe(old)}" if old is not None else "; there was none"
