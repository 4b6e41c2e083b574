"""Change an object as MutatingAdmissionPolicies do before the server judges it.

Follows k8s.io/apiserver pkg/admission/plugin/policy/mutating (`dispatchInvocations`, the patchers and `findAtomics`), structured-merge-diff
v6 (`Merge`) and json-patch v4, 1.36. A server has no fixed order of policies, whose effects should not depend on it; here it is that of
their names. Plugins in between, such as webhooks, are not asked again. Policies that see an object in several versions change a copy each,
of which a server keeps the last: they are not evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobspec.apis import kinds
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path, spell
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.policies import (
    Binding,
    CelFailure,
    Decision,
    Evaluation,
    Inputs,
    NotKnown,
    Policy,
    Request,
    concerned,
    in_one_line,
    invocations,
    reads_unknown,
)
from jobspec.kubernetes.cel.signatures import PATCH_TYPE
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas.shapes import Shape

#: A policy, its binding, and the name and namespace of its parameter.
Key = tuple[str, str, str, str]


class Mutation(NamedTuple):
    """The result of mutating policies for an object."""

    object: Data
    steps: Sequence[tuple[str, Data]] = ()
    """The policies that changed it, in their order, each with the object behind it."""
    decisions: Sequence[Decision] = ()
    """Why it is refused, and what was not evaluated."""


def mutated(request: Request, objects: Index, shape: Shape | None, settle: Callable[[Data], Data], release: str) -> Mutation:
    """Return an object as the policies among *objects* change it.

    *settle* gives a changed object the defaults of its type again. *release*: the release of Kubernetes.
    """
    if not objects.change_objects or request.kind[0] == "admissionregistration.k8s.io":
        return Mutation(request.object)
    policies = concerned(request, objects, kinds.MUTATING_POLICY)
    if not policies:
        return Mutation(request.object)
    request = request._replace(is_named=False)
    first = _Round(request, objects, shape, settle, release)
    first.run(policies)
    if not first.again or any(each.is_evaluated for each in first.decisions):
        return Mutation(first.object, first.steps, first.decisions)
    second = _Round(request._replace(object=first.object), objects, shape, settle, release, first.pruned)
    second.run([each for each in policies if each.spec.get("reinvocationPolicy") == "IfNeeded"], first.again)
    found = list(dict.fromkeys([*first.decisions, *second.decisions]))
    return Mutation(second.object, [*first.steps, *second.steps], found)


@dataclass(slots=True)
class _Round:
    """One pass of an object through the policies."""

    _request: Request
    _objects: Index
    _shape: Shape | None
    _settle: Callable[[Data], Data]
    _release: str
    pruned: Sequence[str] = ()
    """What was put into a custom resource that its schema does not have: in the end a server drops it."""
    object: Data = field(init=False)
    steps: list[tuple[str, Data]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    again: set[Key] = field(default_factory=set)
    """What a server invokes once more, since the object was changed behind it."""

    def __post_init__(self) -> None:
        self.object = self._request.object

    def run(self, policies: Sequence[Policy], only: Container[Key] | None = None) -> None:
        """Invoke policies, each with all its bindings and parameters; *only*: no others than these."""
        invoked: set[Key] = set()
        calls = self._calls(policies)
        several = len({version for *_, version in calls}) > 1
        for policy, binding, params, version in calls:
            if several and version != self._request.version:
                why = f"it changes the object as {version}, other policies as another version, and a server keeps the last change alone"
                self._fail(policy, binding, CelFailure(why, is_unknown=True), "")
                continue
            metadata = mapping(params, "metadata")
            key = (policy.name, binding.name, str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
            if only is not None and key not in only:
                continue
            before = self.object
            matches = Evaluation(policy, self._inputs(version), params).matches()
            if isinstance(matches, CelFailure):
                self._fail(policy, binding, matches, "a match condition")
            if matches is not True:
                continue
            for each in policy.spec["mutations"]:
                self._mutate(each, policy, binding, params, version)
            if self.object != before:
                self.steps.append((policy.name, self.object))
                self.again |= invoked
                invoked = set()
            if policy.spec.get("reinvocationPolicy") == "IfNeeded":
                invoked.add(key)
        if self.steps:
            self.again |= invoked

    def _inputs(self, version: str) -> Inputs:
        return Inputs(self._request._replace(object=self.object).in_version(version), self._objects)

    def _calls(self, policies: Sequence[Policy]) -> list[tuple[Policy, Binding, Data | None, str]]:
        """Return policies with bindings, parameters, and the version of the object for each."""
        found = list(invocations(policies, self._request, self._objects, self._version_for))
        for each in found:
            if each.failure:
                self._fail(each.policy, each.binding, CelFailure(str(each.failure), isinstance(each.failure, NotKnown)), "")
        return [(each.policy, each.binding, params, each.version) for each in found for params in each.params]

    def _version_for(self, policy: Policy) -> str:
        version = policy.constraints.version_for(self._request, self._objects)
        if version not in ("", self._request.version):
            seen = self._request.in_version(version).object
            if self._request.shape_in(version) is None or self._request.converted(seen, self._request.version) is None:
                raise NotKnown(f"it changes the object as {version}, and jobspec does not convert it back")
        return version

    def _mutate(self, mutation: Data, policy: Policy, binding: Binding, params: Data | None, version: str) -> None:
        text = (mapping(mutation, "applyConfiguration") or mapping(mutation, "jsonPatch"))["expression"]
        inputs = self._inputs(version)
        evaluation = Evaluation(policy, inputs, params)
        found = evaluation.value(text, evaluation.values)
        if isinstance(found, CelFailure):
            self._fail(policy, binding, found, f"`{in_one_line(text)}`", evaluation.path_of(text))
            return
        try:
            applies = mutation["patchType"] == "ApplyConfiguration"
            shape = self._shape if version == self._request.version else self._request.shape_in(version)
            known = kinds.find(self.object.get("apiVersion", ""), self.object.get("kind", ""))
            seen, is_builtin = inputs.request.object, known is not None and known.is_builtin
            if applies:
                patched = _configured(seen, found, shape, is_builtin=is_builtin, pruned=self.pruned)
            else:
                patched = _patched(seen, found, self._release)
            wrong = _undecodable(patched, shape) if shape and is_builtin else ""
            if wrong and applies:
                of_kind = f"{self._request.kind[0]}/{version}, Kind={self._request.kind[1]}"
                raise ValueError(f"unable to convert unstructured object to {of_kind}: {wrong}")
            if wrong:
                raise _Breaks(f"Internal error occurred: {wrong}")
            self.pruned = list(_undeclared(patched, shape, "", is_stored=True)) if shape and not applies and not is_builtin else ()
            if patched != seen:
                own = self._request.converted(patched, self._request.version) if version != self._request.version else patched
                assert own is not None
                self.object = self._settle(own)
        except ValueError as error:
            self._fail(policy, binding, CelFailure(str(error)), "")
        except _Breaks as error:
            self.decisions.append(Decision(policy.name, binding.name, str(error), "error"))

    def _fail(self, policy: Policy, binding: Binding, failure: CelFailure, what: str, path: Path = ()) -> None:
        if failure.is_unknown:
            why = f"{what} {reads_unknown(failure)}".strip()
            self.decisions.append(Decision(policy.name, binding.name, why, "info", False, hint="it may change the object"))
        elif policy.fails:
            self.decisions.append(Decision(policy.name, binding.name, failure.message, "error", path=path))


def _undecodable(patched: Data, shape: Shape) -> str:
    """Why a server cannot decode a changed object of a built-in kind; empty where it can."""
    problems = schema_problems(patched, shape, typed=True)
    return next((each.message for each in problems if each.rule in ("wrong-type", "unknown-field")), "")


# Apply a configuration: an object with the fields that it sets, merged as server-side apply merges them.


#: The types, in Go, of objects that are replaced as a whole.
_ATOMIC = frozenset(
    (
        *("ConfigMapKeySelector", "CrossVersionObjectReference", "FileKeySelector", "LabelSelector", "LocalObjectReference"),
        *("NodeSelector", "NodeSelectorTerm", "ObjectFieldSelector", "ObjectReference", "OwnerReference", "ResourceFieldSelector"),
        *("ScopeSelector", "SecretKeySelector", "SecretReference", "TopologySelectorTerm", "TypedLocalObjectReference"),
        *("MatchResources", "NamedRuleWithOperations", "ParamKind", "ParamRef", "RoleRef", "ServiceBackendPort", "Subject", "Variable"),
    )
)
#: Maps that are replaced as a whole, by their names.
_ATOMIC_MAPS = ("nodeSelector", "selector")


def _configured(data: Data, value: Any, shape: Shape | None, *, is_builtin: bool, pruned: Sequence[str]) -> Data:
    """Apply a configuration to an object.

    *pruned*: the fields of the object that its schema does not have. Raises ValueError with the server's words if the configuration does
    not fit.
    """
    _check_types(value)
    patch = _without_go_types(value)
    if shape is None:
        return {**data, **_merged_value(data, patch, None, "", is_builtin=is_builtin)}
    if problems := list(_undeclared(patch, shape, "", is_builtin=is_builtin)):
        raise ValueError(f"error applying patch: failed to convert patch object to typed object: {_together(problems)}")
    if atomics := list(_atomics(patch, shape, ())):
        message = f"may not mutate atomic arrays, maps or structs: {', '.join(f'.{spell(each)}' for each in atomics)}"
        raise ValueError(f"error applying patch: invalid ApplyConfiguration: {message}")
    if pruned:
        raise ValueError(f"error applying patch: failed to convert original object to typed object: {_together(pruned)}")
    return {**data, **_merged_value(data, patch, shape, "", is_builtin=is_builtin)}


def _together(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {each}" for each in problems)


def _check_types(value: Data) -> None:
    if wrong := list(_mistyped(value, (value[PATCH_TYPE],))):
        raise ValueError("type mismatch: " + "\n".join(wrong))


def _mistyped(value: Any, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the errors of objects whose type name does not match their field."""
    if isinstance(value, list):
        for each in value:
            yield from _mistyped(each, names)
    elif isinstance(value, dict):
        own = value.get(PATCH_TYPE)
        if own is not None and own != ".".join(names):
            expected = ".".join(names)
            yield f'unexpected type name "{own}", expected "{expected}", which matches field name path from root Object type'
        for field, each in value.items():
            yield from _mistyped(each, names if own is None else (*names, field))


