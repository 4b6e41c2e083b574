"""Topology-aware scheduling: which domains of a topology hold the pods of a pod set, or why none do.

Follows `TASFlavorSnapshot` and `topologyTree`, sigs.k8s.io/kueue pkg/cache/scheduler, 0.19.2, with its default feature gates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from jobspec.diagnostics.places import Data
from jobspec.go.values import MAX_INT32, mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.label_selectors import is_beyond, meets
from jobspec.kubernetes.pods.amounts import pod_requests
from jobspec.operators.kueue.workload import QueuedPodSet, adjusted
from jobspec.operators.kueue.world import AlikeNodes, Flavor, World, amount, spelt
from jobspec.operators.workloads import HOSTNAME

#: What is used of each leaf of a topology: of a host by all flavors together, of the values of other leaves by one flavor.
LeafUsage = dict[tuple[str, ...], Counter[str]]


@dataclass(slots=True)
class Domain:
    """A domain of a level, and how many pods it holds in the course of a search."""

    values: tuple[str, ...]
    children: list[Domain] = field(default_factory=list)
    capacity: Counter[str] = field(default_factory=Counter)
    nodes: AlikeNodes | None = None
    pods: int = 0
    slices: int = 0
    leaders: int = 0
    """Whether the leader of a group has room, too: 0 or 1."""
    led: int = 0
    """How many slices it holds beside the leader; those of a group are single pods."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the pods of a pod set go: each leaf with its pods; or why nowhere."""

    levels: Sequence[str] = ()
    leaves: Sequence[tuple[tuple[str, ...], int]] = ()
    reason: str = ""


def place(
    pods: QueuedPodSet, flavor: Flavor, world: World, used: LeafUsage, *, is_implied: bool, leader: QueuedPodSet | None = None
) -> list[Placement]:
    """The domains of a flavor's topology for the pods of a pod set, and for the one of the *leader* of its group.

    *used*: what others have, to which these are added.
    """
    found = _Search(pods, flavor, world, used, is_implied=is_implied, leader=leader).run()
    for each, placement in zip((pods, leader), found, strict=False):
        for values, many in placement.leaves:
            _add(used, _leaf(values, placement.levels, flavor.name), each.requests if each else {}, many)
    return found


def _add(used: LeafUsage, leaf: tuple[str, ...], requests: Mapping[str, int], pods: int) -> None:
    """Count a number of pods, each with some requests, as using a leaf."""
    used.setdefault(leaf, Counter()).update({name: one * pods for name, one in {**requests, "pods": 1}.items()})


def _leaf(values: tuple[str, ...], levels: Sequence[str], flavor: str) -> tuple[str, ...]:
    return values[-1:] if HOSTNAME in levels[-1:] else (flavor, *values)


def used_by(workloads: Iterable[Data], world: World) -> LeafUsage:
    """What admitted Workloads have of each leaf.

    Follows `InternalSeqFrom`, pkg/util/tas, which v1beta2 needs; v1beta1 lists the domains.
    """
    found: LeafUsage = {}
    for each in workloads:
        namespace = text(mapping(each, "metadata"), "namespace")
        given = [QueuedPodSet(text(it, "name"), 0, mapping(it, "template")) for it in structs(each, "spec", "podSets")]
        requests = {it.name: adjusted(it, namespace, world).requests for it in given}
        for assigned in structs(each, "status", "admission", "podSetAssignments"):
            placed, of_pod = mapping(assigned, "topologyAssignment"), requests.get(text(assigned, "name"), {})
            levels, flavors = texts(placed, "levels"), string_map(assigned, "flavors").values()
            for values, count in _assigned_domains(placed):
                for leaf in dict.fromkeys(_leaf(values, levels, flavor) for flavor in flavors):
                    _add(found, leaf, of_pod, count)
    return found


