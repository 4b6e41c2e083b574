"""Check a CronJob as the API server's Go code does: its schedule, its time zone, and the Jobs that it makes.

Follows `validateCronJobSpec` and `ValidateJobTemplateSpec`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of
pkg/apis/batch/v1, 1.36. The Job inside gets none of a Job's defaults, and its metadata is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jobspec.apis.shipped import package_text
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import integer, is_given, mapping, text
from jobspec.kubernetes.pods.containers import BLANKS
from jobspec.kubernetes.pods.pod import with_template
from jobspec.kubernetes.problems import closest, excluded, missing, one_of
from jobspec.kubernetes.workloads.jobs import job_spec
from jobspec.kubernetes.workloads.selectors import negative_numbers

_SPEC: Path = ("spec",)
_JOB = ("spec", "jobTemplate", "spec")
_NUMBERS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_CONCURRENCY = ("Allow", "Forbid", "Replace")


def cronjob_problems(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a new CronJob, or of an update of *old*."""
    path = (*_JOB, "template")
    return with_template(_cronjob_problems(data, old), mapping(data, *path), release, path)


def _cronjob_problems(data: Data, old: Data | None) -> Problems:
    """The problems apart from those of the pod template."""
    spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from _schedule(spec, may_have_zone="TZ" in text(old_spec, "schedule"))
    yield from negative_numbers(spec, _NUMBERS, _SPEC)
    if is_given(spec, "timeZone") and (old is None or spec["timeZone"] != old_spec.get("timeZone")):
        zone = text(spec, "timeZone")
        if why := bad_time_zone(zone):
            yield Problem("wrong-format", (*_SPEC, "timeZone"), why, closest(zone, time_zones()) if zone else "remove it")
    yield from one_of(text(spec, "concurrencyPolicy") or "Allow", _CONCURRENCY, (*_SPEC, "concurrencyPolicy"))
    job = mapping(spec, "jobTemplate", "spec")
    yield from job_spec(job, _JOB)
    if is_given(job, "selector"):
        yield excluded((*_JOB, "selector"), "the Jobs of a CronJob get their selectors from the server", at_key=True)
    if job.get("manualSelector") is True:
        message = "the Jobs of a CronJob get their selectors from the server, so that `manualSelector` can only be `false`"
        yield Problem("unsupported-choice", (*_JOB, "manualSelector"), message, "remove it")


def _schedule(spec: Data, *, may_have_zone: bool) -> Problems:
    schedule, at = text(spec, "schedule"), (*_SPEC, "schedule")
    if not schedule:
        yield missing("schedule", spec, _SPEC, "write it as `0 6 * * 1-5`: minute, hour, day of the month, month, day of the week")
        return
    if why := bad_schedule(schedule):
        yield Problem("wrong-format", at, f'"{schedule}" is not a schedule: {why}')
    elif "TZ" in schedule and not may_have_zone:
        yield Problem("wrong-format", at, "a schedule cannot contain a time zone", "write it in `timeZone`")
    elif "TZ" in schedule and is_given(spec, "timeZone"):
        yield excluded(at, "the schedule names a time zone beside `timeZone`", "take it out of the schedule")


# The schedule of a CronJob.
#
# Follows `ParseStandard`, github.com/robfig/cron 3.0, and `validateScheduleFormat`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36.


_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
#: What each field is, its least and greatest number, and names of numbers.
_FIELDS: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def bad_schedule(schedule: str) -> str:
    """Return why a text is no schedule; empty if it is one."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, blank, rest = schedule.partition(" ")
        place = zone.partition("=")[2]
        if not blank:
            return "nothing follows the time zone"
        if place not in ("", "Local") and place not in time_zones():
            return f"unknown time zone `{place}`"
        schedule = rest.strip(BLANKS)
    return bad_schedule_in_place(schedule)


def bad_schedule_in_place(schedule: str) -> str:
    """Return why a text without a time zone is no schedule."""
    if schedule.startswith("@"):
        return _bad_name(schedule)
    fields = [field for field in "".join(" " if each in BLANKS else each for each in schedule).split(" ") if field]
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, not 5: minute, hour, day of the month, month, day of the week"
    whys = (_bad_range(each, *about) for text, about in zip(fields, _FIELDS, strict=True) for each in text.split(",") if each)
    return next(filter(None, whys), "")


def _bad_name(name: str) -> str:
    from jobspec.go.text_formats import go_nanoseconds

    if name in NAMED:
        return ""
    if name.startswith("@every "):
        length = name.removeprefix("@every ")
        return "" if go_nanoseconds(length) is not None else f"`{length}` is not a duration such as `1h30m`"
    return f"`{name}` is not one of {', '.join(NAMED)} and `@every 1h30m`"


def _bad_range(text: str, what: str, least: int, most: int, names: Mapping[str, int]) -> str:
    """Why a text is no number, range or step of a field."""
    ends_text, *steps = text.split("/")
    ends = ends_text.split("-")
    if ends[0] in ("*", "?"):
        first, last = least, most
    elif len(ends) > 2:
        return f"`{text}` has too many hyphens"
    else:
        numbers = [_number_in_field(end, names) for end in ends]
        if None in numbers:
            return f"`{text}` is not a valid {what}"
        first, last = numbers[0] or 0, numbers[-1] or 0
    if len(steps) > 1:
        return f"`{text}` has too many slashes"
    step = _number_in_field(steps[0], {}) if steps else 1
    if step is None:
        return f"`{steps[0]}` is not a step"
    last = most if steps and len(ends) == 1 else last
    if first < least or last > most:
        return f"`{text}` is outside of {least} to {most}, as the {what} is"
    if first > last:
        return f"`{text}` ends before it begins"
    return "" if step else f"the step of `{text}` is 0"


def _number_in_field(text: str, names: Mapping[str, int]) -> int | None:
    if text.lower() in names:
        return names[text.lower()]
    return None if text.startswith("-") else integer(text)


# The time zones that a CronJob can name: those of the IANA database as the server carries it.
#
# Follows `validateTimeZone`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36, with the time zones of Go's `time/tzdata`, release 2025c.
# A server whose machine has a database of its own knows those names too, such as `posix/Europe/Berlin`.


@cache
def time_zones() -> frozenset[str]:
    """Return the names of all zones, one a line of `time_zones.txt`."""
    return frozenset(package_text("kubernetes", "workloads", "time_zones.txt").split())


def bad_time_zone(zone: str) -> str:
    """Return why a text is no time zone of a CronJob; empty if it is one."""
    if not zone:
        return "`timeZone` is empty"
    if zone.lower() == "local":
        return "`Local` is not a time zone: it differs between machines"
    return "" if zone in time_zones() else f'unknown time zone "{zone}"'
