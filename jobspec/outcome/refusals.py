"""Pods and the policies of a cluster: refused by Pod Security, LimitRanges and classes, over a quota, or waiting for objects."""

from __future__ import annotations

from collections import Counter

from jobspec.apis.kinds import (
    LEADER_WORKER_SET,
    MPIJOB,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    TRAINING_JOBS,
    VALIDATING_POLICY,
    CompleteKinds,
    group_kind,
    plural_of,
)
from jobspec.diagnostics.causes import reasons_of
from jobspec.diagnostics.diagnostic import Reasons
from jobspec.diagnostics.places import Mark, Path
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.rules import REFUSED, Finding
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, place_in, text
from jobspec.kubernetes.problems import listed
from jobspec.operators.batch import is_indexed
from jobspec.operators.kuberay import WAITER
from jobspec.operators.made import with_generated_names
from jobspec.operators.training_operator import WAITING_CONTAINER
from jobspec.operators.workloads import JOB_INDEX, JOBS, LEADER, WORKER, queued_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.policies import Decision
    from jobspec.kubernetes.index import Index
    from jobspec.operators.expansion import ExpandedJob, ExpandedRole
    from jobspec.operators.kueue.world import World
    from jobspec.world.world import Cluster


def policy_outcomes(job: ExpandedJob, policies: Index | None, *, complete: CompleteKinds) -> Iterator[Finding]:
    """What the server's plugins say of a job's pods, by the *policies* of its cluster, which lists all objects of the *complete* kinds."""
    namespace = job.job.namespace
    concerned = policies is not None and bool(policies.deciding_on_pods(namespace))
    if not concerned and not complete and not any(role.sets_own_priority() for role in job.roles):
        return
    from jobspec.kubernetes.admission.quotas import exceeds, job_quota_problems
    from jobspec.kubernetes.admission.review import review_pod
    from jobspec.kubernetes.index import Index

    policies = policies or Index(complete=complete)
    policies = policies.with_others(_made(job, namespace, policies, every=complete.every))
    together, alone = [], []
    for role in job.roles:
        review = review_pod(with_generated_names(role.pod_tree), namespace, policies, job.target)
        if role.together or job.is_one_cluster:
            together.append((review.pod, role.count))
        elif role.count:
            alone.append([(review.pod, role.count if role.may_be_apart else 1)])
        refused = [each for each in review.refusals if not exceeds(each)]
        yield from _findings_by_line("pods-refused", "pods refused", refused, role)
        yield from _findings_by_line("pod-waits", "pods wait forever", review.waits, role)
    whose = "the job's pods" if job.job.group_kind in JOBS else f"the pods of the {job.job.kind}"
    for pods in (together, *alone):
        for problem in job_quota_problems(pods, namespace, policies, whose):
            yield Finding(None, f"{problem.message}: some pods are never created", problem.hint, rule="never-fits")
    yield from _too_many_objects(job, policies)


def _too_many_objects(job: ExpandedJob, policies: Index) -> Iterator[Finding]:
    """The kinds of which a quota allows fewer objects than the operators create for a job."""
    made = numbers_of(job.objects)
    if SERVICE in made and job.framework:  # one for each pod, of which the first and last are expanded
        made[SERVICE] = sum(role.count for role in job.roles)
    if job.job.group_kind == LEADER_WORKER_SET and job.of_kind("StatefulSet"):  # of which the first and last group are expanded
        made = _numbers_of_groups(job, made)
    yield from too_many(made, job.job.namespace, policies)
    yield from _too_much_storage(job, made.get(PERSISTENT_VOLUME_CLAIM, 0), policies)


def _too_much_storage(job: ExpandedJob, number: int, policies: Index) -> Iterator[Finding]:
    """Yield the quotas that have less storage than the claims that are made for a job. *number*: how many claims there are."""
    from jobspec.kubernetes.admission.quotas import made_claims_quota_problems

    claims = [each.data() for each in job.of_kind("PersistentVolumeClaim")]
    for problem in made_claims_quota_problems(claims, number, job.job.namespace, policies):
        yield Finding(None, f"{problem.message}: some claims are never created", "request less, or raise the quota", rule="never-fits")


def _numbers_of_groups(job: ExpandedJob, made: Mapping[GroupKind, int]) -> dict[GroupKind, int]:
    """The numbers of objects of a LeaderWorkerSet, by what the first and last group have."""
    groups, per_pod = job.counts.get(LEADER, 0), len(items(job.of_kind("StatefulSet")[0].get("spec", "volumeClaimTemplates")))
    found = {**made, STATEFUL_SET: 1 + (groups if WORKER in job.counts else 0)}
    if made.get(SERVICE, 0) > 1:
        found[SERVICE] = groups
    return {**found, **({PERSISTENT_VOLUME_CLAIM: per_pod * sum(job.counts.values())} if per_pod else {})}