def _without_go_types(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {name: _without_go_types(each) for name, each in value.items() if name != PATCH_TYPE}
    return [_without_go_types(each) for each in value] if isinstance(value, list) else value


def _undeclared(patch: Any, shape: Shape, place: str, *, is_builtin: bool = False, is_stored: bool = False) -> Iterator[str]:
    """Yield the values of a patch that the structure of its kind does not have.

    *place*: the place of the patch, as structured-merge-diff writes it. Of an object's fields, those behind one that is not declared are
    not looked at; a server has them in no fixed order. *is_stored*: it is the object that is patched, which may have items with equal
    keys.
    """
    is_leaf = not isinstance(patch, (dict, list))
    if patch is None or shape.type in ("any", "bare"):
        return
    if (type(patch) not in _SCALARS[shape.type]) if is_leaf else shape.type != ("object" if isinstance(patch, dict) else "array"):
        yield f"{place}: {_expected(shape.type, patch)}"
    elif isinstance(patch, dict):
        for name, each in patch.items():
            child = shape.values or (shape.fields or {}).get(name)
            if child is not None:
                yield from _undeclared(each, child, f"{place}.{name}", is_builtin=is_builtin, is_stored=is_stored)
            elif shape.fields is not None and not shape.open:
                yield f"{place}.{name}: field not declared in schema"
                return
    elif shape.items is not None:
        yield from _undeclared_items(patch, shape, shape.items, place, is_builtin=is_builtin, is_stored=is_stored)


def _undeclared_items(patch: list[Any], shape: Shape, item: Shape, place: str, *, is_builtin: bool, is_stored: bool) -> Iterator[str]:
    """Yield the values in a patch's list that the structure of its kind does not have."""
    seen = set()
    for index, each in enumerate(patch):
        if shape.keys and not isinstance(each, dict):
            what = "a null element" if each is None else "non-map elements"
            yield f"{place}: element {index}: associative list with keys may not have {what}"
            continue
        known = ",".join(f"{key}={json.dumps(value)}" for key, value in _key_of(each, shape, is_builtin=is_builtin))
        if shape.keys and not known:
            keys = " ".join(f'"{key}"' for key in shape.keys)
            omits = f"omits all key fields [{keys}] (and doesn't have default values for any key fields)"
            yield f"{place}: element {index}: associative list with keys has an element that {omits}"
            continue
        name = known or (f"={json.dumps(each)}" if shape.unique else str(index))
        if name in seen and not is_stored:
            yield f"{place}: duplicate entries for key [{name}]"
        seen.add(name)
        yield from _undeclared(each, item, f"{place}[{name}]", is_builtin=is_builtin, is_stored=is_stored)


#: The fields of keys that may be left out, with what they are then.
_KEY_DEFAULTS = {"protocol": "TCP"}


def _key_of(item: Data, shape: Shape, *, is_builtin: bool) -> list[tuple[str, Any]]:
    """Return the key fields of a list's item, with their values.

    Key fields of built-in objects have defaults, an empty string or zero.
    """
    assert shape.items
    fields = shape.items.fields or {}
    empty = {key: 0 if fields[key].type == "integer" else "" for key in shape.keys or ()} if is_builtin else {}
    found = {key: item.get(key, _KEY_DEFAULTS.get(key, empty.get(key))) for key in sorted(shape.keys or ())}
    return [(key, value) for key, value in found.items() if value is not None]


_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "int-or-string": (int, float, str, bool),
    "object": (),
    "array": (),
}
_WORDS = {"object": "map", "array": "list", "boolean": "boolean", "int-or-string": "any scalar"}
_GO_TYPES = {str: "string", bool: "bool", list: "[]interface {}", dict: "map[string]interface {}"}


