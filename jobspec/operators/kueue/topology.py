"""Topology-aware scheduling: which domains of a topology hold the pods of a pod set, or why none do.

Follows `TASFlavorSnapshot` and `topologyTree`, sigs.k8s.io/kueue pkg/cache/scheduler, 0.19.2, with its default feature gates; pod sets
that share a group with a leader are left to the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jobspec.go.values import mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.admission.limits import pod_requests
from jobspec.kubernetes.metadata import is_beyond, meets
from jobspec.operators.kueue.world import HOSTNAME, amount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jobspec.diagnostics import Data
    from jobspec.operators.kueue.workload import PodSet
    from jobspec.operators.kueue.world import Flavor, Nodes, World

    #: What is used of each leaf of a topology: of a host by all flavors together, of the values of other leaves by one flavor.
    LeafUsage = dict[tuple[str, ...], dict[str, int]]

_MOST = (1 << 31) - 1


@dataclass(slots=True)
class Domain:
    """A domain of a level, and how many pods it holds in the course of a search."""

    values: tuple[str, ...]
    children: list[Domain] = field(default_factory=list)
    capacity: dict[str, int] = field(default_factory=dict)
    nodes: Nodes | None = None
    pods: int = 0
    slices: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the pods of a pod set go: each leaf with its pods; or why nowhere."""

    levels: Sequence[str] = ()
    leaves: Sequence[tuple[tuple[str, ...], int]] = ()
    reason: str = ""


def place(pods: PodSet, count: int, flavor: Flavor, world: World, used: LeafUsage, *, is_implied: bool) -> Placement:
    """The domains of a flavor's topology for *count* pods of a pod set. *used*: what others have, to which these are added."""
    levels = world.levels(flavor.topology) or []
    search = _Search(pods, count, flavor, levels, world, used, is_implied=is_implied)
    found = search.run()
    if found.reason:
        return found
    for values, many in found.leaves:
        own = used.setdefault(_leaf(values, levels, flavor.name), {})
        for name, each in {**pods.requests, "pods": 1}.items():
            own[name] = own.get(name, 0) + each * many
    return found


def _leaf(values: tuple[str, ...], levels: Sequence[str], flavor: str) -> tuple[str, ...]:
    return values[-1:] if HOSTNAME in levels[-1:] else (flavor, *values)


def used_by(workloads: Iterable[Data]) -> LeafUsage:
    """What admitted Workloads have of each leaf.

    Follows `InternalSeqFrom`, pkg/util/tas, which v1beta2 needs; v1beta1 lists the domains.
    """
    found: LeafUsage = {}
    for each in workloads:
        specs = {text(it, "name"): mapping(it, "template", "spec") for it in structs(each, "spec", "podSets")}
        for assigned in structs(each, "status", "admission", "podSetAssignments"):
            requests = pod_requests(specs.get(text(assigned, "name"), {}))
            placed, of_pod = mapping(assigned, "topologyAssignment"), {name: amount(name, it) for name, it in requests.items()}
            for values, count in _assigned_domains(placed):
                for leaf in dict.fromkeys(
                    _leaf(values, texts(placed, "levels"), flavor) for flavor in string_map(assigned, "flavors").values()
                ):
                    own = found.setdefault(leaf, {})
                    for name, one in {**of_pod, "pods": 1}.items():
                        own[name] = own.get(name, 0) + one * count
    return found


def _assigned_domains(assignment: Data) -> Iterator[tuple[tuple[str, ...], int]]:
    for domain in structs(assignment, "domains"):
        yield tuple(texts(domain, "values")), number(domain, "count") or 0
    for part in structs(assignment, "slices"):
        counts = mapping(part, "podCounts")
        for index in range(number(part, "domainCount") or 0):
            values = tuple(_value(it, index) for it in structs(part, "valuesPerLevel"))
            several = counts.get("individual")
            yield values, several[index] if isinstance(several, list) else number(counts, "universal") or 0


def _value(values: Data, index: int) -> str:
    own = mapping(values, "individual")
    return text(values, "universal") or f"{text(own, 'prefix')}{texts(own, 'roots')[index]}{text(own, 'suffix')}"


