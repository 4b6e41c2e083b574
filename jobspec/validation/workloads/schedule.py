"""The schedule of a CronJob.

Follows `ParseStandard`, github.com/robfig/cron 3.0, and `validateScheduleFormat`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
_LARGEST = 2**63 - 1
#: What Go takes for blanks between fields.
_BLANKS = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def bad_schedule(schedule: str) -> str:
    """Why a text is no schedule; empty if it is one."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, blank, rest = schedule.partition(" ")
        why = _bad_place(zone.partition("=")[2]) if blank else "nothing follows the time zone"
        return why or bad_schedule_in_place(rest.strip(_BLANKS))
    return bad_schedule_in_place(schedule)


def bad_schedule_in_place(schedule: str) -> str:
    """Why a text without a time zone is no schedule."""
    if schedule.startswith("@"):
        return _bad_name(schedule)
    fields = _split(schedule)
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, not 5: minute, hour, day of the month, month, day of the week"
    whys = (_bad_range(each, *about) for text, about in zip(fields, _FIELDS, strict=True) for each in text.split(",") if each)
    return next(filter(None, whys), "")


def _split(schedule: str) -> list[str]:
    for blank in _BLANKS:
        schedule = schedule.replace(blank, " ")
    return [field for field in schedule.split(" ") if field]


def _bad_name(name: str) -> str:
    from jobspec.validation.text_formats import go_nanoseconds

    if name in NAMED:
        return ""
    if name.startswith("@every "):
        length = name.removeprefix("@every ")
        return "" if go_nanoseconds(length) is not None else f"`{length}` is no duration such as `1h30m`"
    return f"`{name}` is none of {', '.join(NAMED)} and `@every 1h30m`"


def _bad_place(zone: str) -> str:
    from jobspec.validation.workloads.time_zones import time_zones

    return "" if zone in ("", "Local") or zone in time_zones() else f"there is no time zone `{zone}`"


def _bad_range(text: str, what: str, least: int, most: int, names: Mapping[str, int]) -> str:
    """Why a text is no number, range or step of a field."""
    ends_text, *steps = text.split("/")
    ends = ends_text.split("-")
    if ends[0] in ("*", "?"):
        first, last = least, most
    elif len(ends) > 2:
        return f"`{text}` has too many hyphens"
    else:
        numbers = [_number(end, names) for end in ends]
        if None in numbers:
            return f"`{text}` is no {what}"
        first, last = numbers[0] or 0, numbers[-1] or 0
    if len(steps) > 1:
        return f"`{text}` has too many slashes"
    step = _number(steps[0], {}) if steps else 1
    if step is None:
        return f"`{steps[0]}` is no step"
    last = most if steps and len(ends) == 1 else last
    if first < least or last > most:
        return f"`{text}` is outside of {least} to {most}, as the {what} is"
    if first > last:
        return f"`{text}` ends before it begins"
    return "" if step else f"the step of `{text}` is 0"


def _number(text: str, names: Mapping[str, int]) -> int | None:
    if text.lower() in names:
        return names[text.lower()]
    digits = text.removeprefix("+")
    is_number = digits.isascii() and digits.isdecimal() and len(digits.lstrip("0")) < 20 and int(digits) <= _LARGEST
    return int(digits) if is_number else None
