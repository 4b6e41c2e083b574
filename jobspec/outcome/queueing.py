"""What becomes of a job in its queue: never admitted by Kueue, not known, or not queued at all."""

from __future__ import annotations

from dataclasses import replace

from jobspec.apis.kinds import LEADER_WORKER_SET, PRIORITY_CLASS, QUEUE_GROUP, GroupKind
from jobspec.apis.releases import QUEUES
from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.rules import Finding
from jobspec.documents.document import Document
from jobspec.kubernetes.problems import closest, listed
from jobspec.operators.kueue.admission import Missing, QueueAnswer, admitted_groups, ask
from jobspec.operators.kueue.fitting import fitting
from jobspec.operators.kueue.keys import PRIORITY
from jobspec.operators.kueue.management import leaves_suspended, never_starts
from jobspec.operators.kueue.versions import RELEASE, makes_workloads_of, not_queued
from jobspec.operators.kueue.workload import groups_of, is_managed, undercounted, workload_of, workloads_of
from jobspec.operators.kueue.world import queues_of, spelt
from jobspec.operators.workloads import QUEUE, queue_of, queue_place, queued_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.kubernetes.index import Index
    from jobspec.operators.kueue.workload import QueuedWorkload
    from jobspec.operators.kueue.world import World
    from jobspec.world.world import Cluster


def is_queued(job: Document, target: Target, index: Index) -> bool:
    """True if Kueue manages a job, by its label, its namespace or because it names no queue."""
    queued = queued_object(job)
    if not makes_workloads_of(queued):
        return False
    return bool(queue_of(job)) or (index.have_queues and is_managed(queued, target, queues_of(index)))


def queue_outcomes(job: Document, context: Sequence[Document], cluster: Cluster, index: Index) -> Iterator[Finding]:
    """Yield the outcome of a job in its queue, as far as the given objects decide it.

    *context*: what the job may refer to, such as runtimes.
    """
    world, target = queues_of(index), cluster.target
    names_queue, queued = bool(queue_of(job)), queued_object(job)
    bypasses, hint = not_queued(queued.group_kind, target.get(QUEUES, RELEASE), world.configuration)
    if bypasses and not names_queue:
        return
    if bypasses:
        weight: Severity = "warning" if cluster.installed.get(QUEUES) or world.configuration else "info"
        yield Finding(queue_place(job), bypasses, hint, rule="kind-not-queued", severity=weight)
    if why := never_starts(queued.group_kind, target, world):
        place = queue_place(job) if names_queue else ("metadata", "name")
        yield Finding(place, why, "use trainer 2.2 or later, or Kueue 0.16", rule="never-started", severity="error")
        return
    workload = workload_of(queued, context, target, world)
    answer = ask(workload, world, {})
    if not job.namespace and workload.queue and world.namespaces_of(workload.queue) != [""]:
        return  # whoever applies a job without a namespace says which queue of the name it is in
    if answer.verdict == "never":
        yield _never(answer, job, world, weight="warning" if bypasses else _weight_of_never(job, workload, world))
        return
    yield from _undercounted(answer, job, world)
    if job.group_kind == LEADER_WORKER_SET and answer.verdict in ("fits", "borrows"):
        yield from _waiting_groups(job, context, target, world)
    if not bypasses and answer.verdict == "unknown" and answer.missing and _has_queue_or_needs_none(workload, world):
        yield _unknown(answer, job, index)


def _weight_of_never(job: Document, workload: QueuedWorkload, world: World) -> Severity:
    """The severity of a job that Kueue never admits: an error if certain."""
    if leaves_suspended(workload.kind, workload.namespace, workload.target, world):
        return "warning"  # webhooks installed with the same selector do not even suspend it
    if job.namespace or queue_of(job):
        return "error"
    is_anywhere = not workload.queue and "managedJobsNamespaceSelector" not in world.configuration
    return "error" if is_anywhere else "info"  # the namespace may be another one


def _has_queue_or_needs_none(workload: QueuedWorkload, world: World) -> bool:
    """Whether the LocalQueue of a job is given, or the job names none."""
    return not workload.queue or world.local_queue(workload.namespace, workload.queue) is not None


def _never(answer: QueueAnswer, job: Document, world: World, *, weight: Severity) -> Finding:
    """The finding that Kueue never admits a job; without the nodes of its topology, an autoscaler may add these."""
    hint = _room(answer, world)
    if ask(answer.workload, replace(world, nodes=None), {}).verdict != "never":
        hint = "request less, or a wider level; or pin the cluster again: an autoscaler may add such nodes"
        weight = "info" if weight == "info" else "warning"
    hint = hint or _spelling(answer.missing, world.others) or _other_queues(answer, world)
    message = f"never admitted by Kueue: {_subject(answer)}{answer.reason}"
    return Finding(_place(answer, job), message, hint, rule="never-admitted", severity=weight)


