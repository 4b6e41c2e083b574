"""What an update of a Job changes: most of it stays as it was, but for what decides where the pods of a suspended Job run.

Follows `ValidateJobSpecUpdate`, k8s.io/kubernetes pkg/apis/batch/validation, and `validationOptionsForJob`, pkg/registry/batch/job, 1.36.
What the server filled in at first, and neither state says, stays too: the selector, the labels of the pods, numbers.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, string_map, structs, text
from jobspec.validation.workloads.equality import same, same_pods
from jobspec.validation.workloads.job_selector import GENERATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Spec = dict[str, Any]

_SPEC: Path = ("spec",)
_TEMPLATE: Path = ("spec", "template")
_FIXED = ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
_ANEW = "put back what was there, or make a Job of another name"


def job_update_problems(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of changes from the stored Job *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from _completions(new_spec, old_spec)
    for name in _FIXED:
        if not same(new_spec.get(name), old_spec.get(name), name):
            yield _fixed(name)
    if (text(new_spec, "completionMode") or "NonIndexed") != (text(old_spec, "completionMode") or "NonIndexed"):
        yield _fixed("completionMode")
    if new_spec.get("selector") is not None and not same(_written(new_spec["selector"]), _written(old_spec.get("selector") or {})):
        yield _fixed("selector")
    yield from _template(mapping(new_spec, "template"), mapping(old_spec, "template"), old)


def _fixed(name: str) -> Problem:
    return Problem("immutable-field", (*_SPEC, name), f"`{name}` of a Job cannot change", _ANEW)


def _completions(new: Spec, old: Spec) -> Iterator[Problem]:
    now, was, parallel = number(new, "completions"), _default(old), number(new, "parallelism")
    if not is_given(new, "completions") and not is_given(old, "completions"):
        return
    now = _default(new) if now is None else now
    if now == was:
        return
    if text(new, "completionMode") != "Indexed":
        yield Problem("immutable-field", (*_SPEC, "completions"), f"`completions` of a Job cannot change; {_was(was)}", _ANEW)
    elif now is not None and now != (1 if parallel is None else parallel):
        message = f"`completions` of an Indexed Job changes together with `parallelism`, and to the same number; {_was(was)}"
        yield Problem("immutable-field", (*_SPEC, "completions"), message, f"write {now} for both")


def _default(spec: Spec) -> int | None:
    """The completions of a Job: one where it says neither them nor how many pods run at a time."""
    return number(spec, "completions") if is_given(spec, "completions") or is_given(spec, "parallelism") else 1


def _was(number_: int | None) -> str:
    return "there were none" if number_ is None else f"they were {number_}"


def _written(selector: Any) -> Any:
    """A selector without the label that the server adds to it."""
    labels = {key: value for key, value in string_map(selector, "matchLabels").items() if key not in GENERATED}
    return {**selector, "matchLabels": labels} if isinstance(selector, dict) else selector


def _template(new: Spec, old: Spec, job: dict[str, Any]) -> Iterator[Problem]:
    new_pod, old_pod = mapping(new, "spec"), mapping(old, "spec")
    if not mapping(job, "spec").get("suspend"):
        if not same(_metadata(new), _metadata(old)) or not same_pods(new_pod, old_pod):
            message = "the pod template of a Job cannot change, unless the Job is suspended"
            yield Problem("immutable-field", _TEMPLATE, message, "make a Job of another name", at_key=True)
    elif _is_at_rest(job):
        if not same_pods(new_pod, _scheduled(new_pod, old_pod)):
            message = "of the pods of a suspended Job, only what decides on their nodes can change, their labels, annotations and resources"
            yield Problem("immutable-field", (*_TEMPLATE, "spec"), message, "make a Job of another name", at_key=True)
    elif not same(_metadata(new), _metadata(old)) or not same_pods(new_pod, old_pod):
        message = "the pod template of a Job cannot change before all of its pods have gone"
        yield Problem("immutable-field", _TEMPLATE, message, "wait until the suspended Job has no pods", at_key=True)


def _is_at_rest(job: dict[str, Any]) -> bool:
    """Whether a suspended Job has no pods, and none to come."""
    status = mapping(job, "status")
    suspended = any(text(each, "type") == "Suspended" and text(each, "status") == "True" for each in structs(status, "conditions"))
    return not number(status, "active") and (suspended or not is_given(status, "startTime"))


def _metadata(template: Spec) -> dict[str, Any]:
    """The metadata of a template without the labels that the server adds."""
    metadata = mapping(template, "metadata")
    labels = {key: value for key, value in string_map(metadata, "labels").items() if key not in GENERATED}
    return {name: each for name, each in {**metadata, "labels": labels}.items() if name != "creationTimestamp"}


def _scheduled(new: Spec, old: Spec) -> Spec:
    """The old pods with what may change as the new ones have it: on which nodes they run, and what they need there."""
    affinity = {name: each for name, each in mapping(old, "affinity").items() if name != "nodeAffinity"}
    on_nodes = {name: each for name, each in mapping(new, "affinity").items() if name == "nodeAffinity"}
    taken = {name: new[name] for name in _SCHEDULING if name in new}
    sized: Spec = {field: _sized(structs(new, field), structs(old, field)) for field in ("containers", "initContainers") if field in old}
    kept = {name: each for name, each in old.items() if name not in (*_SCHEDULING, "affinity")}
    has_any = affinity or "affinity" in new
    return {**kept, **taken, **sized, **({"affinity": {**affinity, **on_nodes}} if has_any else {})}


def _sized(new: list[Spec], old: list[Spec]) -> list[Spec]:
    """The old containers with the resources of the new ones that have their places and names."""
    if len(new) != len(old):
        return old
    return [_with_resources(was, now) if text(now, "name") == text(was, "name") else was for now, was in zip(new, old, strict=True)]


def _with_resources(container: Spec, other: Spec) -> Spec:
    kept = {name: each for name, each in container.items() if name != "resources"}
    return {**kept, "resources": other["resources"]} if "resources" in other else kept