def _assigned_domains(assignment: Data) -> Iterator[tuple[tuple[str, ...], int]]:
    """The domains in which a pod set is, each with its number of pods."""
    for domain in structs(assignment, "domains"):
        yield tuple(texts(domain, "values")), number(domain, "count") or 0
    for part in structs(assignment, "slices"):
        counts = mapping(part, "podCounts")
        for index in range(number(part, "domainCount") or 0):
            values = tuple(_value_at_index(it, index) for it in structs(part, "valuesPerLevel"))
            several = counts.get("individual")
            yield values, several[index] if isinstance(several, list) else number(counts, "universal") or 0


def _value_at_index(values: Data, index: int) -> str:
    own = mapping(values, "individual")
    return text(values, "universal") or f"{text(own, 'prefix')}{texts(own, 'roots')[index]}{text(own, 'suffix')}"


def has_level(pods: QueuedPodSet, levels: Sequence[str]) -> bool:
    """Whether a topology has all levels that a pod set names."""
    main = _level(pods, levels)
    return main in levels and all(level in levels for level, _ in pods.topology.slices)


def _level(pods: QueuedPodSet, levels: Sequence[str]) -> str | None:
    """The level that a pod set asks for; None where it asks for none."""
    asked = pods.topology
    if asked.required is not None or asked.preferred is not None:
        return asked.required if asked.required is not None else asked.preferred
    if asked.slices:
        return levels[0]
    return levels[-1] if asked.unconstrained else None


