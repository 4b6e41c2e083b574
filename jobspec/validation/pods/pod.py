"""What the server's Go code says of objects of the kinds Pod and PodTemplate.

Follows `ValidatePodCreate`, `ValidatePodUpdate` and `ValidatePodTemplate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.basics import annotations_read
from jobspec.validation.pods.containers import image_problems
from jobspec.validation.pods.defaults import filled_in
from jobspec.validation.pods.found import beside
from jobspec.validation.pods.spec import pod_spec_problems
from jobspec.validation.problem import Problem
from jobspec.validation.typed import typed_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.shapes import Shape

_OF_CLASSES = ("priority", "preemptionPolicy", "overhead")
"""Fields that a pod gets of a class."""
_WITH_METADATA = ("volumes", "affinity", "topologySpreadConstraints", "resourceClaims")
"""Fields on which a pod's own metadata decides, too."""


def pod_problems(data: dict[str, Any], found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    """The problems of a pod besides its metadata: those *found* in its structure, and those of the server's Go code.

    *old* is the data of the stored pod, of which this is an update.
    """
    pod = typed_value(data, shape)
    of_code = _new(pod) if old is None else _changed(data, old, shape)
    return beside(found, (each for each in of_code if not _repeats(each, pod)))


def stored_template_problems(data: dict[str, Any], found: list[Problem], shape: Shape) -> list[Problem]:
    """The problems of a PodTemplate besides its metadata: those *found* in its structure, and those of the server's Go code."""
    from jobspec.validation.pods.template import template_problems

    return beside(found, template_problems(typed_value(data, shape).get("template", {}), ("template",)))


def _repeats(problem: Problem, pod: dict[str, Any]) -> bool:
    """Whether a problem is that of a limit, told again of the request that the server makes of it."""
    if problem.path[-2:-1] != ("requests",) or problem.path[1] == "volumes" or problem.rule == "conflicting-values":
        return False
    given: Any = pod
    for step in problem.path[:-1]:
        given = given.get(step, {}) if isinstance(given, dict) else given[step]
    return problem.path[-1] not in given


def _new(pod: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a pod that is to be made."""
    pod = _filled_in(pod)
    spec, annotations = pod["spec"], annotations_read(pod.get("metadata", {}))
    yield from _any(pod)
    if annotations:
        from jobspec.validation.pods.annotations import contradiction_problems

        yield from contradiction_problems(annotations, spec, ("spec",), of_template=False)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        message = "a pod that names its node cannot wait for `schedulingGates`"
        yield Problem("conflicting-values", ("spec", "nodeName"), message, "remove one of the two")
    if not spec.keys().isdisjoint(_OF_CLASSES):
        from jobspec.validation.pods.pod_admission import pod_admission_problems

        yield from pod_admission_problems(pod)
    if spec.get("ephemeralContainers"):
        message = "ephemeral containers can only be added to a pod that runs"
        yield Problem("conflicting-values", ("spec", "ephemeralContainers"), message, "use `kubectl debug` on the running pod")


def _changed(data: dict[str, Any], old: dict[str, Any], shape: Shape) -> Iterator[Problem]:
    """The problems of a pod that is there, in its new state."""
    from jobspec.validation.pods.update import pod_update_problems, with_account, with_nulls_as_texts

    pod, before = (_filled_in(typed_value(with_nulls_as_texts(each), shape)) for each in (data, old))
    pod = with_account(pod, before)
    yield from _any(pod)
    yield from pod_update_problems(pod, before)


def _filled_in(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "spec": filled_in(pod.get("spec", {}))}


def _any(pod: dict[str, Any]) -> Iterator[Problem]:
    """The problems that new and changed pods can have."""
    spec, annotations = pod["spec"], annotations_read(pod.get("metadata", {}))
    if annotations:
        from jobspec.validation.pods.annotations import annotation_rule_problems

        yield from annotation_rule_problems(annotations, spec, ("metadata", "annotations"))
    yield from pod_spec_problems(spec, ("spec",))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field, ())):
            yield from image_problems(container, ("spec", field, index))
    if not spec.keys().isdisjoint(_WITH_METADATA):
        from jobspec.validation.pods.alone import alone_problems

        yield from alone_problems(pod)
