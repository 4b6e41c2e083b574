"""The verdict on an object whose kind a given CRD defines."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.shapes import Shape
from jobspec.validation import metadata, structural, updates
from jobspec.validation.cel import evaluation
from jobspec.validation.crds.decode import decoded
from jobspec.validation.given import embedded, values
from jobspec.validation.given.complete import child_of, complete
from jobspec.validation.given.correlation import correlated, same
from jobspec.validation.given.shapes import is_atom, root_shape
from jobspec.validation.metadata import made_name
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.validation.given.correlation import Correlated

    Schema = dict[str, Any]

_MAX_INT32 = (1 << 31) - 1
#: What keeps the server from looking at rules.
_BLOCKING = ("wrong-type", "missing-field", "wrong-size", "unsupported-choice", "unknown-field")
#: What even a value that an update does not touch may not have.
_NEVER_KEPT = ("unknown-field", "wrong-indentation")
_TWICE = "duplicate-item"


class CustomKind:
    """A kind in one version, as its CRD has it."""

    def __init__(self, version: dict[str, Any], target: Target, *, namespaced: bool) -> None:
        self.namespaced = namespaced
        self.schema: Schema = decoded(version["schema"]["openAPIV3Schema"])
        subresources = version.get("subresources") or {}
        self.scale: dict[str, str] = subresources.get("scale") or {}
        self.has_status = subresources.get("status") is not None
        self.shape: Shape = root_shape(self.schema, target, has_status=self.has_status)
        self.ruled: dict[int, bool] = {}
        """Which parts of the schema have rules, as far as that is found out."""
        self.covers: Literal["valid"] = "valid"

    def problems(self, document: Document, old: dict[str, Any] | None = None) -> list[Problem]:
        """The problems of an object; with *old*, as an update of that."""
        return problems(document.data, self, old)


def problems(data: dict[str, Any], kind: CustomKind, old: dict[str, Any] | None = None) -> list[Problem]:
    """Everything that a server has against an object; a rule that cannot be run is among it as `rule-not-evaluated`."""
    found = structural.problems(data, kind.shape)
    if any(problem.rule == "wrong-indentation" for problem in found):
        return found
    found = [kept for problem in found for kept in _loosely(problem, data, kind.schema)]
    whole = _as_stored(data, kind)
    before = None if old is None else _update(whole, old, kind)
    repeats = before is not None and _has_repeats(before.old, kind)
    if before:
        found = _without_untouched(found, before, repeats=repeats)
    found += _of_metadata(data.get("metadata"), old and old.get("metadata"), kind)
    found += _of_values(whole, kind, found, before, repeats=repeats)
    if not any(problem.rule in _BLOCKING for problem in found):
        found += evaluation.problems(whole, kind.schema, before and before.old, before=before, ruled=kind.ruled)
    return found


def _loosely(problem: Problem, data: Any, schema: Schema) -> list[Problem]:
    """A problem of the structure, or what is wrong inside where a list passes for a text."""
    if problem.rule != "wrong-type" or problem.path[:1] == ("metadata",):
        return [problem]
    value, inside = data, schema
    for step in problem.path:
        value, inside = value[step], (inside["items"] if isinstance(step, int) else child_of(inside, step)) or {}
    return structural.problems_at(value, Shape({"type": "bare"}), problem.path) if values.passes(value, inside) else [problem]


def _as_stored(data: dict[str, Any], kind: CustomKind) -> dict[str, Any]:
    """The object with its defaults and a name, without what a request cannot set."""
    whole: dict[str, Any] = complete(data, kind.schema)
    if kind.has_status:
        whole.pop("status", None)
    meta = whole.get("metadata")
    if isinstance(meta, dict) and not meta.get("name") and isinstance(meta.get("generateName"), str):
        whole["metadata"] = {**meta, "name": made_name(meta["generateName"])}
    return whole


def _update(whole: dict[str, Any], old: dict[str, Any], kind: CustomKind) -> Correlated:
    """The object beside the stored one, whose status it takes over where that has a request of its own."""
    stored = complete(old, kind.schema)
    if kind.has_status and "status" in stored:
        whole["status"] = stored["status"]
    return correlated(whole, stored, kind.schema)


def _without_untouched(found: list[Problem], before: Correlated, *, repeats: bool) -> list[Problem]:
    """The structure's problems without those of values that are as before; where anything stood twice before, anything may again."""
    return [
        problem
        for problem in found
        if problem.rule in _NEVER_KEPT or not (repeats if problem.rule == _TWICE else before.is_untouched(problem.path))
    ]


def _has_repeats(stored: dict[str, Any], kind: CustomKind) -> bool:
    by_structure = any(problem.rule == _TWICE for problem in structural.problems(stored, kind.shape))
    return by_structure or next(_sets(stored, kind.schema, ()), None) is not None


def _of_metadata(meta: Any, stored: Any, kind: CustomKind) -> Iterator[Problem]:
    """What stands against an object's metadata; where it is an update, also what may not change."""
    if meta is not None and not isinstance(meta, dict):
        return
    is_update = isinstance(stored, dict)
    for problem in metadata.problems(meta or {}, names="subdomain", builtin=False, namespaced=kind.namespaced):
        if not (is_update and problem.path[-1] == "generateName"):
            yield problem
    if is_update:
        yield from updates.metadata_problems(meta or {}, stored)


def _of_values(
    whole: dict[str, Any], kind: CustomKind, found: list[Problem], before: Correlated | None, *, repeats: bool
) -> Iterator[Problem]:
    """What stands against values where nothing else does yet."""
    wrong = {problem.path for problem in found}
    if ("metadata", "generateName") in wrong:
        wrong.add(("metadata", "name"))
    checks = (
        values.problems(whole, kind.schema, (), before),
        embedded.problems(whole, kind.schema),
        () if repeats else _sets(whole, kind.schema, ()),
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
                first = next((number for number in range(index) if same(value[number], item)), None)
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
