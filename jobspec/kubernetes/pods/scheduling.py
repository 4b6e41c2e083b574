"""Where a pod runs: affinity, tolerations, topology spread, node and classes.

Follows `ValidatePodSpec`, `validateSchedulingGates` and `validateReadinessGates`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.apis.kinds import TAINT_EFFECTS
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes import metadata
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.pods.resources import bad_container_resource, requirement_problems
from jobspec.kubernetes.problems import (
    choice,
    describe,
    excluded,
    field_items,
    formed,
    listed,
    missing,
    named,
    one_of,
    required,
    required_choice,
    required_form,
    required_name,
    unsupported,
    within,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


#: The fields that name an object, and what kind of object.
_NAMES = {
    "nodeName": "a node",
    "priorityClassName": "a PriorityClass",
    "runtimeClassName": "a RuntimeClass",
}
PREEMPTIONS = ("PreemptLowerPriority", "Never")


def scheduling_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of tolerations, of gates, of the node's labels, and of names."""
    for at, toleration in field_items(spec, "tolerations", path):
        yield from toleration_problems(toleration, at)
    yield from metadata.wanted_label_problems(spec.get("nodeSelector", {}), (*path, "nodeSelector"))
    seen: set[str] = set()
    for at, gate in field_items(spec, "schedulingGates", path):
        name = gate.get("name") or ""
        yield from required_name(gate, "name", "a gate", metadata.bad_qualified_name, at)
        if name and name in seen:
            yield Problem("duplicate-item", (*at, "name"), f"two gates are named `{name}`", "remove one of the two")
        seen.add(name)
    for at, gate in field_items(spec, "readinessGates", path):
        yield from required_name(gate, "conditionType", "a condition", metadata.bad_qualified_name, at)
    for field, what in _NAMES.items():
        if spec.get(field) or (field in spec and field == "runtimeClassName"):
            yield from named(spec[field], what, metadata.bad_subdomain, (*path, field))
    for problem in requirement_problems({"limits": spec.get("overhead", {})}, path, bad_container_resource, spec):
        yield problem.moved_to((*path, "overhead", *problem.path[len(path) + 1 :]))
    yield from choice(spec, "preemptionPolicy", PREEMPTIONS, path)


# Affinity to nodes and pods.
#
# Follows `validateAffinity` and `validatePodAffinityTerm`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_OF_PODS = ("podAffinity", "podAntiAffinity")


def affinity_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of a pod's affinity to nodes, to pods, and against pods."""
    affinity, at = spec.get("affinity") or {}, (*path, "affinity")
    yield from node_affinity_problems(affinity.get("nodeAffinity") or {}, (*at, "nodeAffinity"), release)
    for field in _OF_PODS:
        for place, preferred in field_items(affinity.get(field) or {}, PREFERRED, (*at, field)):
            yield from weight_problems(preferred, place)
    for place, term in pod_terms(spec, path):
        yield from _pod_affinity_term(term, place)


def pod_terms(spec: Data, path: Path) -> Iterator[tuple[Path, Data]]:
    """Yield the terms about other pods, required and preferred, with their paths."""
    for field in _OF_PODS:
        affinity, at = (spec.get("affinity") or {}).get(field) or {}, (*path, "affinity", field)
        yield from field_items(affinity, REQUIRED, at)
        for place, preferred in field_items(affinity, PREFERRED, at):
            yield (*place, "podAffinityTerm"), preferred.get("podAffinityTerm") or {}


def _pod_affinity_term(term: Data, path: Path) -> Problems:
    yield from selector_problems(term.get("labelSelector"), (*path, "labelSelector"))
    yield from selector_problems(term.get("namespaceSelector"), (*path, "namespaceSelector"))
    for at, name in field_items(term, "namespaces", path):
        if why := metadata.bad_label_name(name):
            yield Problem("invalid-name", at, f'"{name}" is not a valid name for a namespace: {why}')
    yield from label_key_problems(term, path)
    hint = "name a label of nodes, such as `kubernetes.io/hostname`"
    yield from required_form(term, "topologyKey", "label key", metadata.bad_qualified_name, path, hint)


# Node affinity: which nodes a pod requires and prefers.
#
# Follows `validateNodeAffinity`, `ValidateNodeSelector` and `ValidatePreferredSchedulingTerms`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_OF_FIELDS = ("In", "NotIn")
_FIELD = "metadata.name"


def node_affinity_problems(affinity: Data, path: Path, release: str) -> Problems:
    """Yield the problems of `nodeAffinity`.

    Before 1.33, the values that it requires of labels can be any text.
    """
    if REQUIRED in affinity:
        selector, at = affinity[REQUIRED], (*path, REQUIRED)
        yield from required(selector, "nodeSelectorTerms", at, "write at least one term, or remove the requirement")
        for place, term in field_items(selector, "nodeSelectorTerms", at):
            yield from _node_selector_term(term, place, values=is_at_least(release, "1.33"))
    for at, preferred in field_items(affinity, PREFERRED, path):
        yield from weight_problems(preferred, at)
        yield from _node_selector_term(preferred.get("preference") or {}, (*at, "preference"), values=False)


