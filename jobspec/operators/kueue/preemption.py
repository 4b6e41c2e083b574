"""Which admitted workloads Kueue would preempt for another one.

Follows `classicalPreemptions`, sigs.k8s.io/kueue pkg/scheduler/preemption, and its package classical, 0.19.2; fair sharing is off by
default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from jobspec.diagnostics.places import Data
from jobspec.go.values import mapping, number, structs, text
from jobspec.operators.kueue.workload import QueuedWorkload
from jobspec.operators.kueue.world import Cell, Place, QueueInCohort, Usage, World, has_condition, minus, plus, usage_of

#: A candidate for preemption, the cohort that it shares with the queue, and whether the queue may borrow when preempting it.
Candidate = tuple[Data, Place, bool]
Cells = Collection[Cell]
Requests = Mapping[Cell, int]
#: Whether there is room once some Workloads are gone.
Check = Callable[[Sequence[Data]], bool]


def policy(queue: QueueInCohort, name: str) -> str:
    """A policy of a queue's preemption."""
    return text(mapping(queue.spec, "preemption"), name) or "Never"


def borrows_while_preempting(queue: QueueInCohort) -> bool:
    """Whether a queue may preempt others and borrow at once."""
    return (text(mapping(queue.spec, "preemption", "borrowWithinCohort"), "policy") or "Never") != "Never"


def named(world: World, names: Collection[str]) -> list[Data]:
    """The admitted Workloads of some names, each `namespace/name`."""
    return [each for each in world.admitted if name_of(each) in names]


def name_of(workload: Data) -> str:
    """Namespace and name of a Workload."""
    metadata = mapping(workload, "metadata")
    return f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"


def without(world: World, usage: Usage, names: Collection[str]) -> Usage:
    """The usage without some Workloads."""
    found = {place: dict(cells) for place, cells in usage.items()}
    for each in named(world, names):
        _change(world, found, each, -1)
    return found


def targets(
    queue: QueueInCohort, workload: QueuedWorkload, cells: Cells, requests: Requests, usage: Usage, has_nodes: Check = lambda _: True
) -> list[str]:
    """The Workloads to preempt for one that needs more than is free of *cells*; none where that would not make room.

    *has_nodes*: whether the nodes of topologies have room, too, once some Workloads are gone.
    """
    if not queue.world.admitted or not usage:
        return []
    above, own = _others(queue, workload, cells, requests, usage), _own(queue, workload, cells)
    has_advantage, others = bool(above[0]), bool(above[0] or above[1])
    candidates = sorted([*_ordered(above[0]), *_ordered(above[1]), *_ordered(own)], key=lambda each: not has_condition(each[0], "Evicted"))
    forbidden = not borrows_while_preempting(queue)
    is_under = all(queue.quota(cell).nominal > usage.get(queue.place, {}).get(cell, 0) for cell in cells)
    attempts = [True, False]
    if not others or (forbidden and not is_under):
        attempts = [True]
    elif forbidden and not has_advantage:
        attempts = [False, True]
    for borrowing in attempts:
        found = _enough(queue, candidates, cells, requests, usage, has_nodes, borrowing=borrowing)
        if found:
            return [name_of(each) for each in found]
    return []


def _enough(
    queue: QueueInCohort, candidates: Sequence[Candidate], cells: Cells, requests: Requests, usage: Usage, check: Check, *, borrowing: bool
) -> list[Data]:
    """The first candidates that make room together, without those that may stay."""
    left = {place: dict(used) for place, used in usage.items()}
    world, gone = queue.world, list[Data]()

    def is_enough(without: Sequence[Data]) -> bool:
        return _fits_quota(queue, requests, left, borrowing=borrowing) and check(without)

    for each, shared, while_borrowing in candidates:
        if not _is_valid(queue, each, shared, cells, left, allowed=while_borrowing or not borrowing):
            continue
        _change(world, left, each, -1)
        gone.append(each)
        if is_enough(gone):
            for at in range(len(gone) - 2, -1, -1):
                _change(world, left, gone[at], 1)
                if is_enough([*gone[:at], *gone[at + 1 :]]):
                    gone[at] = gone[-1]
                    gone.pop()
                else:
                    _change(world, left, gone[at], -1)
            return gone
    return []


def _is_valid(queue: QueueInCohort, candidate: Data, shared: Place, cells: Cells, usage: Usage, *, allowed: bool) -> bool:
    """Whether a candidate can still be preempted: its queue, and the cohorts up to the *shared* one, use more than is theirs."""
    name = _queue_of(candidate)
    if name == queue.name:
        return True
    world = queue.world
    path = [("ClusterQueue", name), *world.above(("ClusterQueue", name))]
    below = path[: path.index(shared)] if shared in path else path
    return allowed and not any(_is_within(world, each, cells, usage) for each in below)


