"""The server's Go rules for a PriorityClass.

Follows `ValidatePriorityClass` and `ValidatePriorityClassUpdate`, k8s.io/kubernetes pkg/apis/scheduling/validation, 1.36. Whether another
class is the cluster's default, the cluster alone knows.
"""

from __future__ import annotations

from jobspec.apis.kinds import SYSTEM_PRIORITIES
from jobspec.diagnostics.places import Data
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.pods.scheduling import PREEMPTIONS
from jobspec.kubernetes.problems import (
    fixed,
    required_choice,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


_MAX_PRIORITY = 1_000_000_000
_PREFIX = "system-"


def priorityclass_problems(made: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of a new class, or of changes."""
    if old is not None:
        if made.get("value", 0) != old.get("value", 0):
            yield fixed(("value",), f"the `value` of a class cannot change; it was {old.get('value', 0)}")
        if made.get("preemptionPolicy", PREEMPTIONS[0]) != old.get("preemptionPolicy", PREEMPTIONS[0]):
            yield fixed(("preemptionPolicy",), "the `preemptionPolicy` of a class cannot change")
        return
    own, value = made.get("metadata", {}), made.get("value", 0)
    field = "name" if own.get("name") else "generateName"
    name = own.get(field, "")
    if name.startswith(_PREFIX):
        if SYSTEM_PRIORITIES.get(name) != value or made.get("globalDefault", False) or field != "name":
            message = f"`{name}` cannot name the class: names that start with `{_PREFIX}` are Kubernetes' own"
            yield Problem("invalid-name", ("metadata", field), message, f"write `{name.removeprefix(_PREFIX)}`" if name != _PREFIX else "")
    elif value > _MAX_PRIORITY:
        message = f"`value` must be at most {_MAX_PRIORITY:,}, got {value:,}: higher ones are Kubernetes' own"
        yield Problem("out-of-range", ("value",), message)
    if "preemptionPolicy" in made:
        yield from required_choice(made, "preemptionPolicy", PREEMPTIONS, ())
