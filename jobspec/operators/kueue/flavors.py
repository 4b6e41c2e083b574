"""The flavors that pods can get in their queue, together with what each adds to them: node selectors and tolerations."""

from __future__ import annotations

from itertools import permutations, product

from jobspec.go.values import mapping, string_map, structs, text
from jobspec.kubernetes.problems import listed
from jobspec.operators.kueue.admission import ask, selector_mismatch
from jobspec.operators.kueue.topology import misses, no_node_for, no_node_in_flavors, untolerated
from jobspec.operators.kueue.versions import makes_workloads_of
from jobspec.operators.kueue.workload import flavors_for, workload_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.workload import QueuedPodSet, QueuedWorkload
    from jobspec.operators.kueue.world import AlikeNodes, Flavor, Group, QueueInCohort, World

    #: A flavor of each resource group that pods need.
    Choice = tuple[Flavor, ...]


def choices(pods: QueuedPodSet, workload: QueuedWorkload, world: World) -> list[Choice]:
    """Return the given flavors that pods can get together when enough is free.

    If the queue of the pods is not given, or is inactive, return no flavor.
    """
    queue = queue_of(workload, world)
    if queue is None or queue.inactive:
        return []
    requests = {**world.charged(pods.requests), "pods": 1}
    groups = [each for each in queue.groups if each.resources & requests.keys()]
    return [each for each in product(*(_flavors_in(group, pods, requests, queue) for group in groups)) if each]


def queue_of(workload: QueuedWorkload, world: World) -> QueueInCohort | None:
    """The ClusterQueue of a workload; None where it is not given."""
    local = world.local_queue(workload.namespace, workload.queue) if workload.queue else None
    return world.queues.get(text(mapping(local, "spec"), "clusterQueue")) if local else None


def _flavors_in(group: Group, pods: QueuedPodSet, requests: Mapping[str, int], queue: QueueInCohort) -> list[Flavor]:
    """The given flavors of a group that have the quota for all pods, and whose labels and taints these accept."""
    world = queue.world
    found = [world.flavors[name] for name in group.flavors if name in world.flavors]
    needed = {name: requests[name] * pods.count for name in group.resources & requests.keys()}
    return [
        each
        for each in found
        if all(world.most(queue.place, (each.name, name)) >= value for name, value in needed.items())
        and not selector_mismatch(each, pods)
        and not untolerated(each.taints, [*structs(pods.spec, "tolerations"), *each.tolerations])
    ]


def labels_of(choice: Choice) -> dict[str, str]:
    """The node selector that Kueue adds to pods with some flavors."""
    return {key: value for flavor in choice for key, value in flavor.labels.items()}


def tolerations_of(choice: Choice) -> list[Data]:
    """The tolerations that Kueue adds to pods with some flavors."""
    return [each for flavor in choice for each in flavor.tolerations]


def kept_selectors(pods: QueuedPodSet, found: Sequence[Choice], nodes: Sequence[AlikeNodes] | None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield pairs of flavors between which pods move and keep labels of the first one.

    The labels stay in the node selector. Each item has the name of the first flavor, the name of the next one, and the labels. JobSet
    merges the node selector of a resumed job into that of its Jobs, where a label stays that the new one does not set. Where a node has the
    labels of both, nothing is wrong.
    """
    own = string_map(pods.spec, "nodeSelector")
    for before, after in permutations(found, 2):
        old, new = labels_of(before), {**own, **labels_of(after)}
        kept = {key: value for key, value in old.items() if key not in new}
        fits_both = any((kept | new).items() <= each.labels.items() for each in nodes or ())
        if kept and not fits_both:
            left, entered = next((one, other) for one, other in zip(before, after, strict=True) if kept.keys() & one.labels.keys())
            yield left.name, entered.name, [f"{key}={value}" for key, value in kept.items()]


def runs_without_its_own_tolerations(spec: Data, choice: Choice, nodes: Sequence[AlikeNodes]) -> bool:
    """Whether a node takes a pod whose tolerations are those of its flavors alone."""
    bare, labels = {name: each for name, each in spec.items() if name != "tolerations"}, labels_of(choice)
    return any(labels.items() <= each.labels.items() and not misses(bare, each, tolerations_of(choice)) for each in nodes)


def nodeless(
    job: Document, specs: Sequence[Data], context: Sequence[Document], target: Target, world: World, nodes: Sequence[AlikeNodes]
) -> Iterator[tuple[int, str]]:
    """Yield the number of each pod spec that no node can run with what Kueue adds, and why.

    The numbers count the pod specs of a job in the order of its pod sets. Kueue adds the flavor that it assigns first, if that is certain,
    whatever the nodes of the flavor are; else any flavor of the queue.
    """
    assigned = _assigned(job, context, target, world) if makes_workloads_of(job) else []
    for number, spec in enumerate(specs):
        choice = assigned[number] if len(assigned) == len(specs) else ()
        labels = labels_of(choice)
        labelled = [each for each in nodes if labels.items() <= each.labels.items()] if labels else []
        if labelled:
            if why := no_node_for(spec, labelled, tolerations_of(choice)):
                yield number, f"{why}, in flavor {listed([each.name for each in choice if each.labels])}"
        elif why := no_node_in_flavors(spec, nodes, flavors_for(job, target, world)):
            yield number, why


def _assigned(job: Document, context: Sequence[Document], target: Target, world: World) -> list[Choice]:
    """The given flavors that each pod set of a job gets when its queue is empty; none where it is not certain that it gets any."""
    answer = ask(workload_of(job, context, target, world), world, {})
    if answer.verdict not in ("fits", "borrows"):
        return []
    return [tuple(world.flavors[it] for it in dict.fromkeys(each.flavors.values()) if it in world.flavors) for each in answer.pod_sets]
