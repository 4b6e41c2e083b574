"""Ordinary amounts of what containers ask for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SHARED = ("cpu", "memory", "ephemeral-storage")
"""Of these a limit can be greater than its request."""
_WHOLE = ("nvidia.com/gpu", "amd.com/gpu", "rdma/hca", "rdma/rdma_shared_device_a", "vpc.amazonaws.com/efa")
"""Well-known resources of others, of which there are whole numbers, and of which a request is the limit."""
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_FIELDS = {"limits", "requests"}
_LONGEST = 9


def is_ordinary_amounts(value: Any) -> bool:
    """Limits and requests in whole units, each request at most its limit."""
    if type(value) is not dict or not value.keys() <= _FIELDS:
        return False
    limits, requests = _amounts(value.get("limits", {})), _amounts(value.get("requests", {}))
    return limits is not None and requests is not None and all(_fits(name, wanted, limits.get(name)) for name, wanted in requests.items())


def _amounts(given: Any) -> dict[str, int] | None:
    """The amounts in thousandths; None where one of them is not ordinary."""
    if type(given) is not dict:
        return None
    found: dict[str, int] = {}
    for name, amount in given.items():
        thousandths = amount_of(name, amount)
        if thousandths is None:
            return None
        found[name] = thousandths
    return found


def amount_of(name: Any, amount: Any) -> int | None:
    """An amount of a well-known resource in thousandths; None where it is not an ordinary one."""
    if name in _SHARED:
        return None if name != "cpu" and str(amount).endswith("m") else _thousandths(amount)
    return _thousandths(amount) if name in _WHOLE and str(amount).isdecimal() else None


def is_size(amount: Any) -> bool:
    """Whether an amount is an ordinary number of bytes."""
    return amount_of("memory", amount) is not None


def _thousandths(amount: Any) -> int | None:
    """An amount in thousandths of a whole; None where it is not written in an ordinary way."""
    text = str(amount) if type(amount) is int else amount
    if type(text) is not str or not text.isascii():
        return None
    unit = "" if text.isdecimal() else next((each for each in (*_UNITS, "m") if text.endswith(each)), "")
    number = text.removesuffix(unit)
    if not number.isdecimal() or len(number) > _LONGEST:
        return None
    return int(number) * (1 if unit == "m" else 1000 * _UNITS.get(unit, 1))


def _fits(name: str, wanted: int, most: int | None) -> bool:
    """Whether a request is surely allowed beside its limit."""
    if name in _SHARED:
        return most is None or wanted <= most
    return wanted == most
