"""Whether Kueue admits a workload: the flavors that it tries, in its order, and why each falls out.

Follows `FlavorAssigner`, sigs.k8s.io/kueue pkg/scheduler/flavorassigner, and `nominate` and `getInitialAssignments`, pkg/scheduler,
0.19.2. A workload that the empty cluster does not admit is never admitted: what runs only takes away from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Data
from jobspec.go.values import mapping, string_map, structs, text
from jobspec.kubernetes.label_selectors import meets
from jobspec.operators.kueue.keys import ANYWHERE, GATED
from jobspec.operators.kueue.management import leaves_suspended, manages_namespace, never_starts, select_namespace, suspends_without_queue
from jobspec.operators.kueue.preemption import borrows_while_preempting, name_of, named, priority, targets, without
from jobspec.operators.kueue.topology import LeafUsage, Placement, has_level, place, required_terms, untolerated, used_by
from jobspec.operators.kueue.workload import GROUP_INDEX, QueuedPodSet, QueuedWorkload, added, claimed, inadmissible
from jobspec.operators.kueue.world import Cell, CellQuota, Flavor, Group, Place, QueueInCohort, Usage, World, is_pending, plus, spelt

Verdict = Literal["fits", "borrows", "preempts", "waits", "never", "unknown"]

#: The modes in which a flavor is assigned, the worst first.
_NO_FIT, _NO_CANDIDATES, _PREEMPT, _RECLAIM, _FIT = range(5)
_WORST = (_NO_FIT, 1 << 30)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A flavor that Kueue tried."""

    flavor: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    is_mismatch: bool = False
    """Whether the pods cannot have it, whatever its quota."""


#: Pod set -> the flavors that were tried for it.
Attempts = Mapping[str, Sequence[Attempt]]
#: Number of a pod set, and resource -> the number of the flavor that was tried last.
Tried = dict[tuple[int, str], int]


@dataclass(frozen=True, slots=True)
class PodSetAnswer:
    """The verdict on a pod set."""

    name: str
    count: int
    """How many pods start."""
    verdict: Verdict
    flavors: Mapping[str, str] = field(default_factory=dict)
    """The flavor of each resource, where there is one."""
    tried: Sequence[Attempt] = ()
    placement: Placement | None = None


@dataclass(frozen=True, slots=True)
class Borrowed:
    """What a workload takes beyond the quota of its queue, and the cohort that has it."""

    cell: Cell
    amount: int
    cohort: str


@dataclass(frozen=True, slots=True)
class Missing:
    """An object that is not given, although a verdict depends on it."""

    kind: str
    name: str
    what: str = ""
    """What of it is missing, or which objects are, in words; empty for the object itself."""

    def __str__(self) -> str:
        return self.what or f"{self.kind} `{self.name}`"


@dataclass(frozen=True, slots=True)
class QueueAnswer:
    """The verdict on a workload."""

    workload: QueuedWorkload
    cluster_queue: str
    verdict: Verdict
    pod_sets: Sequence[PodSetAnswer]
    reason: str = ""
    """Why, where that is no matter of a flavor."""
    borrowed: Sequence[Borrowed] = ()
    preempted: Sequence[str] = ()
    """The Workloads that make room."""
    requested: Mapping[Cell, int] = field(default_factory=dict)
    """What it takes of each flavor and resource."""
    notes: Sequence[str] = ()
    missing: Sequence[Missing] = ()
    """The objects without which it is `unknown`, or because of which it is `never` if they do not exist."""


@dataclass(frozen=True, slots=True)
class _Untried:
    """Why no flavor is looked at, and what that means; nothing if flavors are."""

    reason: str = ""
    verdict: Verdict = "unknown"
    missing: Sequence[Missing] = ()


def ask(workload: QueuedWorkload, world: World, usage: Usage | None = None) -> QueueAnswer:
    """Return the verdict on a workload.

    *usage*: the amounts in use, in place of those that the objects show.

    If several objects of one name are given, and the workload is never admitted with some of them alone, it is unknown.
    """
    found = _ask(workload, world, usage)
    is_never = found.verdict == "never"
    others = ((key, _ask(workload, other, usage)) for key, other in world.with_rivals())
    (kind, _, name), differing = next((each for each in others if (each[1].verdict == "never") is not is_never), (("", "", ""), found))
    if differing is found:
        return found
    pods = [replace(each, verdict="unknown", placement=None) for each in found.pod_sets]
    why = f"more than one {kind} `{name}` is given, and they differ"
    missing = [Missing(kind, name, f"which {kind} `{name}` is there")]
    return QueueAnswer(workload, found.cluster_queue or differing.cluster_queue, "unknown", pods, why, missing=missing)


