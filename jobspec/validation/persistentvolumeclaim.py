"""What the API server's own code checks in a PersistentVolumeClaim that it creates, beyond its structure and names.

Follows `ValidatePersistentVolumeClaim`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.

`tests/live/test_claim_equals_server.py` holds it equal to a server. What that code does not look at: `volumeName`, limits, requests
of anything but `storage`, a storage class in an annotation, names of data sources, and all of `status`, which a create drops.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation.metadata import bad_label_value, bad_qualified_name, bad_subdomain
from jobspec.validation.problem import Problem
from jobspec.validation.wording import closest, describe, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}  # kubectl's
_VOLUME_MODES = ("Filesystem", "Block")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_CLAIM = "PersistentVolumeClaim"
_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")
_MOST_EXPONENT = 10_000_000  # with which a server needs seconds for one quantity; somewhat above, its time runs out
_SPEC: Path = ("spec",)
_REQUESTS: Path = ("spec", "resources", "requests")
_QUANTITIES: tuple[Path, ...] = (
    _REQUESTS,
    ("spec", "resources", "limits"),
    ("status", "capacity"),
    ("status", "allocatedResources"),
)


def claim_problems(data: dict[str, Any], found: list[Problem], *, is_new: bool = True) -> list[Problem]:
    """What stands against a claim: what was *found* in its structure, and what the server's code refuses besides.

    That code alone says what a claim's spec may lack. Nothing counts as missing that stands misspelt or in a wrong place.
    """
    kept = [problem for problem in found if problem.rule != "missing-field" or problem.path[:1] != _SPEC]
    judged = {problem.path for problem in kept}
    meant = {name for problem in kept if problem.rule == "unknown-field" for name in (problem.path[-1], problem.meant, problem.belongs)}
    for problem in (*(_generation(data.get("metadata")) if is_new else ()), *_claim(data)):
        told = problem.rule == "missing-field" and not meant.isdisjoint(problem.path[1:] or problem.path)
        if not told and problem.path not in judged:
            kept.append(problem)
    return kept


def _claim(data: dict[str, Any]) -> Iterator[Problem]:
    yield from _endless(data)
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
    yield from _selector(spec.get("selector"))
    yield from _sources(*sources(spec))


def _generation(metadata: Any) -> Iterator[Problem]:
    """A new claim keeps the generation that it is given, so that one is looked at; a custom resource's begins anew."""
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    if isinstance(generation, int | float) and generation < 0:
        message = f"`generation` cannot be negative, as {generation} is"
        yield Problem("out-of-range", ("metadata", "generation"), message, "leave it out; the server sets it")


def _access_modes(spec: dict[str, Any]) -> Iterator[Problem]:
    path, modes = (*_SPEC, "accessModes"), spec.get("accessModes")
    if modes is None:
        yield _missing("accessModes", spec, _SPEC, f"write it as a list of {_listed(_MODES)}")
    if not isinstance(modes, list):
        return
    if not modes:
        yield Problem("wrong-size", path, "`accessModes` takes at least 1 item, and has 0", f"name one of {_listed(_MODES)}")
    for index, mode in enumerate(modes):
        if mode not in _MODES:
            long = _SHORT_MODES.get(str(mode))
            hint = did_you_mean(long) if long else closest(mode, _MODES)
            message = f"an access mode is one of {_listed(_MODES)}, not {describe(mode)}"
            yield Problem("unsupported-choice", (*path, index), message, hint)
    if {mode for mode in modes if mode in _MODES} > {"ReadWriteOncePod"}:
        message = "`ReadWriteOncePod`, by which one pod alone uses the volume, cannot stand beside other access modes"
        yield Problem("conflicting-values", path, message, "keep either `ReadWriteOncePod` or the others")


