"""What a job costs at most: its pods, by a price list, for as long as its deadline lets them run."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from jobspec.gitops.diff.capacity import is_accelerator
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Document
    from jobspec.gitops.diff.capacity import AlikePods, Capacity

_HOUR = 3600
_UNITS = {"memory": 2**30, "ephemeral-storage": 2**30}  # of which a price is; one of all others
_CENT = Decimal("0.01")


class Prices:
    """A price list."""

    __slots__ = ("currency", "pods", "resources")

    def __init__(self, document: Document) -> None:
        """*document* has passed its schema."""
        spec = document.data["spec"]
        self.currency: str = spec["currency"]
        self.pods = [(each["nodeSelector"], _decimal(each["perHour"])) for each in spec.get("pods") or ()]
        self.resources = {name: _decimal(price) for name, price in (value_at(spec, ("resources",)) or {}).items()}


class Cost:
    """What a job costs at most, or why nobody can say."""

    __slots__ = ("amount", "why")

    def __init__(self, amount: Decimal | None, why: str = "") -> None:
        self.amount = amount
        self.why = why


def cost_of(capacity: Capacity, prices: Prices) -> Cost:
    """The most that a job costs: the most pods that it may have, times the price of an hour, times the hours until its deadline."""
    if capacity.deadline is None:
        return Cost(None, "no cost without a deadline")
    hourly = Decimal(0)
    for pods in capacity.pods:
        price = _price(pods, prices)
        if isinstance(price, str):
            return Cost(None, price)
        hourly += pods.most * price
    exact = hourly * max(capacity.deadline, 0) / _HOUR
    return Cost(exact.quantize(_CENT, ROUND_CEILING))


def _price(pods: AlikePods, prices: Prices) -> Decimal | str:
    """The price of one pod for an hour, or why there is none."""
    for selector, price in prices.pods:
        if selector.items() <= pods.selector.items():
            return price
    unknown = [name for name in pods.resources if is_accelerator(name) and name not in prices.resources]
    if unknown:
        return f"no price of `{unknown[0]}`"
    found = [amount / _UNITS.get(name, 1) * prices.resources[name] for name, amount in pods.resources.items() if name in prices.resources]
    return sum(found, Decimal(0)) if found else "no price of its pods"


def _decimal(price: float) -> Decimal:
    return Decimal(str(price))
