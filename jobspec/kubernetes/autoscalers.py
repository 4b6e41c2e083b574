"""What the server's Go code says of a HorizontalPodAutoscaler: its limits, what it scales, its metrics, and how fast it scales.

Follows `ValidateHorizontalPodAutoscaler` and `ValidateHorizontalPodAutoscalerUpdate`, k8s.io/kubernetes pkg/apis/autoscaling/validation,
after `SetDefaults_HorizontalPodAutoscaler`, pkg/apis/autoscaling/v2, 1.30 to 1.37. The version v1, which has metrics in annotations, is not
judged.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import amount_of
from jobspec.kubernetes.metadata import bad_label_name, bad_path_segment
from jobspec.kubernetes.pods.resources import bad_container_resource
from jobspec.kubernetes.problems import excluded, field_items, missing, named, one_of, required, required_choice, required_name

_OF_PODS = (("averageUtilization", "averageValue"), ("averageUtilization", "averageValue", "averageValue"))
#: The fields that describe a metric, in the order in which the server looks at them -> the amounts of which the target needs one, the usual
#: one first, and two that exclude each other, with the one to report.
_SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "object": (("averageValue", "value"), ()),
    "external": (("averageValue", "value"), ("value", "averageValue", "value")),
    "pods": (("averageValue",), ()),
    "resource": _OF_PODS,
    "containerResource": _OF_PODS,
}
#: The type of a metric -> the field that describes it.
_TYPES = {field[0].upper() + field[1:]: field for field in _SOURCES}
_TARGETS = ("Utilization", "Value", "AverageValue")
_POLICIES = ("Pods", "Percent")
_CHOICES_OF_POLICY = ("Disabled", "Max", "Min")
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


def autoscaler_problems(autoscaler: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a new or changed autoscaler.

    An update may keep 0 replicas and wrong API versions of *old*.
    """
    spec, stored = autoscaler.get("spec", {}), (old or {}).get("spec", {})
    yield from _replica_limit_problems(spec, lowest=0 if stored.get("minReplicas") == 0 or is_at_least(release, "1.37") else 1)
    scaled, was = spec.get("scaleTargetRef", {}), stored.get("scaleTargetRef", {})
    yield from _reference(scaled, ("spec", "scaleTargetRef"))
    knows_versions = is_at_least(release, "1.34")
    if knows_versions and (old is None or any(scaled.get(field) != was.get(field) for field in ("apiVersion", "kind"))):
        yield from _api_version(scaled, ("spec", "scaleTargetRef"), core=scaled.get("kind") == "ReplicationController")
    described = [each["object"] for each in stored.get("metrics", ()) if each.get("type") == "Object" and "object" in each]
    kept = not knows_versions or any(_bad_api_version(each.get("describedObject", {})) for each in described)
    for at, metric in field_items(spec, "metrics", ("spec",)):
        yield from _metric(metric, at, any_version=kept)
    for direction in ("scaleUp", "scaleDown"):
        yield from _behavior(spec.get("behavior", {}).get(direction, {}), ("spec", "behavior", direction), release)


def _replica_limit_problems(spec: Data, *, lowest: int) -> Problems:
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if least < lowest:
        hint = "before Kubernetes 1.37 the API server accepts 0 only with its feature gate HPAScaleToZero" if least == 0 else ""
        yield Problem("out-of-range", ("spec", "minReplicas"), f"`minReplicas` must be at least {lowest}, and is {least}", hint)
    if not most:
        yield missing("maxReplicas", spec, ("spec",), "set the maximum number of pods")
    elif most < 0:
        yield Problem("out-of-range", ("spec", "maxReplicas"), f"`maxReplicas` must be at least 1, and is {most}")
    elif most < least:
        yield Problem("conflicting-values", ("spec", "maxReplicas"), f"`maxReplicas` ({most}) is below `minReplicas` ({least})")
    types = [metric.get("type") for metric in spec.get("metrics", ())]
    if not least and "Object" not in types and "External" not in types:
        yield excluded(("spec", "metrics"), "no pods at all (`minReplicas: 0`) need a metric of the type Object or External", "add one")


def _reference(reference: Data, path: Path) -> Problems:
    for field, what in (("kind", "a kind"), ("name", "an object")):
        yield from required_name(reference, field, what, bad_path_segment, path)


def _api_version(reference: Data, path: Path, *, core: bool) -> Problems:
    version = reference.get("apiVersion", "")
    if why := _bad_api_version(reference, core=core):
        yield Problem("wrong-format", (*path, "apiVersion"), f'`apiVersion` is "{version}": {why}', "write it as `GROUP/VERSION`")