def _storage(resources: Any) -> Iterator[Problem]:
    given = {} if resources is None else resources
    requests = given.get("requests") if isinstance(given, dict) else given
    requests = {} if requests is None else requests
    if not isinstance(requests, dict):
        return
    size = requests.get("storage")
    if size is None:
        yield _missing(Key("storage"), requests, _REQUESTS, _storage_hint(requests, given.get("limits")))
    elif not _is_positive(size) and abs(_exponent(size)) <= _MOST_EXPONENT:
        yield Problem("out-of-range", (*_REQUESTS, Key("storage")), f"the size of a volume is more than 0, not {describe(size)}")


def _storage_hint(requests: dict[str, Any], limits: Any) -> str:
    misspelt = next(filter(None, (closest(name, ("storage",)) for name in requests if name != "storage")), "")
    if misspelt:
        return misspelt
    if isinstance(limits, dict) and "storage" in limits:
        return "`limits` do not stand in for `requests`; write `storage` there"
    return "write the size as `resources: {requests: {storage: 10Gi}}`"


def _is_positive(quantity: Any) -> bool:
    """Whether a quantity is more than zero; the server rounds away from zero, so that every digit counts."""
    if not isinstance(quantity, str):
        return not isinstance(quantity, int | float) or quantity > 0
    number = quantity.strip().lower().partition("e")[0]
    return not number.startswith("-") and not set("123456789").isdisjoint(number)


def _endless(data: dict[str, Any]) -> Iterator[Problem]:
    """Quantities on which the server works until the request times out.

    It writes small ones out to round them, and large ones where it compares them with zero.
    """
    for path in _QUANTITIES:
        place: Any = data
        for step in path:
            place = place.get(step) if isinstance(place, dict) else None
        for name, quantity in place.items() if isinstance(place, dict) else ():
            exponent = _exponent(quantity)
            if exponent < -_MOST_EXPONENT or (exponent > _MOST_EXPONENT and (path, name) == (_REQUESTS, "storage")):
                message = f"the exponent of {describe(quantity)} is so large that an API server does not come to an end with it"
                yield Problem("out-of-range", (*path, Key(name)), message)


def _exponent(quantity: Any) -> int:
    """The power of ten that a quantity's text ends with, in the 32 bits that the server keeps of it; 0 where there is none."""
    text = quantity.lower().partition("e")[2].rstrip() if isinstance(quantity, str) else ""
    digits = text.lstrip("+-").lstrip("0")
    if not digits.isdecimal() or len(digits) > 19:
        return 0
    return (int(digits) * (-1 if text[0] == "-" else 1) + 2**31) % 2**32 - 2**31


def _class_name(spec: dict[str, Any], field: str) -> Iterator[Problem]:
    name = spec.get(field)
    if isinstance(name, str) and name and (why := bad_subdomain(name)):
        yield Problem("invalid-name", (*_SPEC, field), f"`{name}` is no name for a class: {why}")


def _volume_mode(mode: Any) -> Iterator[Problem]:
    if mode is not None and mode not in _VOLUME_MODES:
        message = f"`volumeMode` takes one of {_listed(_VOLUME_MODES)}, not {describe(mode)}"
        yield Problem("unsupported-choice", (*_SPEC, "volumeMode"), message, closest(mode, _VOLUME_MODES))


def _selector(selector: Any) -> Iterator[Problem]:
    if not isinstance(selector, dict):
        return
    path = (*_SPEC, "selector")
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        yield from _label_key(key, (*path, "matchLabels", Key(key)), at_key=True)
        yield from _label_value(value, (*path, "matchLabels", Key(key)))
    for index, condition in enumerate(expressions if isinstance(expressions, list) else ()):
        if condition is None:
            message = f"the condition {index} of `matchExpressions` is empty, without the required `key` and `operator`"
            yield Problem("missing-field", (*path, "matchExpressions", index), message, "remove it, or write the condition")
        elif isinstance(condition, dict):
            yield from _condition(condition, (*path, "matchExpressions", index))


