"""What the server's Go code says of objects of the kinds Pod and PodTemplate.

Follows `ValidatePodCreate` and `ValidatePodTemplate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.alone import alone_problems
from jobspec.validation.pods.annotations import annotation_rule_problems, contradiction_problems
from jobspec.validation.pods.containers import image_problems
from jobspec.validation.pods.defaults import filled_in
from jobspec.validation.pods.found import beside
from jobspec.validation.pods.pod_admission import pod_admission_problems
from jobspec.validation.pods.spec import pod_spec_problems
from jobspec.validation.pods.template import template_problems
from jobspec.validation.problem import Problem
from jobspec.validation.typed import typed_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.shapes import Shape


def pod_problems(data: dict[str, Any], found: list[Problem], shape: Shape) -> list[Problem]:
    """The problems of a pod besides its metadata: those *found* in its structure, and those of the server's Go code."""
    pod = typed_value(data, shape)
    return beside(found, (each for each in _pod(pod) if not _repeats(each, pod)))


def stored_template_problems(data: dict[str, Any], found: list[Problem], shape: Shape) -> list[Problem]:
    """The problems of a PodTemplate besides its metadata: those *found* in its structure, and those of the server's Go code."""
    return beside(found, template_problems(typed_value(data, shape).get("template", {}), ("template",)))


def _repeats(problem: Problem, pod: dict[str, Any]) -> bool:
    """Whether a problem is that of a limit, told again of the request that the server makes of it."""
    if problem.path[-2:-1] != ("requests",) or problem.path[1] == "volumes" or problem.rule == "conflicting-values":
        return False
    given: Any = pod
    for step in problem.path[:-1]:
        given = given.get(step, {}) if isinstance(given, dict) else given[step]
    return problem.path[-1] not in given


def _pod(pod: dict[str, Any]) -> Iterator[Problem]:
    spec, annotations = filled_in(pod.get("spec", {})), pod.get("metadata", {}).get("annotations", {})
    yield from annotation_rule_problems(annotations, spec, ("metadata", "annotations"))
    yield from pod_spec_problems(spec, ("spec",))
    yield from contradiction_problems(annotations, spec, ("spec",), of_template=False)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field, ())):
            yield from image_problems(container, ("spec", field, index))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        message = "a pod that names its node cannot wait for `schedulingGates`"
        yield Problem("conflicting-values", ("spec", "nodeName"), message, "remove one of the two")
    pod = {**pod, "spec": spec}
    yield from alone_problems(pod)
    yield from pod_admission_problems(pod)
    if spec.get("ephemeralContainers"):
        message = "ephemeral containers can only be added to a pod that runs"
        yield Problem("conflicting-values", ("spec", "ephemeralContainers"), message, "use `kubectl debug` on the running pod")
