"""The template of pods, as workloads and PodTemplates hold it.

Follows `ValidatePodTemplateSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Which restart policies a template may have is for each
kind of workload to say.
"""

from __future__ import annotations

from jobspec.validation.metadata import annotation_problems, label_problems
from jobspec.validation.pods.basics import annotations_read
from jobspec.validation.pods.defaults import without_disabled
from jobspec.validation.pods.spec import pod_spec_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path


def template_problems(template: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a decoded template (`jobspec.validation.typed`) at *path*; one without a `spec` is judged with an empty one."""
    metadata, spec = template.get("metadata", {}), without_disabled(template.get("spec", {}))
    yield from label_problems(metadata.get("labels"), (*path, "metadata"))
    yield from annotation_problems(metadata.get("annotations"), (*path, "metadata"))
    annotations = annotations_read(metadata)
    if annotations:
        from jobspec.validation.pods.annotations import annotation_rule_problems

        yield from annotation_rule_problems(annotations, spec, (*path, "metadata", "annotations"))
    yield from pod_spec_problems(spec, (*path, "spec"))
    if annotations:
        from jobspec.validation.pods.annotations import contradiction_problems

        yield from contradiction_problems(annotations, spec, (*path, "spec"), of_template=True)
    if spec.get("ephemeralContainers"):
        message = "a template cannot have ephemeral containers, which are added to running pods"
        yield Problem("conflicting-values", (*path, "spec", "ephemeralContainers"), message, "use `kubectl debug` on a running pod")
