"""How a job lives: what becomes of a container that fails, when the job has succeeded or failed, and what stays afterwards.

Follows `JobController.ReconcileJobs`, `ReconcilePods` and `PastBackoffLimit`, github.com/kubeflow/training-operator
pkg/controller.v1/common, and `UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4; `syncJob` and `pastBackoffLimitOnFailure`,
k8s.io/kubernetes pkg/controller/job, 1.36; and `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec import kinds
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.migrate.source import Fact, JobNode, Key, flat
from jobspec.operators.batch import RETRIES, UNLIMITED
from jobspec.operators.life import (
    RESTART_POLICY,
    RETRYABLE,
    counts_restarts,
    decisive_role,
    leaves_finished_pods,
    leaves_running_pods,
)

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl keeps what it has applied last."""
_OWN_MANAGERS = ("kubeflow.org/training-operator", "trainer.kubeflow.org/trainjob-controller")


def life_facts(job: Document, objects: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """The facts of a job's life, those of the job and those of each node."""
    tree = with_marks(job.data, job.marks)
    training = [each for each in nodes if each.training]
    yield from _of_pytorchjob(tree, training) if job.group_kind == kinds.PYTORCHJOB else _of_trainjob(tree, objects, training)
    for field in ("labels", "annotations"):
        for name, each in tree.value["metadata"].entries(field):
            if name != APPLIED:
                yield ("job", field, name), Fact(each.value, each.place())
    scheduling = tree.get("spec", "runPolicy", "schedulingPolicy")
    if scheduling and scheduling.value and not any(text(each, "kind") == "PodGroup" for each in objects):
        yield from flat(scheduling, ("job", "schedulingPolicy"))  # which others than the operator may read
    for each in objects:
        if text(each, "kind") == "PodGroup":
            yield from flat(each.value["spec"], ("job", "gang"))
        elif text(each, "kind") == "HorizontalPodAutoscaler":
            yield from flat(each.value["spec"].value["metrics"], ("job", "autoscaler"))


def _fact(name: str, value: Any, tree: MarkedTree) -> tuple[Key, Fact]:
    return ("job", "life", name), Fact(value, tree.place())


def _of_pytorchjob(job: MarkedTree, nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = job.value["spec"]
    policy = spec.get("runPolicy") or spec.with_value({})
    for node in nodes:
        yield from _restarts_of_replica(node, spec, policy)
    yield from _said(policy)
    replicas = dict(spec.entries("pytorchReplicaSpecs"))
    clean = policy.get("cleanPodPolicy")
    cleaning = clean.value if clean else None
    mark = clean or spec.value["pytorchReplicaSpecs"]
    others = "run on" if leaves_running_pods(cleaning) else "are ended"
    decisive = decisive_role([name.lower() for name in replicas], elastic=bool(spec.get("elasticPolicy")))
    if len(nodes) > 1 and decisive:
        who = "node 0 has" if decisive == "master" else "any node has"
        yield _fact("succeeds", f"once {who}, and the others {others}", mark)
    else:
        yield _fact("succeeds", "once all nodes have", mark)
    ttl = policy.get("ttlSecondsAfterFinished")
    if ttl is not None and ttl.value is not None:
        yield _fact("ttlSecondsAfterFinished", f"{ttl.value} seconds after the end, and so is the job", ttl)
    if len(nodes) > 1:
        yield _fact("others after a failure", others, mark)
    yield _fact("finished pods", "stay" if leaves_finished_pods(cleaning) else "are deleted", mark)


def _restarts_of_replica(node: JobNode, spec: MarkedTree, policy: MarkedTree) -> Iterator[tuple[Key, Fact]]:
    replica = spec.value["pytorchReplicaSpecs"].value[node.pod.role.capitalize()]
    given = replica.get("restartPolicy")
    word = given.value if given else RESTART_POLICY
    place = (given or replica).place()
    how = {"Never": "the job fails", "ExitCode": "a new pod from exit code 128 on", "OnFailure": "in place"}.get(word, "always, in place")
    yield (node.name, "life", "restart"), Fact(how, place)
    if word == "Never":
        return
    limit = policy.get("backoffLimit")
    counted = limit is not None and counts_restarts(word)
    value = limit.value if limit is not None and counted else "any number"
    yield (node.name, "life", "restarts"), Fact(value, limit.place() if limit is not None and counted else place)


def _said(policy: MarkedTree) -> Iterator[tuple[Key, Fact]]:
    for name in ("activeDeadlineSeconds", "suspend", "managedBy"):
        each = policy.get(name)
        if each is not None and each.value not in (None, False, *_OWN_MANAGERS):
            yield _fact(name, each.value, each)


def _of_trainjob(job: MarkedTree, objects: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = job.value["spec"]
    jobs = {text(each, "metadata", "name"): each for each in objects if text(each, "kind") == "Job"}
    for node in nodes:
        yield from _restarts_of_job(node, jobs[_job_of(node)])
    yield from _said(spec)
    for each in jobs.values():
        deadline = each.get("spec", "activeDeadlineSeconds")
        if deadline:
            yield _fact("activeDeadlineSeconds", deadline.value, deadline)
    for each in objects:
        if text(each, "kind") == "JobSet":
            yield from _of_jobset(each, list(jobs.values()), nodes)
    limits = [jobs[name].get("spec", "backoffLimit") for name in dict.fromkeys(map(_job_of, nodes))]
    if len(limits) > 1 and any(each and 0 < each.value < UNLIMITED for each in limits):
        yield _fact("restarts are counted", "for each Job by itself", spec)
    if len(nodes) > 1:
        yield _fact("others after a failure", "are ended", spec)
    yield _fact("finished pods", "stay", spec)


def _job_of(node: JobNode) -> str:
    """The name of a pod's Job."""
    return text(items(node.pod.tree.get("metadata", "ownerReferences"))[0], "name")


def _restarts_of_job(node: JobNode, job: MarkedTree) -> Iterator[tuple[Key, Fact]]:
    limit = job.get("spec", "backoffLimit")
    allowed = limit.value if limit else RETRIES
    policy = node.pod.tree.value["spec"].get("restartPolicy")
    place = (policy or job).place()
    failing = [_plain_rule(each) for each in items(job.get("spec", "podFailurePolicy", "rules"))]
    how = "in place" if policy and policy.value == "OnFailure" else "a new pod"
    if how == "a new pod" and failing == [exit_code_rule()]:
        how = "a new pod from exit code 128 on"
    elif how == "a new pod" and not failing and allowed == 0:
        yield (node.name, "life", "restart"), Fact("the job fails", place)
        return
    elif failing:
        yield (node.name, "life", "podFailurePolicy"), Fact(failing, job.value["spec"].value["podFailurePolicy"].place())
    yield (node.name, "life", "restart"), Fact(how, place)
    yield (node.name, "life", "restarts"), Fact("any number" if allowed == UNLIMITED else allowed, (limit or job).place())


def _plain_rule(rule: MarkedTree) -> dict[str, Any]:
    return {name: value for name, value in rule.data().items() if value not in ([], None)}


def exit_code_rule() -> dict[str, Any]:
    """The rule of a Job's `podFailurePolicy` by which exit codes below 128 of the training container fail the job."""
    codes = list(range(1, RETRYABLE))
    return {"action": "FailJob", "onExitCodes": {"containerName": "node", "operator": "In", "values": codes}}


def _of_jobset(jobset: MarkedTree, jobs: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = jobset.value["spec"]
    ttl = spec.get("ttlSecondsAfterFinished")
    if ttl:
        yield _fact("ttlSecondsAfterFinished", f"{ttl.value} seconds after the end, and the job stays", ttl)
    restarts = spec.get("failurePolicy", "maxRestarts")
    if restarts and restarts.value:
        yield _fact("restarts of all pods", restarts.value, restarts)
    found = _success(spec, jobs) if len(nodes) > 1 else "once all nodes have"
    yield _fact("succeeds", found, spec.get("successPolicy") or spec)


def _success(spec: MarkedTree, jobs: Sequence[MarkedTree]) -> str:
    rules = [each for job in jobs for each in items(job.get("spec", "successPolicy", "rules"))]
    if len(rules) == 1 and text(rules[0], "succeededIndexes") == "0" and rules[0].get("succeededCount") is None:
        return "once node 0 has, and the others are ended"
    count = rules[0].get("succeededCount") if len(rules) == 1 else None
    if count and count.value == 1 and rules[0].get("succeededIndexes") is None:
        return "once any node has, and the others are ended"
    targets = [each.value for each in items(spec.get("successPolicy", "targetReplicatedJobs"))]
    names = [text(each, "name") for each in items(spec.get("replicatedJobs"))]
    if not rules and targets and targets == names[:1] and len(names) > 1:
        return "once node 0 has, and the others are ended"
    return "once all nodes have" if not rules and not targets else "as its own success policy says"
