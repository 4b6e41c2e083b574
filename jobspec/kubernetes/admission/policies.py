"""Evaluate ValidatingAdmissionPolicies on a request, as far as that can be done without a server.

Follows k8s.io/apiserver pkg/admission/plugin/policy (`Matcher.Matches`, `CollectParams`, `dispatcher.Dispatch`, `validator.Validate`) and
pkg/admission/plugin/cel, 1.36. The CEL library is imported where the first policy matches. What nobody knows before the object is sent,
such as the user, is an error to CEL: an expression whose value does not depend on it still has one. What an expression costs a server is
not counted as it is evaluated, but estimated: one that may exceed a limit is not evaluated. Where an expression reads several fields of
one null, the message names the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind, group_kind, is_cluster_scoped
from jobspec.diagnostics.places import Data, Path, value_at
from jobspec.documents.document import with_value_at
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import sequence
from jobspec.kubernetes.cel.cost import largest_in, most_for
from jobspec.kubernetes.cel.paths import without_literals
from jobspec.kubernetes.cel.signatures import DYN, OF_VARIABLES, VARIABLES, CelType, declared_type
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.label_selectors import meets, requirements, selects
from jobspec.kubernetes.metadata import NAMESPACE_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.kubernetes.cel.library import ExpressionGroup, Program
    from jobspec.schemas.shapes import Shape

Operation = Literal["CREATE", "UPDATE"]
#: The names on the way to a value in an expression, from a variable on.
Names = tuple[str, ...]


class Request(NamedTuple):
    """A request that creates or updates an object."""

    object: Data
    """As the server has it when it asks the policies: with the defaults of its type."""
    old: Data | None = None
    """The stored object that it updates; None for a new object."""
    namespace: str = ""
    """Empty where nobody says it, and for kinds without one."""
    user: str = ""
    """The name of the account that sends it; empty where nobody knows that."""
    plural: str = ""
    """The resource, such as `pytorchjobs`; empty where its kind decides it."""
    equivalent_versions: tuple[str, ...] = ()
    """Further versions of the group in which the server has the same object."""
    converted: Callable[[Data, str], Data | None] = lambda *_: None
    """Gives an object as one of the versions has it; None where jobspec does not convert it."""
    shape_in: Callable[[str], Shape | None] = lambda _: None
    """Gives the structure of the kind in such a version."""
    sent_version: str = ""
    """The version in which the object is sent, where that is another one."""
    is_named: bool = True
    """Whether a name has been generated for an object without one: not before policies have changed it."""

    @property
    def operation(self) -> Operation:
        """Return the operation: `CREATE` or `UPDATE`."""
        return "CREATE" if self.old is None else "UPDATE"

    @property
    def kind(self) -> GroupKind:
        """Group and kind of the object."""
        return group_kind(self.object["apiVersion"], self.object["kind"])

    @property
    def version(self) -> str:
        """Return the version of the object, without its group."""
        return str(self.object["apiVersion"]).rpartition("/")[2]

    @property
    def resource(self) -> str:
        """Return the resource, as rules of policies name it."""
        return self.plural or kinds.plural_of(self.object["kind"])

    def in_version(self, version: str) -> Request:
        """Return the request as a policy sees it if the policy's rules are for another version.

        Raises NotKnown if jobspec does not convert the object.
        """
        if version == self.version:
            return self
        sides = [each and self.converted(each, version) for each in (self.object, self.old)]
        if sides[0] is None or (self.old is not None and sides[1] is None):
            raise NotKnown(f"it is for {version} of {self.kind[1]}, and jobspec does not convert the object")
        return self._replace(object=sides[0], old=sides[1], sent_version=self.version)

    @property
    def of_resource(self) -> tuple[GroupKind, str, Operation, str]:
        """Return the operation and the resource."""
        return self.kind, self.version, self.operation, self.plural

    @property
    def is_namespaced(self) -> bool:
        """True if the object is in a namespace."""
        return not is_cluster_scoped(self.object["apiVersion"], self.object["kind"])

    @property
    def name(self) -> str:
        """`metadata.name`, empty where the server makes a name."""
        return str(mapping(self.object, "metadata").get("name") or "")


class Decision(NamedTuple):
    """The decision of one policy and binding on a request: a refusal, or why it is unknown."""

    policy: str
    binding: str
    """Empty where the policy itself cannot be evaluated."""
    message: str
    severity: Severity
    """By the actions of the binding; `info` where it was not evaluated."""
    is_evaluated: bool = True
    path: Path = ()
    """The path of the value that the expression reads; of several, what they have in common."""
    hint: str = ""

    def sentence(self, what: str = "") -> str:
        """Return what the decision means for an object, as a sentence.

        *what*: the name of the object, if it is not the manifest itself.
        """
        policy = f"policy `{self.policy}` (binding `{self.binding}`)"
        if not self.is_evaluated:
            return f"{what}{': ' * bool(what)}{policy} was not evaluated: {self.message}"
        if self.severity == "error":
            return f"{what}{' ' * bool(what)}refused by {policy}: {self.message}"
        return f"{policy} {'warns' if self.severity == 'warning' else 'records'}{' of ' * bool(what)}{what}: {self.message}"


def decisions(request: Request, objects: Index) -> list[Decision]:
    """Return the decisions of policies among *objects* on a request, by names of policies."""
    if request.kind[0] == "admissionregistration.k8s.io":  # exempt, so that nobody locks themselves out
        return []
    policies = concerned(request, objects, kinds.VALIDATING_POLICY)
    if not policies:
        return []
    inputs = Inputs(request._replace(plural=request.resource), objects)
    together = objects.prepared(kinds.VALIDATING_POLICY, _prepared).together
    silent = _silent(together, inputs)
    said: dict[Policy, list[Decision]] = {}
    for each in inputs.invocations([each for each in policies if each.is_selective or each not in silent]):
        if each.failure or each.policy not in silent or each.version != request.version:
            said.setdefault(each.policy, []).extend(_of_invocation(each, inputs))
    if inputs.like not in together:
        met = [each for each, found in said.items() if not found and each.constraints.may_match_in(request.version, request)]
        together[inputs.like] = _Together(met, inputs)
    return list(dict.fromkeys(each for found in said.values() for each in found))


class Match(NamedTuple):
    """A policy that applies to a request by one of its bindings."""

    policy: str
    binding: str
    unknown: str = ""
    """What that depends on and nobody knows; empty where it is certain."""


def matching(request: Request, objects: Index, kind: GroupKind) -> Iterator[Match]:
    """The policies of a kind that are for a request, with their match conditions."""
    policies = concerned(request, objects, kind)
    inputs = Inputs(request, objects) if policies else None
    for policy, binding, version, several, failure in inputs.invocations(policies) if inputs else ():
        assert inputs
        met = [Evaluation(policy, inputs.in_version(version), each).matches() for each in several]
        if failure or any(each is True or (isinstance(each, CelFailure) and not each.is_unknown) for each in met):
            yield Match(policy.name, binding.name, str(failure) if isinstance(failure, NotKnown) else "")
        elif any(isinstance(each, CelFailure) for each in met):
            yield Match(policy.name, binding.name, "a match condition reads what is known only when the object is sent")


def concerned(request: Request, objects: Index, kind: GroupKind) -> list[Policy]:
    """Return the policies that may be for a request, with bindings, in the order of their names."""
    prepared = objects.prepared(kind, _prepared)
    if request.of_resource not in prepared.by_resource:
        prepared.by_resource[request.of_resource] = [each for each in prepared.policies if each.constraints.may_match(request)]
    return prepared.by_resource[request.of_resource]


class Policy:
    """A policy with its bindings."""

    def __init__(self, name: str, spec: Data, bindings: Sequence[Binding]) -> None:
        self.name = name
        self.spec = spec
        self.bindings = bindings
        self.constraints = _Constraints(mapping(spec, "matchConstraints"))
        self.is_mutating = "mutations" in spec
        constraints = (self.constraints, *(each.constraints for each in bindings))
        self.is_selective = any(each.is_selective for each in constraints if each)
        """Whether it, or one of its bindings, is for some objects of a resource alone."""
        self._expressions: dict[frozenset[Names], _PolicyExpressions] = {}
        self.fails = spec.get("failurePolicy") != "Ignore"
        """Whether an error refuses a request."""

    def expressions(self, unknown: frozenset[Names]) -> _PolicyExpressions:
        """Its expressions, compiled, by what nobody knows."""
        if unknown not in self._expressions:
            self._expressions[unknown] = _PolicyExpressions(self, unknown)
        return self._expressions[unknown]


class Binding:
    """The scope in which a policy is in force, and the actions if the policy fails."""

    def __init__(self, name: str, spec: Data) -> None:
        self.name = name
        self.spec = spec
        self.constraints = _Constraints(spec["matchResources"]) if spec.get("matchResources") is not None else None
        actions = sequence(spec, "validationActions")
        self.severity: Severity = "error" if "Deny" in actions or not actions else "warning" if "Warn" in actions else "info"


class _Prepared(NamedTuple):
    """The policies of a kind that have bindings."""

    policies: Sequence[Policy]
    by_resource: dict[Any, list[Policy]]
    """The policies that may be for a request, by its `of_resource`."""
    together: dict[Any, _Together]
    """The policies that are evaluated together, by `Inputs.like`."""


def _prepared(objects: Index, kind: GroupKind) -> _Prepared:
    bindings: dict[str, list[Binding]] = {}
    for name, binding in objects.in_namespace((kind[0], f"{kind[1]}Binding"), ""):
        spec = mapping(binding, "spec")
        bindings.setdefault(str(spec.get("policyName")), []).append(Binding(name, spec))
    found = [(name, mapping(each, "spec")) for name, each in objects.in_namespace(kind, "")]
    policies = [Policy(name, spec, bindings[name]) for name, spec in found if name in bindings]
    of_kyverno = objects.in_namespace(kinds.KYVERNO_POLICY, "") if kind == kinds.VALIDATING_POLICY else ()
    policies += [_of_kyverno(name, mapping(each, "spec")) for name, each in of_kyverno if is_in_force(each)]
    return _Prepared(policies, {}, {})


# Policies of Kyverno that are written in the same language.
#
# Follows `BuildValidatingAdmissionPolicy`, github.com/kyverno/kyverno pkg/admissionpolicy, 1.19.


_SAME = ("failurePolicy", "matchConstraints", "matchConditions", "variables", "validations", "auditAnnotations")


def _of_kyverno(name: str, spec: Data) -> Policy:
    """Return Kyverno's policy as one of the server's.

    An expression with Kyverno's functions, such as `resource.Get`, is not evaluated.
    """
    return Policy(name, {field: spec[field] for field in _SAME if field in spec}, [Binding(*kyverno_binding(spec))])


def kyverno_binding(spec: Data) -> tuple[str, Data]:
    """Return a binding, name and spec, that puts Kyverno's policy in force.

    The actions are those of the policy. If the policy names none, the action is `Deny`.
    """
    return "Kyverno", {"validationActions": sequence(spec, "validationActions") or ["Deny"]}


def is_in_force(policy: Data) -> bool:
    """True if Kyverno asks a policy about objects that are sent to the server."""
    evaluation = mapping(policy, "spec", "evaluation")
    return evaluation.get("mode", "Kubernetes") == "Kubernetes" and mapping(evaluation, "admission").get("enabled") is not False


def unsaid_of_kyverno(policy: Data, *, has_exceptions: bool) -> Iterator[tuple[Path, str]]:
    """Yield the parts of Kyverno's policy that jobspec does not evaluate, each with its path."""
    spec = mapping(policy, "spec")
    rules = sequence(mapping(spec, "matchConstraints"), "resourceRules")
    if not is_in_force(policy):
        yield ("spec", "evaluation"), "it is not for objects that are sent to the server"
    elif rules and all(sequence(each, "resources") == ["pods"] for each in rules):
        controllers = mapping(spec, "autogen", "podControllers").get("controllers")
        if controllers is None or controllers:
            which = ", ".join(map(str, controllers)) if controllers else "Deployments, Jobs and other controllers"
            yield ("metadata", "name"), f"the rules that Kyverno derives of it for {which} are not evaluated, those for pods are"
    if has_exceptions:
        yield ("metadata", "name"), "PolicyExceptions are not looked at"


