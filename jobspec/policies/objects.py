"""The objects of policies: ValidatingAdmissionPolicies with their bindings, and the parameters that they read."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.diagnostics.record import Record
from jobspec.lint.catalogue import rules
from jobspec.lint.pages import sections
from jobspec.lint.topics import every_rule
from jobspec.policies.cel import literal, pods
from jobspec.policies.templates import OBJECT, templates_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.policies.rule import Parameter, PolicyRule

    Object = dict[str, Any]

ACTIONS = ("Warn", "Deny", "Audit")
"""What a server does with an object that breaks a rule; the first is the default."""
PLACES = ("none", "configmap", "crd")
"""Where policies read their parameters; `none` writes the values into the policies."""
DOMAIN = "jobspec.dev"
_GROUP = f"policies.{DOMAIN}"
_KIND, _PLURAL, _VERSION = "PolicyParameters", "policyparameters", "v1alpha1"
PARAMETERS = f"{_GROUP}/{_VERSION}"
"""The `apiVersion` of the custom resource that holds parameters."""
NAME = "jobspec-policies"
"""The name of the object that holds parameters."""
#: Where the programs of the cluster itself run.
_SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
_LONGEST_MESSAGE = 400


class Choices(Record):
    """How policies are put in force."""

    action: str = ACTIONS[0]
    parameters: str = PLACES[0]
    """Where policies read their parameters."""
    namespace: str = "kube-system"
    """The namespace of the ConfigMap; empty for the one of each object's own namespace."""
    labels: Mapping[str, str] = {}
    """Labels of the namespaces in which they hold; all but those of the system by default."""
    namespaces: Sequence[str] = ()
    """The names of these namespaces."""
    only: Sequence[GroupKind] = ()
    """The kinds that they are for; all by default."""


def written(wanted: Sequence[PolicyRule], choices: Choices) -> list[Object]:
    """Return policies with their bindings, behind the objects that hold their parameters."""
    parameters = {one.name: one for each in wanted for one in each.parameters} if choices.parameters != PLACES[0] else {}
    found = _of_parameters(parameters, choices) if parameters else []
    for each in wanted:
        covered = [kind for kind in each.kinds if not choices.only or kind in choices.only]
        if covered:
            found += [_policy(each, covered, choices), _binding(each, choices)]
    return found


def _policy(rule: PolicyRule, covered: Sequence[GroupKind], choices: Choices) -> Object:
    by_params = choices.parameters != PLACES[0] and bool(rule.parameters)
    annotations = {f"{DOMAIN}/rule": rule.name}
    if rule.differs:
        annotations[f"{DOMAIN}/differs-from-rule"] = "; ".join(rule.differs)
    spec: Object = {
        "failurePolicy": "Fail" if choices.action == "Deny" else "Ignore",
        **({"paramKind": _param_kind(choices)} if by_params else {}),
        "matchConstraints": {"resourceRules": _resource_rules(covered)},
        **({"matchConditions": [_OF_NO_CONTROLLER]} if rule.written_only else {}),
        "variables": _variables(rule, covered, choices),
        "validations": [
            {
                "expression": "variables.found == []",
                "message": _message(rule.name),
                "messageExpression": f"{literal(_message(rule.name) + ': ')} + variables.found.join(', ')",
                "reason": "Invalid",
            }
        ],
    }
    return {
        "apiVersion": kinds.POLICY_API_VERSION,
        "kind": kinds.VALIDATING_POLICY[1],
        "metadata": _metadata(f"{rule.name}.{DOMAIN}", annotations),
        "spec": spec,
    }


#: What a controller makes of another object is judged there, where people can change it.
_OF_NO_CONTROLLER = {
    "name": "no-controller",
    "expression": "!object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false))",
}


def _variables(rule: PolicyRule, covered: Sequence[GroupKind], choices: Choices) -> list[Object]:
    """The variables of a policy in the order in which they read each other; those that nothing reads are left out."""
    every = {
        OBJECT.partition(".")[2]: "dyn(object)",
        **{each.field: _value(each, choices) for each in rule.parameters},
        "templates": templates_of(covered),
        **rule.variables,
        "pods": pods(rule.found),
        "found": rule.found,
    }
    used, left = {"found"}, ["found"]
    while left:
        text = every[left.pop()]
        for name in every:
            if name not in used and f"variables.{name}" in text:
                used.add(name)
                left.append(name)
    return [{"name": name, "expression": text} for name, text in every.items() if name in used]


def _value(parameter: Parameter, choices: Choices) -> str:
    """The value of a parameter, in CEL."""
    if choices.parameters == PLACES[0]:
        return _typed(literal(parameter.default))
    if choices.parameters == "crd":
        return f"params.?spec.?{parameter.field}.orValue({_typed(literal(parameter.default))})"
    said = f"params.?data[?{literal(parameter.name)}].orValue({literal(_in_lines(parameter))})"
    if isinstance(parameter.default, int):
        return f"int({said}.trim())"
    return f"{said}.split('\\n').map(line, line.trim()).filter(line, line != '')"


