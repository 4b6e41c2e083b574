"""What the server's Go code says of a PriorityClass.

Follows `ValidatePriorityClass` and `ValidatePriorityClassUpdate`, k8s.io/kubernetes pkg/apis/scheduling/validation, 1.36. Whether another
class is the cluster's default, the cluster alone knows.
"""

from __future__ import annotations

from jobspec.validation.builtin_kinds.texts import fixed
from jobspec.validation.complaints import missing_by_code, unsupported_choice
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MOST = 1_000_000_000
_PREFIX = "system-"
_OF_SYSTEM = {"system-cluster-critical": 2 * _MOST, "system-node-critical": 2 * _MOST + 1000}
_POLICIES = ("PreemptLowerPriority", "Never")


def problems(made: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of a new class."""
    metadata, value = made.get("metadata", {}), made.get("value", 0)
    field = "name" if metadata.get("name") else "generateName"
    name = metadata.get(field, "")
    if name.startswith(_PREFIX):
        yield from _of_system(name, value, ("metadata", field), is_default=made.get("globalDefault", False))
    elif value > _MOST:
        yield Problem("out-of-range", ("value",), f"`value` takes at most {_MOST:,}, and {value:,} is above; more is Kubernetes' own")
    policy = made.get("preemptionPolicy")
    if policy == "":
        yield missing_by_code("preemptionPolicy", made, ())
    elif policy is not None and policy not in _POLICIES:
        yield unsupported_choice(policy, _POLICIES, ("preemptionPolicy",))


def update_problems(made: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of changes."""
    if made.get("value", 0) != old.get("value", 0):
        yield fixed(("value",), f"the `value` of a class cannot change; it was {old.get('value', 0)}")
    if made.get("preemptionPolicy", _POLICIES[0]) != old.get("preemptionPolicy", _POLICIES[0]):
        yield fixed(("preemptionPolicy",), "the `preemptionPolicy` of a class cannot change")


def _of_system(name: str, value: int, path: tuple[str, str], *, is_default: bool) -> Iterator[Problem]:
    if _OF_SYSTEM.get(name) != value or is_default or path[1] != "name":
        message = f"`{name}` cannot name the class: names that begin with `{_PREFIX}` are Kubernetes' own"
        yield Problem("invalid-name", path, message, f"write `{name.removeprefix(_PREFIX)}`" if name != _PREFIX else "")