class NotKnown(Exception):
    """The answer cannot be known offline. The text says what is missing."""


class Refused(Exception):
    """The server cannot use the policy or its binding, so that its failure policy decides.

    The text is the server's.
    """

    def __str__(self) -> str:
        return f"failed to configure binding: {self.args[0]}"


class Invocation(NamedTuple):
    """A policy that applies to a request by one of its bindings."""

    policy: Policy
    binding: Binding
    version: str
    """The one in which the policy sees the object."""
    params: Sequence[Data | None] = ()
    """The objects for each of which it is evaluated; a None stands for no object."""
    failure: NotKnown | Refused | None = None
    """Why it is not evaluated."""


def invocations(policies: Sequence[Policy], request: Request, objects: Index, version_for: Callable[[Policy], str]) -> Iterator[Invocation]:
    """The policies that are for a request, by each of their bindings.

    *version_for* gives the version in which a policy sees the object; empty if the policy does not apply. It may raise NotKnown.
    """
    for policy in policies:
        version, unknown = "", None
        try:
            version = version_for(policy)
            if not version:
                continue
        except NotKnown as error:
            unknown = error
        for binding in policy.bindings:
            try:
                if binding.constraints and not binding.constraints.version_for(request, objects):
                    continue
                if unknown:
                    raise unknown
                kind, reference = mapping(policy.spec, "paramKind"), binding.spec.get("paramRef")
                yield Invocation(policy, binding, version, parameters(kind, reference, request, objects))
            except (NotKnown, Refused) as error:
                yield Invocation(policy, binding, version, failure=error)


