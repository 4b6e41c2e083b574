"""What the server's Go code says of admission policies in CEL and of their bindings, and its type-check warnings in their status.

Follows `ValidateValidatingAdmissionPolicy`, `ValidateMutatingAdmissionPolicy` and those of their bindings, k8s.io/kubernetes
pkg/apis/admissionregistration/validation, and `TypeChecker.Check`, k8s.io/apiserver pkg/admission/plugin/policy/validating, 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from itertools import product
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import mapping
from jobspec.kubernetes import metadata
from jobspec.kubernetes.cel.paths import RESERVED, spellings
from jobspec.kubernetes.cel.signatures import (
    DYN,
    OF_VARIABLES,
    STRING,
    VARIABLES,
    CelType,
    declared_type,
    list_of,
    map_of,
    parsed_type,
    split_types,
)
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.problems import (
    at_most,
    excluded,
    field_items,
    in_one_line,
    missing,
    named,
    one_of,
    repeated,
    required,
    required_choice,
    required_name,
)
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_SCOPES = ("*", "Cluster", "Namespaced")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
#: The types of patches, each with its field.
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_REINVOCATIONS = ("IfNeeded", "Never")
_MOST_CONDITIONS, _MOST_ANNOTATIONS, _LONGEST_ANNOTATION = 64, 20, 5 * 1024


# Policies.


def policy_problems(policy: Data, old: Any, release: str) -> Problems:
    """Yield the problems of a policy of either kind.

    If *old* is given, unchanged match conditions are not checked, and functions of CEL from later releases are accepted.
    """
    spec, path = policy.get("spec", {}), ("spec",)
    is_mutating = policy["kind"] == "MutatingAdmissionPolicy"
    yield from one_of(spec.get("failurePolicy", "Fail"), _FAILURE_POLICIES, (*path, "failurePolicy"))
    if "paramKind" in spec:
        yield from _kind_of_params(spec["paramKind"], (*path, "paramKind"))
    yield from _constraints(spec, path, is_mutating=is_mutating)
    has_variables, newest = bool(spec.get("variables")) or is_mutating, "" if old else release
    expressions = _CompiledExpressions(newest, has_params="paramKind" in spec, has_variables=has_variables)
    if not old or any(mapping(old, "spec").get(field) != spec.get(field) for field in ("matchConditions", "paramKind")):
        yield from _conditions(spec, path, expressions)
    for at, variable in field_items(spec, "variables", path):
        yield from _variable(variable, at, expressions)
    yield from (_mutations if is_mutating else _validations)(policy, spec, path, expressions)


def _kind_of_params(kind: Data, path: Path) -> Problems:
    version = kind.get("apiVersion", "")
    group, _, release = version.rpartition("/")
    at = (*path, "apiVersion")
    if not version:
        yield missing("apiVersion", kind, path)
    elif version.count("/") > 1:
        yield Problem("wrong-format", at, f"`{version}` is not a group and a version", "write them as `group/version`")
    else:
        if group:
            yield from named(group, "a group", metadata.bad_subdomain, at)
        if not release:
            yield Problem("wrong-format", at, f"`{version}` has no version", "write it as `group/version`")
        else:
            yield from named(release, "a version", metadata.bad_dns1035_label, at)
    if not kind.get("kind"):
        yield missing("kind", kind, path)
    else:
        yield from named(kind["kind"].lower(), "a kind", metadata.bad_dns1035_label, (*path, "kind"))


def _constraints(spec: Data, path: Path, *, is_mutating: bool) -> Problems:
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield missing("matchConstraints", spec, path, "write which resources the policy is for, in `resourceRules`")
        return
    yield from _match_resources(constraints, (*path, "matchConstraints"), is_mutating=is_mutating)
    yield from required(constraints, "resourceRules", (*path, "matchConstraints"))


def _conditions(spec: Data, path: Path, expressions: _CompiledExpressions) -> Problems:
    conditions = spec.get("matchConditions", ())
    yield from at_most(_MOST_CONDITIONS, len(conditions), "item", (*path, "matchConditions"))
    yield from repeated(
        (((*at, "name"), each.get("name") or None) for at, each in field_items(spec, "matchConditions", path)), "a match condition"
    )
    for at, each in field_items(spec, "matchConditions", path):
        yield from expressions.required(each, "expression", at, "bool", has_variables=False, is_trimmed=True)
        yield from required_name(each, "name", "a match condition", metadata.bad_qualified_name, at)


def _variable(variable: Data, path: Path, expressions: _CompiledExpressions) -> Problems:
    name = variable.get("name", "")
    if not name.strip():
        yield missing("name", variable, path)
    elif not re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name) or name in RESERVED:
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is not a CEL identifier", "use letters, digits and `_`")
    found = yield from expressions.required(variable, "expression", path, "")
    if variable.get("expression", "").strip():
        expressions.variables[name] = found


def _validations(policy: Data, spec: Data, path: Path, expressions: _CompiledExpressions) -> Problems:
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        yield missing("validations", spec, path, "a policy has `validations` or `auditAnnotations`")
        return
    for at, each in field_items(spec, "validations", path):
        yield from _validation(each, at, expressions)
    yield from at_most(_MOST_ANNOTATIONS, len(spec.get("auditAnnotations", ())), "item", (*path, "auditAnnotations"))
    keys = (((*at, "key"), each.get("key", "")) for at, each in field_items(spec, "auditAnnotations", path))
    yield from repeated(keys, "an audit annotation")
    for at, each in field_items(spec, "auditAnnotations", path):
        key, name = each.get("key", ""), policy.get("metadata", {}).get("name", "")
        if not name:
            yield Problem("missing-field", (*at, "key"), "the key of an audit annotation needs a policy with a `metadata.name`")
        else:
            yield from named(f"{name}/{key}", "an audit annotation", metadata.bad_qualified_name, (*at, "key"))
        if len(each.get("valueExpression", "").strip()) > _LONGEST_ANNOTATION:
            yield from at_most(_LONGEST_ANNOTATION, len(each["valueExpression"].strip()), "byte", (*at, "valueExpression"))
        else:
            yield from expressions.required(each, "valueExpression", at, "string", "null", is_trimmed=True)


def _validation(validation: Data, path: Path, expressions: _CompiledExpressions) -> Problems:
    yield from expressions.required(validation, "expression", path, "bool")
    message, expression = validation.get("message", ""), validation.get("messageExpression", "")
    if expression and not expression.strip():
        yield Problem("wrong-format", (*path, "messageExpression"), "`messageExpression` is blank", "remove it")
    elif expression:
        yield from expressions.required(validation, "messageExpression", path, "string", has_authorizer=False)
    if message and not message.strip():
        yield Problem("wrong-format", (*path, "message"), "`message` is blank", "remove it")
    elif re.search(r"[\n\r]", message.strip()):
        yield Problem("wrong-format", (*path, "message"), "`message` must not contain line breaks", "write it in one line")
    yield from one_of(validation.get("reason", "Invalid"), _REASONS, (*path, "reason"))


def _mutations(_: Data, spec: Data, path: Path, expressions: _CompiledExpressions) -> Problems:
    yield from required(spec, "mutations", path)
    for at, each in field_items(spec, "mutations", path):
        yield from required_choice(each, "patchType", tuple(_PATCHES), at)
        kind = each.get("patchType")
        for other, field in _PATCHES.items():
            if kind == other and field not in each:
                yield missing(field, each, at, f"a mutation of the type {kind} has it")
            elif kind == other:
                result = "Object" if other == "ApplyConfiguration" else "list(JSONPatch)"
                yield from expressions.required(each[field], "expression", (*at, field), result, patches=True, is_trimmed=True)
            elif kind in _PATCHES and field in each:
                yield excluded((*at, field), f"a mutation of the type {kind} has no `{field}`")
    yield from required_choice(spec, "reinvocationPolicy", _REINVOCATIONS, path)


# What policies and bindings are for.


def _match_resources(resources: Data, path: Path, *, is_mutating: bool) -> Problems:
    yield from one_of(resources.get("matchPolicy", "Equivalent"), _MATCH_POLICIES, (*path, "matchPolicy"))
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector_problems(resources.get(field), (*path, field))
    for field in ("resourceRules", "excludeResourceRules"):
        for at, rule in field_items(resources, field, path):
            yield from _match_rule_problems(rule, at, _MUTABLE if is_mutating and field == "resourceRules" else _OPERATIONS)


def _match_rule_problems(rule: Data, path: Path, operations: Sequence[str]) -> Problems:
    yield from repeated(field_items(rule, "resourceNames", path), "a name")
    for at, name in field_items(rule, "resourceNames", path):
        yield from named(name, "an object", metadata.bad_path_segment, at)
    for field, what in (("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field, ())
        if not values:
            yield missing(field, rule, path, 'the core group is `""`' if field == "apiGroups" else "")
        elif len(values) > 1 and "*" in values:
            yield _beside_all((*path, field), f"other {what}")
    for at, operation in field_items(rule, "operations", path):
        yield from one_of(operation, operations, at)
    for at, version in field_items(rule, "apiVersions", path):
        if not version:
            yield Problem("missing-field", at, "the version is empty")
    yield from _subresource_problems(rule, path)
    yield from one_of(rule.get("scope", "*"), _SCOPES, (*path, "scope"))


def _beside_all(path: Path, others: str) -> Problem:
    return excluded(path, f"beside `*`, {others} must not be specified", "keep `*`, or write them without it")


def _subresource_problems(rule: Data, path: Path) -> Problems:
    """The problems of resources with their subresources, such as `pods/status`."""
    resources, at = rule.get("resources", ()), (*path, "resources")
    yield from required(rule, "resources", path, "write them in the plural, such as `[pods, jobs]`")
    if "*/*" in resources and len(resources) > 1:
        yield excluded(at, "beside `*/*`, other resources must not be specified", "keep `*/*`, or write them without it")
    plain = [each for each in resources if each and "/" not in each]
    if "*" in plain and plain[-1] != "*":
        yield _beside_all(at, "other resources without subresources")
    before: list[str] = []
    for place, resource in field_items(rule, "resources", path):
        own, slash, sub = resource.partition("/")
        if not resource:
            yield Problem("missing-field", place, "the resource is empty")
        for other in (f"{own}/*", f"*/{sub}") if slash else ():
            if other in before:
                yield excluded(place, f"`{other}` is there, too, so `{resource}` must not be specified")
        before.append(resource)


# Bindings.


def binding_problems(binding: Data, _old: Any, _release: str) -> Problems:
    """Yield the problems of a binding of either kind."""
    spec, path = binding.get("spec", {}), ("spec",)
    is_mutating = binding["kind"] == "MutatingAdmissionPolicyBinding"
    yield from required_name(spec, "policyName", "a policy", metadata.bad_subdomain, path)
    if "paramRef" in spec:
        yield from _reference(spec["paramRef"], (*path, "paramRef"))
    if "matchResources" in spec:
        yield from _match_resources(spec["matchResources"], (*path, "matchResources"), is_mutating=is_mutating)
    if not is_mutating:
        yield from _actions(spec, path)


def _reference(reference: Data, path: Path) -> Problems:
    name = reference.get("name", "")
    if name:
        yield from named(name, "an object", metadata.bad_path_segment, (*path, "name"))
    if "selector" in reference:
        yield from selector_problems(reference["selector"], (*path, "selector"))
        if name:
            yield excluded((*path, "name"), "`name` and `selector` are mutually exclusive", "keep one of the two")
    elif not name:
        yield Problem("missing-field", path, "one of `name` or `selector` must be specified", at_key=True)
    yield from required_choice(reference, "parameterNotFoundAction", _NOT_FOUND_ACTIONS, path)


def _actions(spec: Data, path: Path) -> Problems:
    actions = spec.get("validationActions", ())
    yield from required(spec, "validationActions", path, "write `[Deny]`, `[Warn]` or `[Audit]`")
    for at, action in field_items(spec, "validationActions", path):
        yield from one_of(action, _ACTIONS, at)
    yield from repeated(field_items(spec, "validationActions", path), "an action")
    if {"Deny", "Warn"} <= set(actions):
        yield excluded((*path, "validationActions"), "`Deny` and `Warn` are mutually exclusive", "keep one of the two")


# Expressions.


#: The fields of the objects that any expression of a policy reads, with their types; those of Kubernetes begin with a capital letter.
_FIELDS = {
    "GroupVersionKind": "group string, version string, kind string",
    "GroupVersionResource": "group string, version string, resource string",
    "UserInfo": "username string, uid string, groups list<string>, extra map<string, list<string>>",
    "AdmissionRequest": """kind GroupVersionKind, resource GroupVersionResource, requestKind GroupVersionKind,
        requestResource GroupVersionResource, subResource string, requestSubResource string, name string, namespace string,
        operation string, userInfo UserInfo, dryRun bool, options dyn""",
    "Namespace": "metadata NamespaceMetadata, spec NamespaceSpec, status NamespaceStatus",
    "NamespaceMetadata": """name string, generateName string, namespace string, UID string, resourceVersion string,
        labels map<string, string>, annotations map<string, string>, creationTimestamp timestamp, deletionTimestamp timestamp,
        deletionGracePeriodSeconds int, generation int, finalizers list<string>""",
    "NamespaceSpec": "finalizers list<string>",
    "NamespaceStatus": "conditions list<NamespaceCondition>, phase string",
    "NamespaceCondition": "status string, type string, message string, reason string, lastTransitionTime timestamp",
}


def _types() -> tuple[dict[str, CelType], dict[str, dict[str, CelType]]]:
    """The types of what any expression of a policy reads, and the fields of objects among them."""
    namespace, request = CelType("kubernetes.Namespace"), CelType("kubernetes.AdmissionRequest")
    return {"object": DYN, "oldObject": DYN, "namespaceObject": namespace, "request": request}, dict(_TYPED_FIELDS)


_ROWS = {f"kubernetes.{name}": (each.split(maxsplit=1) for each in split_types(fields)) for name, fields in _FIELDS.items()}
_TYPED_FIELDS = {name: {field: parsed_type(kind) for field, kind in row} for name, row in _ROWS.items()}


class _CompiledExpressions:
    """The expressions of a policy, compiled in the order in which the server does it."""

    def __init__(self, release: str, *, has_params: bool, has_variables: bool) -> None:
        self._release = release
        self._has_params = has_params
        self._has_variables = has_variables
        self.variables: dict[str, CelType] = {}
        """The types of the variables so far."""

    def required(
        self,
        around: Data,
        field: str,
        path: Path,
        *results: str,
        has_variables: bool = True,
        has_authorizer: bool = True,
        patches: bool = False,
        is_trimmed: bool = False,
    ) -> Generator[Problem, None, CelType]:
        """Yield the problems of an expression in a field, and return the expression's type.

        The expression must give one of the types *results*. An empty expression has any type.
        """
        text, at = around.get(field, ""), (*path, field)
        if not text.strip():
            yield missing(field, around, path)
            return DYN
        try:
            from jobspec.kubernetes.cel.types import compile_text
        except ImportError:
            yield Problem("rule-not-evaluated", at, "the expression was not checked: the CEL library is not installed (cel-expr-python)")
            return DYN
        types, fields = _types()
        if self._has_variables and has_variables:
            types[VARIABLES] = OF_VARIABLES
            fields[OF_VARIABLES.name] = self.variables
        types |= {"params": DYN} if self._has_params else {}
        if has_authorizer:
            types |= {"authorizer": CelType("authorizer"), "authorizer.requestResource": CelType("resourceCheck")}
        try:
            checked = compile_text(text.strip() if is_trimmed else text, types, fields, release=self._release, patches=patches)
        except RecursionError:
            yield Problem("rule-not-evaluated", at, "the expression was not checked: it is nested deeper than the CEL library parses")
            return DYN
        except ValueError as error:
            yield Problem("wrong-format", at, f"`{in_one_line(text)}` does not compile: {error}")
            return DYN
        found = str(checked.result)
        if found not in results and results != ("",):
            wanted = results[0] if len(results) == 1 else f"one of [{' '.join(results)}]"
            message = f"`{in_one_line(text)}` must evaluate to {wanted} but got {found}".replace(" null", " null_type")
            yield Problem("wrong-format", at, message)
        return declared_type(checked.result)


# Type-check warnings in the status of a policy: expressions that do not fit the kinds that it matches.


_MOST_KINDS = 10


def type_warnings(policy: Data, target: Target) -> Iterator[tuple[Path, str, bool]]:
    """Yield the expressions of an accepted policy with a type error, and the server's warning.

    An expression is checked against each kind that the policy matches. Of kinds that CRDs define, only our own are known. The last value
    is True if the expression works all the same: a server sees no quantities of built-in kinds when it looks at types, and says that
    there is no such field.
    """
    spec, seen = mapping(policy, "spec"), set[Path]()
    for name, shape, is_builtin in _kinds_for(mapping(spec, "matchConstraints"), target):
        compiles = _Typed(spec, shape, target, is_builtin=is_builtin)
        for at, validation in field_items(spec, "validations", ("spec",)):
            for field in ("expression", "messageExpression"):
                text = validation.get(field) or ""
                why = compiles.compiled(text) if text.strip() else DYN
                if isinstance(why, str) and (*at, field) not in seen:
                    seen.add((*at, field))
                    is_unseen = any(why.endswith(f"undefined field '{each}'") for each in compiles.unseen)
                    yield (*at, field), f"`{in_one_line(text)}` does not fit {name}: {why}", is_unseen


def _kinds_for(constraints: Data, target: Target) -> list[tuple[str, Shape, bool]]:
    """Return the kinds of the server's type check: those named by rules without `*`.

    Each comes with its structure, and True if it is built in.
    """
    found: dict[tuple[str, str, str], tuple[str, Shape, bool]] = {}
    for rule in constraints.get("resourceRules") or ():
        groups, versions, resources = (sorted(rule.get(each) or ()) for each in ("apiGroups", "apiVersions", "resources"))
        if any("*" in each for each in (*groups, *versions)):
            continue
        for group, version, resource in product(groups, versions, [each for each in resources if not re.search("[*/]", each)]):
            for kind in kinds.all_of(group, resource):
                api_version = f"{kind.group}/{version}".lstrip("/")
                shape = shapes.load(api_version, kind.name, target) if api_version in kind.api_versions else None
                if shape is not None and len(found) < _MOST_KINDS:
                    found[kind.group, version, kind.name] = (kind.name, shape, kind.is_builtin)
    return [each for _, each in sorted(found.items())]


class _Typed:
    """Compiles the expressions of a policy for objects of one kind."""

    def __init__(self, spec: Data, shape: Shape, target: Target, *, is_builtin: bool) -> None:
        types, self._fields = _types()
        self.unseen: set[str] = set()
        """The fields that a server does not see."""
        self._metadata = shapes.load_metadata(target)
        own = self._type_of(shape, {}, is_builtin=is_builtin)
        self._types = {**types, "object": own or DYN, "oldObject": own or DYN, "authorizer": CelType("authorizer")}
        if parameter := spec.get("paramKind"):
            known = kinds.find(parameter.get("apiVersion", ""), parameter.get("kind", ""))
            found = shapes.load(parameter["apiVersion"], parameter["kind"], target) if known else None
            self._types["params"] = (found and known and self._type_of(found, {}, is_builtin=known.is_builtin)) or DYN
        self._types[VARIABLES] = OF_VARIABLES
        self._fields[OF_VARIABLES.name] = variables = {}
        for each in spec.get("variables") or ():
            found_type = self.compiled(each.get("expression") or "")
            variables[each.get("name")] = DYN if isinstance(found_type, str) else declared_type(found_type)

    def compiled(self, text: str) -> CelType | str:
        """Return the type of an expression, or why it does not fit."""
        from jobspec.kubernetes.cel.types import compile_text

        try:
            return compile_text(text, self._types, self._fields).result
        except RecursionError:
            return DYN
        except ValueError as error:
            return str(error)

    def _type_of(self, shape: Shape, known: dict[int, CelType | None], *, is_builtin: bool) -> CelType | None:
        """The CEL type of a structure; None where expressions do not see its values."""
        if id(shape) in known:
            return known[id(shape)]
        if shape.type == "int-or-string":
            return None if is_builtin and shape.format == "quantity" else DYN
        inner = shape.items or shape.values
        if inner is not None:
            of_inner = self._type_of(inner, known, is_builtin=is_builtin)
            return of_inner and (list_of(of_inner) if shape.items else map_of(STRING, of_inner))
        if shape.type == "object":
            return self._object(shape, known, is_builtin=is_builtin)
        return _cel_scalar(shape)

    def _object(self, shape: Shape, known: dict[int, CelType | None], *, is_builtin: bool) -> CelType:
        own = known[id(shape)] = CelType(f"object {len(self._fields)}")
        fields = self._fields[own.name] = dict[str, CelType]()
        for name, child in (shape.fields or {}).items():
            found = self._type_of(self._metadata if child.meta else child, known, is_builtin=is_builtin)
            fields |= dict.fromkeys(spellings(name), found) if found else {}
            if found is None:
                self.unseen.add(name)
        return own


def _cel_scalar(shape: Shape) -> CelType | None:
    formats = {"date-time": "timestamp", "date": "timestamp", "duration": "duration", "byte": "bytes"}
    names = {"boolean": "bool", "integer": "int", "number": "double", "string": formats.get(shape.format, "string")}
    return CelType(names[shape.type]) if shape.type in names else None