def _ask(workload: QueuedWorkload, world: World, usage: Usage | None) -> QueueAnswer:
    """The verdict on a workload in a world with one object of each name."""
    local = world.local_queue(workload.namespace, workload.queue)
    name = text(mapping(local, "spec"), "clusterQueue") if local else ""
    queue = world.queues.get(name)
    untried = _not_tried(workload, world, local, name, queue)
    if untried.reason or queue is None:
        pods = [PodSetAnswer(each.name, each.count, untried.verdict) for each in workload.pod_sets]
        return QueueAnswer(workload, name, untried.verdict, pods, untried.reason, missing=untried.missing)
    empty = _admitted(workload, queue, {}, is_empty=True)
    if empty.verdict not in ("fits", "borrows", "unknown"):
        return empty
    if unknown := list(_unknown(workload, queue, world, empty)):
        missing = [each for _, each in unknown if each]
        pods = [replace(each, verdict="unknown", placement=None) for each in empty.pod_sets]
        return replace(empty, verdict="unknown", pod_sets=pods, reason=unknown[0][0], borrowed=(), missing=missing)
    if empty.verdict == "unknown":
        return empty
    taken = world.usage() if usage is None else usage
    own = {key: name_of(each) for key, each in world.objects.items() if key[0] == "Workload" and _is_of(each, workload)}
    if own and usage is None:
        taken = without(world, taken, own.values())
        queue = replace(world, objects={key: each for key, each in world.objects.items() if key not in own}).queues[name]
    held = (_gates(workload) or _head_before(workload, queue)) if usage is None else ""
    if held:
        pods = [replace(each, verdict="waits", flavors={}, placement=None) for each in empty.pod_sets]
        return QueueAnswer(workload, name, "waits", pods, held)
    found = _admitted(workload, queue, taken, is_empty=False) if taken else empty
    return _once_gone(found, queue, taken) if found.preempted else found


def admits_when_empty(workload: QueuedWorkload, queue: QueueInCohort) -> bool:
    """True if a queue has flavors and quota for a workload in an empty cluster."""
    return _admitted(workload, queue, {}, is_empty=True).verdict in ("fits", "borrows", "unknown")


def ask_in_turn(workloads: Sequence[QueuedWorkload], world: World, *, is_empty: bool = False) -> Iterator[QueueAnswer]:
    """Yield the verdict on each Workload of one job.

    Kueue admits one after the other, and none ends. *is_empty*: nothing runs or waits before the first one.
    """
    world, held = world.without_workloads() if is_empty else world, None
    for workload in workloads:
        answer = replace(held, workload=workload) if held else ask(workload, world, world.usage() if is_empty else None)
        yield answer
        held = None if answer.verdict in ("fits", "borrows", "preempts") else answer  # all groups are alike
        world = world if held else _afterwards(answer, world)


def admitted_groups(workloads: Sequence[QueuedWorkload], world: World) -> tuple[int, QueueAnswer | None]:
    """Count the Workloads of one job that an empty cluster admits together.

    Kueue admits the Workloads one after the other. Return the answer to the first Workload that is not admitted, too; None if all are.
    """
    for number, answer in enumerate(ask_in_turn(workloads, world, is_empty=True)):
        if answer.verdict not in ("fits", "borrows"):
            return number, answer
    return len(workloads), None


def _afterwards(answer: QueueAnswer, world: World) -> World:
    """A world once Kueue has admitted a Workload: what it preempts is gone, and so is what was made of the group before."""
    gone = [
        each
        for _, each in world.of_kind("Workload")
        if _is_of(each, answer.workload) or (answer.preempted and name_of(each) in answer.preempted)
    ]
    left = world.without(gone)
    if answer.verdict == "preempts":
        return _afterwards(replace(ask(answer.workload, left, left.usage()), preempted=()), left)
    return left.with_admitted(_admitted_object(answer)) if answer.verdict in ("fits", "borrows") else left


def _admitted_object(answer: QueueAnswer) -> Data:
    """The Workload of an answer, with the status of one that is admitted."""
    requested = dict(answer.requested)
    assignments = []
    for each in answer.pod_sets:
        usage = {name: spelt(name, requested.pop((flavor, name), 0)) for name, flavor in each.flavors.items()}
        domains = [{"values": list(values), "count": count} for values, count in each.placement.leaves] if each.placement else []
        placed = {"topologyAssignment": {"levels": list(each.placement.levels), "domains": domains}} if each.placement else {}
        assignments.append({"name": each.name, "count": each.count, "flavors": dict(each.flavors), "resourceUsage": usage, **placed})
    admission = {"clusterQueue": answer.cluster_queue, "podSetAssignments": assignments}
    return {**answer.workload.as_object(), "status": {"admission": admission}}


def _once_gone(found: QueueAnswer, queue: QueueInCohort, usage: Usage) -> QueueAnswer:
    """An answer with what a workload gets once others are preempted, when Kueue tries all flavors anew."""
    world, gone = queue.world, found.preempted
    left = {key: each for key, each in world.objects.items() if key[0] != "Workload" or f"{key[1]}/{key[2]}" not in gone}
    then = _admitted(found.workload, replace(world, objects=left).queues[queue.name], without(world, usage, gone), is_empty=False)
    if then.verdict not in ("fits", "borrows"):
        return found
    sets = [
        replace(each, count=it.count, flavors=it.flavors, placement=it.placement)
        for each, it in zip(found.pod_sets, then.pod_sets, strict=True)
    ]
    return replace(found, pod_sets=sets, notes=then.notes)


def _is_of(made: Data, workload: QueuedWorkload) -> bool:
    """Whether a Workload was made of a job already, or of the same group; it makes room for what Kueue makes of the job's new state."""
    metadata = mapping(made, "metadata")
    group = string_map(metadata, "annotations").get(GROUP_INDEX)
    if workload.group is not None and group is not None and group != str(workload.group):
        return False
    owner = {"kind": workload.kind[1], "name": workload.job_name}
    is_owned = any(owner.items() <= each.items() for each in structs(metadata, "ownerReferences"))
    return is_owned and text(metadata, "namespace") == workload.namespace


