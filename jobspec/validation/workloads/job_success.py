"""A Job's `successPolicy`: which of its indexes, or how many, are enough.

Follows `validateSuccessPolicy`, `validateIndexesFormat` and `parseIndexInterval`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36. A
policy of a Job without `completions` makes the server panic; here the missing field is told.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import missing, outside, wrong_size
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, structs, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_MOST_RULES = 20
_LONGEST = 64 * 1024


def success_policy(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the policy of an Indexed Job's spec."""
    policy, at = mapping(spec, "successPolicy"), (*path, "successPolicy")
    rules = structs(policy, "rules")
    if not rules:
        yield missing("rules", policy, at, "it is a list of `succeededIndexes`, `succeededCount` or both")
    elif len(rules) > _MOST_RULES:
        yield wrong_size(len(rules), "rule", "most", _MOST_RULES, (*at, "rules"))
    for index, rule in enumerate(rules):
        yield from _rule(rule, number(spec, "completions"), (*at, "rules", index))


def _rule(rule: dict[str, Any], completions: int | None, path: Path) -> Iterator[Problem]:
    indexes, count = rule.get("succeededIndexes"), number(rule, "succeededCount")
    if indexes is None and count is None:
        yield Problem("missing-field", path, "a rule has `succeededIndexes`, `succeededCount` or both, and this one has neither")
    if completions is None:
        return
    total = None
    if indexes is not None:
        at = (*path, "succeededIndexes")
        if len(text(rule, "succeededIndexes").encode()) > _LONGEST:
            yield wrong_size(len(text(rule, "succeededIndexes").encode()), "character", "most", _LONGEST, at)
        total, why = _number_of(text(rule, "succeededIndexes"), completions)
        if why:
            yield Problem("wrong-format", at, f"`succeededIndexes` takes indexes in order, such as `0,2-4`: {why}")
    if count is not None:
        yield from _count(count, completions, total if is_given(rule, "succeededIndexes") else None, (*path, "succeededCount"))


def _count(count: int, completions: int, total: int | None, path: Path) -> Iterator[Problem]:
    if count < 0:
        yield outside(count, 0, None, path)
    elif count > completions:
        yield Problem("out-of-range", path, f"`succeededCount` is at most the number of `completions`, {completions}, not {count}")
    elif total is not None and count > total:
        yield Problem("out-of-range", path, f"`succeededCount` is {count}, and `succeededIndexes` names {total}, so it is never reached")


def _number_of(indexes: str, completions: int) -> tuple[int, str]:
    """How many indexes a text names, and what is wrong with it."""
    last, total = -1, 0
    for interval in indexes.split(",") if indexes else ():
        ends = interval.split("-")
        if len(ends) > 2:
            return 0, f"`{interval}` has more than two parts"
        for end in ends:
            if not _is_integer(end):
                return 0, f'"{end}" is no number'
            if int(end) >= completions:
                return 0, f"{end} is not below the number of `completions`, {completions}"
        first, final = int(ends[0]), int(ends[-1])
        if first <= last or (len(ends) > 1 and first >= final):
            return 0, f"`{interval}` does not ascend"
        last, total = final, total + final - first + 1
    return total, ""


def _is_integer(text: str) -> bool:
    return text.removeprefix("+").isdecimal() and text.isascii() and len(text) < 19
