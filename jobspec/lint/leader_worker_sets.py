"""Groups of a LeaderWorkerSet that never start, are not placed as written, or lose their pods with the next revision."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.operators.lws import EXCLUSIVE
from jobspec.operators.workloads import LEADER, WORKER

_TEMPLATE = ("spec", "leaderWorkerTemplate")
#: Options that say for how many pods a program waits before it serves.
_WAITS_FOR = ("--ray_cluster_size", "--ray-cluster-size", "--nnodes")
_GROUP_SIZE = "LWS_GROUP_SIZE"
#: Ports of Ray that a leader serves before its workers have come.
_EARLY_PORTS = (6379, 8265)
_REVISION, _LONGEST = 10, 63


def leader_waits_for_workers(job: LintedJob) -> Iterator[Finding]:
    """The leader waits for its workers, which `startupPolicy: LeaderReady` creates only after it is ready: neither ever happens.

    Why: with LeaderReady, the operator makes the StatefulSet of the workers when the leader's readiness probe has succeeded. A program that
    answers the probe once all pods of the group have joined waits for pods that never come.
    Instead: leave `startupPolicy` out, which is LeaderCreated, or probe what the leader serves before that.
    Before: startupPolicy: LeaderReady
    After: startupPolicy: LeaderCreated
    Evidence: `PodReconciler.Reconcile` of sigs.k8s.io/lws pkg/controllers, 0.7 to 0.10
    """
    policy = job.tree.get("spec", "startupPolicy")
    if policy is None or policy.value != "LeaderReady" or not any(each.name == WORKER for each in job.roles):
        return
    for container in job.containers:
        probe = container.tree.get("readinessProbe")
        if container.role.name == LEADER and not container.is_init and probe and _serves_late(probe) and _waits_for_group(container):
            message = f"no group ever starts: the leader waits for its workers before it is ready, in `{container.name}`"
            yield Finding(policy, message, "remove `startupPolicy`, or probe a port that the leader serves at once")
            return


def _serves_late(probe: MarkedTree) -> bool:
    """Whether a probe asks for what a leader serves once its group is complete: HTTP, or a port that is none of Ray's own."""
    port = probe.get("httpGet", "port") or probe.get("tcpSocket", "port")
    return port is not None and port.value not in _EARLY_PORTS


def _waits_for_group(container: LintedContainer) -> bool:
    """Whether a program is given the size of the group as the number of pods to wait for."""
    words = [word for word, _ in container.words]
    pairs = pairwise([*words, ""])
    return any(word.startswith(_WAITS_FOR) and _GROUP_SIZE in (word if "=" in word else after) for word, after in pairs)


def exclusive_topology_on_pods(job: LintedJob) -> Iterator[Finding]:
    """The annotation for exclusive placement is on a pod template: workers are not placed where their leader is.

    Why: the webhook of pods reads the annotation of a leader, and gives only that one an affinity. The workers follow by a node selector,
    which the operator writes if the LeaderWorkerSet itself has the annotation.
    Instead: write the annotation into the `metadata` of the LeaderWorkerSet.
    Before: "workerTemplate: {metadata: {annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}}}"
    After: "metadata: {annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}}"
    Evidence: `PodReconciler.Reconcile` and `PodWebhook.Default` of sigs.k8s.io/lws, 0.7 to 0.10
    """
    if job.tree.get("metadata", "annotations", EXCLUSIVE) or not any(each.name == WORKER for each in job.roles):
        return
    for role in (LEADER, WORKER):
        said = job.tree.get(*_TEMPLATE, f"{role}Template", "metadata", "annotations", EXCLUSIVE)
        if said is not None and said.value:
            message = f"workers are not placed with their leader: `{EXCLUSIVE}` is on a pod template"
            yield Finding(said, message, "write it into the `metadata.annotations` of the LeaderWorkerSet")


def leader_without_tpu_number(job: LintedJob) -> Iterator[Finding]:
    """A leader with TPUs in a subgroup gets `TPU_WORKER_ID=-1` from LeaderWorkerSet before 0.10.

    Why: of subgroups, the operator numbers the pods by an annotation that says whether the leader has TPUs. Only workers have it, so that
    the leader's own number is one too low, and no process of the subgroup has number 0.
    Instead: use LeaderWorkerSet 0.10, request TPUs in workers alone, with `subGroupPolicyType: LeaderExcluded`, or set the variables
    yourself.
    Before: "subGroupPolicy: {subGroupSize: 2}, with TPUs in the leader's template"
    After: "subGroupPolicy: {subGroupSize: 2, subGroupPolicyType: LeaderExcluded}, with a leader's template without TPUs"
    Evidence: `addTPUVariablesSubGroup` of sigs.k8s.io/lws pkg/utils/accelerators; LeaderWorkerSet 0.9.0 and 0.10.0 on servers
    """
    for container in job.containers:
        number = container.variable("TPU_WORKER_ID")
        if container.role.name == LEADER and number is not None and not number.mark.line and text(number, "value") == "-1":
            place = job.tree.get(*_TEMPLATE, "subGroupPolicy", "subGroupSize")
            message = f"the leader's container `{container.name}` gets `TPU_WORKER_ID=-1`: no process of its subgroup has number 0"
            yield Finding(place, message, "exclude the leader from subgroups, or set `TPU_WORKER_ID` and `TPU_WORKER_HOSTNAMES`")


def name_at_its_limit(job: LintedJob) -> Iterator[Finding]:
    """The name leaves no room for the revision in a label of the pods: the next change of the template may have all pods refused.

    Why: each pod has the label `controller-revision-hash` with the name of its StatefulSet and a hash of at most 10 characters. A shorter
    hash may let a name of 51 characters pass today, and not after an update.
    Instead: use at most 50 characters, and one less for each further digit of the number of groups.
    Before: "metadata: {name: a-model-whose-name-has-fifty-two-characters-and-more}"
    After: "metadata: {name: a-model}"
    Evidence: `newVersionedStatefulSetPod` of k8s.io/kubernetes pkg/controller/statefulset
    """
    longest = 0
    for role in job.roles:
        for pod in role.pods:
            value = text(pod.tree, "metadata", "labels", "controller-revision-hash")
            longest = max(longest, len(value.rpartition("-")[0]) + 1 + _REVISION)
            if len(value) > _LONGEST:
                return  # which is an error already
    if longest > _LONGEST:
        message = f"the pods' revision label needs up to {longest} characters, more than {_LONGEST}: later revisions are refused"
        yield Finding(("metadata", "name"), message, f"shorten the name by {longest - _LONGEST}")


RULES = (
    Rule(leader_waits_for_workers, "warning", sees="LeaderWorkerSet", reads=["LeaderReady"]),
    Rule(exclusive_topology_on_pods, "warning", sees="LeaderWorkerSet", reads=[EXCLUSIVE]),
    Rule(leader_without_tpu_number, "warning", sees="LeaderWorkerSet", reads=["google.com/tpu"]),
    Rule(name_at_its_limit, "warning", sees="LeaderWorkerSet"),
)