def _gates(workload: QueuedWorkload) -> str:
    """Whose admission gates hold a job, in words; empty where it has none."""
    gates = string_map(mapping(workload.job, "metadata"), "annotations").get(GATED, "")
    return f"waits until `{gates}` is removed from the annotation `{GATED}`" if gates else ""


def _head_before(workload: QueuedWorkload, queue: QueueInCohort) -> str:
    """Which Workload waits before a new one in a queue whose order is strict; empty where none does."""
    if text(queue.spec, "queueingStrategy") != "StrictFIFO":
        return ""
    for (namespace, _), each in queue.world.of_kind("Workload"):
        local = queue.world.local_queue(namespace, text(mapping(each, "spec"), "queueName"))
        is_queued = is_pending(each) and text(mapping(local, "spec"), "clusterQueue") == queue.name
        is_queued = is_queued and _selects(queue, namespace, queue.world)[0] is not False  # else it holds up no others
        if is_queued and priority(each) >= (workload.priority or 0):
            return f"waits behind {name_of(each)}: `{queue.name}` admits in the order of its queue, `StrictFIFO`"
    return ""


def changes_of(answer: QueueAnswer, world: World) -> dict[str, Data]:
    """Return the changes that Kueue makes to each pod set's template when it admits a workload.

    Follows `FromAssignment`, sigs.k8s.io/kueue pkg/podset, and `getPodSetsInfoFromStatus`, pkg/controller/jobframework, 0.19.2.
    """
    found = {}
    for pods, each in zip(answer.workload.pod_sets, answer.pod_sets, strict=True):
        flavors = [flavor for name in dict.fromkeys(each.flavors.values()) if (flavor := world.flavor(name))]
        asked, placed = pods.topology, each.placement is not None
        is_free = placed and (asked.required, asked.preferred, asked.unconstrained) == (None, None, None)
        queues = {f"{GROUP}/local-queue-name": answer.workload.queue, f"{GROUP}/cluster-queue-name": answer.cluster_queue}
        annotations = {f"{GROUP}/workload": answer.workload.name}
        if is_free:
            annotations[ANYWHERE] = "true"
        spec = {
            "nodeSelector": {key: value for flavor in flavors for key, value in flavor.labels.items()},
            "tolerations": [it for flavor in flavors for it in flavor.tolerations],
            "schedulingGates": [{"name": f"{GROUP}/topology"}] if placed else [],
        }
        metadata = {"labels": {f"{GROUP}/podset": each.name, **queues}, "annotations": annotations}
        found[each.name] = {"metadata": metadata, "spec": {name: value for name, value in spec.items() if value}}
    return found


def _not_tried(workload: QueuedWorkload, world: World, local: Data | None, name: str, queue: QueueInCohort | None) -> _Untried:
    """Why no flavor is looked at, and what that means."""
    if not workload.queue:
        return _unnamed(workload, world)
    if why := leaves_suspended(workload.kind, workload.namespace, workload.target, world):
        return _Untried(why, "never")
    if why := never_starts(workload.kind, workload.target, world):
        return _Untried(why, "never")
    if local is None:
        missing = f"no LocalQueue `{workload.queue}` in namespace `{workload.namespace}`"
        verdict: Verdict = "never" if world.lacks("LocalQueue", workload.namespace) else "unknown"
        return _Untried(missing, verdict, [Missing("LocalQueue", workload.queue)])
    if (text(mapping(local, "spec"), "stopPolicy") or "None") != "None":
        return _Untried(f"the LocalQueue `{workload.queue}` is stopped", "never")
    if queue is None:
        why = f"the LocalQueue `{workload.queue}` names no ClusterQueue `{name}` that exists"
        return _Untried(why, "never" if world.lacks("ClusterQueue") else "unknown", [Missing("ClusterQueue", name)])
    if queue.inactive:
        return _Untried(f"the ClusterQueue `{name}` {queue.inactive[0]}", "never")
    return _inadmissible(workload, queue, world)


def _unnamed(workload: QueuedWorkload, world: World) -> _Untried:
    """What becomes of a job that names no queue."""
    suspended = suspends_without_queue(workload.kind, workload.namespace, workload.target, world)
    if suspended:
        return _Untried("it names no queue, and Kueue's configuration suspends jobs without one", "never")
    if suspended is None:
        return _Untried(f"it names no queue, and {_not_known_to_be_managed(workload, world)}", missing=[_labels_of(workload.namespace)])
    return _Untried("names no queue")


def _not_known_to_be_managed(workload: QueuedWorkload, world: World) -> str:
    """Write that Kueue's configuration may exclude the namespace of a workload."""
    missed = ", ".join(manages_namespace(workload.namespace, world)[1])
    return f"Kueue's configuration manages namespaces with {missed}, and `{workload.namespace}` is not known to match"


def _labels_of(namespace: str) -> Missing:
    return Missing("Namespace", namespace, f"the labels of Namespace `{namespace}`")