def _bad_api_version(reference: Data, *, core: bool = True) -> str:
    """Return why a reference cannot have its API version; empty if it can.

    *core*: the reference may name the core group, which has no name.
    """
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        return "it has more than one `/`"
    return "" if core or (version.partition("/")[1] and not version.startswith("/")) else "it names no group"


# Metrics: each has a type, and its source and target in the one field for that type.


def _metric(metric: Data, path: Path, *, any_version: bool) -> Problems:
    kind = metric.get("type", "")
    present = [field for field in _SOURCES if field in metric]
    expected = _TYPES.get(kind)
    yield from required_choice(metric, "type", sorted(_TYPES), path)
    if present:
        source, at = metric[present[0]], (*path, present[0])
        yield from _metric_source_problems(present[0], source, at)
        yield from _target(source.get("target", {}), (*at, "target"))
        if present[0] == "object" and not any_version:
            yield from _api_version(source.get("describedObject", {}), (*at, "describedObject"), core=True)
    if expected and expected not in present:
        yield missing(expected, metric, path, f"a metric of the type {kind} describes its source there")
    for field in present if len(present) > 1 else ():
        if field != expected:
            yield excluded((*path, field), f"a metric has one source, and its type is {kind}")


def _metric_source_problems(kind: str, source: Data, path: Path) -> Problems:
    """Yield the problems of the field that describes a metric of a *kind*.

    `_target` finds the problems inside its target.
    """
    if kind == "object":
        yield from _reference(source.get("describedObject", {}), (*path, "describedObject"))
    if kind in ("resource", "containerResource"):
        yield from required(source, "name", path, "name a resource, such as `cpu`")
    else:
        yield from required_name(source.get("metric", {}), "name", "a metric", bad_path_segment, (*path, "metric"))
    target, (amounts, exclusive) = source.get("target", {}), _SOURCES[kind]
    if target.keys().isdisjoint(amounts):
        yield missing(amounts[0], target, (*path, "target"), f"or `{amounts[1]}`" if amounts[1:] else "")
    if exclusive and target.keys() >= {*amounts}:
        one, other, at = exclusive
        yield excluded((*path, "target", at), f"`{one}` and `{other}` are mutually exclusive", "keep one of the two")
    if kind == "containerResource":
        if source.get("name"):
            yield from named(source["name"], "a resource of containers", bad_container_resource, (*path, "name"))
        yield from required_name(source, "container", "a container", bad_label_name, path)


def _target(target: Data, path: Path) -> Problems:
    yield from required_choice(target, "type", _TARGETS, path, "it is `Utilization`, `Value` or `AverageValue`")
    for field in ("value", "averageValue"):
        if field in target and amount_of(target[field]) <= 0:
            yield Problem("out-of-range", (*path, field), f"`{field}` must be above 0, and is {target[field]}")
    if target.get("averageUtilization", 1) < 1:
        message = f"`averageUtilization` must be at least 1, and is {target['averageUtilization']}"
        yield Problem("out-of-range", (*path, "averageUtilization"), message)


# How fast it scales in a direction. Where no policies are written, the server fills some in.


def _behavior(rules: Data, path: Path, release: str) -> Problems:
    yield from _between(rules.get("stabilizationWindowSeconds", 0), 0, _LONGEST_WINDOW, (*path, "stabilizationWindowSeconds"))
    yield from one_of(rules.get("selectPolicy", "Max"), _CHOICES_OF_POLICY, (*path, "selectPolicy"))
    if rules.get("policies") == []:
        yield missing("policies", rules, path, "remove it for the server's own")
    for at, policy in field_items(rules, "policies", path):
        value = policy.get("value", 0)
        yield from one_of(policy.get("type", ""), _POLICIES, (*at, "type"))
        if value < 1:
            yield Problem("out-of-range", (*at, "value"), f"`value` must be at least 1, and is {value}")
        yield from _between(policy.get("periodSeconds", 0), 1, _LONGEST_PERIOD, (*at, "periodSeconds"))
    tolerance = rules.get("tolerance", "0")
    if amount_of(tolerance) < 0 and is_at_least(release, "1.35"):
        yield Problem("out-of-range", (*path, "tolerance"), f"`tolerance` must not be negative, got {tolerance}")


def _between(value: int, least: int, most: int, path: Path) -> Problems:
    if not least <= value <= most:
        yield Problem("out-of-range", path, f"`{path[-1]}`: expected {least} to {most:,}, got {value:,}")