def _of_invocation(invocation: Invocation, inputs: Inputs) -> Iterator[Decision]:
    policy, binding, version, several, failure = invocation
    if isinstance(failure, NotKnown):
        yield not_evaluated(policy, binding, str(failure))
    elif failure and policy.fails:
        yield Decision(policy.name, binding.name, str(failure), "error")
    for params in several:
        for refused in Evaluation(policy, inputs.in_version(version), params).refusals():
            if isinstance(refused, _Refusal):
                yield Decision(policy.name, binding.name, refused.message, binding.severity, path=refused.path, hint=refused.hint)
            else:
                yield not_evaluated(policy, binding, refused)


def not_evaluated(policy: Policy, binding: Binding, why: str) -> Decision:
    """Return the decision of a policy whose answer is unknown before the object is sent."""
    actions = ", ".join(map(str, sequence(binding.spec, "validationActions")))
    hint = f"where it does not hold, the server does this: {actions}"
    return Decision(policy.name, binding.name, why, "info", is_evaluated=False, hint=hint)


# Which requests a policy or a binding is for.


class _Constraints:
    """The requests that a policy or a binding is for."""

    def __init__(self, spec: Data) -> None:
        self._rules = [_Rule(each) for each in sequence(spec, "resourceRules")]
        self._excluded = [_Rule(each) for each in sequence(spec, "excludeResourceRules")]
        self._is_exact = spec.get("matchPolicy") == "Exact"
        self._of_object = mapping(spec, "objectSelector")
        self._of_namespace = mapping(spec, "namespaceSelector")
        rules = (*self._rules, *self._excluded)
        self.is_selective = bool(self._of_object or self._of_namespace or any(each.names for each in rules))
        """Whether they are for some objects of a resource alone."""

    def may_match(self, request: Request) -> bool:
        """True if a rule matches the operation and resource of a request, in any version."""
        return any(self.may_match_in(version, request) for version in (request.version, *request.equivalent_versions))

    def may_match_in(self, version: str, request: Request) -> bool:
        """True if a rule matches the operation and resource of a request in a version."""
        return not self._rules or any(rule.is_for(request, version) for rule in self._rules)

    def version_for(self, request: Request, objects: Index) -> str:
        """The version in which they are for a request, its own before others; empty where they are not for it.

        If they do not match, return an empty string. Raises NotKnown if all else matches, and the rest depends on objects that are not
        given.
        """
        own = request.version
        versions = (own, *(() if self._is_exact else request.equivalent_versions))
        if any(rule.matches(request, version) for rule in self._excluded for version in versions):
            return ""
        if not self._rules or any(rule.matches(request, own) for rule in self._rules):
            found = own
        else:
            found = next((version for rule in self._rules for version in versions if rule.matches(request, version)), "")
        if found and _selects_object(self._of_object, request) and _selects_namespace(self._of_namespace, request, objects):
            return found
        return ""