def _inadmissible(workload: QueuedWorkload, queue: QueueInCohort, world: World) -> _Untried:
    """Why no flavor of an active queue is looked at, and what that means."""
    if workload.problem:
        return _Untried(workload.problem)
    kind, name = workload.priority_class
    if workload.priority is None and world.has_no(kind, name):
        return _Untried(f"no {kind} `{name}`, so that Kueue makes no Workload", "never", [Missing(kind, name)])
    if why := workload.refusal:
        return _Untried(f"the server refuses the Workload that Kueue makes of it: {why}", "never")
    selected, why = _selects(queue, workload.namespace, world)
    if selected is False:
        return _Untried(why, "never")
    claims = [claimed(each, workload.namespace, world) for each in workload.pod_sets]
    if refused := next((each for each in claims if each.problem and each.is_certain), None):
        return _Untried(refused.problem, "never")
    return _Untried(inadmissible(workload, world), "never")


def _unknown(workload: QueuedWorkload, queue: QueueInCohort, world: World, empty: QueueAnswer) -> Iterator[tuple[str, Missing | None]]:
    """The sentences that say why it is not known whether a queue that has room admits a workload, and what is missing."""

    def absent(kind: str, name: str) -> tuple[str, Missing]:
        return f"the {kind} `{name}` is not among the files", Missing(kind, name)

    kind, name = workload.priority_class
    if workload.priority is None:
        yield absent(kind, name)
    if manages_namespace(workload.namespace, world)[0] is None:
        yield _not_known_to_be_managed(workload, world), _labels_of(workload.namespace)
    selected, why = _selects(queue, workload.namespace, world)
    if selected is None:
        yield why, _labels_of(workload.namespace)
    claims = [claimed(each, workload.namespace, world) for each in workload.pod_sets]
    yield from ((each.problem, None) for each in claims if each.problem)
    asks_for_topology = any(each.topology.is_explicit for each in workload.pod_sets)
    yield from (absent(kind, name) for kind, name in queue.missing(with_topologies=asks_for_topology))
    for each in empty.borrowed if not world.closed else ():
        if world.most_given(queue.place, each.cell) < empty.requested.get(each.cell, 0):
            others = f"what other members of the cohort `{world.parents[queue.place][1]}` lend"
            yield f"it depends on {others}", Missing("Cohort", world.parents[queue.place][1], others)
            break


def _selects(queue: QueueInCohort, namespace: str, world: World) -> tuple[bool | None, str]:
    """Whether a queue admits workloads of a namespace, None where its labels are not at hand; and why not."""
    selector = queue.spec.get("namespaceSelector")
    if not isinstance(selector, dict):
        return False, f"the ClusterQueue `{queue.name}` has no `namespaceSelector`, so that it admits no namespace"
    selected, missed = select_namespace(selector, namespace, world)
    why = f"the ClusterQueue `{queue.name}` admits namespaces with {', '.join(missed)}, and `{namespace}`"
    ends = {True: "", False: f"{why} does not match", None: f"{why} is not known to match"}
    return selected, ends[selected]


def _admitted(workload: QueuedWorkload, queue: QueueInCohort, usage: Usage, *, is_empty: bool) -> QueueAnswer:
    """The result of the scheduler's cycles, each of which continues with the flavors after those that were tried."""
    counts = [each.count for each in workload.pod_sets]
    last: Tried = {}
    seen: list[Tried] = []
    found = _Assignment(workload, queue, usage, counts, last, {})
    while not found.is_last:
        if not found.is_skipped:
            found = _reduced(workload, queue, usage, last) or found
        if found.is_last:
            break
        seen.append(last)
        last = {key: index for key, index in found.tried_last.items() if index >= 0}
        if not last or last in seen:
            break
        found = _Assignment(workload, queue, usage, counts, last, found.attempts)
    return found.answer(is_empty=is_empty)