def numbers_of(objects: Sequence[MarkedTree]) -> dict[GroupKind, int]:
    """The number of objects of each kind."""
    return dict(Counter(group_kind(text(each, "apiVersion"), text(each, "kind")) for each in objects))


def too_many(made: Mapping[GroupKind, int], namespace: str, policies: Index) -> Iterator[Finding]:
    """The kinds of which a quota of a namespace allows fewer objects than are *made* for one job; pods are counted by what they request."""
    from jobspec.kubernetes.admission.object_counts import count_limits

    for kind, number in made.items():
        limits = count_limits(kind[0], plural_of(kind[1]), namespace, policies) if kind != POD else ()
        for limit in [each for each in limits if number > each.allowed][:1]:
            what = f"the job has {counted(number, kind[1])}, {limit.sentence()}"
            message = f"exceeds {limit.quota}: {what}: some are never created"
            yield Finding(None, message, "raise the quota", rule="never-fits")


def unschedulable(job: ExpandedJob, cluster: Cluster) -> Iterator[Finding]:
    """Why no node of a pinned cluster can run pods of a job, however little else runs there."""
    from jobspec.kubernetes.pods.resources import filled_in
    from jobspec.operators.kueue.topology import cause_of, no_node_in_flavors
    from jobspec.operators.kueue.workload import flavors_for

    world = _world_in(cluster)
    flavors = flavors_for(queued_object(job.job), job.target, world) if world.nodes else []
    for role in job.roles if world.nodes else ():
        spec = role.pod_tree.get("spec")
        if spec is None or text(spec, "nodeName") or role.follows_another():
            continue
        if why := no_node_in_flavors(filled_in(spec.data(), job.target["kubernetes"]), world.nodes or (), flavors):
            message = f"no node of the pinned cluster can run a pod of `{role.name}`: {why}"
            hint = "request less for each pod, or pin the cluster again; an autoscaler may add such nodes"
            yield Finding(spec.get(cause_of(why, spec.data())), message, hint, rule="unschedulable", severity="warning")


def _world_in(cluster: Cluster) -> World:
    """The queues and nodes of a pinned cluster."""
    from jobspec.operators.kueue.world import queues_in

    return cluster.once("world", lambda: queues_in(cluster.index))


def refused_by_policies(job: ExpandedJob, policies: Index, context: Sequence[Document]) -> Iterator[Finding]:
    """What admission policies in CEL say of the objects of a job: one of all pods of a role, and all others but ConfigMaps and the like."""
    from jobspec.kubernetes.admission.policies import Request, concerned, decisions
    from jobspec.operators.api_defaults import with_api_defaults
    from jobspec.operators.policies import request_for

    def is_met(made: MarkedTree) -> bool:
        """Whether a policy may be for objects of its kind."""
        return bool(concerned(Request({name: text(made, name) for name in ("apiVersion", "kind")}), policies, VALIDATING_POLICY))

    others = [each for each in job.objects if text(each, "kind") in REFUSED and text(each, "kind") != "Pod"]
    for stored in with_api_defaults([*filter(is_met, [*others, *(role.pod_tree for role in job.roles)])], context, job.target):
        yield from (decided(each, stored) for each in decisions(request_for(stored, job, policies), policies))


def decided(decision: Decision, made: MarkedTree) -> Finding:
    """What a policy says of an object that an operator makes."""
    kind, place = str(made.value["kind"].value), place_in(made, decision.path)
    what = "pods" if kind == "Pod" else f"{kind} `{text(made, 'metadata', 'name')}`"
    by_severity = REFUSED.get(kind, "pods-refused") if decision.severity == "error" else "refused-by-policy"
    rule = by_severity if decision.is_evaluated else "policy-not-evaluated"
    return Finding(place, decision.sentence(what), decision.hint, rule=rule, severity=decision.severity, stage="outcome")