class _Rule:
    """The operations on resources that one rule is for."""

    def __init__(self, rule: Data) -> None:
        def named(field: str) -> frozenset[str]:
            return frozenset(map(str, sequence(rule, field)))

        self._operations, self._groups, self._versions = named("operations"), named("apiGroups"), named("apiVersions")
        parts = [each.partition("/") for each in named("resources")]
        self._resources = frozenset(own for own, _, sub in parts if sub in ("", "*"))  # we are asked of no subresource
        self.names = named("resourceNames")
        self._scope = rule.get("scope") or "*"

    def matches(self, request: Request, version: str) -> bool:
        """True if the rule matches a request made in a version."""
        return self.is_for(request, version) and (not self.names or request.name in self.names)

    def is_for(self, request: Request, version: str) -> bool:
        """True if the rule matches the operation on a resource, of whatever name."""
        return (
            not self._resources.isdisjoint(("*", request.resource))
            and not self._groups.isdisjoint(("*", request.kind[0]))
            and not self._operations.isdisjoint(("*", request.operation))
            and not self._versions.isdisjoint(("*", version))
            and (self._scope == "*" or self._scope == ("Namespaced" if request.is_namespaced else "Cluster"))
        )


def _selects_object(selector: Data, request: Request) -> bool:
    sides = [each for each in (request.object, request.old) if each is not None]
    return not selector or any(selects(selector, mapping(each, "metadata", "labels")) for each in sides)


def _selects_namespace(selector: Data, request: Request, objects: Index) -> bool:
    """True if the labels of the object's namespace are selected.

    If the namespace is not given, only its name is known.
    """
    if not selector:
        return True
    if request.kind == kinds.NAMESPACE:
        return selects(selector, {**mapping(request.object, "metadata", "labels"), NAMESPACE_NAME: request.name})
    required = requirements(selector)
    if not request.is_namespaced or not required:
        return True
    namespace = objects.find(kinds.NAMESPACE, "", request.namespace) if request.namespace else None
    if namespace is not None:
        return selects(selector, {**mapping(namespace, "metadata", "labels"), NAMESPACE_NAME: request.namespace})
    known = {NAMESPACE_NAME: request.namespace} if request.namespace else {}
    labels = {each["key"] for each in required} - known.keys()
    if not all(meets(known, each) for each in required if each["key"] in known):
        return False
    if not labels:
        return True
    where = f"the labels of the namespace `{request.namespace}` are" if request.namespace else "the namespace of the object is"
    raise NotKnown(f"{where} not known: its namespaceSelector reads {', '.join(f'`{each}`' for each in sorted(labels))}")


# The objects that a binding has for parameters.


