"""The spec of a Job, and of the Jobs that a CronJob makes: numbers of pods and failures, modes, policies, pods that come to an end.

Follows `validateJobSpec`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import describe, missing, outside, unsupported
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, text
from jobspec.validation.workloads.limits import negative_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_INDEXED = "Indexed"
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_MOST = 100_000  # pods at a time, and failed indexes, of an Indexed Job; completions from which fewer of both are allowed
_FEWER = 10_000


def job_spec(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a Job's spec, but for its selector and for what any pod template can have wrong."""
    yield from negative_numbers(spec, _NUMBERS, path)
    if is_given(spec, "maxFailedIndexes") and not is_given(spec, "backoffLimitPerIndex"):
        yield missing("backoffLimitPerIndex", spec, path, "`maxFailedIndexes` counts the indexes that fail more often")
    if is_given(spec, "managedBy"):
        from jobspec.validation.workloads.managed_by import managed_by

        yield from managed_by(text(spec, "managedBy"), (*path, "managedBy"))
    mode = text(spec, "completionMode") if is_given(spec, "completionMode") else "NonIndexed"
    if mode not in ("NonIndexed", _INDEXED):
        yield unsupported(mode, ("NonIndexed", _INDEXED), (*path, "completionMode"))
    yield from _indexed(spec, path) if mode == _INDEXED else ()
    yield from _not_indexed(spec, path) if mode == "NonIndexed" else ()
    if is_given(spec, "podFailurePolicy"):
        from jobspec.validation.workloads.job_failures import failure_policy

        yield from failure_policy(spec, path)
    if is_given(spec, "successPolicy"):
        from jobspec.validation.workloads.job_success import success_policy

        yield from success_policy(spec, path) if mode == _INDEXED else [_needs_indexes("successPolicy", path)]
    yield from _replacement(spec, path)
    yield from _restarts(spec, path)


def _indexed(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    parallel, failed, completions = number(spec, "parallelism"), number(spec, "maxFailedIndexes"), number(spec, "completions")
    if completions is None:
        yield missing("completions", spec, path, "an Indexed Job has a number for each completion; write it beside `parallelism`")
    if failed is not None and completions is not None and failed > completions:
        message = f"`maxFailedIndexes` is at most the number of `completions`, {completions}, not {failed}"
        yield Problem("out-of-range", (*path, "maxFailedIndexes"), message)
    is_large = completions is not None and completions > _MOST and is_given(spec, "backoffLimitPerIndex")
    if is_large and failed is None:
        yield missing("maxFailedIndexes", spec, path, f"more than {_MOST:,} completions with `backoffLimitPerIndex` need it")
    for name, value in (("parallelism", parallel), ("maxFailedIndexes", failed)):
        most = _FEWER if is_large else _MOST
        if value is not None and value > most:
            yield outside(value, None, most, (*path, name))


def _not_indexed(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from (_needs_indexes(name, path) for name in ("backoffLimitPerIndex", "maxFailedIndexes") if is_given(spec, name))


def _needs_indexes(name: str, path: Path) -> Problem:
    message = f"`{name}` is about the indexes of pods, which they have only with `completionMode: Indexed`"
    return Problem("conflicting-values", (*path, name), message, "write `completionMode: Indexed`, or remove it", at_key=True)


def _replacement(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not is_given(spec, "podReplacementPolicy"):
        return
    policy, at = text(spec, "podReplacementPolicy"), (*path, "podReplacementPolicy")
    if policy not in ("Failed", "TerminatingOrFailed"):
        yield unsupported(policy, ("Failed", "TerminatingOrFailed"), at)
    elif policy != "Failed" and is_given(spec, "podFailurePolicy"):
        yield Problem("conflicting-values", at, "beside `podFailurePolicy`, pods are replaced once they are `Failed`", "write `Failed`")


def _restarts(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    at = (*path, "template", "spec")
    pod = mapping(spec, "template", "spec")
    policy = text(pod, "restartPolicy")
    if policy == "Always":
        message = "a Job's pods come to an end, so that `restartPolicy` is `OnFailure` or `Never`, not `Always`"
        yield Problem("unsupported-choice", (*at, "restartPolicy"), message)
    elif not policy:
        hint = "the default, `Always`, is none that a Job takes: write `Never` or `OnFailure`"
        yield missing("restartPolicy", pod, at, hint)
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(policy, ("OnFailure", "Never"), (*at, "restartPolicy"))
    elif policy != "Never" and is_given(spec, "podFailurePolicy"):
        message = f"with `podFailurePolicy`, `restartPolicy` is `Never`, not {describe(policy)}: the policy is about pods that failed"
        yield Problem("conflicting-values", (*at, "restartPolicy"), message)