def _expected(kind: str, value: Any) -> str:
    """Write the server's words for a value of a wrong type. Go prints such values in three ways."""
    if kind in ("integer", "number"):
        return f"expected numeric (int or float), got {_GO_TYPES[type(value)]}"
    if kind == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return f"expected {_WORDS[kind]}, got &{{{_printed(value)}}}"


def _go_syntax(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(name)}:{_go_syntax(each)}" for name, each in sorted(value.items()))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else json.dumps(value)


def _printed(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_printed(each)}' for name, each in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_printed, value))}]"
    return "<nil>" if value is None else value if isinstance(value, str) else json.dumps(value)


def _is_atomic(shape: Shape, name: str) -> bool:
    """Whether a map or list is replaced as a whole; *name*: of its field."""
    if shape.items is not None:
        return not shape.keys and not shape.unique
    return shape.name in _ATOMIC or (name in _ATOMIC_MAPS and shape.values is not None)


def _atomics(patch: Any, shape: Shape | None, path: Path) -> Iterator[Path]:
    """Where a patch has a part of what is replaced as a whole; a server does not look into maps."""
    if shape is None:
        return
    name = str(path[-1]) if path else ""
    if isinstance(patch, dict) and shape.type == "object":
        if _is_atomic(shape, name):
            yield path
        for field, each in patch.items():
            yield from _atomics(each, (shape.fields or {}).get(field), (*path, field))
    elif isinstance(patch, list) and shape.items is not None:
        if _is_atomic(shape, name):
            yield path
        for index, each in enumerate(patch):
            yield from _atomics(each, shape.items, (*path, index))