def weight_problems(preferred: Data, path: Path) -> Problems:
    """Yield the problem of the weight of a preference."""
    if "weight" not in preferred:
        yield missing("weight", preferred, path, "write 1 to 100")
    yield from within(preferred.get("weight", 1), 1, 100, (*path, "weight"))


def _node_selector_term(term: Data, path: Path, *, values: bool) -> Problems:
    """The problems of a term; a preference's *values* can be any text."""
    for at, condition in field_items(term, "matchExpressions", path):
        yield from _label_condition(condition, at, values=values)
    for at, condition in field_items(term, "matchFields", path):
        yield from _field_condition(condition, at)


def _label_condition(condition: Data, path: Path, *, values: bool) -> Problems:
    operator, given = condition.get("operator") or "", condition.get("values") or ()
    yield from required_form(condition, "key", "label key", metadata.bad_qualified_name, path)
    yield from required_choice(condition, "operator", _NODE_OPERATORS, path, f"it is one of {listed(_NODE_OPERATORS)}")
    if operator in ("In", "NotIn") and not given:
        yield missing("values", condition, path, f"`{operator}` compares the label with a list of values")
    elif operator in ("Exists", "DoesNotExist") and given:
        yield excluded((*path, "values"), f"`operator: {operator}` does not allow `values`", "remove the values, or write `In` or `NotIn`")
    elif operator in ("Gt", "Lt") and len(given) != 1:
        yield Problem("wrong-size", (*path, "values"), f"`{operator}` compares the label with one value, not {len(given)}")
    for at, value in field_items(condition, "values", path) if values else ():
        yield from formed(value, "label value", metadata.bad_label_value, at)


def _field_condition(condition: Data, path: Path) -> Problems:
    key, operator, given = condition.get("key") or "", condition.get("operator") or "", condition.get("values") or ()
    yield from required_choice(condition, "operator", _OF_FIELDS, path, f"it is one of {listed(_OF_FIELDS)}")
    if operator in _OF_FIELDS and len(given) != 1:
        yield Problem("wrong-size", (*path, "values"), f"a field of a node is compared with one value, not {len(given)}")
    yield from required_choice(condition, "key", (_FIELD,), path, f"it is `{_FIELD}`")
    for at, value in field_items(condition, "values", path) if key == _FIELD else ():
        if why := metadata.bad_subdomain(value):
            yield Problem("invalid-name", at, f'"{value}" is not a valid name for a node: {why}')


# `matchLabelKeys` and `mismatchLabelKeys`, whose values a selector takes from the pod.
#
# Follows `ValidateMatchLabelKeysAndMismatchLabelKeys`, k8s.io/kubernetes pkg/apis/core/validation, and `applyLabelKeysToLabelSelector`,
# pkg/registry/core/pod, 1.36.


_LABEL_KEY_FIELDS = ("matchLabelKeys", "mismatchLabelKeys")


def label_key_problems(term: Data, path: Path) -> Problems:
    """Yield the problems of the label keys of a term of affinity, or of a constraint of spread."""
    selector = term.get("labelSelector")
    for field in _LABEL_KEY_FIELDS:
        if term.get(field) and selector is None:
            message = f"`{field}` narrows the `labelSelector`, which is not there"
            yield excluded((*path, field), message, "add the selector, or remove the keys", at_key=True)
            continue
        for at, key in field_items(term, field, path):
            yield from formed(key, "label key", metadata.bad_qualified_name, at)
    for at, key in field_items(term, _LABEL_KEY_FIELDS[0], path):
        if key in (term.get(_LABEL_KEY_FIELDS[1]) or ()):
            yield excluded(at, f'the values of "{key}" cannot both match and not match', "remove it from one of the two lists")
    if selector is not None:
        yield from repeated_key_problems(term, {}, path)


def repeated_key_problems(term: Data, labels: dict[str, str], path: Path) -> Problems:
    """Yield the problems of keys that are in the selector already.

    The server adds the keys among the pod's *labels* to the selector first.
    """
    selector = term.get("labelSelector") or {}
    wanted = {key: index for index, key in enumerate(term.get(_LABEL_KEY_FIELDS[0]) or ())}
    seen = set(selector.get("matchLabels") or ())
    added = [key for field in _LABEL_KEY_FIELDS for key in term.get(field) or () if key in labels]
    for key in (*(condition.get("key") or "" for condition in selector.get("matchExpressions") or ()), *added):
        if key in wanted and key in seen:
            message = f'"{key}" is in `matchLabelKeys` and in the `labelSelector` beside it'
            yield excluded((*path, _LABEL_KEY_FIELDS[0], wanted[key]), message, "remove it from one of the two")
        seen.add(key)