def lost_objects(job: ExpandedJob) -> Iterator[Finding]:
    """The pods and Jobs that their owner does not know as its own: policies take from them the labels and annotations that it looks for."""
    indexed = {text(each, "metadata", "name") for each in job.of_kind("Job") if is_indexed(each)}
    for made, what in [*((role.pod_tree, "pods") for role in job.roles), *((each, "Jobs") for each in job.of_kind("Job"))]:
        metadata = made.value["metadata"]
        owner = next((each for each in items(metadata.get("ownerReferences")) if text(each, "kind") in _KNOWN_BY), None)
        if owner is None:
            continue
        known_by, follows = _KNOWN_BY[text(owner, "kind")]
        for field, names in known_by.items():
            missing = [each for each in names if not text(metadata, field, each)]
            if missing and (field == "labels" or text(owner, "name") in indexed):
                which = f"the {field if missing[1:] else field.removesuffix('s')} {listed(missing)}"
                message = f"{what} without {which}: their {text(owner, 'kind')} {follows}"
                by = next((each.mark.file for _, each in metadata.entries(field) if each.mark.file.startswith("policy ")), "a policy")
                hint = f"{by} takes {'them' if missing[1:] else 'it'} away: add to the {field} of {what}, and do not replace them"
                yield Finding(None, message, hint, rule="pods-lost", severity="error")


#: Kind of an owner -> the labels and annotations by which it knows what it has made, Jobs with numbers by the latter, and what follows.
_KNOWN_BY: dict[str, tuple[dict[str, tuple[str, ...]], str]] = {
    "Job": (
        {"labels": ("batch.kubernetes.io/controller-uid",), "annotations": (JOB_INDEX,)},
        "does not know them, and makes others forever",
    ),
    "JobSet": ({"labels": ("jobset.sigs.k8s.io/restart-attempt",)}, "cannot tell their attempt, and never ends"),
    **{
        kind: (
            {"labels": tuple(f"training.kubeflow.org/{each}" for each in ("operator-name", "job-name", "replica-type", "replica-index"))},
            "does not know them, and never ends",
        )
        for kind in (each[1] for each in TRAINING_JOBS if each != MPIJOB)
    },
}


def _made(job: ExpandedJob, namespace: str, policies: Index, *, every: bool) -> list[dict[str, Any]]:
    """The service accounts that the operator makes, and with *every* all that pods may wait for, in the namespace of the job."""
    waited = ("ConfigMap", "Secret", "PersistentVolumeClaim") if every else ()
    made = [each.data() for kind in waited for each in job.of_kind(kind)]
    accounts = [each.data() for each in job.of_kind("ServiceAccount")]
    made += [each for each in accounts if policies.find(SERVICE_ACCOUNT, namespace, each["metadata"]["name"]) is None]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in made]


def _findings_by_line(rule: str, what: str, problems: Sequence[Problem], role: ExpandedRole) -> Iterator[Finding]:
    """The outcomes of one rule, one for each line that causes them."""
    pod = role.pod_tree
    by_line: dict[tuple[str, ...], tuple[Mark | None, list[Problem]]] = {}
    for each in problems:
        place, message = place_in(pod, each.path), each.message
        container = _of_operator(pod, each.path)
        if isinstance(message, Reasons) and container == WAITER:
            continue  # KubeRay copies the security context of the first container, which breaks the same
        if isinstance(message, Reasons) and container:
            said = Reasons(f"{message.cause} the operator's own init container", [f"`{container}` breaks"])
            hint = _INIT_CONTAINER if container == WAITING_CONTAINER else _NO_WAY
            by_line.setdefault((str(place), said), (None, [Problem(each.rule, (), said, hint)]))
        else:
            cause = message.cause if isinstance(message, Reasons) else ""
            by_line.setdefault((str(place), cause), (place, []))[1].append(each)
    for place, several in by_line.values():
        hints = "; ".join(dict.fromkeys(each.hint for each in several if each.hint))
        severity: Severity = "warning" if rule == "pod-waits" else "error"
        yield Finding(place, _together(what, several), hints, rule=rule, severity=severity)


def _together(what: str, problems: Sequence[Problem]) -> str:
    """The messages of problems as one; those of one cause with all its reasons."""
    first = problems[0].message
    if isinstance(first, Reasons):
        return Reasons(f"{what}: {first.cause}", reasons_of(problems))
    return f"{what}: {'; '.join(dict.fromkeys(each.message for each in problems))}"


_NO_WAY = "no job can change it: enforce `baseline`"
_INIT_CONTAINER = f"{_NO_WAY}, or give the operator a `--pytorch-init-container-template-file`"


def _of_operator(pod: MarkedTree, path: Path) -> str:
    """The name of the container at or above a path, if an operator added that container; else empty."""
    if len(path) < 3 or path[1] != "initContainers":
        return ""
    container = items(pod.get("spec", "initContainers"))[int(path[2])]
    return text(container, "name") if not container.mark.line else ""