def _reduced(workload: QueuedWorkload, queue: QueueInCohort, usage: Usage, last: Tried) -> _Assignment | None:
    """The assignment with the most pods, of a workload that starts with fewer too."""
    deltas = [each.count - (each.count if each.least is None else each.least) for each in workload.pod_sets]
    total = sum(deltas)
    found = None
    low, high = 0, total + 1  # how many pods fewer
    while total > 0 and low < high:
        middle = (low + high) // 2
        counts = [each.count - delta * middle // total for each, delta in zip(workload.pod_sets, deltas, strict=True)]
        tried = _Assignment(workload, queue, usage, counts, last, {})
        if tried.is_last or tried.is_skipped:
            found, high = tried, middle
        else:
            low = middle + 1
    return found


@dataclass(slots=True)
class _Chosen:
    """The flavor of a resource."""

    flavor: str
    mode: int
    borrow: int
    tried_last: int = -1


@dataclass(slots=True)
class _Assigned:
    """The flavors of a pod set."""

    pods: QueuedPodSet
    count: int
    requests: dict[str, int]
    flavors: dict[str, _Chosen] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    failed: bool = False
    placement: Placement | None = None
    is_unknown: bool = False

    @property
    def mode(self) -> int:
        """The worst of its flavors."""
        if self.failed:
            return _NO_FIT
        if not self.reasons:
            return _FIT
        return min((each.mode for each in self.flavors.values()), default=_NO_FIT)

    def fall_out(self, flavor: str, verdict: Verdict, reason: str) -> None:
        """Write down why a flavor with enough quota does not do."""
        for at, it in enumerate(self.attempts):
            if it.flavor == flavor and it.verdict != "never":
                self.attempts[at] = Attempt(flavor, verdict, (*it.reasons, reason))


@dataclass(frozen=True, slots=True)
class _Crowded:
    """A pod set for which the nodes of a flavor have no room."""

    pods: _Assigned
    flavor: str
    reason: str


class _Assignment:
    """Flavors for all pod sets of a workload, as one cycle of the scheduler finds them."""

    def __init__(
        self, workload: QueuedWorkload, queue: QueueInCohort, usage: Usage, counts: Sequence[int], last: Tried, before: Attempts
    ) -> None:
        self._workload, self._queue, self._world, self._usage, self._last = workload, queue, queue.world, usage, last
        self._own: dict[Cell, int] = {}
        self.preempted: list[str] = []
        covers_pods = queue.group_of("pods") is not None
        self.sets = [
            _Assigned(each, count, {name: it * count for name, it in charged.items()} | ({"pods": count} if covers_pods else {}))
            for each, count in zip(workload.pod_sets, counts, strict=True)
            for charged in [added(self._world.charged(each.requests), claimed(each, workload.namespace, self._world).devices)]
        ]
        self.is_skipped = False
        self._placed: list[tuple[str, _Assigned]] = []
        self._assign()
        crowded = self._place() if self.mode != _NO_FIT and not self._is_cut_short else None
        if _NO_FIT < self.mode < _FIT:
            self._preempt()
        if crowded:
            verdict: Verdict = "preempts" if self.preempted else "waits" if self.mode != _NO_FIT else "never"
            crowded.pods.fall_out(crowded.flavor, verdict, crowded.reason)
        self.attempts: dict[str, Sequence[Attempt]] = {}
        """What was tried for each pod set in all cycles, each flavor as it was tried last."""
        for each in self.sets:
            earlier, now = before.get(each.pods.name, ()), {it.flavor for it in each.attempts}
            self.attempts[each.pods.name] = [*(it for it in earlier if it.flavor not in now), *each.attempts]

    @property
    def is_last(self) -> bool:
        """Whether no cycle follows."""
        return self.mode == _FIT or bool(self.preempted)

    @property
    def mode(self) -> int:
        """The worst mode of all pod sets."""
        return min((each.mode for each in self.sets), default=_NO_FIT) if self._complete else _NO_FIT

    @property
    def tried_last(self) -> Tried:
        """The number of the flavor that was tried last, for each pod set and resource; -1 where it is the last one."""
        return {(number, name): it.tried_last for number, each in enumerate(self.sets) for name, it in each.flavors.items()}

    def requested(self) -> dict[Cell, int]:
        """What the workload takes of each cell."""
        found: Counter[Cell] = Counter()
        for each in self.sets:
            found.update({(it.flavor, name): each.requests.get(name, 0) for name, it in each.flavors.items()})
        return found

    # Flavors by quota.

    def _assign(self) -> None:
        """Choose flavors for the pod sets, one group after the other, up to one that gets none."""
        self._complete = self._is_cut_short = False
        groups = gathered((each.pods.topology.group or str(number), number) for number, each in enumerate(self.sets))
        for numbers in groups.values():
            together, requests = [self.sets[number] for number in numbers], Counter[str]()
            for each in together:
                requests.update(each.requests)
            chosen, attempts, reasons, failed = self._of_group(numbers, requests)
            for each in together:
                each.flavors = {name: replace(it) for name, it in chosen.items() if name in each.requests}
                if not each.requests and each.pods.topology.group:
                    topologies = {it.flavor: flavor.topology for it in chosen.values() if (flavor := self._world.flavor(it.flavor))}
                    each.flavors = {name: replace(it) for name, it in chosen.items() if topologies.get(it.flavor)}
                each.attempts, each.reasons = list(attempts), list(reasons)
                each.failed = failed
                for name, it in each.flavors.items():
                    self._own[it.flavor, name] = plus(self._own.get((it.flavor, name), 0), each.requests.get(name, 0))
            if failed:
                return
            if any(each.requests and not each.flavors for each in together):  # nothing but zeros of resources without a quota
                self._is_cut_short = True
                break
        self._complete = not self._is_cut_short or together[-1] is self.sets[-1]

    def _of_group(self, numbers: Sequence[int], requests: Mapping[str, int]) -> tuple[dict[str, _Chosen], list[Attempt], list[str], bool]:
        """The flavors of each resource of a group of pod sets, what was tried, why not at once, and whether that failed."""
        chosen: dict[str, _Chosen] = {}
        attempts: list[Attempt] = []
        reasons: list[str] = []
        for name in sorted(requests):
            group = self._queue.group_of(name)
            if (group is None and (not requests[name] or self._world.ignores_undeclared)) or name in chosen:
                continue
            if group is None:
                return {}, attempts, [f"the ClusterQueue `{self._queue.name}` has no quota of {name}"], True
            found, tried = self._in_group(numbers, group, {each: it for each, it in requests.items() if each in group.resources}, name)
            attempts += tried
            if not found:
                return {}, attempts, _reasons(tried), True
            chosen |= found
            if any(it.mode < _FIT for it in found.values()):
                reasons += _reasons(tried)
        return chosen, attempts, reasons, False

    def _in_group(
        self, numbers: Sequence[int], group: Group, requests: Mapping[str, int], name: str
    ) -> tuple[dict[str, _Chosen], list[Attempt]]:
        """The best flavor of a resource group, and what was tried."""
        best: dict[str, _Chosen] = {}
        best_mode, attempts, at = _WORST, [], -1
        for at in range(self._last.get((numbers[0], name), -1) + 1, len(group.flavors)):
            flavor = self._world.flavor(group.flavors[at])
            assert flavor  # a queue with a missing one is inactive
            why = self._mismatch(flavor, [self.sets[number].pods for number in numbers], group)
            if why:
                attempts.append(Attempt(flavor.name, "never", (why,), is_mismatch=True))
                continue
            chosen, mode, reasons, is_beyond = self._by_quota(flavor, requests)
            attempts.append(Attempt(flavor.name, _verdict_of(mode, is_beyond=is_beyond), tuple(reasons)))
            if not self._tries_next(mode):
                best, best_mode = chosen, mode
                break
            if self._is_better(mode, best_mode):
                best, best_mode = chosen, mode
        for it in best.values():
            it.tried_last = -1 if at == len(group.flavors) - 1 else at
        return best, attempts

    def _by_quota(self, flavor: Flavor, requests: Mapping[str, int]) -> tuple[dict[str, _Chosen], tuple[int, int], list[str], bool]:
        """A flavor by its quota: the choice for each resource, the worst mode, the reasons, and whether it is never enough."""
        chosen: dict[str, _Chosen] = {}
        worst, reasons, is_beyond = (_FIT, 0), [], False
        for name in sorted(requests):
            kind, borrow, why = self._quota((flavor.name, name), requests[name])
            is_beyond = is_beyond or borrow < 0
            reasons += [why] if why else []
            mode = kind, max(borrow, 0)
            if self._is_better(worst, mode):
                worst = mode
            if worst[0] == _NO_FIT:
                break
            chosen[name] = _Chosen(flavor.name, kind, mode[1])
        return (chosen if worst[0] != _NO_FIT else {}), worst, reasons, is_beyond

    def _quota(self, cell: Cell, asked: int) -> tuple[int, int, str]:
        """The mode in which an amount of a cell is available, the height in the cohort tree (-1: nowhere), and why not at once."""
        world, queue, before = self._world, self._queue, self._own.get(cell, 0)
        value, most = plus(before, asked), world.most(queue.place, cell)
        name = cell[1]
        if value > most:
            others = f" with {spelt(name, before)} of other pod sets" if before else ""
            return _NO_FIT, -1, f"{name}: {spelt(name, asked)}{others} wanted, {spelt(name, most)} at most{self._why_most(cell)}"
        height, is_inner, _ = lowest_fitting(world, queue.place, cell, value, self._usage)
        available = max(0, world.available(queue.place, cell, self._usage))
        if value <= available:
            return _FIT, height, ""
        why = f"{name}: {spelt(name, value)} wanted, {spelt(name, available)} of {spelt(name, most)} free"
        if queue.quota(cell).nominal >= value or is_inner or borrows_while_preempting(queue):
            room = targets(queue, self._workload, {cell}, {cell: value}, self._usage)
            if not room:
                return _NO_CANDIDATES, height, why
            after = without(world, self._usage, room)
            own = any(text(mapping(each, "status", "admission"), "clusterQueue") == queue.name for each in named(world, room))
            return _PREEMPT if own else _RECLAIM, lowest_fitting(world, queue.place, cell, value, after)[0], why
        return _NO_FIT, height, why

    def _why_most(self, cell: Cell) -> str:
        """The quotas that add up to the most that is available, in words."""
        quota, queue = self._queue.quota(cell), self._queue
        parent = self._world.parents.get(queue.place)
        if parent is None:
            return f" (the quota of `{queue.name}`)"
        above = self._world.subtree[parent].get(cell, 0)
        limit = "" if quota.borrowing is None else f", may borrow {spelt(cell[1], quota.borrowing)}"
        return f" (`{queue.name}` has {spelt(cell[1], quota.nominal)}{limit}; cohort `{parent[1]}` has {spelt(cell[1], above)})"

    def _tries_next(self, mode: tuple[int, int]) -> bool:
        borrows, preempts, _ = self._queue.fungibility
        return mode[0] <= _NO_CANDIDATES or (mode[0] < _FIT and preempts == "TryNextFlavor") or (mode[1] > 0 and borrows == "TryNextFlavor")

    def _is_better(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether one mode, with its height in the cohort tree, is preferred to another."""
        if _NO_FIT in (one[0], other[0]):
            return one[0] != _NO_FIT
        if (one[0] == _NO_CANDIDATES) != (other[0] == _NO_CANDIDATES):
            return one[0] != _NO_CANDIDATES
        if self._queue.fungibility[2] == "PreemptionOverBorrowing":
            return (-one[1], one[0]) > (-other[1], other[0])
        return (one[0], -one[1]) > (other[0], -other[1])

    # Flavors by labels, taints and topologies.

    def _mismatch(self, flavor: Flavor, together: Iterable[QueuedPodSet], group: Group) -> str:
        """Why pods cannot have a flavor, whatever its quota; empty where they can."""
        if flavor.is_assumed:
            return ""
        for pods in together:
            taint = untolerated(flavor.taints, [*structs(pods.spec, "tolerations"), *flavor.tolerations])
            why = (
                self._topology_mismatch(flavor, pods, group) or (taint and f"untolerated taint {taint}") or selector_mismatch(flavor, pods)
            )
            if why:
                return why
        return ""

    def _topology_mismatch(self, flavor: Flavor, pods: QueuedPodSet, group: Group) -> str:
        """Why a flavor's topology does not do for pods; empty where it does."""
        if not pods.topology.is_explicit:
            is_asked = not flavor.topology or self._is_implied(pods)
            return "" if is_asked else "is for topology-aware scheduling, which the pods do not ask for"
        if not flavor.topology:
            overlap = not group.resources.isdisjoint(pods.requests)
            return "has no topology, which the pods ask for" if overlap else ""
        levels = self._world.levels(flavor.topology)
        if levels is None:
            return f"there is no Topology `{flavor.topology}`" if self._world.lacks("Topology") else ""
        if not levels or has_level(pods, levels):  # what Kueue does without levels is not known
            return ""
        return f"topology `{flavor.topology}` has the levels {', '.join(levels)} and not those that the pods ask for"

    def _is_implied(self, pods: QueuedPodSet) -> bool:
        return not pods.topology.is_explicit and self._queue.is_tas_only

    def _place(self) -> _Crowded | None:
        """Look for nodes for the pods that ask for topology; what has none in the empty cluster never fits."""
        for each in self.sets:
            if each.count and (each.pods.topology.is_explicit or self._is_implied(each.pods)):
                self._choose_topology(each)
        crowded = self._find_nodes(used_by(self._world.admitted, self._world) if self._usage else {}) if self.mode == _FIT else None
        if self.mode == _NO_FIT or (self.mode == _FIT and not crowded):
            return None
        never = self._find_nodes({})
        for it in [it for _, each in self._placed for it in each.flavors.values()]:
            it.mode = min(it.mode, _NO_CANDIDATES)
        crowded = never or crowded
        if crowded:
            crowded.pods.failed = bool(never)
            crowded.pods.reasons.append(crowded.reason)
        return crowded

    def _choose_topology(self, each: _Assigned) -> None:
        """Find the flavor that has the topology of a pod set, unless Kueue leaves the nodes to somebody else."""
        flavors = [self._world.flavor(name) for name in sorted({it.flavor for it in each.flavors.values()})]
        found = [
            it for it in flavors if it and it.topology and not (self._world.lacks("Topology") and self._world.levels(it.topology) is None)
        ]
        if any(it.is_assumed for it in flavors if it):
            return
        provisioned = {name for check in self._queue.checks_of("provisioning-request") for name in self._queue.checks[check]}
        if len(found) != 1:
            each.failed = True
            each.reasons.append("flavors of several topologies" if found else "none of its flavors has a topology")
        elif self._queue.checks_of("multikueue") or found[0].name in provisioned:
            return
        elif self._world.nodes is None or not self._world.levels(found[0].topology):
            each.is_unknown = True
        else:
            self._placed.append((found[0].name, each))

    def _find_nodes(self, used: LeafUsage) -> _Crowded | None:
        """Place the pod sets beside what is *used*, in the order of flavors, up to one for which there is no room."""
        placed = enumerate(self._placed)
        groups = gathered(((flavor, each.pods.topology.group or str(number)), each) for number, (flavor, each) in placed)
        for (name, _), together in sorted(groups.items(), key=lambda it: it[0][0]):
            together = sorted(together[:2], key=lambda each: -each.count)  # the leader is the one pod of its set
            pods, leader = together[0], together[1].pods if len(together) > 1 else None
            implied = self._is_implied(pods.pods)
            starting = replace(pods.pods, count=pods.count)
            found = place(starting, self._world.flavors[name], self._world, used, is_implied=implied, leader=leader)
            if found[0].reason:
                return _Crowded(pods, name, found[0].reason)
            for each, placement in zip(together, found, strict=True):
                each.placement = placement
        return None

    def _preempt(self) -> None:
        """Look for Workloads that make room."""
        world, queue, requested = self._world, self._queue, self.requested()
        cells = {(it.flavor, name) for each in self.sets for name, it in each.flavors.items() if it.mode < _FIT}
        counted = {cell: value for cell, value in requested.items() if value and cell[1] != "pods"}  # pods are looked at afterwards
        used = used_by(world.admitted, world)

        def has_nodes(gone: Sequence[Data]) -> bool:
            left, freed = {leaf: Counter(own) for leaf, own in used.items()}, used_by(gone, world)
            for leaf, own in freed.items():
                left[leaf].subtract(own)
            return not self._find_nodes(left)

        found = targets(queue, self._workload, cells, counted, self._usage, has_nodes)
        after = without(world, self._usage, found)
        is_enough = all(value <= max(0, world.available(queue.place, cell, after)) for cell, value in requested.items())
        self.preempted, self.is_skipped = found if is_enough else [], bool(found) and not is_enough
        has_nodes(named(world, self.preempted))

    # What it means.

    @property
    def fits(self) -> bool:
        """Whether all pod sets have flavors, and those with a topology nodes for pods."""
        return self.mode == _FIT and all(each.placement is None or each.placement.leaves for each in self.sets)

    def answer(self, *, is_empty: bool) -> QueueAnswer:
        """What the assignment says."""
        fits, requested = self.fits, self.requested()
        borrowed = self._borrowed(requested) if fits else []
        nothing: Verdict = "preempts" if self.preempted else "never" if is_empty else "waits"
        sets = [self._of_pod_set(each, {it.cell for it in borrowed}, nothing) for each in self.sets]
        whole: Verdict = "borrows" if borrowed else "fits" if fits else nothing
        reason = "" if fits or self.preempted else next((it for each in self.sets if each.mode < _FIT for it in each.reasons), "")
        if self.mode == _FIT and not fits:
            reason = "it starts with fewer pods than a slice: Kueue places none, and the server refuses that, again and again"
        elif fits and any(each.is_unknown for each in self.sets):
            whole, reason = "unknown", "the nodes of its topology are not given"
        notes: list[str] = []
        if fits or self.preempted:
            notes += [f"starts with {it.count} of {it.pods.count} pods" for it in self.sets if it.count < it.pods.count]
            notes += [f"then waits for the AdmissionCheck `{name}`" for name in sorted(self._queue.checks)]
        taken = requested if fits else {}
        return QueueAnswer(self._workload, self._queue.name, whole, sets, reason, borrowed, self.preempted, taken, notes)

    def _borrowed(self, requested: Mapping[Cell, int]) -> list[Borrowed]:
        """What goes beyond the quota of the queue, and the cohort that has it."""
        found, world, place = [], self._world, self._queue.place
        for cell, value in requested.items():
            nominal, used = self._queue.quota(cell).nominal, self._usage.get(place, {}).get(cell, 0)
            beyond = max(0, used + value - nominal) - max(0, used - nominal)
            if beyond > 0:
                found.append(Borrowed(cell, beyond, lowest_fitting(world, place, cell, value, self._usage)[2][1]))
        return found

    def _of_pod_set(self, each: _Assigned, borrowed: Set[Cell], nothing: Verdict) -> PodSetAnswer:
        """The verdict on a pod set; *nothing*: that of a workload without flavors."""
        verdict = nothing
        if self.fits:
            own = not borrowed.isdisjoint((it.flavor, name) for name, it in each.flavors.items() if it.borrow)
            verdict = "unknown" if each.is_unknown else "borrows" if own else "fits"
        is_assigned = self.fits or bool(self.preempted)
        flavors = {name: it.flavor for name, it in sorted(each.flavors.items())} if is_assigned else {}
        placement = each.placement if flavors else None
        tried = self.attempts[each.pods.name]
        if not is_assigned:
            tried = [replace(it, reasons=(self._why_unused(each),)) if it.verdict in ("fits", "borrows") else it for it in tried]
        return PodSetAnswer(each.pods.name, each.count, verdict, flavors, tried, placement)

    def _why_unused(self, each: _Assigned) -> str:
        """Why a flavor with room is not assigned to a pod set: another resource, or another pod set, gets none."""
        if each.mode < _FIT and each.reasons:
            return f"has room, but of another resource there is not enough: {each.reasons[0]}"
        others = [it.pods.name for it in self.sets if it is not each and it.mode < _FIT]
        return f"has room, but not for all pods of the workload{f': `{others[0]}` gets no flavor' if others else ''}"


def _reasons(tried: Sequence[Attempt]) -> list[str]:
    """Why none of the flavors does; a lack of quota is said before flavors that are for other pods."""
    return [it for each in sorted(tried, key=lambda each: each.is_mismatch) for it in each.reasons]


def _verdict_of(mode: tuple[int, int], *, is_beyond: bool) -> Verdict:
    words: dict[int, Verdict] = {_PREEMPT: "preempts", _RECLAIM: "preempts", _NO_CANDIDATES: "waits"}
    if mode[0] == _FIT:
        return "borrows" if mode[1] else "fits"
    return words.get(mode[0], "never" if is_beyond else "waits")


def lowest_fitting(world: World, place: Place, cell: Cell, value: int, usage: Usage) -> tuple[int, bool, Place]:
    """The height in the cohort tree at which an amount fits, whether there are cohorts above, and the place where it fits."""
    used = usage.get(place, {}).get(cell, 0)
    above = world.above(place)
    if world.quotas[place].get(cell, CellQuota()).nominal >= plus(used, value) or not above:
        return 0, bool(above), place
    left = value - world.free_here(place, cell, usage)
    for each in above:
        if world.subtree[each].get(cell, 0) >= plus(usage.get(each, {}).get(cell, 0), left):
            return world.height(each), each in world.parents, each
        left -= world.free_here(each, cell, usage)
    return world.height(above[-1]), False, above[-1]


def selector_mismatch(flavor: Flavor, pods: QueuedPodSet) -> str:
    """Why the labels of a flavor do not match what pods select; what it says nothing of does not count."""
    wrong = [f"{key}={value}" for key, value in string_map(pods.spec, "nodeSelector").items() if flavor.labels.get(key, value) != value]
    if wrong:
        own = ", ".join(f"{key}={value}" for key, value in flavor.labels.items())
        return f"node labels {own} do not match the node selector {', '.join(wrong)}"
    terms = required_terms(pods.spec) or []
    known = [[it for it in structs(each, "matchExpressions") if text(it, "key") in flavor.labels] for each in terms]
    if not known or not all(known) or any(all(meets(flavor.labels, it) for it in each) for each in known):
        return ""
    return "node labels do not match the required node affinity"
