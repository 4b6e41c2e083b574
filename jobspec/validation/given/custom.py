"""The verdict on an object whose kind a given CRD defines."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation import metadata, structural
from jobspec.validation.cel import evaluation
from jobspec.validation.crds.decode import decoded
from jobspec.validation.given import embedded, values
from jobspec.validation.given.complete import complete
from jobspec.validation.given.shapes import is_atom, root_shape
from jobspec.validation.metadata import MAX_PREFIX
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.targets import Target

    Schema = dict[str, Any]

_MAX_INT32 = (1 << 31) - 1
_BLOCKING = ("wrong-type", "missing-field", "wrong-size", "wrong-format", "unknown-field", "duplicate-item")


class CustomKind:
    """A kind in one version, as its CRD has it."""

    def __init__(self, version: dict[str, Any], target: Target, *, namespaced: bool) -> None:
        self.namespaced = namespaced
        self.schema: Schema = decoded(version["schema"]["openAPIV3Schema"])
        subresources = version.get("subresources") or {}
        self.scale: dict[str, str] = subresources.get("scale") or {}
        self.has_status = subresources.get("status") is not None
        self.shape: Shape = root_shape(self.schema, target, has_status=self.has_status)


def problems(data: dict[str, Any], kind: CustomKind, old: dict[str, Any] | None = None) -> list[Problem]:
    """Everything that a server has against an object; a rule that cannot be run is among it as `rule-not-evaluated`."""
    found = structural.problems(data, kind.shape)
    if any(problem.rule == "wrong-indentation" for problem in found):
        return found
    meta = data.get("metadata")
    if meta is None or isinstance(meta, dict):
        found += metadata.problems(meta or {}, kind="", builtin=False, namespaced=kind.namespaced)
    whole = _as_stored(data, kind)
    found += _of_values(whole, kind, found)
    if not any(problem.rule in _BLOCKING for problem in found):
        found += evaluation.problems(whole, kind.schema, None if old is None else _as_stored(old, kind))
    return found


def _as_stored(data: dict[str, Any], kind: CustomKind) -> dict[str, Any]:
    """The object with its defaults and a name, without what a request cannot set."""
    whole: dict[str, Any] = complete(data, kind.schema)
    if kind.has_status:
        whole.pop("status", None)
    meta = whole.get("metadata")
    if isinstance(meta, dict) and not meta.get("name") and isinstance(meta.get("generateName"), str):
        whole["metadata"] = {**meta, "name": f"{meta['generateName'][:MAX_PREFIX]}xxxxx"}
    return whole


def _of_values(whole: dict[str, Any], kind: CustomKind, found: list[Problem]) -> Iterator[Problem]:
    """What stands against values where nothing else does yet."""
    wrong = {problem.path for problem in found}
    if ("metadata", "generateName") in wrong:
        wrong.add(("metadata", "name"))
    checks = (
        values.problems(whole, kind.schema),
        embedded.problems(whole, kind.schema),
        _sets(whole, kind.schema, ()),
        _scale(whole, kind.scale),
    )
    for check in checks:
        for problem in check:
            if problem.path not in wrong:
                yield problem


def _sets(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    """Sets of objects and of lists, whose items have no order of fields."""
    if isinstance(value, dict):
        fields, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, inner in value.items():
            if name in fields:
                yield from _sets(inner, fields[name], (*path, name))
            elif isinstance(others, dict):
                yield from _sets(inner, others, (*path, Key(name)))
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = schema["items"]
        for index, item in enumerate(value):
            yield from _sets(item, items, (*path, index))
            if schema.get("x-kubernetes-list-type") == "set" and not is_atom(items):
                first = next((number for number in range(index) if values.same(value[number], item)), None)
                if first is not None:
                    message = f"item {index} is the same value as item {first}"
                    yield Problem("duplicate-item", (*path, index), message, "remove one of the two")


def _scale(whole: dict[str, Any], scale: dict[str, str]) -> Iterator[Problem]:
    """The scale subresource reads numbers of replicas, and a selector's text, from the object."""
    for key, is_number in (("specReplicasPath", True), ("statusReplicasPath", True), ("labelSelectorPath", False)):
        if not scale.get(key):
            continue
        steps = tuple(scale[key].removeprefix(".").split("."))
        value: Any = whole
        for number, step in enumerate(steps):
            if not isinstance(value, dict):
                yield Problem(
                    "wrong-type", steps[:number], f"`{'.'.join(steps[:number])}` has to be a mapping: the scale subresource reads it"
                )
                break
            if step not in value:
                break
            value = value[step]
        else:
            yield from _scaled(value, steps, is_number=is_number)


def _scaled(value: Any, path: Path, *, is_number: bool) -> Iterator[Problem]:
    if type(value) is not (int if is_number else str):
        what = "an integer" if is_number else "text"
        yield Problem("wrong-type", path, f"`{path[-1]}` has to be {what}: the scale subresource reads it")
    elif isinstance(value, int) and not 0 <= value <= _MAX_INT32:
        yield Problem("out-of-range", path, f"`{path[-1]}` takes 0 to {_MAX_INT32:,}, not {value:,}")