def _fits_quota(queue: QueueInCohort, requests: Requests, usage: Usage, *, borrowing: bool) -> bool:
    """Whether the requests fit; *borrowing*: also beyond the quota of the queue."""
    used = usage.get(queue.place, {})
    return all(
        value <= max(0, queue.world.available(queue.place, cell, usage))
        and (borrowing or queue.quota(cell).nominal >= plus(used.get(cell, 0), value))
        for cell, value in requests.items()
    )


def _change(world: World, usage: Usage, workload: Data, sign: int) -> None:
    for cell, value in usage_of(workload).items():
        world.with_usage(usage, ("ClusterQueue", _queue_of(workload)), cell, sign * value)


def _queue_of(workload: Data) -> str:
    return text(mapping(workload, "status", "admission"), "clusterQueue")


# Candidates for preemption.


def _own(queue: QueueInCohort, workload: QueuedWorkload, cells: Cells) -> list[Candidate]:
    said = policy(queue, "withinClusterQueue")
    return [(each, queue.place, True) for each in _of_queue(queue.world, queue.name, cells) if _is_lower(each, workload, said)]


def _others(
    queue: QueueInCohort, workload: QueuedWorkload, cells: Cells, requests: Requests, usage: Usage
) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates of other queues: those over which the queue has an advantage, being nearer to the quota, and the others."""
    found: tuple[list[Candidate], list[Candidate]] = [], []
    said = policy(queue, "reclaimWithinCohort")
    if said == "Never":
        return found
    world = queue.world
    has_advantage, left = _fits_at(world, queue.place, requests, usage)
    before: Place | None = None
    for cohort in world.above(queue.place):
        for each in _below(world, cohort, before, queue.place, cells, usage):
            for candidate in _of_queue(world, each[1], cells):
                if _is_lower(candidate, workload, said):
                    free = has_advantage or _may_while_borrowing(candidate, workload, queue)
                    found[0 if has_advantage else 1].append((candidate, cohort, free))
        fits, left = _fits_at(world, cohort, left, usage)
        has_advantage, before = has_advantage or fits, cohort
    return found


def _below(world: World, cohort: Place, skipped: Place | None, own: Place, cells: Cells, usage: Usage) -> Iterator[Place]:
    """The active queues below a cohort that use more than is theirs."""
    for child, parent in world.parents.items():
        if parent != cohort or child in (skipped, own) or _is_within(world, child, cells, usage):
            continue
        if child[0] == "Cohort":
            yield from _below(world, child, skipped, own, cells, usage)
        elif not world.queues[child[1]].inactive:
            yield child


def _is_within(world: World, place: Place, cells: Iterable[Cell], usage: Usage) -> bool:
    return all(world.subtree[place].get(cell, 0) >= usage.get(place, {}).get(cell, 0) for cell in cells)


def _fits_at(world: World, place: Place, requests: Requests, usage: Usage) -> tuple[bool, dict[Cell, int]]:
    """Whether a place has as much by itself, and what is left to ask above."""
    used = usage.get(place, {})
    fits = all(world.subtree[place].get(cell, 0) >= plus(used.get(cell, 0), value) for cell, value in requests.items())
    return fits, {cell: max(0, minus(value, world.free_here(place, cell, usage))) for cell, value in requests.items()}


def _of_queue(world: World, name: str, cells: Cells) -> list[Data]:
    return [each for each in world.admitted if _queue_of(each) == name and not usage_of(each).keys().isdisjoint(cells)]


def priority(workload: Data) -> int:
    """The priority of a Workload."""
    return number(mapping(workload, "spec"), "priority") or 0


def _is_lower(candidate: Data, workload: QueuedWorkload, said: str) -> bool:
    """Whether a policy lets a candidate go for a workload that comes last."""
    if said in ("LowerPriority", "LowerOrNewerEqualPriority"):
        return (workload.priority or 0) > priority(candidate)
    return said == "Any"


def _may_while_borrowing(candidate: Data, workload: QueuedWorkload, queue: QueueInCohort) -> bool:
    """Whether a queue may borrow when it preempts a candidate: one of lower priority, up to a threshold."""
    if not borrows_while_preempting(queue) or priority(candidate) >= (workload.priority or 0):
        return False
    threshold = number(mapping(queue.spec, "preemption", "borrowWithinCohort"), "maxPriorityThreshold")
    return threshold is None or priority(candidate) <= threshold


def _ordered(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Evicted ones first, then the lowest priority, then what was admitted last; of the same second in the order of uids."""
    by_uid = sorted(candidates, key=lambda each: text(mapping(each[0], "metadata"), "uid"))
    last_first = sorted(by_uid, key=lambda each: _reserved_since(each[0]) or "now", reverse=True)  # after any digit
    return sorted(last_first, key=lambda each: (not has_condition(each[0], "Evicted"), priority(each[0])))


def _reserved_since(workload: Data) -> str:
    """Since when a Workload has its quota; empty where it has none."""
    reserved = {"type": "QuotaReserved", "status": "True"}
    conditions = structs(workload, "status", "conditions")
    return next((text(each, "lastTransitionTime") for each in conditions if reserved.items() <= each.items()), "")