class _Search:
    """The search for the domains of one pod set, and of the leader of its group."""

    def __init__(
        self, pods: QueuedPodSet, flavor: Flavor, world: World, used: LeafUsage, *, is_implied: bool, leader: QueuedPodSet | None
    ) -> None:
        levels = world.levels(flavor.topology) or []
        self.leader, self.leaders = leader, int(leader is not None)
        self.pods, self.count, self.flavor, self.levels, self.used = pods, pods.count, flavor, levels, used
        asked = pods.topology
        self.required = asked.required is not None
        self.free = bool(asked.unconstrained) or is_implied or (bool(asked.slices) and asked.required is None and asked.preferred is None)
        self.level = _level(pods, levels) or (levels[-1] if is_implied else None)
        self.roots, self.by_level = _tree(world.nodes or (), flavor, levels)
        self.excluded = Counter[str]()
        self.total = 0
        self.size = asked.slices[0][1] if asked.slices else 1
        self.slice_level = levels.index(asked.slices[0][0]) if asked.slices and asked.slices[0][0] in levels else len(levels) - 1
        self.sizes: dict[int, int] = {}

    def run(self) -> list[Placement]:
        """The placement, and that of the leader; or why there is none."""
        reason = self._wrong()
        if reason:
            return [Placement(reason=reason)]
        assert self.level is not None
        self._count()
        at, domains, reason = self._fitting(self.levels.index(self.level))
        if reason:
            return [Placement(reason=reason)]
        domains = self._least(domains, self.count, self.leaders, self.size, by_slices=True)
        last = len(self.levels) - 1
        while at < min(last, self.slice_level):
            lower = self._sorted(child for each in domains for child in each.children)
            domains = self._least(lower, self.count, self.leaders, self.size, by_slices=True)
            at += 1
        while at < last:
            size = self.sizes.get(at + 1, 1)
            found = []
            for each in domains:
                lower = self._sorted(each.children)
                if size > 1:
                    for child in lower:
                        child.slices = child.pods // size
                found += self._least(lower, each.pods, each.leaders, size, by_slices=size > 1)
            domains, at = found, at + 1
        placed = Placement(self.levels, sorted((each.values, each.pods) for each in domains if each.pods))
        led = Placement(self.levels, sorted((each.values, each.leaders) for each in domains if each.leaders))
        return [placed, led] if self.leader else [placed]

    def _wrong(self) -> str:
        """Why the request cannot be placed in a topology with these levels."""
        if self.level is None or self.level not in self.levels:
            return f"topology `{self.flavor.topology}` has no level `{self.level or ''}`"
        if self.size <= 0:
            return "the slices have no size"
        if not self.pods.requests or (self.leader and not self.leader.requests):  # `Fits` counts how often nothing fits, and finds 0
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
        """Count how many pods, slices and leaders each domain has room for."""
        by_host = self.levels[-1] == HOSTNAME
        requests = _with_pod(self.pods)
        of_leader = _with_pod(self.leader) if self.leader else {}
        for leaf in self.by_level[-1]:
            self.total += 1
            why = misses(self.pods.spec, leaf.nodes, self.flavor.tolerations) if by_host and leaf.nodes else ""
            if why:
                self.excluded[why] += 1
                continue
            used = self.used.get(_leaf(leaf.values, self.levels, self.flavor.name), Counter())
            left = {name: each - used[name] for name, each in leaf.capacity.items()}
            leaf.pods, limiting = _times(requests, left)
            if of_leader and _times(of_leader, left)[0]:
                leaf.leaders = 1
                left = {name: each - of_leader.get(name, 0) for name, each in left.items()}
            leaf.led, _ = _times(requests, left)
            if not leaf.pods:
                self.excluded[f"too little {limiting}"] += 1
        for root in self.roots:
            self._fill(root, 0)

    def _fill(self, domain: Domain, level: int) -> None:
        """Count the room of a domain from that of the domains in it."""
        if domain.children:
            for child in domain.children:
                self._fill(child, level + 1)
            inner = self.sizes.get(level + 1, 1)
            domain.leaders = max(child.leaders for child in domain.children)
            domain.pods = sum(child.pods // inner * inner for child in domain.children)
            domain.slices = sum(child.slices for child in domain.children)
            leading = [child for child in domain.children if child.leaders >= self.leaders]
            domain.led = domain.slices - min((child.slices - child.led for child in leading), default=domain.slices)
        if level == self.slice_level:
            domain.slices = domain.pods // self.size
        if not self.leader:
            domain.led = domain.slices

    # Which domains hold the pods.

    def _sorted(self, domains: Iterable[Domain]) -> list[Domain]:
        """The domains in the order in which they are filled: the roomiest first, or the least one where pods may stand anywhere."""
        sign = 1 if self.free else -1
        return sorted(domains, key=lambda each: (sign * each.slices, each.pods, each.values))

    def _fitting(self, level: int) -> tuple[int, list[Domain], str]:
        """The level, at or above the one that is asked for, whose domains hold all, and these domains."""
        sign = 1 if self.free else -1
        domains = sorted(
            self.by_level[level], key=lambda each: (-each.leaders, sign * each.led, each.led if self.leader else each.pods, each.values)
        )
        if not domains:
            return 0, [], f"no node has the labels of topology `{self.flavor.topology}` and of flavor `{self.flavor.name}`"
        wanted = self.count // self.size
        fitting = [each for each in (domains if self.free else domains[:1]) if each.leaders >= self.leaders and each.led >= wanted]
        if fitting:
            return level, [fitting[0] if self.free else _best(domains, wanted, _led, self.leaders)], ""
        if self.required:
            return 0, [], self._too_narrow(domains[-1].pods if self.free else domains[0].led, wanted)
        return self._fitting(level - 1) if level > 0 and not self.free else self._spread(level, domains, wanted)

    def _spread(self, level: int, domains: Sequence[Domain], wanted: int) -> tuple[int, list[Domain], str]:
        """The domains that hold all together, first those of leaders."""
        found, left, leaders, at = [], wanted, self.leaders, 0
        domains = self._led_first(domains, leaders)
        while leaders > 0 and at < len(domains) and domains[at].leaders:
            is_last = not self.free and domains[at].led >= left
            found.append(_best(domains[at:], left, _led, leaders) if is_last else domains[at])
            leaders, left, at = leaders - found[-1].leaders, left - found[-1].led, at + 1
        if leaders > 0:
            return 0, [], self._too_narrow(0, wanted)
        others = self._sorted(domains[at:])
        for index, each in enumerate(others):
            if left <= 0:
                break
            found.append(_best(others[index:], left, _slices) if not self.free and each.slices >= left else each)
            left -= found[-1].slices
        return (0, [], self._too_narrow(wanted - left, wanted)) if left > 0 else (level, found, "")

    def _led_first(self, domains: Sequence[Domain], leaders: int) -> Sequence[Domain]:
        """The domains, before them one for the leader that leaves enough room for all others."""
        if not leaders or not domains:
            return domains
        spare = sum(each.slices for each in domains) - self.count
        first = next((each for each in domains if each.leaders >= leaders and each.slices - each.led <= spare), domains[0])
        return [first, *(each for each in domains if each is not first)]

    def _least(self, domains: Sequence[Domain], count: int, leaders: int, size: int, *, by_slices: bool) -> list[Domain]:
        """The fewest of sorted domains that hold so many pods, and leaders, each with the number that it gets."""
        found: list[Domain] = []
        left = count // size if by_slices else count
        domains = self._led_first(domains, leaders)
        for at, each in enumerate(domains):
            room = _led if leaders else _slices if by_slices else _pods_in_domain
            is_last = not self.free and room(each) >= left and each.leaders >= leaders
            chosen = _best(domains[at:], left, room, leaders) if is_last else each
            given = min(room(chosen), left)
            chosen.pods = given * size if by_slices else given
            chosen.slices = given if by_slices else chosen.slices
            chosen.leaders = min(chosen.leaders, leaders)
            left, leaders = left - given, leaders - chosen.leaders
            found.append(chosen)
            if not left and not leaders:
                break
        return found

    def _too_narrow(self, fitting: int, wanted: int) -> str:
        """Why there is no room, in words."""
        what = "pods beside the leader" if self.leader else "pods" if self.size == 1 else f"slices of {self.size} pods"
        where, has = (f"one {self.level}", "has") if self.required else ("the nodes", "have")
        excluded = ", ".join(f"{why} in {number}" for why, number in sorted(self.excluded.items()))
        room = f"{where} of topology `{self.flavor.topology}` {has} room for {fitting} of {wanted} {what}"
        return f"{room}; of {self.total} domains: {excluded}" if excluded else room


#: What a domain has room for, in the course of a search.
_slices, _pods_in_domain, _led = map(attrgetter, ("slices", "pods", "led"))


def _best(domains: Sequence[Domain], needed: int, room: Callable[[Domain], int], leaders: int = 0) -> Domain:
    """The first of the domains that hold so many with the least to spare; the first of all where none does."""
    return min((each for each in domains if room(each) >= needed and each.leaders >= leaders), key=room, default=domains[0])


def _with_pod(pods: QueuedPodSet) -> dict[str, int]:
    """What a pod requests, itself included."""
    return {**pods.requests, "pods": pods.requests.get("pods", 0) + 1}


def _times(requests: Mapping[str, int], left: Mapping[str, int]) -> tuple[int, str]:
    """How often requests are found in what is left, and the resource that is the first to lack."""
    return min((max(0, min(left.get(name, 0) // each, MAX_INT32)) if each else MAX_INT32, name) for name, each in requests.items())


def _tree(nodes: Sequence[AlikeNodes], flavor: Flavor, levels: Sequence[str]) -> tuple[list[Domain], list[list[Domain]]]:
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
            leaf.capacity.update(each.allocatable)
    return list(found[0].values()), [list(each.values()) for each in found]


def _single(shape: AlikeNodes, at: int, levels: Sequence[str]) -> Iterator[AlikeNodes]:
    """The nodes of a shape; those of a pinned cluster get a host name each."""
    if shape.name or HOSTNAME in shape.labels:
        yield shape
        return
    for index in range(shape.count if HOSTNAME in levels else 1):
        yield type(shape)(1, {**shape.labels, HOSTNAME: f"node-{at}-{index}"}, shape.taints, _allocatable(shape, levels), "")


def _allocatable(shape: AlikeNodes, levels: Sequence[str]) -> Mapping[str, int]:
    return shape.allocatable if HOSTNAME in levels else {name: each * shape.count for name, each in shape.allocatable.items()}


# Labels, taints and room of nodes against what pods select, tolerate and request.
#
# Follows `FindMatchingUntoleratedTaint` and `nodeaffinity`, k8s.io/component-helpers scheduling/corev1, 0.36.


_ROUNDED = ("memory", "ephemeral-storage")
"""The resources of which the shape of a node has whole GiB."""
_GIB = 2**30


_REQUESTS = "it requests"


def no_node_for(spec: Data, nodes: Sequence[AlikeNodes], tolerations: Sequence[Data] = ()) -> str:
    """Why none of some nodes can run a pod, however little else runs; empty where one can. *tolerations*: what a queue may add to it."""
    wanted = {name: amount(name, each) for name, each in pod_requests(spec).items()}
    missed, left = Counter[str](), []
    for each in nodes:
        if why := misses(spec, each, tolerations):
            missed[why] += each.count
        else:
            left.append(each)
    if any(not _beyond(each, wanted) for each in left):
        return ""
    over = [name for name in wanted if all(name in _beyond(each, wanted) for each in left)]
    largest = {name: spelt(name, max(each.allocatable.get(name, 0) for each in left)) for name in over} if left else {}
    lacking = [
        f"{spelt(name, wanted[name])} {name}, and the largest node{' left' * bool(missed)} has {each}" for name, each in largest.items()
    ]
    lacking = lacking or [" and ".join(f"{spelt(name, each)} {name}" for name, each in wanted.items()) + " at once"]
    return "; ".join([*(f"{why} ({number} nodes)" for why, number in missed.items()), *(f"{_REQUESTS} {it}" for it in lacking if left)])


def no_node_in_flavors(spec: Data, nodes: Sequence[AlikeNodes], flavors: Sequence[Flavor]) -> str:
    """Return why none of the nodes can run a pod with what one of the flavors adds to it.

    If one of the nodes can run the pod, return an empty string.
    """
    found = []
    for each in flavors:
        labelled = [node for node in nodes if each.labels.items() <= node.labels.items()]
        found.append(no_node_for(spec, labelled or nodes, each.tolerations))
    return (found[0] if all(found) else "") if found else no_node_for(spec, nodes)


def _beyond(node: AlikeNodes, wanted: Mapping[str, int]) -> list[str]:
    """The resources of which a node has too little."""
    spare = {} if node.name else dict.fromkeys(_ROUNDED, _GIB - 1)
    return [name for name, value in wanted.items() if node.allocatable.get(name, 0) + spare.get(name, 0) < value]


def misses(spec: Data, node: AlikeNodes, tolerations: Sequence[Data] = ()) -> str:
    """Why a pod cannot run on a node, whatever is free on it."""
    taint = untolerated(node.taints, [*structs(spec, "tolerations"), *tolerations])
    if taint:
        return f"taint {taint}"
    if any(node.labels.get(key) != value for key, value in string_map(spec, "nodeSelector").items()):
        return "node selector"
    terms = required_terms(spec)
    return "" if terms is None or any(matches_term(each, node.labels, node.name) for each in terms) else "node affinity"


def cause_of(why: str, spec: Data) -> str:
    """Return the field of a pod that keeps it from all nodes.

    If the containers of the pod request too much, that field is `containers`.
    """
    fields = {"node selector": "nodeSelector", "node affinity": "affinity"} if _REQUESTS not in why else {}
    return next((field for words, field in fields.items() if words in why and field in spec), "containers")


def untolerated(taints: Iterable[Data], tolerations: Sequence[Data]) -> str:
    """The first taint that keeps pods away and that none tolerates, in words; empty where there is none."""
    for each in taints:
        if text(each, "effect") in ("NoSchedule", "NoExecute") and not any(_tolerates(it, each) for it in tolerations):
            value = text(each, "value")
            return f"{text(each, 'key')}{f'={value}' if value else ''}:{text(each, 'effect')}"
    return ""


def _tolerates(toleration: Data, taint: Data) -> bool:
    """Whether a toleration is for a taint."""
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


def matches_term(term: Data, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node matches a term, which matches none where it is empty."""
    expressions, fields = structs(term, "matchExpressions"), structs(term, "matchFields")
    right = all(meets(labels, each) for each in expressions)
    return bool(expressions or fields) and right and all(meets({"metadata.name": name}, each) for each in fields)
