"""The selector of a Job and the labels of its pods, which the server writes itself unless `manualSelector` is set.

Follows `generateSelector`, k8s.io/kubernetes pkg/registry/batch/job, `validateGeneratedSelector` and `ValidateJobSpec`,
pkg/apis/batch/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_label_value, generated_name
from jobspec.validation.pods.complaints import missing
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping, string_map, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_UIDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAMES = ("job-name", "batch.kubernetes.io/job-name")
#: The labels that the server adds to the pods of a Job.
GENERATED = (*_UIDS, *_NAMES)
#: The UID that the server gives a new Job, which nobody can know before.
_NEW_UID = "\N{REPLACEMENT CHARACTER}"


def job_selector(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of the selector and of the labels of a Job's pods, which is an update of *old* unless that is None."""
    spec = mapping(data, "spec")
    if spec.get("manualSelector") is True:
        yield from _written(spec)
    else:
        yield from _generated(spec, name_of_job(data), _NEW_UID if old is None else _uid_of(data, old))


def name_of_job(data: dict[str, Any]) -> str:
    """The name of a Job, or one as the server makes it."""
    metadata = mapping(data, "metadata")
    name, prefix = text(metadata, "name"), text(metadata, "generateName")
    return name or (generated_name(prefix) if prefix else "")


def _uid_of(data: dict[str, Any], old: dict[str, Any]) -> str:
    """The UID of a stored Job, from wherever it is known."""
    labels = string_map(mapping(data, "spec", "template", "metadata"), "labels")
    known = [text(mapping(each, "metadata"), "uid") for each in (old, data)] + [labels.get(key, "") for key in reversed(_UIDS)]
    return next(filter(None, known), _NEW_UID)


def _written(spec: dict[str, Any]) -> Iterator[Problem]:
    selector, at = spec.get("selector"), ("spec", "selector")
    if selector is None:
        yield missing("selector", spec, ("spec",), "`manualSelector: true` needs it; best leave both out")
        return
    from jobspec.validation.label_selector import selector_problems
    from jobspec.validation.workloads.selectors import unmatched

    wrong = list(selector_problems(selector, at))
    yield from wrong or unmatched(selector, spec)


def _generated(spec: dict[str, Any], name: str, uid: str) -> Iterator[Problem]:
    labels, at = string_map(mapping(spec, "template", "metadata"), "labels"), ("spec", "template", "metadata", "labels")
    for key in _UIDS:
        if labels.get(key, uid) != uid:
            message = f"the label `{key}` of a Job's pods is the Job's UID, which the server sets"
            yield Problem("conflicting-values", (*at, Key(key)), message, "leave it out")
    for key in _NAMES:
        if labels.get(key, name) != name:
            message = f"the label `{key}` of a Job's pods is the Job's name, `{name}`, not \"{labels[key]}\""
            yield Problem("conflicting-values", (*at, Key(key)), message, "leave it out; the server sets it")
    if why := bad_label_value(name):
        message = f"`{name}` becomes a label of the Job's pods, `job-name`, and cannot: {why}"
        yield Problem("invalid-name", ("metadata", "name"), message)
    if "selector" in spec:
        yield from _beside_generated(mapping(spec, "selector"), {**dict.fromkeys(_UIDS, uid), **dict.fromkeys(_NAMES, name)}, labels)


def _beside_generated(selector: dict[str, Any], generated: dict[str, str], labels: dict[str, str]) -> Iterator[Problem]:
    """The problems of a selector that is written, though the server writes it."""
    from jobspec.validation.label_selector import selector_problems
    from jobspec.validation.workloads.selectors import misses

    wrong = list(selector_problems(selector, ("spec", "selector")))
    yield from wrong
    missed = [] if wrong else misses(selector, generated) or misses(selector, {**generated, **labels})
    if missed:
        message = f"the server writes the selector of a Job; this one wants {', '.join(missed)}, which its pods are not"
        yield Problem("conflicting-values", ("spec", "selector"), message, "leave `selector` out", at_key=True)
