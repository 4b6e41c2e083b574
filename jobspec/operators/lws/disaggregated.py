"""The rules of LeaderWorkerSet's webhook for DisaggregatedSets, each of whose roles becomes a LeaderWorkerSet.

Follows `DisaggregatedSetWebhook.ValidateCreate` and `ValidateUpdate`, sigs.k8s.io/lws pkg/webhooks/disaggregatedset, 0.9.0 and 0.10.0.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.structural import filled
from jobspec.operators.lws import EXCLUSIVE, SUBGROUP_EXCLUSIVE
from jobspec.operators.lws.objects import ROLLING
from jobspec.operators.lws.webhook import replacement_numbers
from jobspec.operators.webhooks import name_of, undecodable_value
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.operators.workloads import Workload


_ROLES: Path = ("spec", "roles")
_LONGEST = 253
_LEVELS = (EXCLUSIVE, SUBGROUP_EXCLUSIVE)
#: Where annotations of a role become those of its LeaderWorkerSet or of pods, in the order in which the webhook looks there.
_ANNOTATIONS: tuple[Path, ...] = tuple(
    (*place, "metadata", "annotations")
    for place in ((), *(("spec", "leaderWorkerTemplate", f"{role}Template") for role in ("leader", "worker")))
)


def _spec(workload: Workload, target: Target) -> Data:
    """The spec of a DisaggregatedSet with the defaults of its CRD."""
    document = workload.document
    return mapping(filled(document.data["spec"], shapes.part(document.api_version, document.kind, target, ("spec",))))


def role_partition(workload: Workload, target: Target) -> Iterator[Finding]:
    """The roles of a DisaggregatedSet are rolled out together, so that none can hold groups back by a `partition`."""
    for number, role in enumerate(structs(_spec(workload, target), "roles")):
        if partition := value_at(role, (*ROLLING, "partition")):
            message = f"a role of a DisaggregatedSet has no `partition`, as {partition} is: its controller rolls out all roles together"
            yield Finding((*_ROLES, number, *ROLLING, "partition"), message, "remove `partition`")


def role_rollout(workload: Workload, target: Target) -> Iterator[Finding]:
    """Numbers of a role's rollout are those that a LeaderWorkerSet can have: not below 0, not above 100%, and not both 0."""
    for number, role in enumerate(structs(_spec(workload, target), "roles")):
        rolling, replicas = value_at(role, ROLLING), mapping(role, "spec").get("replicas")
        if rolling is not None and replicas:
            yield from replacement_numbers(rolling, replicas, (*_ROLES, number, *ROLLING))


def role_scaling(workload: Workload, target: Target) -> Iterator[Finding]:
    """A role that scales elsewhere has a scaler, named after the set and the role, and its set has one slice."""
    spec, (name, _) = _spec(workload, target), name_of(workload)
    scaled = [(number, role["name"]) for number, role in enumerate(structs(spec, "roles")) if _scales_elsewhere(role)]
    for number, role in scaled:
        if (length := len(f"{name}-{role}")) > _LONGEST:
            yield Finding(
                (*_ROLES, number, "name"), f"the name of the scaler of role `{role}` has {length} characters, more than {_LONGEST}"
            )
    if scaled and spec["slices"] > 1:
        message = f"{spec['slices']} slices, of which role `{scaled[0][1]}` scales elsewhere: that works for one slice only"
        yield Finding(("spec", "slices"), message, "write `slices: 1`, or `mode: Static` for all roles")


def _scales_elsewhere(role: Data) -> bool:
    return bool(mapping(role, "scaling").get("mode") == "External")


def role_placement(workload: Workload, target: Target) -> Iterator[Finding]:
    """A placement policy names a topology, and no role asks for one of its own.

    With the annotations for groups or subgroups of a LeaderWorkerSet, no slice would ever be scheduled.
    """
    policy, data = mapping(_spec(workload, target), "placementPolicy"), workload.document.data
    kind = policy.get("type", "None")
    if kind == "None":
        return
    path = ("spec", "placementPolicy")
    if not policy.get("topology"):
        message = f"`{kind}` without a topology"
        yield Finding(path, message, "write the label of nodes into `topology`", field="spec.placementPolicy.topology")
    for number, role in enumerate(structs(data, "spec", "roles")):
        found = [(*at, Key(level)) for level in _LEVELS for at in _ANNOTATIONS if value_at(role, (*at, Key(level))) is not None]
        if found:
            message = f"`{found[0][-1]}` beside the placement policy `{kind}`: a role has only one of both"
            yield Finding((*_ROLES, number, *found[0]), message, "remove the annotation", field=f"spec.roles[{number}]")


#: The rules for a new or changed DisaggregatedSet.
RULES = [
    Rule(undecodable_value),
    Rule(role_partition),
    Rule(role_rollout, since="0.10.0"),
    Rule(role_scaling, since="0.10.0"),
    Rule(role_placement, since="0.10.0"),
]
