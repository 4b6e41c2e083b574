"""The queues of a cluster as one value: ClusterQueues, LocalQueues, the tree of cohorts, flavors, topologies and nodes.

Follows `clusterQueue`, `resourceNode` and `Snapshot`, sigs.k8s.io/kueue pkg/cache/scheduler, and `Amount`, pkg/resources, 0.19.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from jobspec.apis.kinds import (
    CLUSTER,
    CONFIG_MAP,
    NODE,
    PRIORITY_CLASS,
    QUEUE_CONFIGURATION,
    QUEUE_CONFIGURATION_KEY,
    CompleteKinds,
    configures_queues,
)
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Data
from jobspec.go.quantities import Quantity, quantity_of
from jobspec.go.values import items, mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.problems import listed
from jobspec.operators.kueue.keys import GATED
from jobspec.operators.kueue.versions import as_v1beta2

#: Flavor and resource.
Cell = tuple[str, str]
#: Kind (`ClusterQueue` or `Cohort`) and name of a node in the tree of cohorts.
Place = tuple[str, str]
#: What is used of each cell at each place of the tree.
Usage = dict[Place, dict[Cell, int]]

#: The amount that means unlimited to Kueue; no amount exceeds it.
UNLIMITED = (1 << 63) - 1
_OUT = ("Requeued", "Inadmissible")


def amount(resource: str, value: Any) -> int:
    """Return an amount as Kueue counts it.

    Kueue counts thousandths of a CPU, and whole units of all else, rounded up.
    """
    return min(-(-quantity_of(value).nanos // _nanos_per_unit(resource)), UNLIMITED)


def _nanos_per_unit(resource: str) -> int:
    return 1_000_000 if resource == "cpu" else 1_000_000_000


def spelt(resource: str, value: int) -> str:
    """An amount as people write it."""
    if value >= UNLIMITED:
        return "unlimited"
    is_memory = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return str(Quantity(value * _nanos_per_unit(resource), "binary" if is_memory else "decimal"))


def plus(one: int, other: int) -> int:
    """A sum; unlimited plus an amount is unlimited."""
    return UNLIMITED if UNLIMITED in (one, other) else min(one + other, UNLIMITED)


def minus(one: int, other: int) -> int:
    """A difference; unlimited minus an amount is unlimited."""
    return 0 if one == other else UNLIMITED if one == UNLIMITED else max(one - other, -UNLIMITED - 1)


@dataclass(frozen=True, slots=True)
class CellQuota:
    """The quota of a queue or cohort for one cell, a flavor and a resource."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor; one that is not given is assumed to fit every pod."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Data] = ()
    tolerations: Sequence[Data] = ()
    topology: str = ""
    is_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group of a ClusterQueue."""

    resources: frozenset[str]
    flavors: Sequence[str]


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """Nodes that are alike but for their names."""

    count: int
    labels: Mapping[str, str]
    taints: Sequence[Data]
    allocatable: Mapping[str, int]
    name: str = ""


@dataclass(frozen=True)
class World:
    """All given objects, as Kueue sees them when it admits a workload."""

    objects: Mapping[tuple[str, str, str], Data]
    """Kueue's objects by kind, namespace and name, as v1beta2 has them."""
    others: Index
    """All given objects, Namespaces, classes, LimitRanges and templates of device claims among them."""
    nodes: Sequence[AlikeNodes] | None
    """None if no node is given."""
    configuration: Data = field(default_factory=dict)
    """Kueue's own configuration, if it is given."""
    rivals: Mapping[tuple[str, str, str], Sequence[Data]] = field(default_factory=dict)
    """The different objects of one kind, namespace and name, before the last: any of them may be there."""

    def with_rivals(self) -> Iterator[tuple[tuple[str, str, str], World]]:
        """The worlds in which other objects of a name are there: each alone, and those that were given together."""
        for key, several in self.rivals.items():
            yield from ((key, replace(self, objects={**self.objects, key: each}, rivals={})) for each in several)
        for turn in range(max(map(len, self.rivals.values()), default=0)) if len(self.rivals) > 1 else ():
            together = {key: several[turn] for key, several in self.rivals.items() if turn < len(several)}
            yield next(iter(together)), replace(self, objects={**self.objects, **together}, rivals={})

    def lacks(self, kind: str, namespace: str = "default") -> bool:
        """Whether an object of a kind of Kueue that is not given cannot exist."""
        return self.others.complete.lack((GROUP, kind), namespace)

    def has_no(self, kind: str, name: str) -> bool:
        """Whether a class of priorities is not given and cannot exist."""
        group = GROUP if kind == "WorkloadPriorityClass" else PRIORITY_CLASS[0]
        return bool(name) and self.others.complete.lack((group, kind), "")

    @cached_property
    def closed(self) -> bool:
        """Whether all queues and cohorts are given."""
        return self.lacks("ClusterQueue") and self.lacks("Cohort")

    def of_kind(self, kind: str) -> Iterator[tuple[tuple[str, str], Data]]:
        """The objects of a kind of Kueue, with namespace and name."""
        return ((key[1:], each) for key, each in self.objects.items() if key[0] == kind)

    def object(self, kind: str, name: str, namespace: str = "") -> Data | None:
        """The object of a kind of Kueue and of a name."""
        return self.objects.get((kind, namespace, name))

    @cached_property
    def queues(self) -> Mapping[str, QueueInCohort]:
        """The ClusterQueues by name."""
        return {name: QueueInCohort(name, each, self) for (_, name), each in self.of_kind("ClusterQueue")}

    def local_queue(self, namespace: str, name: str) -> Data | None:
        """The LocalQueue of a name; one without a namespace counts as being in the asked one."""
        return self.object("LocalQueue", name, namespace) or self.object("LocalQueue", name)

    def namespaces_of(self, local_queue: str) -> list[str]:
        """The namespaces that have a LocalQueue of a name."""
        return [namespace for (namespace, name), _ in self.of_kind("LocalQueue") if name == local_queue]

    @cached_property
    def flavors(self) -> Mapping[str, Flavor]:
        """The ResourceFlavors by name."""
        return {name: _flavor(name, mapping(each, "spec")) for (_, name), each in self.of_kind("ResourceFlavor")}

    def flavor(self, name: str) -> Flavor | None:
        """The flavor of a name; None where it does not exist."""
        return self.flavors.get(name) or (None if self.lacks("ResourceFlavor") else Flavor(name, is_assumed=True))

    def levels(self, topology: str) -> list[str] | None:
        """The node labels of a topology's levels, the widest first; None for one that is not at hand."""
        found = self.object("Topology", topology)
        return None if found is None else [text(each, "nodeLabel") for each in structs(found, "spec", "levels")]

    # What pods are charged.

    def charged(self, requests: Mapping[str, int]) -> dict[str, int]:
        """What a pod takes of quotas for its requests: all of them, unless Kueue's configuration leaves out or transforms some.

        Follows `dropExcludedResources` and `applyResourceTransformations`, sigs.k8s.io/kueue pkg/workload, 0.19.2.
        """
        configured = mapping(self.configuration, "resources")
        excluded = tuple(texts(configured, "excludeResourcePrefixes"))
        rules = {text(each, "input"): each for each in structs(configured, "transformations")}
        asked = {name: each for name, each in requests.items() if not name.startswith(excluded)}
        found = {name: each for name, each in asked.items() if text(rules.get(name, {}), "strategy") != "Replace"}
        made = Counter[str]()
        for name, rule in rules.items():
            if name in asked:
                times = asked.get(text(rule, "multiplyBy"))
                nanos = asked[name] * _nanos_per_unit(name)
                nanos = nanos if times is None else nanos * times * _nanos_per_unit(text(rule, "multiplyBy")) // 10**9
                for output, factor in mapping(rule, "outputs").items():
                    made[output] += nanos * quantity_of(factor).nanos // 10**9
        for name, nanos in made.items():
            found[name] = found.get(name, 0) - (-max(0, nanos) // _nanos_per_unit(name))
        return found

    @property
    def ignores_undeclared(self) -> bool:
        """Whether resources without a quota in a ClusterQueue are not counted there."""
        return text(mapping(self.configuration, "resources"), "quotaCheckStrategy") == "IgnoreUndeclared"

    # The tree of cohorts.

    @cached_property
    def parents(self) -> Mapping[Place, Place]:
        """The cohort above each ClusterQueue and cohort that has one."""
        found = {("ClusterQueue", name): text(mapping(each, "spec"), "cohortName") for (_, name), each in self.of_kind("ClusterQueue")}
        found |= {("Cohort", name): text(mapping(each, "spec"), "parentName") for (_, name), each in self.of_kind("Cohort")}
        return {place: ("Cohort", parent) for place, parent in found.items() if parent}

    def above(self, place: Place) -> list[Place]:
        """The cohorts above a place, the nearest first; up to the first repetition where they are a cycle."""
        found: list[Place] = []
        while (place := self.parents.get(place, ("", ""))) != ("", "") and place not in found:
            found.append(place)
        return found

    def in_cycle(self, place: Place) -> bool:
        """Whether the cohorts above a place lead back to one of them."""
        path = self.above(place)
        return bool(path) and path[-1] in self.parents

    @cached_property
    def quotas(self) -> Mapping[Place, Mapping[Cell, CellQuota]]:
        """The quotas that each ClusterQueue and cohort says."""
        given = {(kind, name): _quotas(each) for kind in ("ClusterQueue", "Cohort") for (_, name), each in self.of_kind(kind)}
        return {**{place: {} for place in self.parents.values()}, **given}

    @cached_property
    def subtree(self) -> Mapping[Place, Mapping[Cell, int]]:
        """The quota of each place and all below it, without what those do not lend."""
        children = grouped(self.parents, lambda place: self.parents[place])
        found: dict[Place, dict[Cell, int]] = {}

        def fill(place: Place) -> dict[Cell, int]:
            own = {cell: quota.nominal for cell, quota in self.quotas[place].items()}
            for child in children.get(place, ()):
                for cell, value in fill(child).items():
                    own[cell] = plus(own.get(cell, 0), minus(value, self._kept(child, cell, value)))
            found[place] = own
            return own

        for place in self.quotas:
            if place not in self.parents:
                fill(place)
        return found

    def height(self, place: Place) -> int:
        """The distance to the furthest place below."""
        return 1 + max((self.height(child) for child, parent in self.parents.items() if parent == place), default=-1)

    def _kept(self, place: Place, cell: Cell, subtree: int) -> int:
        lending = self.quotas[place].get(cell, CellQuota()).lending
        return 0 if lending is None else max(0, minus(subtree, lending))

    def kept(self, place: Place, cell: Cell) -> int:
        """The amount that a place never lends: `localQuota`."""
        return self._kept(place, cell, self.subtree[place].get(cell, 0))

    def free_here(self, place: Place, cell: Cell, usage: Usage) -> int:
        """The free part of the amount that a place never lends."""
        return max(0, minus(self.kept(place, cell), usage.get(place, {}).get(cell, 0)))

    def available(self, place: Place, cell: Cell, usage: Usage) -> int:
        """The amount available at a place now, borrowed amounts included; negative where more is used than there is."""
        used, subtree = usage.get(place, {}).get(cell, 0), self.subtree[place].get(cell, 0)
        parent = self.parents.get(place)
        if parent is None:
            return minus(subtree, used)
        if not self.closed:
            return minus(self.most(place, cell), used)
        above = self.available(parent, cell, usage)
        limit = self.quotas[place].get(cell, CellQuota()).borrowing
        if limit is not None:
            kept = self.kept(place, cell)
            above = min(above, plus(minus(minus(subtree, kept), max(0, minus(used, kept))), limit))
        return plus(self.free_here(place, cell, usage), above)

    def most(self, place: Place, cell: Cell) -> int:
        """The amount available at a place in an empty cluster."""
        subtree, parent = self.subtree[place].get(cell, 0), self.parents.get(place)
        if parent is None:
            return subtree
        found = plus(self.kept(place, cell), self.most(parent, cell)) if self.closed else UNLIMITED  # others may lend
        return self._limited(place, cell, subtree, found)

    def most_given(self, place: Place, cell: Cell) -> int:
        """The amount available at a place in an empty cluster by the given queues and cohorts alone."""
        subtree, parent = self.subtree[place].get(cell, 0), self.parents.get(place)
        if parent is None:
            return subtree
        return self._limited(place, cell, subtree, plus(self.kept(place, cell), self.most_given(parent, cell)))

    def borrows(self, place: Place, cell: Cell) -> bool:
        """True if a queue with a quota of a cell can borrow more from the given queues."""
        return cell in self.quotas[place] and self.most_given(place, cell) > self.subtree[place].get(cell, 0)

    def _limited(self, place: Place, cell: Cell, subtree: int, found: int) -> int:
        """An amount, as far as the borrowing limit of a place allows."""
        limit = self.quotas[place].get(cell, CellQuota()).borrowing
        return found if limit is None else min(plus(subtree, limit), found)

    def with_usage(self, usage: Usage, place: Place, cell: Cell, value: int) -> None:
        """Add to what a place uses, and above it what goes beyond its own part; a negative value takes it away."""
        own = usage.setdefault(place, {})
        used, parent = own.get(cell, 0), self.parents.get(place)
        kept = self.kept(place, cell)
        own[cell] = used + value
        change = max(0, own[cell] - kept) - max(0, used - kept)
        if parent is not None and change:
            self.with_usage(usage, parent, cell, change)

    # What runs already.

    @cached_property
    def admitted(self) -> list[Data]:
        """The Workloads that have quota, which they give back at their end."""
        return [each for _, each in self.of_kind("Workload") if mapping(each, "status", "admission") and _is_active(each)]

    @cached_property
    def knows_usage(self) -> bool:
        """Whether the objects say what runs."""
        return bool(self.admitted) or any("flavorsReservation" in mapping(each, "status") for _, each in self.of_kind("ClusterQueue"))

    def usage(self) -> Usage:
        """What is used, as the status of the ClusterQueues says, else as their Workloads do; a value of its own for each caller."""
        found: Usage = {}
        for name, each in self.queues.items():
            reserved = structs(mapping(each.data, "status"), "flavorsReservation")
            said = [(text(flavor, "name"), text(it, "name"), it) for flavor in reserved for it in structs(flavor, "resources")]
            cells = [((flavor, resource), amount(resource, it.get("total", 0))) for flavor, resource, it in said]
            if not reserved:
                own = [it for it in self.admitted if text(mapping(it, "status", "admission"), "clusterQueue") == name]
                cells = [cell for it in own for cell in usage_of(it).items()]
            for cell, value in cells if not self.in_cycle(each.place) else ():
                self.with_usage(found, each.place, cell, value)
        return found

    # What becomes of it.

    def without_workloads(self) -> World:
        """The world before anything runs or waits."""
        left = {key: each for key, each in self.objects.items() if key[0] != "Workload"}
        for key in [key for key in left if key[0] == "ClusterQueue"]:
            status = {name: each for name, each in mapping(left[key], "status").items() if name != "flavorsReservation"}
            left[key] = {**left[key], **({"status": status} if "status" in left[key] else {})}
        return replace(self, objects=left)

    def without(self, workloads: Sequence[Data]) -> World:
        """The world without some Workloads, and without what their queues have reserved for those that are admitted."""
        gone = {id(each) for each in workloads}
        left = {key: each for key, each in self.objects.items() if id(each) not in gone}
        return replace(self, objects=self._with_reserved(left, [each for each in self.admitted if id(each) in gone], -1))

    def with_admitted(self, workload: Data) -> World:
        """The world with one more Workload that is admitted."""
        metadata = mapping(workload, "metadata")
        key = ("Workload", text(metadata, "namespace"), text(metadata, "name"))
        return replace(self, objects=self._with_reserved({**self.objects, key: workload}, [workload], 1))

    def _with_reserved(
        self, objects: Mapping[tuple[str, str, str], Data], workloads: Sequence[Data], sign: int
    ) -> Mapping[tuple[str, str, str], Data]:
        """Objects in which the status of queues that says what is reserved counts some Workloads; *sign*: -1 to count them no more."""
        found = dict(objects)
        for each in workloads:
            key = ("ClusterQueue", "", text(mapping(each, "status", "admission"), "clusterQueue"))
            if structs(found.get(key), "status", "flavorsReservation"):
                found[key] = _with_cells(found[key], usage_of(each), sign)
        return found


def _with_cells(queue: Data, cells: Mapping[Cell, int], sign: int) -> Data:
    """A ClusterQueue whose status says that it has reserved more or, if *sign* is -1, less of some cells."""

    def changed(flavor: str, resource: Data) -> Data:
        name = text(resource, "name")
        total = amount(name, resource.get("total", 0)) + sign * cells.get((flavor, name), 0)
        return {**resource, "total": spelt(name, max(0, total))}

    reserved = [
        {**each, "resources": [changed(text(each, "name"), it) for it in structs(each, "resources")]}
        for each in structs(queue, "status", "flavorsReservation")
    ]
    return {**queue, "status": {**mapping(queue, "status"), "flavorsReservation": reserved}}


def is_pending(workload: Data) -> bool:
    """Whether a Workload waits for quota, as its status says; one that cannot be counted, as by its claims, is in no queue."""
    status, gates = mapping(workload, "status"), string_map(mapping(workload, "metadata"), "annotations").get(GATED)
    is_out = any((text(each, "type"), text(each, "reason")) == _OUT for each in structs(status, "conditions"))
    return bool(status) and not status.get("admission") and not gates and not is_out and _is_active(workload)


def _is_active(workload: Data) -> bool:
    return not has_condition(workload, "Finished") and mapping(workload, "spec").get("active") is not False


def has_condition(data: Data | None, kind: str, status: str = "True") -> bool:
    """Whether an object says that a condition has a status."""
    return any((text(each, "type"), text(each, "status")) == (kind, status) for each in structs(data, "status", "conditions"))


def usage_of(workload: Data) -> dict[Cell, int]:
    """What an admitted Workload uses, without the pods that it has no more need of."""
    found: Counter[Cell] = Counter()
    counts = {text(each, "name"): number(each, "count") or 0 for each in structs(workload, "spec", "podSets")}
    done = {text(each, "name"): number(each, "count") or 0 for each in structs(workload, "status", "reclaimablePods")}
    for each in structs(workload, "status", "admission", "podSetAssignments"):
        name = text(each, "name")
        count = number(each, "count") or counts.get(name, 0)
        left = min(count, max(0, counts.get(name, count) - done.get(name, 0)))
        for resource, flavor in string_map(each, "flavors").items():
            value = amount(resource, mapping(each, "resourceUsage").get(resource, 0))
            found[flavor, resource] += value if left == count else value // count * left
    return found


@dataclass(frozen=True)
class QueueInCohort:
    """A ClusterQueue among the others."""

    name: str
    data: Data
    world: World

    @property
    def place(self) -> Place:
        """Its place in the tree of cohorts."""
        return "ClusterQueue", self.name

    @cached_property
    def spec(self) -> Data:
        """What it says."""
        return mapping(self.data, "spec")

    @cached_property
    def groups(self) -> list[Group]:
        """Its resource groups."""
        return [
            Group(frozenset(map(str, items(each, "coveredResources"))), [text(it, "name") for it in structs(each, "flavors")])
            for each in structs(self.spec, "resourceGroups")
        ]

    def group_of(self, resource: str) -> Group | None:
        """The resource group that covers a resource."""
        return next((each for each in self.groups if resource in each.resources), None)

    @cached_property
    def flavors(self) -> list[str]:
        """The flavors of all its groups."""
        return [name for group in self.groups for name in group.flavors]

    def quota(self, cell: Cell) -> CellQuota:
        """Its own quota of a cell."""
        return self.world.quotas[self.place].get(cell, CellQuota())

    @cached_property
    def fungibility(self) -> tuple[str, str, str]:
        """`whenCanBorrow`, `whenCanPreempt`, and which of both is preferred."""
        given = mapping(self.spec, "flavorFungibility")
        preference = text(given, "preference") or "BorrowingOverPreemption"
        return text(given, "whenCanBorrow") or "MayStopSearch", text(given, "whenCanPreempt") or "TryNextFlavor", preference

    @cached_property
    def checks(self) -> Mapping[str, frozenset[str]]:
        """Its admission checks with the flavors that they are for."""
        rules = structs(self.spec, "admissionChecksStrategy", "admissionChecks")
        return {text(each, "name"): frozenset(map(str, items(each, "onFlavors") or self.flavors)) for each in rules}

    def checks_of(self, controller: str) -> list[str]:
        """Its admission checks of a controller."""
        found = ((name, self.world.object("AdmissionCheck", name)) for name in self.checks)
        return sorted(name for name, each in found if each and text(mapping(each, "spec"), "controllerName") == f"{GROUP}/{controller}")

    def _parameters(self) -> Iterator[tuple[str, str, str]]:
        """Each check whose parameters name an object of Kueue that is not given, though others of its kind are; kind and name of that."""
        for check in sorted(self.checks):
            named = mapping(self.world.object("AdmissionCheck", check), "spec", "parameters")
            kind, name = text(named, "kind"), text(named, "name")
            if text(named, "apiGroup") == GROUP and not self.world.object(kind, name) and any(self.world.of_kind(kind)):
                yield check, kind, name

    @cached_property
    def is_tas_only(self) -> bool:
        """Whether all of its flavors have a topology."""
        found = [self.world.flavor(each) for each in self.flavors]
        return all(each and (each.topology or each.is_assumed) for each in found)

    def missing(self, *, with_topologies: bool = False) -> list[tuple[str, str]]:
        """The kind and name of each object that it needs to be active and that is not given.

        If it dispatches jobs to other clusters, topologies are only needed by jobs that ask for them: *with_topologies*.
        """
        world = self.world
        found = [("ResourceFlavor", each) for each in dict.fromkeys(self.flavors) if each not in world.flavors]
        found += [("AdmissionCheck", each) for each in sorted(self.checks) if not world.object("AdmissionCheck", each)]
        found += [(kind, name) for _, kind, name in self._parameters()]
        topologies = dict.fromkeys(flavor.topology for name in self.flavors if (flavor := world.flavors.get(name)) and flavor.topology)
        needs_them = with_topologies or not self.checks_of("multikueue")
        return found + [("Topology", each) for each in topologies if needs_them and world.levels(each) is None]

    @property
    def stop_policy(self) -> str:
        """Why somebody has stopped it; empty for one that nobody has stopped."""
        said = text(self.spec, "stopPolicy") or "None"
        return f"is stopped: `stopPolicy: {said}`" if said != "None" else ""

    @property
    def lends(self) -> bool:
        """True if other queues of its cohorts can borrow from it.

        If no other queue is given, one may exist.
        """
        world, above = self.world, self.world.above(self.place)
        lent = [cell for cell, each in world.quotas.get(self.place, {}).items() if each.nominal > 0 and each.lending != 0]
        if not above or not lent or world.in_cycle(self.place):
            return bool(above and lent)
        others = [
            each for each in world.quotas if each[0] == "ClusterQueue" and each != self.place and world.above(each)[-1:] == above[-1:]
        ]
        return not others or any(world.borrows(each, cell) for each in others for cell in lent)

    @cached_property
    def inactive(self) -> list[str]:
        """Why it admits nothing, however much is free; empty for one that is active."""
        return [*filter(None, [self.stop_policy]), *self.broken]

    @cached_property
    def broken(self) -> list[str]:
        """Why it admits nothing though nobody has stopped it."""
        world, found = self.world, list[str]()
        if missing := [each for each in self.flavors if world.flavor(each) is None]:
            found.append(f"has no ResourceFlavor {listed(missing)}")
        if world.lacks("AdmissionCheck") and (missing := sorted(each for each in self.checks if not world.object("AdmissionCheck", each))):
            found.append(f"has no AdmissionCheck {listed(missing)}")
        inactive = [each for each in sorted(self.checks) if has_condition(world.object("AdmissionCheck", each), "Active", "False")]
        found += [f"waits for the inactive AdmissionCheck `{each}`" for each in inactive]
        found += [f"has no {kind} `{name}` of AdmissionCheck `{each}`" for each, kind, name in self._parameters() if world.lacks(kind)]
        several = self.checks_of("multikueue")
        if len(several) > 1:
            found.append(f"has several MultiKueue checks: {listed(several)}")
        if partial := [each for each in several if self.checks[each] != frozenset(self.flavors)]:
            found.append(f"has a MultiKueue check for some flavors alone: {listed(partial)}")
        if several and self.checks_of("provisioning-request"):
            found.append("has both a MultiKueue check and one for ProvisioningRequests")
        topologies = {name: each.topology for name in self.flavors if (each := world.flavor(name)) and each.topology}
        if world.lacks("Topology") and not several:
            found += [f"has no Topology `{it}` of flavor `{name}`" for name, it in topologies.items() if world.levels(it) is None]
        if world.in_cycle(self.place):
            found.append("has cohorts whose parents form a cycle")
        return found


def _quotas(data: Data) -> dict[Cell, CellQuota]:
    """The quotas in the resource groups of a ClusterQueue or a cohort."""
    found = {}
    for group in structs(data, "spec", "resourceGroups"):
        for flavor in structs(group, "flavors"):
            for each in structs(flavor, "resources"):
                name = text(each, "name")
                nominal, *limits = (
                    None if each.get(it) is None else amount(name, each[it]) for it in ("nominalQuota", "borrowingLimit", "lendingLimit")
                )
                found[text(flavor, "name"), name] = CellQuota(nominal or 0, *limits)
    return found


def _flavor(name: str, spec: Data) -> Flavor:
    tolerations = structs(spec, "tolerations")
    return Flavor(name, string_map(spec, "nodeLabels"), structs(spec, "nodeTaints"), tolerations, text(spec, "topologyName"))


def world_of(objects: Iterable[Data], *, closed: bool = True) -> World:
    """The queues and nodes among objects. *closed*: there is nothing else."""
    return queues_in(Index(objects, complete=CompleteKinds(every=closed)))


def queues_in(index: Index) -> World:
    """Return the queues and nodes among all given objects.

    The nodes are those that are given themselves, and the shapes of a pinned cluster's nodes.
    """
    kueue: dict[tuple[str, str, str], Data] = {}
    rivals: dict[tuple[str, str, str], list[Data]] = {}
    for each in map(as_v1beta2, index.of_group(GROUP)):
        kind, metadata = str(each.get("kind")), mapping(each, "metadata")
        namespace = text(metadata, "namespace") if kind in ("LocalQueue", "Workload") else ""
        key = (kind, namespace, text(metadata, "name"))
        if key in kueue and kueue[key].get("spec") != each.get("spec"):
            rivals.setdefault(key, []).append(kueue[key])
        kueue[key] = each
    given = index.of_kind(NODE)
    shapes = [each for cluster in index.of_kind(CLUSTER) for each in structs(cluster, "spec", "nodes")]
    nodes = [*(_node(each) for each in given if _is_ready(each)), *map(_shape, shapes)]
    configured = [_configuration(each) for kind in (CONFIG_MAP, QUEUE_CONFIGURATION) for each in index.selected(kind, configures_queues)]
    return World(kueue, index, nodes if given or shapes else None, configured[-1] if configured else {}, rivals)


def queues_of(index: Index) -> World:
    """Return the queues and nodes of an index, which are gathered once.

    What they look up is recorded in the index that is asked.
    """
    world = index.once("queues", queues_in)
    return world if world.others is index else replace(world, others=index)


def _configuration(data: Data) -> Data:
    """Kueue's configuration, in a ConfigMap its text; empty where that cannot be read."""
    if data["kind"] == QUEUE_CONFIGURATION[1]:
        return data
    from jobspec.documents.reader import read

    documents, problems = read(text(mapping(data, "data"), QUEUE_CONFIGURATION_KEY), file=QUEUE_CONFIGURATION_KEY)
    return documents[0].data if documents and not problems else {}


def _allocatable(data: Data) -> dict[str, int]:
    return {name: amount(name, value) for name, value in mapping(data, "allocatable").items()}


def _node(data: Data) -> AlikeNodes:
    name, labels = text(mapping(data, "metadata"), "name"), string_map(mapping(data, "metadata"), "labels")
    return AlikeNodes(1, labels, structs(data, "spec", "taints"), _allocatable(mapping(data, "status")), name)


def _shape(data: Data) -> AlikeNodes:
    count = data.get("count")
    return AlikeNodes(count if isinstance(count, int) else 1, string_map(data, "labels"), structs(data, "taints"), _allocatable(data))


def _is_ready(node: Data) -> bool:
    """Whether pods can start on a node; a node without conditions in its status counts as ready."""
    conditions = structs(node, "status", "conditions")
    ready = [text(each, "status") == "True" for each in conditions if text(each, "type") == "Ready"]
    return not mapping(node, "spec").get("unschedulable") and all(ready)
