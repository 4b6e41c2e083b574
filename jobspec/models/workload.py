"""Workload (`kueue.x-k8s.io`): what Kueue makes of a job, and how it stands in the queue, in v1beta2 and the older v1beta1."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, MaxLen, MinLen
from pydantic import Field

from jobspec.models.base import (
    AtomicList,
    Choices,
    Column,
    Int32,
    Keyed,
    ListType,
    Model,
    Pointer,
    Required,
    Resource,
    Since,
    Time,
    Until,
    Validation,
    constant,
    optional_field,
)
from jobspec.models.kueue import (
    V1BETA1,
    V1BETA2,
    Amounts,
    CheckName,
    ClusterName,
    Conditions,
    IndexLabel,
    KueueObject,
    Name,
    PodSetName,
    Short,
    TolerationList,
    kueue_resource,
)
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.spec import PodTemplateSpec

Count = Annotated[Int32, Ge(0)]
Positive = Annotated[Int32, Ge(1)]
_FEWER_POD_SETS = Until("kueue", "0.19", MaxLen(10))


class PodsetSliceRequiredTopologyConstraint(Model):
    """One layer of slices, each of which has to be within one place."""

    topology: Annotated[str, MinLen(1), MaxLen(63)] = Field(description="level of the topology whose places hold a slice each")
    size: Positive = Field(description="pods in a slice; each layer's size divides the one before")


class PodSetTopologyRequest(Model):
    """How near to each other the pods have to be."""

    required: Pointer[Short] = optional_field("level of the topology of which one place has to hold all pods")
    preferred: Pointer[Short] = optional_field("level of which one place holds all pods, if there is one with room")
    unconstrained: Pointer[bool] = optional_field("anywhere, as long as each place has room for its pods")
    pod_index_label: Pointer[IndexLabel] = optional_field("label that numbers the pods, such as `batch.kubernetes.io/job-completion-index`")
    sub_group_index_label: Pointer[IndexLabel] = optional_field("label that numbers the Jobs, such as `jobset.sigs.k8s.io/job-index`")
    sub_group_count: Pointer[Int32] = optional_field("number of Jobs")
    pod_set_group_name: Annotated[Pointer[str], V1BETA2(MaxLen(256))] = optional_field(
        "name of the group of pod sets that are placed as one"
    )
    pod_set_slice_required_topology: Pointer[Short] = optional_field("level of the topology of which one place has to hold a slice")
    pod_set_slice_size: Pointer[Int32] = optional_field("pods in a slice")
    podset_slice_required_topology_constraints: Annotated[
        AtomicList[PodsetSliceRequiredTopologyConstraint] | None, MaxLen(3), V1BETA2()
    ] = optional_field("up to three layers of slices, the widest first (alpha, off by default)")


class PodSet(Model):
    """Pods of one template."""

    FACTS = (
        Validation("has(self.minCount) ? self.minCount <= self.count : true", "minCount should be positive and less or equal to count"),
    )

    name: PodSetName = Field(default="main", description="name of the pods: a replica type in lower case, a replicated job, or `main`")
    template: PodTemplateSpec = Field(description="the pods")
    count: Annotated[Count, V1BETA1(Required())] = Field(default=1, description="number of pods")
    min_count: Positive | None = optional_field("the fewest pods that can be admitted; one pod set alone can have it")
    topology_request: PodSetTopologyRequest | None = optional_field("how near to each other the pods have to be")


class PriorityClassRef(Model):
    """Where the priority is from."""

    FACTS = (
        Validation(
            "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true",
            "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
        ),
        Validation(
            "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true",
            "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
        ),
    )

    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"] = Field(description="`kueue.x-k8s.io` or `scheduling.k8s.io`")
    kind: Literal["WorkloadPriorityClass", "PriorityClass"] = Field(description="`WorkloadPriorityClass`, or `PriorityClass` of pods")
    name: Annotated[Name, MinLen(1)] = Field(description="name of the class")


class PreemptionGate(Model):
    """What has to be open before the workload may preempt others."""

    name: Annotated[str, MinLen(1), MaxLen(63)] = Field(description="name of the gate")


class WorkloadSpec(Model):
    """The pods of a job, and where it waits."""

    FACTS = (
        V1BETA1(
            Validation(
                "has(self.priorityClassName) ? has(self.priority) : true", "priority should not be nil when priorityClassName is set"
            )
        ),
        V1BETA2(Validation("!has(self.priorityClassRef) || has(self.priority)", "priority should not be nil when priorityClassRef is set")),
    )

    pod_sets: Annotated[list[PodSet] | None, MinLen(1), MaxLen(18), _FEWER_POD_SETS, Keyed("name"), V1BETA1(Required())] = optional_field(
        "the pods, by template; they cannot change while quota is reserved"
    )
    queue_name: Name | None = optional_field("name of the LocalQueue; it cannot change while quota is reserved")
    priority_class_ref: Annotated[PriorityClassRef | None, V1BETA2()] = optional_field("the class that the priority is from")
    priority_class_name: Annotated[Name | None, V1BETA1(use="priorityClassRef.name")] = optional_field(
        "the class that the priority is from"
    )
    priority_class_source: Annotated[
        Literal["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""], V1BETA1(use="priorityClassRef.group")
    ] = Field(default="", description="the kind of that class")
    priority: Int32 | None = optional_field("the priority: the highest is first in line; needed where a class is named")
    active: Pointer[bool] = Field(default=True, description="whether it can be admitted; `false` evicts it")
    maximum_execution_time_seconds: Positive | None = optional_field(
        "seconds after its admission until it is deactivated; never by default"
    )
    preemption_gates: Annotated[list[PreemptionGate] | None, MaxLen(8), Keyed("name"), V1BETA2()] = optional_field(
        "what has to be open before it may preempt others"
    )


# Status: what Kueue decided.


class TopologyDomain(Model):
    """A place, and how many pods go there."""

    values: Annotated[AtomicList[str], MinLen(1), MaxLen(16)] = Field(description="values of the labels of the levels")
    count: Positive = Field(description="number of pods")


class IndividualValues(Model):
    """A value for each place."""

    prefix: Pointer[Short] = optional_field("what all values begin with")
    suffix: Pointer[Short] = optional_field("what all values end with")
    roots: Annotated[AtomicList[Short], MinLen(1), MaxLen(100000)] = Field(description="what is between them, for each place")


class SliceValues(Model):
    """The values of one label, for the places of a slice."""

    FACTS = (Validation("has(self.universal) != has(self.individual)", "exactly one of the fields in [universal individual] must be set"),)

    universal: Pointer[Short] = optional_field("the value of all places")
    individual: IndividualValues | None = optional_field("a value for each place")


class SlicePodCounts(Model):
    """The numbers of pods, for the places of a slice."""

    FACTS = (
        Validation(
            "[has(self.universal),has(self.individual)].filter(x,x==true).size() == 1",
            "exactly one of the fields in [universal individual] must be set",
        ),
    )

    universal: Positive | None = optional_field("the number of all places")
    individual: Annotated[AtomicList[Positive] | None, MinLen(1), MaxLen(100000)] = optional_field("a number for each place")


class TopologyAssignmentSlice(Model):
    """Some of the places."""

    FACTS = (
        Validation(
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual must have length equal to domainCount",
        ),
        Validation(
            "self.valuesPerLevel.all(x, !has(x.individual) || size(x.individual.roots) == self.domainCount)",
            "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this TopologyAssignmentSlice",
        ),
    )

    domain_count: Positive = Field(description="number of places")
    values_per_level: Annotated[AtomicList[SliceValues], MinLen(1), MaxLen(16)] = Field(description="values of the labels of each level")
    pod_counts: SlicePodCounts = Field(description="number of pods of each place")


class TopologyAssignment(Model):
    """Where the pods go."""

    FACTS = (
        V1BETA2(
            Validation(
                "self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))",
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
            )
        ),
    )

    levels: Annotated[AtomicList[IndexLabel], MinLen(1), MaxLen(16)] = Field(description="labels of nodes, the widest level first")
    domains: Annotated[list[TopologyDomain] | None, V1BETA1(Required()), V1BETA1(use="slices")] = optional_field("the places")
    slices: Annotated[AtomicList[TopologyAssignmentSlice] | None, MaxLen(1000), V1BETA2(Required()), V1BETA2()] = optional_field(
        "the places"
    )


class PodSetAssignment(Model):
    """What the pods of a set got."""

    name: Annotated[PodSetName, V1BETA1(Required())] = Field(default="main", description="name of the pod set")
    flavors: dict[str, Name] | None = optional_field("the flavor of each resource")
    resource_usage: Amounts | None = optional_field("how much of each resource all pods together have")
    count: Count | None = optional_field("number of pods that were admitted")
    topology_assignment: TopologyAssignment | None = optional_field("where the pods go")
    delayed_topology_request: Annotated[Pointer[str], V1BETA2(Choices(("Pending", "Ready")), MaxLen(7))] = optional_field(
        "`Pending`: where they go is decided once their nodes are there; `Ready`: they are"
    )


class Admission(Model):
    """The queue that admitted it, and what it got."""

    cluster_queue: Annotated[Name | None, V1BETA1(Required())] = optional_field("the ClusterQueue")
    pod_set_assignments: Annotated[list[PodSetAssignment] | None, MaxLen(18), _FEWER_POD_SETS, Keyed("name"), V1BETA1(Required())] = (
        optional_field("what each pod set got")
    )


class PodSetUpdate(Model):
    """What a check adds to the pods of a set."""

    name: PodSetName = Field(description="name of the pod set")
    labels: dict[str, str] | None = optional_field("labels that are added")
    annotations: dict[str, str] | None = optional_field("annotations that are added")
    node_selector: dict[str, str] | None = optional_field("labels of nodes that are asked for besides")
    tolerations: Annotated[TolerationList | None, V1BETA2(ListType("atomic"))] = optional_field("tolerations that are added")


class AdmissionCheckState(Model):
    """How a check stands."""

    name: CheckName = Field(description="name of the AdmissionCheck")
    state: Literal["Pending", "Ready", "Retry", "Rejected"] = Field(description="`Pending`, `Ready`, `Retry` or `Rejected`")
    last_transition_time: Time = Field(description="when that last changed")
    message: Annotated[str, MaxLen(32768)] = Field(description="why, as a sentence; it may be empty")
    requeue_after_seconds: Count | None = optional_field("seconds until a `Retry` is queued again; at once by default")
    retry_count: Count | None = optional_field("number of times that it was `Retry`")
    pod_set_updates: Annotated[AtomicList[PodSetUpdate] | None, MaxLen(18), _FEWER_POD_SETS] = optional_field("what it adds to the pods")


class RequeueState(Model):
    """When it is queued again, after pods were not ready in time."""

    count: Count | None = optional_field("number of times that it was queued again")
    requeue_at: Time | None = optional_field("when it is queued again")


class ReclaimablePod(Model):
    """Pods that have ended."""

    name: PodSetName = Field(description="name of the pod set")
    count: Count = Field(description="number of its pods whose quota is free again")


class PodSetRequest(Model):
    """What the pods of a set ask for."""

    name: PodSetName = Field(description="name of the pod set")
    resources: Amounts | None = optional_field("how much of each resource all pods together ask for")


class Eviction(Model):
    """How often it was evicted for a reason."""

    reason: Annotated[str, MaxLen(316)] = Field(description="the reason, such as `Preempted`")
    underlying_cause: Annotated[str, MaxLen(316)] = Field(description="the reason of that; it may be empty")
    count: Count = Field(description="number of times")


class SchedulingStats(Model):
    """What happened to it so far."""

    evictions: Annotated[list[Eviction] | None, Keyed("reason", "underlyingCause"), V1BETA2(MaxLen(256))] = optional_field(
        "how often it was evicted, by reason"
    )


class UnhealthyNode(Model):
    """A node that failed."""

    name: Annotated[str, V1BETA2(MaxLen(63))] = Field(description="name of the node")


class PreemptionGateState(Model):
    """How a gate stands."""

    name: Annotated[str, MinLen(1), MaxLen(63)] = Field(description="name of the gate")
    position: Literal["Closed", "Open"] = Field(description="`Closed` or `Open`")
    last_transition_time: Time = Field(description="when that last changed")


class WorkloadStatus(Model):
    """How it stands in the queue; written by Kueue."""

    FACTS = (
        Validation(
            "!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",
            "clusterName is immutable once set",
        ),
        Validation(
            "!has(self.clusterName) || (!has(self.nominatedClusterNames) || "
            "(has(self.nominatedClusterNames) && size(self.nominatedClusterNames) == 0))",
            "clusterName and nominatedClusterNames are mutually exclusive",
        ),
    )

    conditions: Conditions | None = optional_field(
        "`QuotaReserved`, `Admitted`, `PodsReady`, `Evicted`, `Preempted`, `Finished` and others"
    )
    admission: Admission | None = optional_field("the queue that admitted it, and what it got")
    requeue_state: RequeueState | None = optional_field("when it is queued again, after pods were not ready in time")
    reclaimable_pods: Annotated[list[ReclaimablePod] | None, MaxLen(18), _FEWER_POD_SETS, Keyed("name")] = optional_field(
        "pods that have ended, whose quota is free again"
    )
    admission_checks: Annotated[list[AdmissionCheckState] | None, MaxLen(8), Keyed("name")] = optional_field("how its checks stand")
    resource_requests: Annotated[list[PodSetRequest] | None, MaxLen(18), _FEWER_POD_SETS, Keyed("name")] = optional_field(
        "what its pods ask for, until it is admitted"
    )
    accumulated_past_execution_time_seconds: Annotated[Int32 | None, V1BETA2()] = optional_field(
        "seconds that it ran before it was evicted"
    )
    accumulated_past_exexcution_time_seconds: Annotated[Int32 | None, V1BETA1(use="accumulatedPastExecutionTimeSeconds")] = optional_field(
        "seconds that it ran before it was evicted"
    )
    scheduling_stats: SchedulingStats | None = optional_field("what happened to it so far")
    nominated_cluster_names: Annotated[AtomicList[ClusterName] | None, MaxLen(20)] = optional_field("clusters that it may be sent to")
    cluster_name: Pointer[ClusterName] = optional_field("the cluster that it was sent to")
    unhealthy_nodes: Annotated[list[UnhealthyNode] | None, V1BETA2(MaxLen(8), Keyed("name"))] = optional_field(
        "nodes of its pods that failed"
    )
    preemption_gates: Annotated[list[PreemptionGateState] | None, MaxLen(8), Keyed("name"), V1BETA2()] = optional_field(
        "how its gates stand"
    )


def _having(condition: str, *, of: str = "oldSelf") -> str:
    """The text in CEL that says that a condition of the workload is true."""
    exists = f"{of}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    return f"has({of}.status) && has({of}.status.conditions) && {exists}"


_HAD_QUOTA = _having("QuotaReserved")
_KEEPS_QUOTA = f"({_HAD_QUOTA}) && ({_having('QuotaReserved', of='self')})"
_HAD_AND_HAS = "has(oldSelf.spec.{0}) && has(self.spec.{0})"
_SAME = "oldSelf.spec.{0} == self.spec.{0}"
_REF = f"{_HAD_QUOTA} && {_HAD_AND_HAS.format('priorityClassRef')}"
_SECONDS = "(has({0}.spec.maximumExecutionTimeSeconds)?{0}.spec.maximumExecutionTimeSeconds:0)"
_RESERVED = "is immutable while workload quota reserved"
_OLD_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"


class Workload(KueueObject):
    """What Kueue makes of a job that waits in a queue, and admits or evicts as a whole."""

    FACTS = (
        Validation(
            f"{_having('QuotaReserved', of='self')} && has(self.status.admission) ? "
            "size(self.spec.podSets) == size(self.status.admission.podSetAssignments) : true",
            "podSetAssignments must have the same number of podSets as the spec",
        ),
        V1BETA1(
            Validation(
                f"({_HAD_QUOTA} && {_HAD_AND_HAS.format('priorityClassSource')}) ? ({_SAME.format('priorityClassSource')}) : true",
                f"priorityClassSource {_RESERVED}",
            ),
            Validation(
                f"({_HAD_QUOTA} && {_HAD_AND_HAS.format('priorityClassSource')} && (self.spec.priorityClassSource != '{_OLD_SOURCE}')"
                f" && {_HAD_AND_HAS.format('priorityClassName')}) ? ({_SAME.format('priorityClassName')}) : true",
                f"priorityClassName {_RESERVED} and priorityClassSource is not equal to {_OLD_SOURCE}",
            ),
        ),
        V1BETA2(
            Validation(
                f"({_HAD_QUOTA}) ? (!has(oldSelf.spec.priorityClassRef) && !has(self.spec.priorityClassRef)) || "
                f"({_HAD_AND_HAS.format('priorityClassRef')}) : true",
                f"priorityClassRef {_RESERVED}",
            ),
            *(
                Validation(f"({_REF}) ? {_SAME.format(f'priorityClassRef.{field}')} : true", f"priorityClassRef.{field} {_RESERVED}")
                for field in ("group", "kind")
            ),
            Validation(
                f"({_REF} && self.spec.priorityClassRef.group == 'scheduling.k8s.io' && self.spec.priorityClassRef.kind == 'PriorityClass')"
                f" ? {_SAME.format('priorityClassRef.name')} : true",
                "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
            ),
        ),
        Until(
            "kueue",
            "0.19",
            Validation(
                f"{_KEEPS_QUOTA} && {_HAD_AND_HAS.format('queueName')} ? {_SAME.format('queueName')} : true", f"queueName {_RESERVED}"
            ),
        ),
        Since(
            "kueue",
            "0.19",
            Validation(
                f"({_KEEPS_QUOTA}) ? ((has(oldSelf.spec.queueName) == has(self.spec.queueName)) && "
                f"(!has(oldSelf.spec.queueName) || {_SAME.format('queueName')})) : true",
                f"queueName {_RESERVED}",
            ),
        ),
        Validation(
            f"(({_having('Admitted')}) && ({_having('Admitted', of='self')}))?"
            f"({_SECONDS.format('oldSelf')} ==  {_SECONDS.format('self')}):true",
            f"maximumExecutionTimeSeconds {_RESERVED}",
        ),
    )

    RESOURCE: ClassVar[Resource] = kueue_resource(
        "Workload",
        "workloads",
        "kwl",
        "kueueworkload",
        "kueueworkloads",
        scope="Namespaced",
        selectable=(V1BETA2(".status.admission.clusterQueue"),),
        status=True,
        columns=(
            Column("Queue", "string", ".spec.queueName", "Name of the queue this workload was submitted to"),
            Column(
                "Reserved in", "string", ".status.admission.clusterQueue", "Name of the ClusterQueue where the workload is reserving quota"
            ),
            Column("Admitted", "string", ".status.conditions[?(@.type=='Admitted')].status", "Admission status"),
            Column("Finished", "string", ".status.conditions[?(@.type=='Finished')].status", "Workload finished"),
            Column("Age", "date", ".metadata.creationTimestamp", "Time this workload was created"),
        ),
    )

    kind: Literal["Workload"] = constant("kind of the object", "Workload")
    metadata: ObjectMeta | None = optional_field("name, labels and so on; Kueue makes the name of the job's kind and name")
    spec: WorkloadSpec | None = optional_field("the pods of a job, and where it waits")
    status: WorkloadStatus | None = optional_field("how it stands in the queue; written by Kueue")