def has_level(pods: PodSet, levels: Sequence[str]) -> bool:
    """Whether a topology has all levels that a pod set names."""
    main = _level(pods, levels)
    return main in levels and all(level in levels for level, _ in pods.topology.slices)


def _level(pods: PodSet, levels: Sequence[str]) -> str | None:
    asked = pods.topology
    if asked.required is not None or asked.preferred is not None:
        return asked.required if asked.required is not None else asked.preferred
    if asked.slices:
        return levels[0]
    return levels[-1] if asked.unconstrained else None


class _Search:
    """The search for the domains of one pod set."""

    def __init__(
        self, pods: PodSet, count: int, flavor: Flavor, levels: Sequence[str], world: World, used: LeafUsage, *, is_implied: bool
    ) -> None:
        self.pods, self.count, self.flavor, self.levels, self.used = pods, count, flavor, levels, used
        asked = pods.topology
        self.required = asked.required is not None
        self.free = bool(asked.unconstrained) or is_implied or (bool(asked.slices) and asked.required is None and asked.preferred is None)
        self.level = _level(pods, levels) or (levels[-1] if is_implied else None)
        self.roots, self.by_level = _tree(world.nodes or (), flavor, levels)
        self.excluded: dict[str, int] = {}
        self.total = 0
        self.size = asked.slices[0][1] if asked.slices else 1
        self.slice_level = levels.index(asked.slices[0][0]) if asked.slices and asked.slices[0][0] in levels else len(levels) - 1
        self.sizes: dict[int, int] = {}

    def run(self) -> Placement:
        """The placement, or why there is none."""
        reason = self._wrong()
        if reason:
            return Placement(reason=reason)
        assert self.level is not None
        self._count()
        at, domains, reason = self._fitting(self.levels.index(self.level))
        if reason:
            return Placement(reason=reason)
        domains = self._least(domains, self.count, self.size, by_slices=True)
        last = len(self.levels) - 1
        while at < min(last, self.slice_level):
            lower = self._sorted(child for each in domains for child in each.children)
            domains = self._least(lower, self.count, self.size, by_slices=True)
            at += 1
        while at < last:
            size = self.sizes.get(at + 1, 1)
            found = []
            for each in domains:
                lower = self._sorted(each.children)
                if size > 1:
                    for child in lower:
                        child.slices = child.pods // size
                found += self._least(lower, each.pods, size, by_slices=size > 1)
            domains, at = found, at + 1
        return Placement(self.levels, sorted((each.values, each.pods) for each in domains if each.pods))

    def _wrong(self) -> str:
        """What of the request fits no topology of these levels."""
        if self.level is None or self.level not in self.levels:
            return f"topology `{self.flavor.topology}` has no level `{self.level or ''}`"
        if self.size <= 0:
            return "the slices have no size"
        if not self.pods.requests:  # `Fits` counts how often nothing fits, and finds 0
            return "the pods request nothing, and Kueue finds no room for such pods in a topology"
        if unknown := next((level for level, _ in self.pods.topology.slices if level not in self.levels), ""):
            return f"topology `{self.flavor.topology}` has no level `{unknown}` for slices"
        if self.levels.index(self.level) > self.slice_level:
            return f"slices of level `{self.levels[self.slice_level]}` are wider than level `{self.level}`"
        before, size = self.slice_level, self.size
        for level, inner in self.pods.topology.slices[1:]:
            at = self.levels.index(level)
            if at <= before:
                return f"slice level `{level}` is not below `{self.levels[before]}`"
            if not inner or size % inner:
                return f"slices of {size} pods cannot be made of slices of {inner}"
            self.sizes |= dict.fromkeys(range(before + 1, at + 1), inner)
            before, size = at, inner
        return ""

    # How many pods and slices each domain holds.

    def _count(self) -> None:
        by_host = self.levels[-1] == HOSTNAME
        requests = {**self.pods.requests, "pods": self.pods.requests.get("pods", 0) + 1}
        for leaf in self.by_level[-1]:
            self.total += 1
            why = self._misses(leaf.nodes) if by_host and leaf.nodes else ""
            if why:
                self.excluded[why] = self.excluded.get(why, 0) + 1
                continue
            used = self.used.get(_leaf(leaf.values, self.levels, self.flavor.name), {})
            leaf.pods, limiting = min(
                (_MOST if not each else max(0, min((leaf.capacity.get(name, 0) - used.get(name, 0)) // each, _MOST)), name)
                for name, each in requests.items()
            )
            if not leaf.pods:
                self.excluded[f"too little {limiting}"] = self.excluded.get(f"too little {limiting}", 0) + 1
        for root in self.roots:
            self._fill(root, 0)

    def _fill(self, domain: Domain, level: int) -> None:
        if domain.children:
            for child in domain.children:
                self._fill(child, level + 1)
            inner = self.sizes.get(level + 1, 1)
            domain.pods = sum(child.pods // inner * inner for child in domain.children)
            domain.slices = sum(child.slices for child in domain.children)
        if level == self.slice_level:
            domain.slices = domain.pods // self.size

    def _misses(self, node: Nodes) -> str:
        """Why the pods cannot run on a node, whatever is free on it."""
        spec = self.pods.spec
        taint = untolerated(node.taints, [*structs(spec, "tolerations"), *self.flavor.tolerations])
        if taint:
            return f"taint {taint}"
        if any(node.labels.get(key) != value for key, value in string_map(spec, "nodeSelector").items()):
            return "node selector"
        terms = required_terms(spec)
        return "" if terms is None or any(matches_term(each, node.labels, node.name) for each in terms) else "node affinity"

    # Which domains hold the pods.

    def _sorted(self, domains: Iterable[Domain]) -> list[Domain]:
        """The domains in the order in which they are filled: the roomiest first, or the least one where pods may stand anywhere."""
        sign = 1 if self.free else -1
        return sorted(domains, key=lambda each: (sign * each.slices, each.pods, each.values))

    def _fitting(self, level: int) -> tuple[int, list[Domain], str]:
        """The level, at or above the one that is asked for, whose domains hold all, and these domains."""
        domains = self._sorted(self.by_level[level])
        if not domains:
            return 0, [], f"no node has the labels of topology `{self.flavor.topology}` and of flavor `{self.flavor.name}`"
        wanted = self.count // self.size
        top = domains[0]
        if self.free:
            fitting = next((each for each in domains if each.slices >= wanted), None)
            if fitting:
                return level, [fitting], ""
            if self.required:
                return 0, [], self._too_narrow(domains[-1].pods, wanted)
        elif top.slices >= wanted:
            return level, [_best(domains, wanted, lambda each: each.slices)], ""
        if self.required:
            return 0, [], self._too_narrow(top.slices, wanted)
        if level > 0 and not self.free:
            return self._fitting(level - 1)
        found, left = [], wanted
        for at, each in enumerate(domains):
            if left <= 0:
                break
            chosen = _best(domains[at:], left, lambda it: it.slices) if not self.free and each.slices >= left else each
            found.append(chosen)
            left -= chosen.slices
        return (0, [], self._too_narrow(wanted - left, wanted)) if left > 0 else (level, found, "")

    def _least(self, domains: Sequence[Domain], count: int, size: int, *, by_slices: bool) -> list[Domain]:
        """The fewest of sorted domains that hold so many pods, each with the number that it gets."""
        found: list[Domain] = []
        left = count // size if by_slices else count

        def room(each: Domain) -> int:
            return each.slices if by_slices else each.pods

        for at, each in enumerate(domains):
            chosen = _best(domains[at:], left, room) if not self.free and room(each) >= left else each
            given = min(room(chosen), left)
            chosen.pods = given * size if by_slices else given
            chosen.slices = given if by_slices else chosen.slices
            left -= given
            found.append(chosen)
            if not left:
                break
        return found

    def _too_narrow(self, fitting: int, wanted: int) -> str:
        what = "pods" if self.size == 1 else f"slices of {self.size} pods"
        where, has = (f"one {self.level}", "has") if self.required else ("the nodes", "have")
        excluded = ", ".join(f"{why} in {number}" for why, number in sorted(self.excluded.items()))
        room = f"{where} of topology `{self.flavor.topology}` {has} room for {fitting} of {wanted} {what}"
        return f"{room}; of {self.total} domains: {excluded}" if excluded else room


def _best(domains: Sequence[Domain], needed: int, room: Callable[[Domain], int]) -> Domain:
    """The first of the domains that hold so many with the least to spare; the first of all where none does."""
    return min((each for each in domains if room(each) >= needed), key=room, default=domains[0])


def _tree(nodes: Sequence[Nodes], flavor: Flavor, levels: Sequence[str]) -> tuple[list[Domain], list[list[Domain]]]:
    """The domains of a flavor's nodes: the widest ones, and those of each level."""
    found: list[dict[tuple[str, ...], Domain]] = [{} for _ in levels]
    hosts: set[str] = set()
    for at, shape in enumerate(nodes):
        for each in _single(shape, at, levels):
            if any(each.labels.get(key) != value for key, value in flavor.labels.items()) or any(it not in each.labels for it in levels):
                continue
            values = tuple(each.labels[it] for it in levels)
            if levels[-1] == HOSTNAME and values not in found[-1] and values[-1] in hosts:
                values = next(it for it in found[-1] if it[-1] == values[-1])  # the first node of a host says where it is
            hosts.add(values[-1])
            for depth in range(len(levels)):
                domain = found[depth].get(values[: depth + 1])
                if domain is None:
                    domain = found[depth][values[: depth + 1]] = Domain(values[: depth + 1])
                    if depth:
                        found[depth - 1][values[:depth]].children.append(domain)
            leaf = found[-1][values]
            leaf.nodes = leaf.nodes or each
            for name, value in each.allocatable.items():
                leaf.capacity[name] = leaf.capacity.get(name, 0) + value
    return list(found[0].values()), [list(each.values()) for each in found]


def _single(shape: Nodes, at: int, levels: Sequence[str]) -> Iterator[Nodes]:
    """The nodes of a shape; those of a pinned cluster get a host name each."""
    if shape.name or HOSTNAME in shape.labels:
        yield shape
        return
    for index in range(shape.count if HOSTNAME in levels else 1):
        yield type(shape)(1, {**shape.labels, HOSTNAME: f"node-{at}-{index}"}, shape.taints, _times(shape, levels), "")


def _times(shape: Nodes, levels: Sequence[str]) -> Mapping[str, int]:
    return shape.allocatable if HOSTNAME in levels else {name: each * shape.count for name, each in shape.allocatable.items()}


# Labels and taints of nodes against what pods select and tolerate.
#
# Follows `FindMatchingUntoleratedTaint` and `nodeaffinity`, k8s.io/component-helpers scheduling/corev1, 0.36.


def untolerated(taints: Iterable[Data], tolerations: Sequence[Data]) -> str:
    """The first taint that keeps pods away and that none tolerates, in words; empty where there is none."""
    for each in taints:
        if text(each, "effect") in ("NoSchedule", "NoExecute") and not any(_tolerates(it, each) for it in tolerations):
            value = text(each, "value")
            return f"{text(each, 'key')}{f'={value}' if value else ''}:{text(each, 'effect')}"
    return ""


def _tolerates(toleration: Data, taint: Data) -> bool:
    key, operator, value = text(toleration, "key"), text(toleration, "operator") or "Equal", text(toleration, "value")
    if text(toleration, "effect") not in ("", text(taint, "effect")) or key not in ("", text(taint, "key")):
        return False
    if operator in ("Lt", "Gt"):
        return is_beyond(operator, text(taint, "value"), value)
    return operator == "Exists" or (operator == "Equal" and value == text(taint, "value"))


def required_terms(spec: Data) -> list[Data] | None:
    """The terms of which a pod's node has to match one; None where it requires nothing."""
    wanted = mapping(spec, "affinity", "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    return structs(wanted, "nodeSelectorTerms") if isinstance(wanted, dict) else None


def matches_term(term: Data, labels: Mapping[str, str], name: str = "") -> bool:
    """Whether a node matches a term, which matches none where it is empty."""
    expressions, fields = structs(term, "matchExpressions"), structs(term, "matchFields")
    right = all(meets(labels, each) for each in expressions)
    return bool(expressions or fields) and right and all(meets({"metadata.name": name}, each) for each in fields)
