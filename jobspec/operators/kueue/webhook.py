"""Kueue's webhooks: their rules for its own kinds, and for the jobs that can wait in its queues.

Follows pkg/webhooks, pkg/controller/jobframework (`validation.go`, `tas_validation.go`) and pkg/controller/jobs of batch Jobs, JobSets,
MPIJobs, pods, PyTorchJobs and TrainJobs, sigs.k8s.io/kueue, 0.18.2 and 0.19.2, with the feature gates and the integrations that are on
by default. So concurrent admission, which is off, has no rules here, nor has a PyTorchJob from 0.19 on.

A webhook sees an object in v1beta2, whichever version was sent. What it then calls differently, the rules look up by both names.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, POD, QUEUED_TRAINING_JOBS, TRAINJOB, GroupKind
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.releases import QUEUES, Target, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.rules import Rule
from jobspec.operators.kueue import pods as plain_pods
from jobspec.operators.kueue import ray
from jobspec.operators.kueue.group_rules import queued_groups, queued_groups_frozen, queued_templates_frozen
from jobspec.operators.kueue.job_rules import (
    admission_gates,
    elastic_job,
    execution_time,
    kueue_patch,
    partial_admission,
    partial_job_frozen,
    prebuilt_workload,
    queue_label,
    queued_job_frozen,
    synced_completions,
)
from jobspec.operators.kueue.quota_rules import (
    check_flavors,
    concurrent_admission_frozen,
    fair_weight,
    queue_namespaces,
    quota_limits,
    quota_number,
    quota_resources,
)
from jobspec.operators.kueue.topology_rules import submitter_topology, topology_groups, topology_layers, topology_request, topology_slices
from jobspec.operators.kueue.workload_rules import (
    flavor_nodes,
    variable_pod_sets,
    workload_frozen,
    workload_metadata,
    workload_resources,
    workload_slices,
)
from jobspec.operators.mutation import kueue_is_asked
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.webhooks import Objects, becomes_null, findings, undecodable_value
from jobspec.operators.workloads import Workload, is_of_other_operator, with_labels_of_pods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Document


#: The kinds of Kueue that have no webhook.
WITHOUT_WEBHOOK = (
    *("AdmissionCheck", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig"),
    *("ProvisioningRequestConfig", "Topology", "WorkloadPriorityClass"),
)
#: Rules that stop all others: the webhook gets no further.
_DECODING = (undecodable_value, becomes_null)
_DECODED = [Rule(each) for each in _DECODING]
_TOPOLOGY = [Rule(topology_request), Rule(topology_slices), Rule(topology_layers)]
_GATES = Rule(admission_gates, since="0.19.0")
_NAMES = [Rule(queue_label), Rule(prebuilt_workload), Rule(execution_time), Rule(elastic_job), _GATES]
_FROZEN = [Rule(queued_job_frozen)]
_ON_UPDATES = (prebuilt_workload, elastic_job, admission_gates, queued_job_frozen)
"""What the webhook looks at in updates even of RayJobs that Kueue leaves alone."""
_OF_QUOTAS = [*_DECODED, Rule(quota_resources), Rule(quota_limits), Rule(fair_weight)]
_OF_QUEUES = [*_OF_QUOTAS, Rule(quota_number), Rule(queue_namespaces), Rule(check_flavors)]
_OF_WORKLOADS = [
    *(*_DECODED, Rule(workload_resources), Rule(variable_pod_sets), _GATES),
    *(Rule(each, since="0.19.0") for each in (workload_metadata, workload_slices)),
]
_OF_JOBS = [*_NAMES, Rule(synced_completions), Rule(partial_admission), *_TOPOLOGY]
_OF_JOBSETS = [*_NAMES, *_TOPOLOGY, Rule(topology_groups)]
_OF_MPIJOBS = [*_DECODED, *_OF_JOBSETS]
_OF_GROUPS = [Rule(queue_label), Rule(elastic_job), Rule(queued_groups, since="0.19.0"), _GATES, *_TOPOLOGY, Rule(topology_groups)]
_OF_RAY = [
    *(*_DECODED, Rule(ray.ray_head)),
    *(Rule(each) for each in (ray.ray_parameters, ray.ray_cluster_needed, ray.ray_shutdown, ray.ray_autoscaling, ray.ray_groups)),
    *(*_NAMES, *_TOPOLOGY, Rule(topology_groups), Rule(submitter_topology)),
]
_OF_PODS = [
    *(Rule(each) for each in (plain_pods.managed_label, plain_pods.pod_group, plain_pods.pod_group_workload)),
    *_TOPOLOGY,
]
_OF_TRAINING_JOBS, _OF_CHANGED_TRAINING_JOBS = (
    [Rule(each.check, until="0.19.0") for each in rules if not each.since]
    for rules in ((*_NAMES, *_TOPOLOGY), (Rule(prebuilt_workload), Rule(elastic_job), *_TOPOLOGY, *_FROZEN))
)

#: Kind -> the rules for a new object, and those for an update.
RULES: dict[GroupKind, tuple[list[Rule], list[Rule]]] = {
    (GROUP, "ClusterQueue"): (_OF_QUEUES, [*_OF_QUEUES, Rule(concurrent_admission_frozen)]),
    (GROUP, "Cohort"): (_OF_QUOTAS, _OF_QUOTAS),
    (GROUP, "ResourceFlavor"): ([*_DECODED, Rule(flavor_nodes)], [*_DECODED, Rule(flavor_nodes)]),
    (GROUP, "Workload"): (_OF_WORKLOADS, [*_OF_WORKLOADS, Rule(workload_frozen)]),
    JOB: (_OF_JOBS, [*_OF_JOBS, *_FROZEN, Rule(partial_job_frozen)]),
    JOBSET: (_OF_JOBSETS, [*_OF_JOBSETS, *_FROZEN]),
    POD: (
        [*_NAMES, *_OF_PODS, Rule(plain_pods.queued_pod_placed)],
        [Rule(prebuilt_workload), Rule(elastic_job), _GATES, *_OF_PODS, *_FROZEN, Rule(plain_pods.pod_group_frozen)],
    ),
    TRAINJOB: ([*_NAMES, *_TOPOLOGY, Rule(kueue_patch)], [*_NAMES, *_TOPOLOGY, *_FROZEN]),
    MPIJOB: (_OF_MPIJOBS, [*_OF_MPIJOBS, *_FROZEN]),
    **dict.fromkeys(QUEUED_TRAINING_JOBS, (_OF_TRAINING_JOBS, _OF_CHANGED_TRAINING_JOBS)),
    LEADER_WORKER_SET: (_OF_GROUPS, [*_OF_GROUPS, Rule(queued_groups_frozen), Rule(queued_templates_frozen)]),
    **dict.fromkeys(ray.KINDS, (_OF_RAY, [*_OF_RAY, *_FROZEN])),
}


def objections(document: Document, target: Target, objects: Objects, *, old: Document | None) -> list[Diagnostic]:
    """Return the refusals of a document by Kueue's webhook.

    If there is an *old* document, the document is an update of it. Of the kinds without a webhook the older version is decoded all the
    same: another one converts it to the version that is stored.
    """
    is_job = document.group_kind[0] != GROUP
    if is_job and (document.group_kind not in RULES or QUEUES not in target or is_of_other_operator(document)):
        return []
    if is_job and not kueue_is_asked(document, target):
        return []
    if document.group_kind not in RULES and document.api_version != f"{GROUP}/v1beta1":
        return []
    runtime = runtime_of(document, objects.in_file, target, elsewhere=objects.elsewhere) if document.group_kind == TRAINJOB else None
    document, old = with_labels_of_pods(document), old and with_labels_of_pods(old)
    workload, release = Workload(document, runtime=runtime, old=old), release_of(QUEUES, target)
    rules = RULES.get(document.group_kind, (_DECODED, _DECODED))[old is not None]
    decoded = [rule for rule in rules if rule.check in _DECODING]
    left = [rule for rule in rules if rule not in decoded]
    if ray.is_in_no_queue(workload, release):
        left = []
    elif ray.is_left_alone(workload):
        left = [rule for rule in left if old and rule.check in _ON_UPDATES]
    found = list(findings(decoded, workload, target, release))
    found = found or list(findings(left, workload, target, release))
    return [document.diagnostic(each, name) for name, each in found]