def _merged_value(live: Any, patch: Any, shape: Shape | None, name: str, *, is_builtin: bool) -> Any:
    """A value with a part of a configuration; *name*: of its field."""
    if not live or (shape and _is_atomic(shape, name)):
        return patch
    if isinstance(live, dict) and (patch is None or isinstance(patch, dict)):
        merged = dict(live)
        for field, each in (patch or {}).items():
            child = (shape.values or (shape.fields or {}).get(field)) if shape else None
            merged[field] = _merged_value(live.get(field), each, child, field, is_builtin=is_builtin)
        return merged
    if isinstance(live, list) and (patch is None or isinstance(patch, list)) and shape and shape.items:
        return _merged_list(live, patch or [], shape, is_builtin=is_builtin)
    return patch


def _merged_list(live: list[Any], patch: list[Any], shape: Shape, *, is_builtin: bool) -> list[Any]:
    """Merge the items of two lists, in the order of the patch, and else of the object.

    An item of the patch replaces all items of the object with its key.
    """

    def key_of(item: Any) -> str:
        return repr(_key_of(item, shape, is_builtin=is_builtin) if shape.keys else item)

    old, new = [key_of(each) for each in live], [key_of(each) for each in patch]
    by_key = {key: each for key, each in zip(old, live, strict=True) if old.count(key) == 1}
    merged: list[Any] = []
    at = other = 0
    while at < len(old) or other < len(new):
        shared = next((key for key in new[other:] if key in old), None)
        if at < len(old) and other < len(new) and old[at] != new[other] and old[at] in new and shared not in (None, old[at]):
            at += 1  # it comes with a later one of the patch
        elif at < len(old) and old[at] not in new:
            merged.append(live[at])
            at += 1
        else:
            if at < len(old) and old[at] in new[: other + 1]:
                at += 1  # it is the one that is merged now, or a further one of its key
            if other < len(new):
                merged.append(_merged_value(by_key.get(new[other]), patch[other], shape.items, "", is_builtin=is_builtin))
                other += 1
    return merged


# Apply JSON patches (RFC 6902).


class _Breaks(Exception):
    """A request that fails regardless of the failure policy; the text says why."""


def _has_object(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, dict) and PATCH_TYPE in value) or any(map(_has_object, inside))


