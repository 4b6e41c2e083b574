"""Check the spec of a PersistentVolumeClaim as the API server's Go code does.

Follows `ValidatePersistentVolumeClaim`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. That code does not check `volumeName`, limits,
requests other than `storage`, a storage class in an annotation, names of data sources, and `status`, which a create drops.
`tests/live/test_claim_equals_server.py` compares with a server.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.quantities import exponent_of, is_endless
from jobspec.remedies import set_to
from jobspec.validation.certain import chosen
from jobspec.validation.complaints import missing_by_code
from jobspec.validation.label_selector import selector_problems
from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.persistentvolumeclaim_source import source_problems
from jobspec.validation.problem import Problem
from jobspec.validation.wording import closest, describe, did_you_mean, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}  # kubectl's
_VOLUME_MODES = ("Filesystem", "Block")
_SPEC: Path = ("spec",)
_REQUESTS: Path = ("spec", "resources", "requests")
_QUANTITIES: tuple[Path, ...] = (
    _REQUESTS,
    ("spec", "resources", "limits"),
    ("status", "capacity"),
    ("status", "allocatedResources"),
)


def claim_problems(data: dict[str, Any], found: list[Problem], *, is_new: bool) -> list[Problem]:
    """The problems of a claim: those *found* in its structure, and those of the server's Go code.

    Only the Go code decides which fields of the spec are required. A missing field is not reported if an unknown one was meant for it.
    """
    kept = [problem for problem in found if problem.rule != "missing-field" or problem.path[:1] != _SPEC]
    reported = {problem.path for problem in kept}
    meant = {name for problem in kept if problem.rule == "unknown-field" for name in (problem.path[-1], problem.meant, problem.belongs)}
    for problem in (*(_generation(data.get("metadata")) if is_new else ()), *_claim(data)):
        is_meant = problem.rule == "missing-field" and not meant.isdisjoint(problem.path[1:] or problem.path)
        if not is_meant and problem.path not in reported:
            kept.append(problem)
    return kept


def _claim(data: dict[str, Any]) -> Iterator[Problem]:
    yield from claim_spec_problems(data)
    spec = data.get("spec")
    if isinstance(spec, dict):
        yield from source_problems(spec)


def claim_spec_problems(data: dict[str, Any]) -> Iterator[Problem]:
    """The problems of the spec of a claim, or of a claim's template, apart from what the volume is filled from."""
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
    yield from _class_name(spec, "volumeAttributesClassName")
    yield from _volume_mode(spec.get("volumeMode"))
    yield from selector_problems(spec.get("selector"), (*_SPEC, "selector"))


def _generation(metadata: Any) -> Iterator[Problem]:
    """The problem of `metadata.generation`: the server sets that of a new custom resource itself, but keeps a claim's."""
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    if isinstance(generation, int | float) and generation < 0:
        message = f"`generation` cannot be negative, as {generation} is"
        yield Problem("out-of-range", ("metadata", "generation"), message, "leave it out; the server sets it")


def _access_modes(spec: dict[str, Any]) -> Iterator[Problem]:
    path, modes = (*_SPEC, "accessModes"), spec.get("accessModes")
    if modes is None:
        yield missing_by_code("accessModes", spec, _SPEC, f"write it as a list of {listed(_MODES)}")
    if not isinstance(modes, list):
        return
    if not modes:
        yield Problem("wrong-size", path, "`accessModes` takes at least 1 item, and has 0", f"name one of {listed(_MODES)}")
    for index, mode in enumerate(modes):
        if mode not in _MODES:
            long = _SHORT_MODES.get(str(mode))
            hint = did_you_mean(long) if long else closest(mode, _MODES)
            message = f"an access mode is one of {listed(_MODES)}, not {describe(mode)}"
            remedy = set_to((*path, index), long) if long else chosen(mode, _MODES, (*path, index))
            yield Problem("unsupported-choice", (*path, index), message, hint, remedy=remedy)
    if {mode for mode in modes if mode in _MODES} > {"ReadWriteOncePod"}:
        message = "`ReadWriteOncePod`, by which one pod alone uses the volume, cannot stand beside other access modes"
        yield Problem("conflicting-values", path, message, "keep either `ReadWriteOncePod` or the others")


def _storage(resources: Any) -> Iterator[Problem]:
    resources = {} if resources is None else resources
    requests = resources.get("requests") if isinstance(resources, dict) else resources
    requests = {} if requests is None else requests
    if not isinstance(requests, dict):
        return
    size = requests.get("storage")
    if size is None:
        yield missing_by_code(Key("storage"), requests, _REQUESTS, _storage_hint(requests, resources.get("limits")))
    elif not _is_positive(size) and not (isinstance(size, str) and is_endless(size)):
        yield Problem("out-of-range", (*_REQUESTS, Key("storage")), f"the size of a volume is more than 0, not {describe(size)}")


def _storage_hint(requests: dict[str, Any], limits: Any) -> str:
    misspelt = next(filter(None, (closest(name, ("storage",)) for name in requests if name != "storage")), "")
    if misspelt:
        return misspelt
    if isinstance(limits, dict) and "storage" in limits:
        return "`limits` do not stand in for `requests`; write `storage` there"
    return "write the size as `resources: {requests: {storage: 10Gi}}`"


def _is_positive(quantity: Any) -> bool:
    """Whether a quantity is more than zero, however small: the server rounds up to a billionth."""
    if not isinstance(quantity, str):
        return not isinstance(quantity, int | float) or quantity > 0
    number = quantity.strip().lower().partition("e")[0]
    return not number.startswith("-") and not set("123456789").isdisjoint(number)


def _slow_quantities(data: dict[str, Any]) -> Iterator[Problem]:
    """The quantities with exponents so large that the request times out.

    The server writes out all digits of small quantities to round them, and those of large ones to compare them with zero.
    """
    for path in _QUANTITIES:
        place: Any = data
        for step in path:
            place = place.get(step) if isinstance(place, dict) else None
        for name, quantity in place.items() if isinstance(place, dict) else ():
            is_compared = (path, name) == (_REQUESTS, "storage")
            if isinstance(quantity, str) and is_endless(quantity) and (is_compared or exponent_of(quantity) < 0):
                message = f"the exponent of {describe(quantity)} is so large that an API server does not come to an end with it"
                yield Problem("out-of-range", (*path, Key(name)), message)


def _class_name(spec: dict[str, Any], field: str) -> Iterator[Problem]:
    name = spec.get(field)
    if isinstance(name, str) and name and (why := bad_subdomain(name)):
        yield Problem("invalid-name", (*_SPEC, field), f"`{name}` is no name for a class: {why}")


def _volume_mode(mode: Any) -> Iterator[Problem]:
    if mode is not None and mode not in _VOLUME_MODES:
        message = f"`volumeMode` takes one of {listed(_VOLUME_MODES)}, not {describe(mode)}"
        yield Problem("unsupported-choice", (*_SPEC, "volumeMode"), message, closest(mode, _VOLUME_MODES))