def _subject(answer: QueueAnswer) -> str:
    """Name the flavors that the reason of an answer is about."""
    tried = (each for pods in answer.pod_sets for each in pods.tried if each.is_mismatch and answer.reason in each.reasons)
    flavors = dict.fromkeys(each.flavor for each in tried)
    return f"flavor{'s' if len(flavors) > 1 else ''} {listed(flavors)}: " if flavors else ""


def _room(answer: QueueAnswer, world: World) -> str:
    """The hint about what the queue would admit, and why other flavors than that of the message do not fit."""
    tried = (each for pods in answer.pod_sets for each in pods.tried if set(each.reasons) - {answer.reason})
    others = [f"`{each.flavor}`: {', '.join(each.reasons)}" for each in tried]
    return "; ".join([*filter(None, [fitting(answer, world)]), *dict.fromkeys(others)]) or _to_match(answer, world)


def _to_match(answer: QueueAnswer, world: World) -> str:
    """The hint about pods that the only flavor of a queue is not for, or about a resource without a quota."""
    for each in (one for pods in answer.pod_sets for one in pods.tried if one.is_mismatch):
        flavor = world.flavors.get(each.flavor)
        if flavor and flavor.taints and "taint" in each.reasons[0]:
            return f"tolerate the taint of flavor `{each.flavor}`, or name another queue"
        if flavor and flavor.labels:
            return f"select the nodes of flavor `{each.flavor}`: {', '.join(f'{key}: {value}' for key, value in flavor.labels.items())}"
    queue = world.queues.get(answer.cluster_queue)
    names = sorted({name for group in queue.groups for name in group.resources}) if queue else []
    return f"`{answer.cluster_queue}` has quotas of {listed(names)}" if names and "no quota of" in answer.reason else ""


def _waiting_groups(job: Document, context: Sequence[Document], target: Target, world: World) -> Iterator[Finding]:
    """The finding that the groups of a LeaderWorkerSet, which serve for good, are more than their queue admits together."""
    workloads = workloads_of(job, context, target, world)[:_MOST_GROUPS]
    fitting, first = admitted_groups(workloads, world)
    if first is not None and first.verdict in ("waits", "never"):
        of_all = f"only {fitting} of {groups_of(job)} groups: each is a Workload of its own, and none ends"
        hint = f"write `replicas: {fitting}`, or raise the quota"
        yield Finding(_place(first, job), f"Kueue admits {of_all}", hint, rule="never-admitted", severity="warning")


_MOST_GROUPS = 200


def _unknown(answer: QueueAnswer, job: Document, index: Index) -> Finding:
    """The finding that objects are not given on which it depends whether Kueue admits a job."""
    spelling = _spelling(answer.missing, index)
    message = f"not known whether Kueue admits it: {answer.reason}"
    weight: Severity = "warning" if spelling else "info"
    others = ", ".join(map(str, answer.missing[1:]))
    hint = spelling or (
        f"also missing: {others}" if others else "if the files have all queues, --closed-world decides, as `jobspec queue` does"
    )
    return Finding(_place(answer, job), message, hint, rule="admission-not-known", severity=weight)


def _undercounted(answer: QueueAnswer, job: Document, world: World) -> Iterator[Finding]:
    """The findings that Kueue counts less than pods request, so that a queue admits more than its quota."""
    queue, workload = world.queues.get(answer.cluster_queue), answer.workload
    for pods in workload.pod_sets if queue else ():
        for name, (counted, requested, owner) in undercounted(pods, workload.namespace, world).items():
            if queue and queue.group_of(name):
                amounts = f"{spelt(name, counted)} {name} of each pod of `{pods.name}`, which requests {spelt(name, requested)}"
                message = f"Kueue counts {amounts}: the default request of {owner}"
                hint = "write requests beside the limits"
                yield Finding(_place(answer, job), message, hint, rule="undercounted-requests", severity="info")


def _place(answer: QueueAnswer, job: Document) -> Path:
    """The place in a job that names the queue, or its class of priorities if that one is missing; else its name."""
    label = queue_place(job)
    if any(each.kind == "WorkloadPriorityClass" for each in answer.missing):
        return *label[:-1], Key(PRIORITY)
    return label if queue_of(job) else ("metadata", "name")


def _other_queues(answer: QueueAnswer, world: World) -> str:
    """The hint about a job that names no queue: the label, and the queues of its namespace."""
    if answer.workload.queue:
        return ""
    queues = sorted(name for (namespace, name), _ in world.of_kind("LocalQueue") if namespace in ("", answer.workload.namespace))
    return f"add the label `{QUEUE}`{f'; queues here: {listed(queues[:3])}' if queues else ''}"


_CLASSES: dict[str, GroupKind] = {"WorkloadPriorityClass": (QUEUE_GROUP, "WorkloadPriorityClass"), "PriorityClass": PRIORITY_CLASS}


def _spelling(missing: Sequence[Missing], index: Index) -> str:
    """The hint about the first missing class of priorities of which others are given; empty if there is none."""
    for each in missing:
        known = sorted(index.names(_CLASSES[each.kind])) if each.kind in _CLASSES else []
        if known:
            return closest(each.name, known) or f"known: {listed(known)}"
    return ""
