"""What the server's Go code says of a HorizontalPodAutoscaler: its limits, what it scales, its metrics, and how fast it scales.

Follows `ValidateHorizontalPodAutoscaler` and `ValidateHorizontalPodAutoscalerUpdate`, k8s.io/kubernetes pkg/apis/autoscaling/validation,
after `SetDefaults_HorizontalPodAutoscaler`, pkg/apis/autoscaling/v2, 1.36. The version v1, which has metrics in annotations, is not judged.
"""

from __future__ import annotations

from jobspec.diagnostics import Path, Problem
from jobspec.go.quantities import amount_of
from jobspec.kubernetes.metadata import bad_label_name, bad_path_segment
from jobspec.kubernetes.pods.resources import bad_container_resource
from jobspec.kubernetes.problems import excluded, missing, named, one_of, required_choice, required_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Fields = dict[str, Any]

#: The type of a metric -> the field that describes it, in the order in which the server looks at them.
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_POLICIES = ("Pods", "Percent")
_CHOICES_OF_POLICY = ("Disabled", "Max", "Min")
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


def autoscaler_problems(autoscaler: Fields, old: Fields | None) -> Iterator[Problem]:
    """The problems of a new or changed autoscaler; an update may keep what *old* has of 0 replicas and of wrong API versions."""
    spec, stored = autoscaler.get("spec", {}), (old or {}).get("spec", {})
    yield from _limits(spec, lowest=0 if stored.get("minReplicas") == 0 else 1)
    scaled, was = spec.get("scaleTargetRef", {}), stored.get("scaleTargetRef", {})
    yield from _reference(scaled, ("spec", "scaleTargetRef"))
    if old is None or any(scaled.get(field) != was.get(field) for field in ("apiVersion", "kind")):
        yield from _api_version(scaled, ("spec", "scaleTargetRef"), core=scaled.get("kind") == "ReplicationController")
    described = [each["object"] for each in stored.get("metrics", ()) if each.get("type") == "Object" and "object" in each]
    kept = any(_bad_api_version(each.get("describedObject", {})) for each in described)
    for index, metric in enumerate(spec.get("metrics", ())):
        yield from _metric(metric, ("spec", "metrics", index), any_version=kept)
    for direction in ("scaleUp", "scaleDown"):
        yield from _behavior(spec.get("behavior", {}).get(direction, {}), ("spec", "behavior", direction))


def _limits(spec: Fields, *, lowest: int) -> Iterator[Problem]:
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if least < lowest:
        hint = "the API server takes 0 with its feature gate HPAScaleToZero alone" if least == 0 else ""
        yield Problem("out-of-range", ("spec", "minReplicas"), f"`minReplicas` must be at least {lowest}, and is {least}", hint)
    if not most:
        yield missing("maxReplicas", spec, ("spec",), "write the greatest number of pods")
    elif most < 0:
        yield Problem("out-of-range", ("spec", "maxReplicas"), f"`maxReplicas` must be at least 1, and is {most}")
    elif most < least:
        message = f"`maxReplicas` ({most}) is below `minReplicas` ({least})"
        yield Problem("conflicting-values", ("spec", "maxReplicas"), message)
    types = [metric.get("type") for metric in spec.get("metrics", ())]
    if not least and "Object" not in types and "External" not in types:
        yield excluded(("spec", "metrics"), "no pods at all (`minReplicas: 0`) need a metric of the type Object or External", "add one")


def _reference(reference: Fields, path: Path) -> Iterator[Problem]:
    for field, what in (("kind", "a kind"), ("name", "an object")):
        yield from required_name(reference, field, what, bad_path_segment, path)


def _api_version(reference: Fields, path: Path, *, core: bool) -> Iterator[Problem]:
    version = reference.get("apiVersion", "")
    if why := _bad_api_version(reference, core=core):
        yield Problem("wrong-format", (*path, "apiVersion"), f'`apiVersion` is "{version}": {why}', "write it as `GROUP/VERSION`")


def _bad_api_version(reference: Fields, *, core: bool = True) -> str:
    """Why the API version of a reference cannot be; empty if it can. *core*: the core group, which has no name, is one that it may name."""
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        return "it has more than one `/`"
    return "" if core or (version.partition("/")[1] and not version.startswith("/")) else "it names no group"


# Metrics: each has a type, and describes its source and a target in the one field of that type.