class _TestFailed(Exception):
    """A `test` of a patch does not hold, so that the patch is not applied."""


def _patched(data: Data, operations: list[Data], release: str) -> Data:
    """Apply a JSON patch to an object.

    Raises ValueError with the server's words if the patch does not apply.
    """
    from copy import deepcopy

    for each in operations:
        value = each.get("value")
        if isinstance(value, dict) and PATCH_TYPE in value:
            _check_types(value)
        elif _has_object(value) and not is_at_least(release, "1.37"):
            raise _Breaks(
                "the API server crashes on an `Object` in a list or a map that is the value of a JSON patch, before Kubernetes 1.37"
            )
    made = deepcopy(data)
    try:
        for each in operations:
            _operate(made, each)
    except _TestFailed:
        return data
    except ValueError as error:
        raise ValueError(f"JSON Patch: {error}") from None
    return made


def _operate(made: Data, operation: Data) -> None:
    kind, path, source = operation.get("op") or "", operation.get("path") or "", operation.get("from") or ""
    if kind not in ("add", "remove", "replace", "move", "copy", "test"):
        raise ValueError(f"Unexpected kind: {kind}")
    value = _without_go_types(operation.get("value"))
    if kind in ("move", "copy"):
        value = _get(made, source, kind, "doc is missing from path: " + source)
        if kind == "move":
            _remove(made, source, kind, "doc is missing from path: " + source)
    around = "is missing path: " if kind == "test" else "doc is missing destination path: " if source else "doc is missing path: "
    missing = around + (f'"{path}"' if kind in ("add", "remove") else path)
    if kind == "remove":
        _remove(made, path, kind, missing)
    elif kind == "replace":
        _replace(made, path, value, missing)
    elif kind == "test":
        found = _get(made, path, kind, missing)
        if found is None or found != value:
            raise _TestFailed
    else:
        _add(made, path, value, kind, missing)


def _parent_of(made: Data, path: str, kind: str, missing: str) -> tuple[Any, str]:
    """The object or list that holds a place, and the key or index in it."""
    steps = [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")]
    here: Any = made if len(steps) > 1 else None
    for step in steps[1:-1]:
        try:
            here = here[_index(step, here)] if isinstance(here, list) else here.get(step)
        except ValueError:
            here = None
        if not isinstance(here, (dict, list)):
            here = None
            break
    if here is None:
        raise ValueError(f"{kind} operation does not apply: {missing}: missing value")
    return here, steps[-1]


def _index(key: str, around: list[Any], *, beyond: int = 0) -> int:
    """The place of an item; *beyond* the last one by so many."""
    try:
        index = int(key)
    except ValueError:
        raise ValueError(f'strconv.Atoi: parsing "{key}": invalid syntax') from None
    size = len(around) + beyond
    if not -size <= index < size:
        raise ValueError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + size


def _get(made: Data, path: str, kind: str, missing: str) -> Any:
    around, key = _parent_of(made, path, kind, missing)
    try:
        return around.get(key) if isinstance(around, dict) else around[_index(key, around)]
    except ValueError as error:
        raise ValueError(
            f"error in {kind} for {'from' if kind == 'copy' else 'path'}: '{path if kind != 'move' else key}': {error}"
        ) from None


def _add(made: Data, path: str, value: Any, kind: str, missing: str) -> None:
    around, key = _parent_of(made, path, kind, missing)
    if isinstance(around, dict):
        around[key] = value
        return
    try:
        around.insert(len(around) if key == "-" else _index(key, around, beyond=1), value)
    except ValueError as error:
        why = f"value was not a proper array index: '{key}': {error}" if "Atoi" in str(error) else error
        raise ValueError(
            f"error while adding value during copy: {why}" if kind == "copy" else f"error in {kind} for path: '{path}': {why}"
        ) from None


def _remove(made: Data, path: str, kind: str, missing: str) -> None:
    around, key = _parent_of(made, path, kind, missing)
    try:
        if isinstance(around, dict) and key not in around:
            raise ValueError(f"Unable to remove nonexistent key: {key}: missing value")
        del around[key if isinstance(around, dict) else _index(key, around)]
    except ValueError as error:
        raise ValueError(f"error in {kind} for path: '{key if kind == 'move' else path}': {error}") from None


def _replace(made: Data, path: str, value: Any, missing: str) -> None:
    around, key = _parent_of(made, path, "replace", missing)
    if isinstance(around, dict):
        around[key] = value
        return
    try:
        around[_index(key, around)] = value
    except ValueError:
        raise ValueError(f"replace operation does not apply: doc is missing key: {path}: missing value") from None