def parameters(kind: Data, reference: Data | None, request: Request, objects: Index) -> list[Data | None]:
    """The objects for each of which the policy is evaluated, by its `paramKind` and the `paramRef` of its binding."""
    if not kind or reference is None:
        return [None]
    group, name = group_kind(kind["apiVersion"], kind["kind"]), reference.get("name")
    anywhere = is_cluster_scoped(kind["apiVersion"], kind["kind"])
    if anywhere and reference.get("namespace"):
        raise Refused("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    namespace = "" if anywhere else reference.get("namespace") or request.namespace
    if not anywhere and not namespace and not request.is_namespaced:
        raise Refused("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    places = [namespace] if kinds.find(kind["apiVersion"], kind["kind"]) else ["", namespace]  # a custom kind may have no namespaces
    there = {own: each for place in places for own, each in objects.in_namespace(group, place)}
    if name:
        found = [there[name]] if name in there else []
    else:
        selector = mapping(reference, "selector")
        found = [each for each in there.values() if selects(selector, mapping(each, "metadata", "labels"))]
    if not found and not objects.complete.lack(group, namespace):
        what = f"{kind['kind']} `{name}`" if name else f"{kind['kind']} that its binding selects"
        raise NotKnown(f"its parameter, the {what}, is not among the given files")
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise Refused("no params found for policy binding with `Deny` parameterNotFoundAction")
    return list(found)


# Evaluate a policy with one parameter.


class _Refusal(NamedTuple):
    message: str
    path: Path = ()
    hint: str = ""


class CelFailure(NamedTuple):
    """The reason why an expression has no value, in the server's words if known.

    *is_unknown*: the expression reads a value that is unknown offline.
    """

    message: str
    is_unknown: bool = False


_METADATA = (("object", "metadata"), ("oldObject", "metadata"))
#: What the server itself sets in metadata, and what comes with the request.
_UNKNOWN: frozenset[Names] = frozenset(
    (
        *((*around, name) for around in _METADATA for name in ("uid", "creationTimestamp", "managedFields", "resourceVersion")),
        ("request", "options"),
    )
)


class Inputs:
    """The values of a request that the expressions of all policies read."""

    def __init__(self, request: Request, objects: Index) -> None:
        self.request = request
        self.objects = objects
        namespace = objects.find(kinds.NAMESPACE, "", request.namespace) if request.namespace else None
        self.unknown = _unknown_in(request, is_namespace_known=namespace is not None)
        self.data: Data = {
            "object": request.object,
            "oldObject": request.old,
            "request": _as_cel(request),
            "namespaceObject": _with_name(namespace, request.namespace) if request.is_namespaced else None,
            "params": None,
        }
        self._largest = largest_in(self.data)
        self._given: dict[tuple[int, bool], tuple[Any, Data, int]] = {}
        self._in_versions: dict[str, Inputs] = {request.version: self}

    @property
    def bits(self) -> int:
        """Return the bits of the size of the largest value, rounded up."""
        return _rounded(self._largest)

    @property
    def like(self) -> tuple[Any, ...]:
        """Return a key of requests for which the same policies are evaluated together."""
        return self.request.of_resource, self.request.namespace, self.unknown, self.bits

    def in_version(self, version: str) -> Inputs:
        """Return the inputs of a policy whose rules are for another version."""
        if version not in self._in_versions:
            self._in_versions[version] = Inputs(self.request.in_version(version), self.objects)
        return self._in_versions[version]

    def invocations(self, policies: Sequence[Policy]) -> Iterator[Invocation]:
        """Yield the policies that are for the request, by each of their bindings."""
        return invocations(policies, self.request, self.objects, self._version_for)

    def _version_for(self, policy: Policy) -> str:
        version = policy.constraints.version_for(self.request, self.objects)
        return version and self.in_version(version).request.version

    def values(self, params: Data | None, *, has_namespace: bool) -> Values:
        """Return the values that expressions read. The CEL library converts them once."""
        from jobspec.kubernetes.cel.library import environment

        key = (id(params), has_namespace)
        if key not in self._given:
            data = {**self.data, "params": params, VARIABLES: {}}
            data |= {} if has_namespace else {"namespaceObject": None}
            self._given[key] = environment(_NAMES).Activation(data), data, max(self._largest, largest_in(params) if params else 0)
        return Values(*self._given[key], budget=_BUDGET if has_namespace else _BUDGET_OF_CONDITIONS)


_NAMES = ("object", "oldObject", "request", "namespaceObject", "params", VARIABLES)


class _PolicyExpression(NamedTuple):
    """A compiled expression."""

    program: Program
    reads: Sequence[Names]
    """The names on the way to each value that it reads."""
    variables: Sequence[str]
    """The variables of the policy that it uses, and those that these use, in the order in which they are evaluated."""
    costs: dict[int, int]
    """The most that it costs where the largest value is of a size, by the bits of that."""
    is_part: bool
    """Whether it only names a part of what is given, such as `object.spec`."""

    def at_most(self, largest: int) -> int:
        """Return the highest cost of the expression if no value is larger than *largest*.

        Sizes are rounded up, so that few costs are estimated.
        """
        bits = _rounded(largest)
        if bits not in self.costs:
            self.costs[bits] = most_for(self.program.checked, None, 1 << bits)
        return self.costs[bits]


def _rounded(largest: int) -> int:
    """The bits of a size, rounded up to one of few numbers."""
    return -(-largest.bit_length() // _FEW_BITS) * _FEW_BITS


class _PolicyExpressions:
    """The expressions of a policy, each compiled when it is first evaluated."""

    def __init__(self, policy: Policy, unknown: frozenset[Names]) -> None:
        self.of_variables = {each["name"]: each["expression"] for each in sequence(policy.spec, "variables")}
        self._spec = policy.spec
        self._unknown = unknown
        self._patches = policy.is_mutating
        self._types: dict[str, CelType] = {}
        self._optional: set[str] = set()
        self.parts: set[str] = set()
        """The variables that only name a part of what is given, such as `object.spec`."""
        self._compiled: dict[str, _PolicyExpression | str] = {}
        for name, text in self.of_variables.items():
            found = self.compiled(text)
            if not isinstance(found, str) and found.is_part:
                self.parts.add(name)
            if not isinstance(found, str) and found.program.gives_optional:
                self._optional.add(name)
            self._types[name] = DYN if isinstance(found, str) else declared_type(found.program.checked.result)
        self._compiled = {}  # some were compiled without the variables after them

    def compiled(self, text: str) -> _PolicyExpression | str:
        """Return an expression, or why it cannot be compiled here."""
        if text not in self._compiled:
            program = _program(text, tuple(self._types.items()), self._unknown, patches=self._patches, optional=frozenset(self._optional))
            self._compiled[text] = program if isinstance(program, str) else self._expression(program)
        return self._compiled[text]

    def _expression(self, program: Program) -> _PolicyExpression:
        from jobspec.kubernetes.cel.syntax import names_of, walk

        reads = [found for found in map(names_of, walk(program.tree.root)) if found]
        own = {names[1] for names in reads if names[0] == VARIABLES and len(names) > 1} & self._types.keys()
        inner = [self.compiled(self.of_variables[name]) for name in own]
        used = own.union(*(each.variables for each in inner if not isinstance(each, str)))
        is_part = bool(names_of(program.tree.root))
        return _PolicyExpression(program, reads, [name for name in self.of_variables if name in used], {}, is_part)

    def group(self, most: int) -> ExpressionGroup | None:
        """Return all expressions that decide on a request, to be evaluated at once.

        No value may be larger than *most*. If a server may not evaluate the group for its cost, if it depends on parameters, or if it
        cannot be compiled, return None. So too if conditions may read the namespace: a server does not give it to them.
        """
        conditions, validations = (
            [each["expression"] for each in sequence(self._spec, field)] for field in ("matchConditions", "validations")
        )
        texts = [*conditions, *validations]
        used = {name for each in self._all_compiled(texts) for name in each.variables}
        names = [name for name in self.of_variables if name in used]
        every = self._all_compiled([*texts, *(self.of_variables[name] for name in names)])
        costs = [each.at_most(most) for each in every]
        has_unseen = bool(conditions) and any(path[0] == "namespaceObject" for each in every for path in each.reads)
        is_whole = len(every) == len(texts) + len(names) and not self._spec.get("paramKind")
        if not is_whole or has_unseen or max(costs, default=0) > _LIMIT or sum(costs) > _BUDGET_OF_CONDITIONS:
            return None
        from jobspec.kubernetes.cel.library import ExpressionGroup

        programs = [each.program for each in every]
        variables = dict(zip(names, programs[len(texts) :], strict=True))
        shown = [name for name in names if name not in self.parts]
        return ExpressionGroup(programs[len(conditions) : len(texts)], programs[: len(conditions)], variables, shown)

    def _all_compiled(self, texts: Sequence[str]) -> list[_PolicyExpression]:
        """The compiled forms of those expressions that can be compiled."""
        return [each for each in map(self.compiled, texts) if not isinstance(each, str)]


# Evaluate policies together: those that say nothing of one request say nothing of most requests.


class _Together:
    """Policies whose expressions are evaluated at once.

    That is for requests with the same unknown values and values of similar sizes.
    """

    def __init__(self, policies: Sequence[Policy], inputs: Inputs) -> None:
        self.most = (1 << inputs.bits) - 1
        """The size that no value of such a request exceeds."""
        self.groups = {each: group for each in policies if (group := each.expressions(inputs.unknown).group(self.most))}

    @cached_property
    def values(self) -> Callable[[Any], list[list[Any]]]:
        """Gives the values of all groups."""
        from jobspec.kubernetes.cel.library import evaluator

        return evaluator([*self.groups.values()], _NAMES)

    def is_silent(self, group: ExpressionGroup, values: list[Any]) -> bool:
        """True if all validations of a policy hold, and its variables are not larger than others."""
        ahead = len(group.expressions)
        return all(each is True for each in values[:ahead]) and all(largest_in(each) <= self.most for each in values[ahead:])


def _silent(known: dict[Any, _Together], inputs: Inputs) -> Collection[Policy]:
    """Return the policies that say nothing of a request in its own version.

    *known*: the groups of policies that are evaluated together.
    """
    together = known.get(inputs.like)
    if not together or not together.groups:
        return ()
    given = inputs.values(None, has_namespace=True).given
    try:
        found = together.values(given)
    except ValueError:  # of a policy that has no value, which is evaluated by itself from now on
        sound = [each for each in together.groups if _has_value(_Together([each], inputs), given)]
        known[inputs.like] = _Together(sound if len(sound) < len(together.groups) else (), inputs)
        return ()
    return {policy for (policy, group), values in zip(together.groups.items(), found, strict=True) if together.is_silent(group, values)}


def _has_value(together: _Together, given: Any) -> bool:
    try:
        return bool(together.values(given))
    except ValueError:
        return False


class Evaluation:
    """The evaluation of a policy on a request with one parameter."""

    def __init__(self, policy: Policy, inputs: Inputs, params: Data | None) -> None:
        self._policy = policy
        self._inputs = inputs
        self._params = params
        self._expressions = policy.expressions(inputs.unknown)

    @property
    def values(self) -> Values:
        """Return the values that the expressions behind the match conditions read."""
        return self._inputs.values(self._params, has_namespace=True)

    def refusals(self) -> Iterator[_Refusal | str]:
        """Yield why the policy refuses the request, and, as plain texts, why that is unknown."""
        conditions = self.matches()
        if isinstance(conditions, CelFailure):
            if conditions.is_unknown:
                yield f"a match condition {reads_unknown(conditions)}"
            elif self._policy.fails:
                yield _Refusal(conditions.message)
            return
        if not conditions:
            return
        values = self.values
        for each in sequence(self._policy.spec, "validations"):
            text = each["expression"]
            found = self.value(text, values)
            if isinstance(found, CelFailure):
                if found.is_unknown:
                    yield f"`{in_one_line(text)}` {reads_unknown(found)}"
                elif self._policy.fails:
                    yield _Refusal(found.message, self.path_of(text))
            elif found is not True:
                yield _Refusal(self._message(each, values), self.path_of(text), self._hint(text))

    def matches(self) -> bool | CelFailure:
        """Evaluate the match conditions: True if all of them hold, False if one is false.

        Match conditions see no namespace.
        """
        conditions = sequence(self._policy.spec, "matchConditions")
        if not conditions:
            return True
        values = self._inputs.values(self._params, has_namespace=False)
        found = [self.value(each["expression"], values) for each in conditions]
        if any(each is False for each in found):
            return False
        failures = [each for each in found if isinstance(each, CelFailure)]
        if not failures:
            return True
        if any(each.is_unknown for each in failures):
            return next(each for each in failures if each.is_unknown)
        if not self._policy.fails:
            return False
        messages = list(dict.fromkeys(each.message for each in failures))
        return CelFailure(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")

    def _message(self, validation: Data, values: Values) -> str:
        """Return the server's message for a validation.

        It is that of the message's expression, unless that fails, else the message, or the expression itself.
        """
        expression = validation.get("messageExpression") or ""
        said = self.value(expression, values) if expression else None
        text = said.strip() if isinstance(said, str) else ""
        if text and len(text.encode()) <= _LONGEST_MESSAGE and "\n" not in text:
            return text
        return (validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"

    def value(self, text: str, values: Values) -> Any:
        """Return the value of an expression, or why it has none."""
        expression = self._expressions.compiled(text)
        if isinstance(expression, str):
            return CelFailure(expression, is_unknown=True)
        for name in expression.variables:
            if name not in values.variables:
                found = self.value(self._expressions.of_variables[name], values)
                values.set(name, found, is_part=name in self._expressions.parts)
        if why := values.spend(expression):
            return CelFailure(why, is_unknown=True)
        try:
            return expression.program.run(values.given, values.of_variable)
        except ValueError as error:
            of_null = self._field_of_null(expression, values) if str(error).endswith(_OF_NULL) else ""
            return _failure(text, str(error), [values.variables[name] for name in expression.variables], of_null)

    def _field_of_null(self, expression: _PolicyExpression, values: Values) -> str:
        """Return the field of a null on which an evaluation failed.

        With an empty map in place of the null, it fails otherwise, or not at all.
        """
        from jobspec.kubernetes.cel.library import environment

        fields = {names[0]: names[1] for names in reversed(expression.reads) if len(names) > 1 and values.is_null(names[0])}
        for name, field in fields.items() if len(fields) > 1 else ():
            try:
                expression.program.run(environment(_NAMES).Activation({**values.data, name: {}}), values.of_variable)
            except ValueError as error:
                if str(error).endswith(_OF_NULL):
                    continue
            return field
        return next(iter(fields.values()), "")

    def path_of(self, text: str) -> Path:
        """Return the path in the object that an expression reads.

        If the expression reads several paths, it is their common part; if it loops over a list, the failing item.
        """
        path = _common({names[1:] for names in self._reads(text) if names[0] == "object"})
        expression = self._expressions.compiled(text)
        found = value_at(self._inputs.request.object, path)
        if isinstance(expression, str) or not isinstance(found, list):
            return path
        loop = next((loop for source, loop in _loops(expression.program) if source == ("object", *path)), None)
        if loop is None:
            return path
        inside = _common({names[1:] for names in expression.reads if names[0] == loop})
        guilty = (at for at, item in enumerate(found) if self._holds_with(text, path, [item]) is not True)
        return next(((*path, at, *inside) for at in guilty), path)

    def _holds_with(self, text: str, path: Names, value: Any) -> Any:
        """The value of an expression for the object with another value at a path."""
        request = self._inputs.request
        changed = Inputs(request._replace(object=with_value_at(request.object, path, value)), self._inputs.objects)
        return self.value(text, changed.values(self._params, has_namespace=True))

    def _reads(self, text: str) -> Iterator[Names]:
        """Yield the names that an expression reads, also by its variables."""
        expression = self._expressions.compiled(text)
        if not isinstance(expression, str):
            yield from expression.reads
            for name in expression.variables:
                yield from self._reads(self._expressions.of_variables[name])

    def _hint(self, text: str) -> str:
        """The part of an expression that is false, and the values of what it compares and reads."""
        values = self.values  # of its own, since a server does not spend on this
        parts = _split(text, ("&&",))
        false = next((each for each in parts if self.value(each, values) is False), text) if parts[1:] else text
        sides = _split(false, _COMPARISONS)
        expression = self._expressions.compiled(false)
        seen = {each: self.value(each, values) for each in sides if sides[1:] and not re.fullmatch(_PLAIN_LITERAL, each)}
        read = () if isinstance(expression, str) else expression.reads
        seen |= {".".join(names): value_at(values.data, names) for names in read}
        shown = [f"`{in_one_line(name)}` is {_shown(value)}" for name, value in seen.items() if isinstance(value, str | int | float)]
        return f"this is false: `{in_one_line(false)}`" + (f"; {', '.join(shown[:3])}" if shown else "")


_LONGEST_MESSAGE = 5 * 1024


# What a server spends at most, in steps of CEL. Follows k8s.io/apiserver pkg/apis/cel/config.go.

_LIMIT, _BUDGET, _BUDGET_OF_CONDITIONS = 1_000_000, 10_000_000, 2_500_000
#: Sizes of values are rounded up to a multiple of so many bits.
_FEW_BITS = 2


class Values:
    """The values that a policy's expressions read, and its variables, each evaluated once."""

    def __init__(self, given: Any, data: Data, largest: int, *, budget: int) -> None:
        self.given = given
        self.variables: dict[str, Any] = {}
        self._data = data
        self._sizes = [largest]
        self._budget = budget
        self._spent_on: list[_PolicyExpression] = []
        self._costs: list[int] = []
        self._is_by_values: list[bool] = []
        """Of each cost: whether it is by the values themselves, not by the size of the largest one alone."""

    @property
    def data(self) -> Data:
        """Return all values by their names."""
        return {**self._data, VARIABLES: self.variables}

    @property
    def largest(self) -> int:
        """Return the size of the largest text, list or map in the values."""
        return max(self._sizes)

    def set(self, name: str, value: Any, *, is_part: bool) -> None:
        """Set a variable, or why it has no value; *is_part*: it is a part of the other values."""
        if not is_part:
            from jobspec.kubernetes.cel.library import as_returned

            self._sizes.append(largest_in(value))
            value = as_returned(value)
        self.variables[name] = value

    def spend(self, expression: _PolicyExpression) -> str:
        """Return why a server may refuse to evaluate an expression for its cost.

        If the server evaluates the expression, return an empty string.
        """
        self._spent_on.append(expression)
        self._costs.append(expression.at_most(self.largest))
        self._is_by_values.append(False)
        if self._costs[-1] > _LIMIT:
            self._tighten(len(self._costs) - 1)
            if self._costs[-1] > _LIMIT:
                return f"may cost more than the {_LIMIT:,} steps that a server spends on an expression"
        for at in sorted(range(len(self._costs)), key=self._costs.__getitem__, reverse=True):
            if sum(self._costs) <= self._budget:
                return ""
            self._tighten(at)
        return "may cost, with those before it, more than a server spends on a policy" if sum(self._costs) > self._budget else ""

    def _tighten(self, at: int) -> None:
        """Estimate the cost of an expression by the values that it reads, once."""
        if not self._is_by_values[at]:
            self._costs[at] = most_for(self._spent_on[at].program.checked, self.data, self.largest)
            self._is_by_values[at] = True

    def is_null(self, name: str) -> bool:
        """True if a name stands for no object."""
        return name in self._data and self._data[name] is None

    def of_variable(self, name: str) -> Any:
        """Return the value of a variable. Raises ValueError if it has none."""
        found = self.variables.get(name)
        if isinstance(found, CelFailure):
            why = found.message.partition(" resulted in error: ")[2]
            raise ValueError(f'composited variable "{name}" fails to evaluate: {why}')
        return found


def _unknown_in(request: Request, *, is_namespace_known: bool) -> frozenset[Names]:
    """The parts of a request that are unknown offline, such as the user."""
    found = set(_UNKNOWN)
    if not request.user:
        found.add(("request", "userInfo"))
    else:
        found |= {("request", "userInfo", "uid"), ("request", "userInfo", "extra")}
    if request.is_namespaced and not request.namespace:
        found |= {("request", "namespace"), ("namespaceObject",), *((*each, "namespace") for each in _METADATA)}
    elif request.is_namespaced and not is_namespace_known:
        of_namespace = ("labels", "annotations", "uid", "creationTimestamp", "resourceVersion")
        found |= {("namespaceObject", "metadata", each) for each in of_namespace}
        found |= {("namespaceObject", "spec"), ("namespaceObject", "status")}
    if not request.name and request.is_named:
        found |= {("object", "metadata", "name"), ("request", "name")}
    return frozenset(found)


def _as_cel(request: Request) -> Data:
    """`request` as expressions see it."""
    (group, kind), version = request.kind, request.version
    of_kind = {"group": group, "version": version, "kind": kind}
    of_resource = {"group": group, "version": version, "resource": request.resource}
    sent = {"version": request.sent_version or version}
    found: Data = {
        "kind": of_kind,
        "resource": of_resource,
        "requestKind": {**of_kind, **sent},
        "requestResource": {**of_resource, **sent},
        "name": request.name,
        "operation": request.operation,
        "dryRun": False,
        "userInfo": {},
        "uid": "",
    }
    namespace = request.name if request.kind == kinds.NAMESPACE else request.namespace
    if namespace:
        found["namespace"] = namespace
    if request.user:
        groups = [f"system:serviceaccounts:{request.user.split(':')[2]}", "system:authenticated"]
        found["userInfo"] = {"username": request.user, "groups": ["system:serviceaccounts", *groups]}
    return {name: each for name, each in found.items() if name != "name" or each}


def _with_name(namespace: Data | None, name: str) -> Data | None:
    """The namespace as expressions see it; of one that is not at hand, its name."""
    if not name:
        return None
    metadata = mapping(namespace, "metadata")
    labels = {NAMESPACE_NAME: name, **mapping(metadata, "labels")}
    return {**(namespace or {}), "metadata": {**metadata, "name": name, "labels": labels}}


@lru_cache(maxsize=2000)
def _program(
    text: str, variables: tuple[tuple[str, CelType], ...], unknown: frozenset[Names], *, patches: bool, optional: frozenset[str]
) -> Program | str:
    """The compiled expression, or why it cannot be compiled here."""
    if re.search(r"(?<![\w.])authorizer\b", without_literals(text)):
        return "asks the authorizer of the server"
    try:
        from jobspec.kubernetes.cel.library import Program

        types = {**dict.fromkeys(_NAMES, DYN), VARIABLES: OF_VARIABLES}
        return Program(text, types, {OF_VARIABLES.name: dict(variables)}, unknown=unknown, patches=patches, optional=optional)
    except ImportError:
        return "needs the CEL library, which is not installed (cel-expr-python)"
    except RuntimeError as error:
        complaint = str(error).splitlines()[0].rpartition("ERROR: ")[2].rpartition("<input>:")[2]
        return f"cannot be compiled ({complaint})"


def _loops(program: Program) -> Iterator[tuple[Names, str]]:
    """Yield the list of each `all` in an expression, and the name of its item."""
    from jobspec.kubernetes.cel.syntax import Comprehension, Literal, names_of, walk

    for node in walk(program.tree.root):
        if isinstance(node, Comprehension) and isinstance(node.start, Literal) and node.start.value is True:
            yield names_of(node.source), node.variables[0]


def _common(several: Collection[Names]) -> Names:
    """The common beginning of paths, where paths that lead to another one are left out."""
    longest = [each for each in several if not any(other[: len(each)] == each and other != each for other in several)]
    first, last = (min(longest), max(longest)) if longest else ((), ())
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), min(len(first), len(last)))
    return first[:same]


#: How the message of the library ends where an expression reads a field of a null.
_OF_NULL = "Applying SELECT to non-message type"


def _failure(text: str, message: str, variables: Sequence[Any], of_null: str) -> CelFailure:
    """Return why an expression has no value.

    *variables*: the values of its variables; *of_null*: a field that it reads of a null.
    """
    from jobspec.kubernetes.cel.library import UNKNOWN

    if UNKNOWN in message:
        return CelFailure("", is_unknown=True)
    unknown = next((each for each in variables if isinstance(each, CelFailure) and each.is_unknown), None)
    return unknown or CelFailure(f"expression '{text}' resulted in error: {_as_server(message, of_null)}")


def _as_server(message: str, of_null: str) -> str:
    """The library's message in the server's words."""
    if of_null and message.endswith(_OF_NULL):
        return f"no such key: {of_null}"
    plain = re.sub("^[A-Z_]+: ", "", message)
    missing = re.fullmatch('Key not found in map : "(.*)"', plain)
    if missing:
        return f"no such key: {missing[1]}"
    index = re.fullmatch("Index error: index=(-?[0-9]+) size=[0-9]+", plain)
    if index:
        return f"index out of bounds: {index[1]}"
    overload = re.fullmatch(r"No matching overloads found : (.+)\((.*)\)", plain)
    if overload:
        types = ", ".join(_TYPE_NAMES.get(each, each) for each in overload[2].split(", "))
        return f"no such overload: {overload[1]}({types})" if overload[1][0].isalpha() else "no such overload"
    return plain.replace("divide by zero", "division by zero")


#: The library's names of types -> the server's.
_TYPE_NAMES = {"int64": "int", "uint64": "uint", "null": "null_type"}


def reads_unknown(failure: CelFailure) -> str:
    """Return why the value of an expression is unknown offline."""
    return failure.message or "reads what is known only when the object is sent, such as the user"


_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_PLAIN_LITERAL = r"""-?[0-9.]+|"[^"]*"|'[^']*'|true|false|null"""


def _split(text: str, operators: tuple[str, ...]) -> list[str]:
    """Split an expression at *operators* on its top level, the longest operator first."""
    depth, parts, start, plain = 0, [], 0, without_literals(text)
    for place, character in enumerate(plain):
        depth += (character in "([{") - (character in ")]}")
        if depth or place < start:
            continue
        if (character == "?" and plain[place - 1] != ".") or plain.startswith("||", place):
            return [text]
        found = next((each for each in operators if plain.startswith(each, place)), None)
        if found:
            parts.append(text[start:place].strip())
            start = place + len(found)
    return [*parts, text[start:].strip()]


def _shown(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def in_one_line(text: str) -> str:
    """Return an expression without line breaks."""
    return " ".join(text.split())
