"""Check a CronJob as the API server's Go code does.

Follows `validateCronJobSpec` and `ValidateJobTemplateSpec`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of
pkg/apis/batch/v1, 1.36. The Job inside gets none of a Job's defaults, and its metadata is not checked.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import missing, unsupported
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, text
from jobspec.validation.wording import closest
from jobspec.validation.workloads.job_spec import job_spec
from jobspec.validation.workloads.limits import negative_numbers
from jobspec.validation.workloads.schedule import bad_schedule
from jobspec.validation.workloads.time_zones import bad_time_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_JOB: Path = ("spec", "jobTemplate", "spec")
_NUMBERS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_CONCURRENCY = ("Allow", "Forbid", "Replace")


def cronjob_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a CronJob, but for those of any pod template, as an update of *old* unless that is None."""
    spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from _schedule(spec, may_have_zone="TZ" in text(old_spec, "schedule"))
    yield from negative_numbers(spec, _NUMBERS, _SPEC)
    if is_given(spec, "timeZone") and (old is None or spec["timeZone"] != old_spec.get("timeZone")):
        yield from _time_zone(text(spec, "timeZone"))
    policy = text(spec, "concurrencyPolicy") or "Allow"
    if policy not in _CONCURRENCY:
        yield unsupported(policy, _CONCURRENCY, (*_SPEC, "concurrencyPolicy"))
    job = mapping(spec, "jobTemplate", "spec")
    yield from job_spec(job, _JOB)
    if is_given(job, "selector"):
        message = "the Jobs of a CronJob get their selectors from the server"
        yield Problem("conflicting-values", (*_JOB, "selector"), message, "leave it out", at_key=True)
    if job.get("manualSelector") is True:
        message = "the Jobs of a CronJob get their selectors from the server, so that `manualSelector` can only be `false`"
        yield Problem("unsupported-choice", (*_JOB, "manualSelector"), message, "leave it out")


def _schedule(spec: dict[str, Any], *, may_have_zone: bool) -> Iterator[Problem]:
    schedule, at = text(spec, "schedule"), (*_SPEC, "schedule")
    if not schedule:
        yield missing("schedule", spec, _SPEC, "write it as `0 6 * * 1-5`: minute, hour, day of the month, month, day of the week")
        return
    if why := bad_schedule(schedule):
        yield Problem("wrong-format", at, f'"{schedule}" is no schedule: {why}')
    elif "TZ" in schedule and not may_have_zone:
        yield Problem("wrong-format", at, "a schedule cannot name a time zone", "write it in `timeZone`")
    elif "TZ" in schedule and is_given(spec, "timeZone"):
        yield Problem("conflicting-values", at, "the schedule names a time zone beside `timeZone`", "take it out of the schedule")


def _time_zone(zone: str) -> Iterator[Problem]:
    if why := bad_time_zone(zone):
        from jobspec.validation.workloads.time_zones import time_zones

        yield Problem("wrong-format", (*_SPEC, "timeZone"), why, closest(zone, time_zones()) if zone else "leave it out")