def _metric(metric: Fields, path: Path, *, any_version: bool) -> Iterator[Problem]:
    kind = metric.get("type", "")
    present = [field for field in _SOURCES.values() if field in metric]
    expected = _SOURCES.get(kind)
    yield from required_choice(metric, "type", sorted(_SOURCES), path)
    if present:
        source, at = metric[present[0]], (*path, present[0])
        yield from _CHECKS[present[0]](source, at)
        yield from _target(source.get("target", {}), (*at, "target"))
        if present[0] == "object" and not any_version:
            yield from _api_version(source.get("describedObject", {}), (*at, "describedObject"), core=True)
    if expected and expected not in present:
        yield missing(expected, metric, path, f"a metric of the type {kind} describes its source there")
    if len(present) > 1:
        for field in present:
            if field != expected:
                yield excluded((*path, field), f"a metric has one source, and its type is {kind}")


def _object(source: Fields, path: Path) -> Iterator[Problem]:
    yield from _reference(source.get("describedObject", {}), (*path, "describedObject"))
    yield from _name_of_metric(source, path)
    yield from _one_of(source, ("value", "averageValue"), path)


def _name_of_metric(source: Fields, path: Path) -> Iterator[Problem]:
    return required_name(source.get("metric", {}), "name", "a metric", bad_path_segment, (*path, "metric"))


def _external(source: Fields, path: Path) -> Iterator[Problem]:
    yield from _name_of_metric(source, path)
    yield from _one_of(source, ("value", "averageValue"), path)
    if all(field in source.get("target", {}) for field in ("value", "averageValue")):
        yield excluded((*path, "target", "value"), "`value` and `averageValue` are mutually exclusive", "keep one of the two")


def _pods(source: Fields, path: Path) -> Iterator[Problem]:
    yield from _name_of_metric(source, path)
    yield from _one_of(source, ("averageValue",), path)


def _resource(source: Fields, path: Path) -> Iterator[Problem]:
    if not source.get("name"):
        yield missing("name", source, path, "name a resource, such as `cpu`")
    yield from _one_of(source, ("averageUtilization", "averageValue"), path)
    if all(field in source.get("target", {}) for field in ("averageUtilization", "averageValue")):
        message = "`averageUtilization` and `averageValue` are mutually exclusive"
        yield excluded((*path, "target", "averageValue"), message, "keep one of the two")


def _container_resource(source: Fields, path: Path) -> Iterator[Problem]:
    yield from _resource(source, path)
    if source.get("name"):
        yield from named(source["name"], "a resource of containers", bad_container_resource, (*path, "name"))
    yield from required_name(source, "container", "a container", bad_label_name, path)


def _one_of(source: Fields, fields: tuple[str, ...], path: Path) -> Iterator[Problem]:
    """The problem of a target that has none of these *fields*."""
    target = source.get("target", {})
    if not any(field in target for field in fields):
        at = "averageUtilization" if "averageUtilization" in fields else "averageValue"
        hint = f"or `{(set(fields) - {at}).pop()}`" if len(fields) > 1 else ""
        yield missing(at, target, (*path, "target"), hint)


def _target(target: Fields, path: Path) -> Iterator[Problem]:
    yield from required_choice(target, "type", _TARGETS, path, "it is `Utilization`, `Value` or `AverageValue`")
    for field in ("value", "averageValue"):
        if field in target and amount_of(target[field]) <= 0:
            yield Problem("out-of-range", (*path, field), f"`{field}` must be above 0, and is {target[field]}")
    if target.get("averageUtilization", 1) < 1:
        message = f"`averageUtilization` must be at least 1, and is {target['averageUtilization']}"
        yield Problem("out-of-range", (*path, "averageUtilization"), message)


_CHECKS: dict[str, Callable[[Fields, Path], Iterator[Problem]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


# How fast it scales in a direction. Where no policies are written, the server fills some in.


def _behavior(rules: Fields, path: Path) -> Iterator[Problem]:
    yield from _between(rules.get("stabilizationWindowSeconds", 0), 0, _LONGEST_WINDOW, (*path, "stabilizationWindowSeconds"))
    yield from one_of(rules.get("selectPolicy", "Max"), _CHOICES_OF_POLICY, (*path, "selectPolicy"))
    if rules.get("policies") == []:
        yield missing("policies", rules, path, "remove it for the server's own")
    for index, policy in enumerate(rules.get("policies", ())):
        at, value = (*path, "policies", index), policy.get("value", 0)
        yield from one_of(policy.get("type", ""), _POLICIES, (*at, "type"))
        if value < 1:
            yield Problem("out-of-range", (*at, "value"), f"`value` must be at least 1, and is {value}")
        yield from _between(policy.get("periodSeconds", 0), 1, _LONGEST_PERIOD, (*at, "periodSeconds"))
    tolerance = rules.get("tolerance", "0")
    if amount_of(tolerance) < 0:
        yield Problem("out-of-range", (*path, "tolerance"), f"`tolerance` cannot be negative, as {tolerance} is")


def _between(value: int, least: int, most: int, path: Path) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem("out-of-range", path, f"`{path[-1]}` is from {least} to {most:,}, and {value:,} is not")
