"""What workloads share: limits of numbers, annotations that stand for former fields, selectors, and equality of pod templates.

Follows `ValidateNonnegativeField` and `GetScaledValueFromIntOrPercent`, k8s.io/apimachinery pkg/api/validation and pkg/util/intstr,
0.36, and `ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent` and `getIntOrPercentValue`, k8s.io/kubernetes
pkg/apis/apps/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import comparable
from jobspec.go.values import integer, mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.label_selectors import meets, selector_problems
from jobspec.kubernetes.pods.defaults import is_pointer, without_disabled
from jobspec.kubernetes.pods.update import changes, pull_policy
from jobspec.kubernetes.problems import excluded, missing, name_of, outside, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


_DIGITS = frozenset("0123456789")


def negative_numbers(data: Data, names: Iterable[str], path: Path) -> Problems:
    """Yield the problems of negative fields that must not be negative."""
    for name in names:
        yield from within(number(data, name) or 0, 0, None, (*path, name))


def is_percentage(value: Any) -> bool:
    """True if a value is a percentage: digits and a percent sign."""
    return isinstance(value, str) and value.endswith("%") and len(value) > 1 and _DIGITS.issuperset(value[:-1])


def amount(value: Any) -> int:
    """Return the number of a count or percentage, and 0 for other strings."""
    if isinstance(value, str):
        digits = value[:-1] if is_percentage(value) else value
        whole = digits[1:] if digits[:1] in ("+", "-") else digits
        return int(digits) if whole and _DIGITS.issuperset(whole) else 0
    return 0 if isinstance(value, bool) or not isinstance(value, int | float) else int(value)


def scaled_amount(value: Any, total: int, *, up: bool) -> int:
    """Return the number that a count, or a percentage of a *total*, stands for.

    *up*: round a percentage up, not down.
    """
    if not is_percentage(value):
        return amount(value)
    hundredths = amount(value) * total
    return -(-hundredths // 100) if up else hundredths // 100


def count_or_percentage(value: Any, path: Path, *, most: int | None = 100) -> Problems:
    """Yield the problems of a count of pods, or of a percentage of at most *most* percent."""
    if isinstance(value, str) and not is_percentage(value):
        hint = f"remove the quotes: `{value}`" if value.isascii() and value.isdecimal() else ""
        message = f'{name_of(path)}: expected a number, or a percentage such as `25%`, got the string "{value}"'
        yield Problem("wrong-format", path, message, hint)
    elif isinstance(value, str):
        if most is not None and amount(value) > most:
            yield Problem("out-of-range", path, f"{name_of(path)}: expected at most {most} percent, got {value}")
    elif amount(value) < 0:
        yield outside(value, 0, None, path)


# Annotations that stand for fields of former versions of a kind, and have to hold what the field held.
#
# Follows `Convert_v1_Deployment_To_apps_Deployment` and `Convert_v1_DaemonSet_To_apps_DaemonSet`, k8s.io/kubernetes pkg/apis/apps/v1, 1.36.


def number_in_annotation(data: Data, name: str, *, least: int | None = None, may_be_empty: bool = True) -> Problems:
    """Yield the problem of an annotation that holds no 64-bit integer, or one below *least*."""
    value = string_map(mapping(data, "metadata"), "annotations").get(name)
    if value is None or (not value and may_be_empty):
        return
    found = integer(value)
    path = ("metadata", "annotations", Key(name))
    if found is None:
        yield Problem("wrong-format", path, f'the annotation `{name}` holds a number, not "{value}"', "remove the annotation")
    elif least is not None and found < least:
        yield Problem("out-of-range", path, f"the annotation `{name}` is at least {least}, not {found}", "remove the annotation")


# A workload's selector, which has to be right and to select the pods of the workload's own template.


_SELECTOR: Path = ("spec", "selector")
_TEMPLATE_LABELS: Path = ("spec", "template", "metadata", "labels")


def workload_selector(spec: Data) -> Problems:
    """Yield the problems of the selector of a Deployment, DaemonSet, ReplicaSet or StatefulSet.

    The selector must select the template's pods.
    """
    selector = spec.get("selector")
    if selector is None:
        labels = string_map(mapping(spec, "template", "metadata"), "labels")
        hint = "write the labels of the template under `selector.matchLabels`" if labels else ""
        yield missing("selector", spec, ("spec",), hint)
    elif isinstance(selector, dict) and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Problem("wrong-size", _SELECTOR, "the selector is empty, and would select every pod", "name labels under `matchLabels`")
    else:
        wrong = list(selector_problems(selector, _SELECTOR))
        yield from wrong or unmatched(selector, spec)


def unmatched(selector: Any, spec: Data) -> Problems:
    """Yield the problem of a valid selector that does not select the pods of its template."""
    labels = string_map(mapping(spec, "template", "metadata"), "labels")
    missed = misses(mapping(selector), labels)
    if missed:
        message = f"the selector requires {', '.join(missed)}, which the pod template does not have"
        yield excluded(_TEMPLATE_LABELS, message, "give the template the labels that are selected")


def misses(selector: Data, labels: Mapping[str, str]) -> list[str]:
    """Return the conditions of a valid selector, in words, that *labels* do not meet."""
    wanted = string_map(selector, "matchLabels")
    missed = [f"`{key}: {value}`" for key, value in wanted.items() if labels.get(key) != value]
    for each in structs(selector, "matchExpressions"):
        if not meets(labels, each):
            values = f" [{', '.join(texts(each, 'values'))}]" if texts(each, "values") else ""
            missed.append(f"`{text(each, 'key')} {text(each, 'operator')}{values}`")
    return missed


# Whether two states of a part of a workload mean the same to the server.
#
# Follows `Semantic.DeepEqual`, k8s.io/apimachinery pkg/api/equality, 0.36: an empty list or map equals none, and quantities
# are equal by their amount. Pods are compared by `jobspec.kubernetes.pods.update`.


_CLAIM = {"volumeMode": "Filesystem"}


#: The field that holds a list of objects -> the defaults of their fields.
_DEFAULTS: dict[str, Data] = {"onPodConditions": {"status": "True"}}
_TEXTS = ("labels", "annotations", "matchLabels", "nodeSelector")
"""Maps of texts, in which an empty text differs from an absent key."""
_SOURCES = ("dataSource", "dataSourceRef")  # objects that are pointers in Go
_QUANTITIES = ("limits", "requests", "capacity", "allocatedResources")
_ONLY_OF_PODS = "enableServiceLinks"  # has a default in a pod, but not in a template


def same(one: Any, other: Any, field: str = "") -> bool:
    """True if two values of a field mean the same."""
    return bool(_normalized(one, field) == _normalized(other, field))


def same_pods(one: Data, other: Data, release: str) -> bool:
    """True if two specs of pods in templates mean the same."""
    return one.get(_ONLY_OF_PODS) == other.get(_ONLY_OF_PODS) and not any(changes(_pulled(one, release), _pulled(other, release)))


def _pulled(spec: Data, release: str) -> Data:
    """A spec of pods whose containers all say when their images are pulled."""
    spec = without_disabled(spec, release)
    lists = {field: spec[field] for field in ("containers", "initContainers") if field in spec}
    policy = "imagePullPolicy"
    return {**spec, **{field: [{**each, policy: pull_policy(each, "image", policy)} for each in of] for field, of in lists.items()}}


def same_claims(one: list[Data], other: list[Data]) -> bool:
    """True if two lists of claim templates mean the same, `apiVersion` and `kind` aside."""
    return [_normalized_claim(claim) for claim in one] == [_normalized_claim(claim) for claim in other]


def _normalized(value: Any, field: str = "") -> Any:
    """A value of a field with the defaults of its type, without what is empty."""
    if isinstance(value, dict):
        if field in _QUANTITIES:
            return {name: comparable(each) for name, each in value.items()}
        if field in _TEXTS:
            return {name: each or "" for name, each in value.items()}
        filled = {**_DEFAULTS.get(field, {}), **value}
        made = {name: _normalized(each, name) for name, each in filled.items()}
        pointers = {*_SOURCES, *(name for name in made if is_pointer(name, "spec"))}
        return {name: each for name, each in made.items() if each is not None and (name in pointers or each not in ("", [], {}))}
    return [_normalized(each, field) for each in value] if isinstance(value, list) else value


def _normalized_claim(claim: Data) -> Any:
    kept = {name: each for name, each in claim.items() if name not in ("apiVersion", "kind")}
    spec, status = {**_CLAIM, **(claim.get("spec") or {})}, {"phase": "Pending", **(claim.get("status") or {})}
    return _normalized({**kept, "spec": spec, "status": status})