# The taints that a pod tolerates.
#
# Follows `ValidateTolerations`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. The operators `Lt` and `Gt` are behind a feature gate
# that is off.


_TOLERATION_OPERATORS = ("Equal", "Exists")


def toleration_problems(toleration: Data, path: Path) -> Problems:
    """Yield the problems of a toleration."""
    key, operator, value = toleration.get("key") or "", toleration.get("operator") or "Equal", toleration.get("value") or ""
    if key:
        yield from formed(key, "key of a taint", metadata.bad_qualified_name, (*path, "key"))
    yield from one_of(operator, _TOLERATION_OPERATORS, (*path, "operator"))
    if operator == "Equal" and not key:
        message = "a toleration without a `key` needs `operator: Exists`"
        yield excluded((*path, "operator"), message, "write `operator: Exists`, or the key", at_key=True)
    if operator == "Exists" and value:
        message = f"`operator: Exists` does not allow a `value`, got {describe(value)}"
        yield excluded((*path, "value"), message, "remove the value, or write `operator: Equal`")
    elif operator == "Equal":
        yield from formed(value, "value of a taint", metadata.bad_label_value, (*path, "value"))
    effect = toleration.get("effect", "")
    if effect and effect not in TAINT_EFFECTS:
        yield unsupported(effect, TAINT_EFFECTS, (*path, "effect"))
    elif "tolerationSeconds" in toleration and effect != "NoExecute":
        message = "`tolerationSeconds` is the time until an eviction, for which the effect must be `NoExecute`"
        hint = "write `effect: NoExecute`, or remove `tolerationSeconds`"
        yield excluded((*path, "effect"), message, hint, at_key=True)


# Topology spread constraints.
#
# Follows `validateTopologySpreadConstraints`, k8s.io/kubernetes pkg/apis/core/validation, 1.30 to 1.37.


_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def topology_spread_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of `topologySpreadConstraints`."""
    kinds = [(each.get("topologyKey") or "", each.get("whenUnsatisfiable") or "") for each in spec.get("topologySpreadConstraints") or ()]
    for index, (at, constraint) in enumerate(field_items(spec, "topologySpreadConstraints", path)):
        yield from _constraint(constraint, at)
        yield from label_key_problems(constraint, at)
        if not is_at_least(release, "1.34"):  # from which on the server adds keys with the pod's labels to the selector
            yield from _selected_key_problems(constraint, at)
        yield from selector_problems(constraint.get("labelSelector"), (*at, "labelSelector"))
        if kinds[index] in kinds[index + 1 :]:
            key, action = kinds[index]
            message = f"two constraints have the `topologyKey: {key}` and `whenUnsatisfiable: {action}`"
            yield Problem("duplicate-item", at, message, "remove one of the two")


def _selected_key_problems(constraint: Data, path: Path) -> Problems:
    """Yield the problems of `matchLabelKeys` that are in one condition of the selector.

    Keys in several conditions are reported in any release.
    """
    selector = constraint.get("labelSelector") or {}
    selected = {*(selector.get("matchLabels") or ()), *(each.get("key") for each in selector.get("matchExpressions") or ())}
    repeated = {each.path for each in repeated_key_problems(constraint, {}, path)}
    for at, key in field_items(constraint, _LABEL_KEY_FIELDS[0], path):
        if key in selected and at not in repeated:
            yield excluded(at, f'"{key}" is in `matchLabelKeys` and in the `labelSelector` beside it', "remove it from one of the two")


def _constraint(constraint: Data, path: Path) -> Problems:
    if "maxSkew" not in constraint:
        yield missing("maxSkew", constraint, path, "write at least 1")
    yield from within(constraint.get("maxSkew", 1), 1, None, (*path, "maxSkew"))
    yield from required(constraint, "topologyKey", path, "name a label of nodes, such as `kubernetes.io/hostname`")
    yield from required_choice(constraint, "whenUnsatisfiable", _ACTIONS, path, f"it is one of {listed(_ACTIONS)}")
    yield from choice(constraint, "nodeAffinityPolicy", _POLICIES, path)
    yield from choice(constraint, "nodeTaintsPolicy", _POLICIES, path)
    at = (*path, "minDomains")
    yield from within(constraint.get("minDomains", 1), 1, None, at)
    if "minDomains" in constraint and constraint.get("whenUnsatisfiable") != _ACTIONS[0]:
        message = f"`minDomains` needs `whenUnsatisfiable: {_ACTIONS[0]}`"
        yield excluded(at, message, "remove one of the two, or change `whenUnsatisfiable`", at_key=True)
