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
    limits, requests = value.get("limits", {}), value.get("requests", {})
    if type(limits) is not dict or type(requests) is not dict:
        return False
    amounts = (*limits.items(), *requests.items())
    return all(is_amount(name, amount) for name, amount in amounts) and all(
        _fits(name, amount, limits.get(name)) for name, amount in requests.items()
    )


def is_amount(name: Any, amount: Any) -> bool:
    """Whether an amount of a well-known resource is an ordinary one."""
    if name in _WHOLE:
        return str(amount).isdecimal() and _thousandths(amount) is not None
    return name in _SHARED and _thousandths(amount) is not None and (name == "cpu" or not str(amount).endswith("m"))


def is_size(amount: Any) -> bool:
    """Whether an amount is an ordinary number of bytes."""
    return is_amount("memory", amount)


def _thousandths(amount: Any) -> int | None:
    """An amount in thousandths of a whole; None where it is not written in an ordinary way."""
    text = str(amount) if type(amount) is int else amount
    if type(text) is not str or not text.isascii():
        return None
    unit = next((each for each in _UNITS if text.endswith(each)), "m" if text.endswith("m") else "")
    number = text.removesuffix(unit)
    if not number.isdecimal() or len(number) > _LONGEST:
        return None
    return int(number) * (1 if unit == "m" else 1000 * _UNITS.get(unit, 1))


def _fits(name: str, amount: Any, limit: Any) -> bool:
    """Whether a request is surely allowed beside its limit."""
    if limit is None:
        return name in _SHARED
    wanted, most = _thousandths(amount) or 0, _thousandths(limit) or 0
    return wanted <= most if name in _SHARED else wanted == most