def _typed(text: str) -> str:
    """Write a list that is empty with the type of its items."""
    return "[''].filter(each, each != '')" if text == "[]" else text


def _in_lines(parameter: Parameter) -> str:
    """The default of a parameter as the value of a ConfigMap: a number, or an item in each line."""
    return str(parameter.default) if isinstance(parameter.default, int) else "\n".join(parameter.default)


def _message(rule: str) -> str:
    """What a policy says: the first sentence of the rule, the way out, and where more is said."""
    advice = next((each for each in every_rule() if each.name == rule), None)
    first, _, rest = rules()[rule].partition(". ")
    parts = [first.rstrip(".")]
    instead = sections(advice.check).get("Instead", "") if advice else rest
    whole = f"{parts[0]}. Instead: {instead.rstrip('.')}" if instead else parts[0]
    said = whole if len(whole) <= _LONGEST_MESSAGE else parts[0]
    return f"{said} (jobspec explain {rule})"


def _resource_rules(covered: Sequence[GroupKind]) -> list[Object]:
    """The rules of a policy: one for each group and its versions."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for group, name in covered:
        versions = sorted(version for kind in kinds.every() if (kind.group, kind.name) == (group, name) for version in kind.versions)
        found.setdefault((group, tuple(versions)), []).append(kinds.plural_of(name))
    return [
        {"apiGroups": [group], "apiVersions": list(versions), "operations": ["CREATE"], "resources": sorted(resources)}
        for (group, versions), resources in found.items()
    ]


def _binding(rule: PolicyRule, choices: Choices) -> Object:
    name = f"{rule.name}.{DOMAIN}"
    spec: Object = {"policyName": name, "validationActions": [choices.action]}
    if choices.parameters != PLACES[0] and rule.parameters:
        place = {"namespace": choices.namespace} if choices.parameters == "configmap" and choices.namespace else {}
        spec["paramRef"] = {"name": NAME, **place, "parameterNotFoundAction": "Allow"}
    spec["matchResources"] = {"namespaceSelector": _selector(choices)}
    return {"apiVersion": kinds.POLICY_API_VERSION, "kind": kinds.VALIDATING_POLICY_BINDING[1], "metadata": _metadata(name), "spec": spec}


def _selector(choices: Choices) -> Object:
    """The namespaces in which policies hold."""
    key = "kubernetes.io/metadata.name"
    named = {"key": key, "operator": "In", "values": list(choices.namespaces)}
    system = {"key": key, "operator": "NotIn", "values": list(_SYSTEM)}
    selector: Object = {"matchLabels": dict(choices.labels)} if choices.labels else {}
    return {**selector, "matchExpressions": [named if choices.namespaces else system]}


def _metadata(name: str, annotations: Mapping[str, str] | None = None, namespace: str = "") -> Object:
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "labels": {"app.kubernetes.io/managed-by": "jobspec"},
        **({"annotations": dict(annotations)} if annotations else {}),
    }


# Parameters.


def _param_kind(choices: Choices) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap"} if choices.parameters == "configmap" else {"apiVersion": PARAMETERS, "kind": _KIND}


def _of_parameters(parameters: Mapping[str, Parameter], choices: Choices) -> list[Object]:
    """The object with the parameters and their defaults; before a custom resource its CRD."""
    if choices.parameters == "configmap":
        data = {name: _in_lines(each) for name, each in parameters.items()}
        metadata = _metadata(NAME, namespace=choices.namespace)
        return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]
    spec = {each.field: each.default if isinstance(each.default, int) else list(each.default) for each in parameters.values()}
    return [_definition(parameters), {"apiVersion": PARAMETERS, "kind": _KIND, "metadata": _metadata(NAME), "spec": spec}]


def _definition(parameters: Mapping[str, Parameter]) -> Object:
    fields = {each.field: _schema(each) for each in parameters.values()}
    schema = {
        "type": "object",
        "description": "The parameters of policies that `jobspec policy` writes.",
        "properties": {"spec": {"type": "object", "properties": fields}},
    }
    names = {"kind": _KIND, "listKind": f"{_KIND}List", "plural": _PLURAL, "singular": _PLURAL}
    version = {"name": _VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": kinds.CUSTOM_RESOURCE_DEFINITION[1],
        "metadata": _metadata(f"{_PLURAL}.{_GROUP}"),
        "spec": {"group": _GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }


def _schema(parameter: Parameter) -> Object:
    if isinstance(parameter.default, int):
        return {"type": "integer", "format": "int32", "description": parameter.what}
    return {"type": "array", "items": {"type": "string"}, "description": parameter.what}
