"""The claims that are made for a pod's own, ephemeral volumes.

Follows `ValidatePersistentVolumeClaimTemplate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Unlike in a claim, nothing is dropped
from the sources of the volume.
"""

from __future__ import annotations

from jobspec.validation.metadata import annotation_problems, bad_label_name, label_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ALLOWED = ("annotations", "labels")
_POINTERS = ("deletionGracePeriodSeconds",)  # which are set where they are 0, too


def ephemeral_problems(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the template of a claim."""
    if "volumeClaimTemplate" not in data:
        return
    template, path = data["volumeClaimTemplate"], (*path, "volumeClaimTemplate")
    metadata = template.get("metadata") or {}
    yield from label_problems(metadata.get("labels"), (*path, "metadata"))
    yield from annotation_problems(metadata.get("annotations"), (*path, "metadata"))
    for field, value in metadata.items():
        is_set = isinstance(value, list) or field in _POINTERS or value not in ("", 0)
        if field not in _ALLOWED and is_set:
            hint = "the claim is named after the pod and the volume" if field == "name" else ""
            yield Problem("unknown-field", (*path, "metadata", field), f"`{field}` of a claim cannot be set here", hint, at_key=True)
    yield from claim_template_problems(template, path)


def claim_template_problems(template: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the spec of the template of a claim, which keeps all sources of its volume."""
    for problem in _claim(template):
        yield Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)


def _claim(template: dict[str, Any]) -> Iterator[Problem]:
    from jobspec.validation.persistentvolumeclaim import claim_spec_problems
    from jobspec.validation.persistentvolumeclaim_source import given_source_problems

    yield from claim_spec_problems(template)
    spec = template.get("spec") or {}
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    yield from given_source_problems(source, reference)
    namespace = (reference or {}).get("namespace")
    if namespace and (why := bad_label_name(namespace)):
        yield Problem("invalid-name", ("spec", "dataSourceRef", "namespace"), f"`{namespace}` is no name for a namespace: {why}")
    if namespace and source is not None:
        message = "`dataSource` excludes a `dataSourceRef` with a namespace"
        yield Problem("conflicting-values", ("spec", "dataSource"), message, "remove one of the two", at_key=True)
