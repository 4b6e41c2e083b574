"""Hold what is requested against the bounds of a LimitRange: `min`, `max`, `maxLimitRequestRatio`.

Follows `minConstraint`, `maxConstraint`, `maxRequestConstraint` and `limitRequestRatioConstraint`, k8s.io/kubernetes
plugin/pkg/admission/limitranger, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts
from jobspec.diagnostics import Key
from jobspec.quantities import Quantity
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.amounts import Amounts
    from jobspec.diagnostics import Path

_RULE = "outside-limit-range"
_MILLI = 1_000_000
_MOST_MILLIS = (2**63 - 1) // 1000
_NONE = Quantity(0, "decimal")


class Bounded:
    """What a LimitRange bounds: a container, a pod or a claim, with the path of its resources."""

    __slots__ = ("limits", "path", "requests", "what")

    def __init__(self, what: str, path: Path, requests: Amounts, limits: Amounts) -> None:
        self.what = what
        self.path = path
        self.requests = requests
        self.limits = limits

    def at(self, field: str, name: str) -> Path:
        """The path of an amount."""
        return *self.path, field, Key(name)


def bounds_problems(bounded: Bounded, limit_range: str, item: dict[str, Any], *, requests_only: bool = False) -> Iterator[Problem]:
    """The problems of an item of the LimitRange of that name; *requests_only*: `max` bounds requests, as it does for claims."""
    for name, bound in amounts(item.get("min")).items():
        yield from _least(bounded, limit_range, name, bound)
    for name, bound in amounts(item.get("max")).items():
        yield from (_most_requested if requests_only else _most)(bounded, limit_range, name, bound)
    for name, bound in amounts(item.get("maxLimitRequestRatio")).items() if not requests_only else ():
        yield from _ratio(bounded, limit_range, name, bound)


def _least(bounded: Bounded, limit_range: str, name: str, bound: Quantity) -> Iterator[Problem]:
    request, limit = bounded.requests.get(name), bounded.limits.get(name)
    least = f"the LimitRange `{limit_range}` wants {bounded.what} to request at least {bound} of `{name}`"
    asked, limited, wanted = _comparable(request, limit, bound)
    if request is None:
        yield Problem(_RULE, bounded.at("requests", name), f"{least}, and it requests none", "request it")
    elif asked < wanted:
        yield Problem(_RULE, bounded.at("requests", name), f"{least}, not {request}")
    elif limit is not None and limited < wanted:
        yield Problem(_RULE, bounded.at("limits", name), f"{least}, and it is limited to {limit}")


def _most(bounded: Bounded, limit_range: str, name: str, bound: Quantity) -> Iterator[Problem]:
    request, limit = bounded.requests.get(name), bounded.limits.get(name)
    greatest = f"the LimitRange `{limit_range}` wants {bounded.what} to be limited to {bound} of `{name}` at most"
    asked, limited, allowed = _comparable(request, limit, bound)
    if limit is None:
        yield Problem(_RULE, bounded.at("limits", name), f"{greatest}, and it has no limit", "limit it")
    elif limited > allowed:
        yield Problem(_RULE, bounded.at("limits", name), f"{greatest}, not {limit}")
    elif request is not None and asked > allowed:
        yield Problem(_RULE, bounded.at("requests", name), f"{greatest}, and it requests {request}")


def _most_requested(bounded: Bounded, limit_range: str, name: str, bound: Quantity) -> Iterator[Problem]:
    request = bounded.requests.get(name)
    greatest = f"the LimitRange `{limit_range}` lets {bounded.what} request at most {bound} of `{name}`"
    asked, _, allowed = _comparable(request, None, bound)
    if request is None:
        yield Problem(_RULE, bounded.at("requests", name), f"{greatest}, and it requests none", "request it")
    elif asked > allowed:
        yield Problem(_RULE, bounded.at("requests", name), f"{greatest}, not {request}")


def _ratio(bounded: Bounded, limit_range: str, name: str, bound: Quantity) -> Iterator[Problem]:
    request, limit = bounded.requests.get(name), bounded.limits.get(name)
    asked, limited, _ = _comparable(request, limit, bound)
    factor = f"the LimitRange `{limit_range}` lets {bounded.what} have a limit of at most {bound} times what it requests of `{name}`"
    if not asked:
        yield Problem(_RULE, bounded.at("requests", name), f"{factor}, and it requests none", "request it")
    elif not limited:
        yield Problem(_RULE, bounded.at("limits", name), f"{factor}, and it has no limit", "limit it")
    elif _exceeds(limited / asked, bound):
        message = f"{factor}, not {limited / asked:.4g} times: the limit is {limit}, the request {request}"
        yield Problem(_RULE, bounded.at("limits", name), message)


def _exceeds(ratio: float, bound: Quantity) -> bool:
    """Whether a ratio is more than a bound, in thousandths where those can be counted."""
    whole = bound.rounded_up()
    return ratio * 1000 > float(bound.nanos // _MILLI) if whole <= _MOST_MILLIS else ratio > float(whole)


def _comparable(*several: Quantity | None) -> list[int]:
    """Amounts as numbers that can be compared: in thousandths, or where one is too large for that, rounded up to whole ones."""
    found = [each or _NONE for each in several]
    whole = [each.rounded_up() for each in found]
    return whole if max(whole) > _MOST_MILLIS else [-(-each.nanos // _MILLI) for each in found]