def _condition(condition: dict[str, Any], path: Path) -> Iterator[Problem]:
    key, operator, values = condition.get("key"), condition.get("operator"), condition.get("values")
    if key:
        yield from _label_key(key, (*path, "key"))
    else:
        yield _missing("key", condition, path)
    if not operator:
        yield _missing("operator", condition, path, f"it is one of {_listed(_OPERATORS)}")
    elif operator not in _OPERATORS:
        message = f"`operator` takes one of {_listed(_OPERATORS)}, not {describe(operator)}"
        yield Problem("unsupported-choice", (*path, "operator"), message, closest(operator, _OPERATORS))
    elif operator in ("Exists", "DoesNotExist") and values:
        message = f"`{operator}` is about the label's key alone, and takes no `values`"
        yield Problem("conflicting-values", (*path, "values"), message, "remove the values, or write `In` or `NotIn`")
        return
    elif operator in ("In", "NotIn") and not values:
        yield _missing("values", condition, path, f"`{operator}` compares the label with a list of values")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        yield from _label_value(value, (*path, "values", index))


def _label_key(key: Any, path: Path, *, at_key: bool = False) -> Iterator[Problem]:
    if isinstance(key, str) and (why := bad_qualified_name(key)):
        yield Problem("wrong-format", path, f'"{key}" is no label key: {why}', at_key=at_key)


def _label_value(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str) and (why := bad_label_value(value)):
        yield Problem("wrong-format", path, f'"{value}" is no label value: {why}')


def sources(spec: dict[str, Any]) -> tuple[Any, Any]:
    """`dataSource` and `dataSourceRef` as far as the server keeps them.

    It drops unseen what names another namespace, and alone in `dataSource`, what is neither a claim nor a snapshot.
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if isinstance(reference, dict) and reference.get("namespace"):
        reference = None
    if reference is None and isinstance(source, dict) and not _is_claim_or_snapshot(source):
        source = None
    return source, reference


def _sources(source: Any, reference: Any) -> Iterator[Problem]:
    wrong = [*_source(source, "dataSource"), *_source(reference, "dataSourceRef")]
    yield from wrong
    if wrong or not isinstance(source, dict) or not isinstance(reference, dict):
        return
    apart = [field for field in ("apiGroup", "kind", "name") if source.get(field) != reference.get(field)]
    if apart:
        message = f"`dataSource` and `dataSourceRef` have to name the same source, and differ in {_listed(apart)}"
        yield Problem("conflicting-values", (*_SPEC, "dataSource"), message, "leave out `dataSource`; the server fills it in")


def _is_claim_or_snapshot(source: dict[str, Any]) -> bool:
    return (source.get("apiGroup") or "", source.get("kind")) in (("", _CLAIM), _SNAPSHOT)


def _source(source: Any, field: str) -> Iterator[Problem]:
    if not isinstance(source, dict):
        return
    path = (*_SPEC, field)
    yield from (_missing(name, source, path) for name in ("kind", "name") if not source.get(name))
    group, kind = source.get("apiGroup"), source.get("kind")
    if isinstance(group, str) and group and (why := bad_subdomain(group)):
        yield Problem("invalid-name", (*path, "apiGroup"), f"`{group}` is no name for an API group: {why}", _group_hint(group))
    if not group and kind and kind != _CLAIM:
        message = f"without an `apiGroup`, `kind` can only be `{_CLAIM}`, not {describe(kind)}"
        hint = f"add `apiGroup: {_SNAPSHOT[0]}`" if kind == _SNAPSHOT[1] else closest(kind, (_CLAIM,)) or "add the kind's `apiGroup`"
        yield Problem("unsupported-choice", (*path, "kind"), message, hint)


def _group_hint(group: str) -> str:
    """What is left of an API version that was written for an API group."""
    name = group.partition("/")[0]
    return f"write `{name}`, without a version" if name != group and not bad_subdomain(name) else ""


def _missing(name: str, around: dict[str, Any], path: Path, hint: str = "") -> Problem:
    state = "is empty" if name in around else "is missing"
    return Problem("missing-field", (*path, name), f"the required field `{name}` of `{spell(path)}` {state}", hint, at_key=True)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
