"""Kueue (`kueue.x-k8s.io`): queues, quotas, and the workloads that wait for them, in v1beta2 and the older v1beta1.

A kind is one model for both versions: what differs is inside of `V1BETA2` or `V1BETA1`.
"""

from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import MaxLen, MinLen
from pydantic import Field

from jobspec.apis import cel_rules, queue_rules
from jobspec.models.base import (
    AtomicDict,
    AtomicList,
    Choices,
    Column,
    Int32,
    Int64,
    Keyed,
    ListType,
    Model,
    Pattern,
    Pointer,
    Quantity,
    Required,
    Resource,
    SetList,
    Since,
    Time,
    Until,
    Validation,
    constant,
    optional_field,
)
from jobspec.models.meta import QUALIFIED_NAME, Condition, LabelSelector, ObjectMeta
from jobspec.models.pod.spec import Toleration

#: Facts of v1beta2 alone, and of v1beta1 alone; without any, the field is in no other version.
V1BETA2 = partial(Since, "v1beta", "2")
V1BETA1 = partial(Until, "v1beta", "2")

_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
#: The name of an object, such as a queue or a flavor.
Name = Annotated[str, MaxLen(253), Pattern(_SUBDOMAIN)]
PodSetName = Annotated[str, MaxLen(63), Pattern(_LABEL)]
CheckName = Annotated[str, MaxLen(316), V1BETA2(MinLen(1))]
Short = Annotated[str, V1BETA2(MaxLen(63))]
#: The key of a label that numbers pods.
IndexLabel = Annotated[str, V1BETA2(MaxLen(317))]
ClusterName = Annotated[str, V1BETA2(MaxLen(256))]
Conditions = Annotated[list[Condition], Keyed("type"), V1BETA2(MaxLen(16))]
Amounts = dict[str, Quantity]
Versions = Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"]

IMMUTABLE = Validation(cel_rules.UNCHANGED.text, "field is immutable")
_UNIQUE = Validation(queue_rules.UNIQUE.text, "must be unique")
_EFFECT = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
TolerationList = Annotated[
    list[Toleration],
    MaxLen(8),
    Validation(queue_rules.EVERY_KEY.text, "operator must be Exists when 'key' is empty, which means 'match all values and all keys'"),
    Validation(queue_rules.SECONDS_OF_NO_EXECUTE.text, "effect must be 'NoExecute' when 'tolerationSeconds' is set"),
    Validation(queue_rules.TOLERATION_OPERATORS.text, "supported toleration values: 'Equal'(default), 'Exists'"),
    Validation(queue_rules.EXISTS_HAS_NO_VALUE.text, "a value must be empty when 'operator' is 'Exists'"),
    Validation(queue_rules.TOLERATION_EFFECTS.text, _EFFECT),
]


def kueue_resource(kind: str, plural: str, *short_names: str, columns: tuple[Any, ...] = (), **more: Any) -> Resource:
    """Return a kind of Kueue, in no namespace unless *more* says so."""
    older = {"older": ("v1beta1",), "older_warning": "This version is deprecated. Use v1beta2 instead."}
    group = {"group": "kueue.x-k8s.io", "version": "v1beta2", "component": "kueue", "scope": "Cluster", **older}
    return Resource(kind=kind, plural=plural, short_names=short_names, columns=columns, **(group | more))


class KueueObject(Model):
    """An object of Kueue."""

    api_version: Versions = constant("version of the API", "kueue.x-k8s.io/v1beta2")
    kind: str
    metadata: ObjectMeta | None = optional_field("name, labels and so on; it has no namespace")


# Quotas, which a ClusterQueue and a Cohort declare alike.


class ResourceQuota(Model):
    """How much of a resource there is in a flavor."""

    name: str = Field(description="the resource, such as `nvidia.com/gpu`: the one at the same place of `coveredResources`")
    nominal_quota: Quantity = Field(description="how much is its own; not negative")
    borrowing_limit: Quantity | None = optional_field("how much more it may borrow in the cohort; without one, all that is unused")
    lending_limit: Quantity | None = optional_field("how much of its own others of the cohort may borrow; all of it by default")


class FlavorQuotas(Model):
    """The quotas of a flavor."""

    name: Name = Field(description="name of a ResourceFlavor; while there is none of the name, a ClusterQueue is inactive")
    resources: Annotated[list[ResourceQuota], MinLen(1), MaxLen(64), Keyed("name")] = Field(
        description="a quota for each of `coveredResources`, in the same order"
    )


class ResourceGroup(Model):
    """Resources that come from the same flavors: a pod set gets all of them from one."""

    FACTS = (Validation(queue_rules.ALL_COVERED.text, "flavors must have the same number of resources as the coveredResources"),)

    covered_resources: Annotated[list[str], MinLen(1), MaxLen(64), V1BETA2(ListType("atomic"))] = Field(
        description="the resources, such as `cpu`, `memory` and `nvidia.com/gpu`; each is in one group only"
    )
    flavors: Annotated[list[FlavorQuotas], MinLen(1), MaxLen(64), Keyed("name")] = Field(
        description="the flavors in the order in which they are tried; each is in one group only, 256 in all groups"
    )


ResourceGroups = Annotated[AtomicList[ResourceGroup] | None, MaxLen(16)]


class FairSharing(Model):
    """The share that it gets of what is unused, where Kueue's configuration enables fair sharing."""

    weight: Quantity | None = Field(
        default=1, description="its weight against that of the others; 0 gives it what nobody else wants, none may be 1n or less"
    )


class FairSharingStatus(Model):
    """How much it has of what is shared."""

    weighted_share: Int64 = Field(description="what it uses above its quota, in parts of the whole, by its weight")


class AdmissionFairSharingStatus(Model):
    """What a queue used lately."""

    consumed_resources: Amounts = Field(description="how much of each resource, with what is long ago counting less")
    last_update: Time = Field(description="when that was worked out")


class QueueFairSharingStatus(FairSharingStatus):
    """How much a queue has of what is shared."""

    admission_fair_sharing_status: AdmissionFairSharingStatus | None = optional_field("what the queue used lately")


# ClusterQueue.


class FlavorFungibility(Model):
    """Whether to go on with the next flavor before it borrows or preempts in one."""

    FACTS = (
        Validation(queue_rules.PREFERENCE.text, "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"),
    )

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor", "Borrow"], V1BETA2(Choices(("MayStopSearch", "TryNextFlavor")))
    ] = Field(default="MayStopSearch", description="`MayStopSearch`, take a flavor in which it has to borrow, or `TryNextFlavor` first")
    when_can_preempt: Annotated[
        Literal["MayStopSearch", "TryNextFlavor", "Preempt"], V1BETA2(Choices(("MayStopSearch", "TryNextFlavor")))
    ] = Field(default="TryNextFlavor", description="`MayStopSearch`, take a flavor in which it has to preempt, or `TryNextFlavor` first")
    preference: Pointer[Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]] = optional_field(
        "what to rather do where no flavor has room: `BorrowingOverPreemption` (default) or `PreemptionOverBorrowing`"
    )


class BorrowWithinCohort(Model):
    """Whether a workload that borrows may preempt in other queues."""

    policy: Literal["Never", "LowerPriority"] = Field(default="Never", description="`Never`, or workloads of `LowerPriority`")
    max_priority_threshold: Int32 | None = optional_field("priority up to which they can be preempted; any below its own by default")


class ClusterQueuePreemption(Model):
    """Whom a pending workload may preempt."""

    FACTS = (Validation(queue_rules.RECLAIMS.text, "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"),)

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = Field(
        default="Never", description="to have its own quota back, in other queues: `Never`, `LowerPriority` or `Any` that borrows it"
    )
    borrow_within_cohort: BorrowWithinCohort | None = Field(
        default=BorrowWithinCohort(), description="to borrow, in other queues; needs `reclaimWithinCohort`"
    )
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = Field(
        default="Never", description="in its own queue: `Never`, `LowerPriority` or `LowerOrNewerEqualPriority`"
    )


class AdmissionCheckStrategyRule(Model):
    """A check, and for which flavors it is made."""

    name: CheckName = Field(description="name of an AdmissionCheck")
    on_flavors: Annotated[list[Name] | None, V1BETA2(MaxLen(64), ListType("set"))] = optional_field(
        "flavors of this queue for which it is made; all by default"
    )


class AdmissionChecksStrategy(Model):
    """The checks that a workload passes before it starts."""

    admission_checks: Annotated[list[AdmissionCheckStrategyRule] | None, V1BETA2(Required(), MinLen(1), MaxLen(64), Keyed("name"))] = (
        optional_field("the checks")
    )


class AdmissionScope(Model):
    """Whether the queues' use in the past decides who is next."""

    admission_mode: Annotated[str, V1BETA2(Choices(("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")))] = Field(
        description="`UsageBasedAdmissionFairSharing`, the queue that used least, or `NoAdmissionFairSharing`"
    )


class ConcurrentAdmissionConstraints(Model):
    """Where a workload may move."""

    last_acceptable_flavor_name: Name | None = optional_field("the last flavor of the queue's that it may move to; any by default")


class ConcurrentAdmissionMigration(Model):
    """Whether an admitted workload moves to a flavor that stands before its own."""

    mode: Annotated[Literal["TryPreferredFlavors", "RetainFirstAdmission"], MaxLen(253)] = Field(
        description="`TryPreferredFlavors`, move once there is room, or `RetainFirstAdmission`"
    )
    constraints: ConcurrentAdmissionConstraints | None = optional_field("where it may move; only for `TryPreferredFlavors`")


class ConcurrentAdmissionPolicy(Model):
    """Try several flavors at a time, each by a workload of its own (alpha, off by default)."""

    migration: ConcurrentAdmissionMigration = Field(description="whether an admitted workload moves")


class ClusterQueueSpec(Model):
    """Quotas, and who gets them when."""

    FACTS = (
        V1BETA1(Validation(queue_rules.BORROWS_IN_OLD_COHORT.text, "borrowingLimit must be nil when cohort is empty")),
        V1BETA2(Validation(queue_rules.BORROWS_IN_COHORT.text, "borrowingLimit must be nil when cohort is empty")),
    )

    resource_groups: ResourceGroups = optional_field("the quotas, in groups of resources that come from the same flavors")
    cohort_name: Annotated[Name | None, V1BETA2()] = optional_field("the Cohort in which it borrows and lends; none by default")
    cohort: Annotated[Name | None, V1BETA1(use="cohortName")] = optional_field("the Cohort in which it borrows and lends")
    namespace_selector: LabelSelector | None = optional_field(
        "the namespaces whose workloads it takes, by label; none where left out, all with `{}`"
    )
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = Field(
        default="BestEffortFIFO", description="`StrictFIFO`: the first in line holds up all others; `BestEffortFIFO`: who fits passes it"
    )
    flavor_fungibility: FlavorFungibility | None = Field(
        default=FlavorFungibility(), description="whether to try the next flavor before it borrows or preempts in one"
    )
    preemption: ClusterQueuePreemption | None = Field(default=ClusterQueuePreemption(), description="whom a pending workload may preempt")
    admission_checks: Annotated[list[CheckName] | None, V1BETA1(use="admissionChecksStrategy")] = optional_field(
        "names of AdmissionChecks that are made for all flavors"
    )
    admission_checks_strategy: AdmissionChecksStrategy | None = optional_field("the checks that a workload passes before it starts")
    admission_scope: AdmissionScope | None = optional_field("whether the queues' use in the past decides who is next")
    concurrent_admission_policy: Annotated[ConcurrentAdmissionPolicy | None, V1BETA2()] = optional_field(
        "try several flavors at a time (alpha, off by default); it cannot change"
    )
    fair_sharing: FairSharing | None = optional_field("its weight where Kueue's configuration enables fair sharing")
    stop_policy: Pointer[Literal["None", "Hold", "HoldAndDrain"]] = Field(
        default="None", description="`None`, `Hold` (admit nothing more) or `HoldAndDrain` (and evict what runs)"
    )


class ResourceUsage(Model):
    """How much of a resource is in use."""

    name: str = Field(description="the resource")
    total: Quantity | None = optional_field("how much, with what is borrowed")


class BorrowedUsage(ResourceUsage):
    """How much of a resource is in use, and borrowed."""

    borrowed: Quantity | None = optional_field("how much of it is borrowed in the cohort")


class FlavorUsage(Model):
    """How much of a flavor is in use in a ClusterQueue."""

    name: Name = Field(description="the flavor")
    resources: Annotated[list[BorrowedUsage], MaxLen(64), Keyed("name")] = Field(description="how much of each resource")


class QueueFlavorUsage(Model):
    """How much of a flavor is in use in a LocalQueue."""

    name: Name = Field(description="the flavor")
    resources: Annotated[list[ResourceUsage], MaxLen(64), Keyed("name")] = Field(description="how much of each resource")


class PendingWorkload(Model):
    """A workload that waits."""

    name: str = Field(description="name of the Workload")
    namespace: str = Field(description="its namespace")


class PendingWorkloadsStatus(Model):
    """Who waits, first in line first."""

    cluster_queue_pending_workload: AtomicList[PendingWorkload] | None = optional_field("the first workloads in line")
    last_change_time: Time = Field(description="when that was written")


FlavorUsages = Annotated[list[FlavorUsage] | None, MaxLen(64), Keyed("name")]
QueueFlavorUsages = Annotated[list[QueueFlavorUsage] | None, MaxLen(64), Keyed("name")]


class ClusterQueueFairSharingStatus(FairSharingStatus):
    """How much a ClusterQueue or Cohort has of what is shared."""

    admission_fair_sharing_status: Annotated[AdmissionFairSharingStatus | None, V1BETA1()] = optional_field("what it used lately")


class ClusterQueueStatus(Model):
    """What is in use, and who waits; written by Kueue."""

    conditions: Conditions | None = optional_field("`Active`: whether it admits workloads, and why not")
    flavors_reservation: FlavorUsages = optional_field("what is reserved of each flavor")
    flavors_usage: FlavorUsages = optional_field("what admitted workloads have of each flavor")
    pending_workloads: Int32 | None = optional_field("number of workloads that wait")
    reserving_workloads: Int32 | None = optional_field("number of workloads that have a reservation")
    admitted_workloads: Int32 | None = optional_field("number of admitted workloads that have not ended")
    pending_workloads_status: Annotated[PendingWorkloadsStatus | None, V1BETA1()] = optional_field("who waits, first in line first")
    fair_sharing: ClusterQueueFairSharingStatus | None = optional_field("how much it has of what is shared")


class ClusterQueue(KueueObject):
    """Quotas of flavors, for the workloads of the LocalQueues that name it."""

    RESOURCE: ClassVar[Resource] = kueue_resource(
        "ClusterQueue",
        "clusterqueues",
        "cq",
        status=True,
        columns=(
            V1BETA1(Column("Cohort", "string", ".spec.cohort", "Cohort that this ClusterQueue belongs to")),
            V1BETA2(Column("Cohort", "string", ".spec.cohortName", "Cohort that this ClusterQueue belongs to")),
            Column("Strategy", "string", ".spec.queueingStrategy", "The queueing strategy used to prioritize workloads", priority=1),
            Column("Pending Workloads", "integer", ".status.pendingWorkloads", "Number of pending workloads"),
            Column(
                "Admitted Workloads",
                "integer",
                ".status.admittedWorkloads",
                "Number of admitted workloads that haven't finished yet",
                priority=1,
            ),
        ),
    )

    kind: Literal["ClusterQueue"] = constant("kind of the object", "ClusterQueue")
    spec: ClusterQueueSpec | None = optional_field("quotas, and who gets them when")
    status: ClusterQueueStatus | None = optional_field("what is in use, and who waits; written by Kueue")


# LocalQueue.


class LocalQueueSpec(Model):
    """Where the workloads of a namespace wait."""

    cluster_queue: Annotated[Name | None, IMMUTABLE] = optional_field("the ClusterQueue that has the quotas; it cannot change")
    stop_policy: Pointer[Literal["None", "Hold", "HoldAndDrain"]] = Field(
        default="None", description="`None`, `Hold` (admit nothing more) or `HoldAndDrain` (and evict what runs)"
    )
    fair_sharing: FairSharing | None = optional_field("its weight among the queues of its ClusterQueue")


class TopologyInfo(Model):
    """The topology of a flavor."""

    name: Name = Field(description="name of the Topology")
    levels: Annotated[AtomicList[str], MinLen(1), MaxLen(16)] = Field(description="its levels, the widest first")


class Taint(Model):
    """A taint of nodes: it keeps pods away that do not tolerate it."""

    key: str = Field(description="key of the taint, such as `nvidia.com/gpu`")
    value: str | None = optional_field("value of the taint")
    effect: str = Field(description="`NoSchedule`, `PreferNoSchedule` or `NoExecute`")
    time_added: Time | None = optional_field("when a node got it; of no use here")


class LocalQueueFlavor(Model):
    """A flavor that the queue has."""

    name: Name = Field(description="name of the ResourceFlavor")
    resources: Annotated[SetList[str] | None, MaxLen(64)] = optional_field("the resources that it has quota for")
    node_labels: Annotated[AtomicDict[str] | None, MaxLen(8)] = optional_field("labels of the flavor's nodes")
    node_taints: Annotated[AtomicList[Taint] | None, MaxLen(8)] = optional_field("taints of the flavor's nodes")
    topology: TopologyInfo | None = optional_field("the topology of the flavor's nodes")


class LocalQueueStatus(Model):
    """What is in use, and how many wait; written by Kueue."""

    conditions: Conditions | None = optional_field("`Active`: whether workloads are admitted, and why not")
    pending_workloads: Int32 | None = optional_field("number of workloads that wait")
    reserving_workloads: Int32 | None = optional_field("number of workloads that have a reservation")
    admitted_workloads: Int32 | None = optional_field("number of admitted workloads that have not ended")
    flavors_reservation: QueueFlavorUsages = optional_field("what is reserved of each flavor")
    flavors_usage: Annotated[QueueFlavorUsages, V1BETA2()] = optional_field("what admitted workloads have of each flavor")
    flavor_usage: Annotated[QueueFlavorUsages, V1BETA1(use="flavorsUsage")] = optional_field("what admitted workloads have of each flavor")
    flavors: Annotated[list[LocalQueueFlavor] | None, MaxLen(64), Keyed("name"), V1BETA1()] = optional_field("the flavors that it has")
    fair_sharing: QueueFairSharingStatus | None = optional_field("how much it has of what is shared")


class LocalQueue(KueueObject):
    """A queue of a namespace, which jobs name in their label `kueue.x-k8s.io/queue-name`."""

    RESOURCE: ClassVar[Resource] = kueue_resource(
        "LocalQueue",
        "localqueues",
        "queue",
        "queues",
        "lq",
        scope="Namespaced",
        status=True,
        columns=(
            Column("ClusterQueue", "string", ".spec.clusterQueue", "Backing ClusterQueue"),
            Column("Pending Workloads", "integer", ".status.pendingWorkloads", "Number of pending workloads"),
            Column("Admitted Workloads", "integer", ".status.admittedWorkloads", "Number of admitted workloads that haven't finished yet."),
        ),
    )

    kind: Literal["LocalQueue"] = constant("kind of the object", "LocalQueue")
    metadata: ObjectMeta | None = optional_field("name, labels and so on; the name `default` takes jobs that name no queue")
    spec: LocalQueueSpec | None = optional_field("where the workloads of a namespace wait")
    status: LocalQueueStatus | None = optional_field("what is in use, and how many wait; written by Kueue")


# Cohort.


class CohortSpec(Model):
    """What a cohort has, and to which it belongs."""

    parent_name: Name | None = optional_field("the Cohort that it belongs to; none by default, it is the top of its tree")
    resource_groups: ResourceGroups = optional_field("quotas for all of the cohort, beside those of its queues")
    fair_sharing: FairSharing | None = optional_field("its weight among the cohorts of the same parent")


class CohortStatus(Model):
    """How much it has of what is shared; written by Kueue."""

    fair_sharing: ClusterQueueFairSharingStatus | None = optional_field("how much it has of what is shared")


class Cohort(KueueObject):
    """ClusterQueues, and other cohorts, that lend their quotas to each other."""

    RESOURCE: ClassVar[Resource] = kueue_resource("Cohort", "cohorts", "co", status=True)

    kind: Literal["Cohort"] = constant("kind of the object", "Cohort")
    spec: CohortSpec | None = optional_field("what it has, and to which it belongs")
    status: CohortStatus | None = optional_field("how much it has of what is shared; written by Kueue")


# ResourceFlavor and Topology: which nodes there are.


class ResourceFlavorSpec(Model):
    """The nodes of a flavor."""

    FACTS = (
        Validation(queue_rules.TOPOLOGY_HAS_LABEL.text, "at least one nodeLabel is required when topology is set"),
        *(
            Validation(rule.text, f"{field} are immutable when topologyName is set")
            for field, rule in (("nodeLabels", queue_rules.FLAVOR_LABELS), ("tolerations", queue_rules.FLAVOR_TOLERATIONS))
        ),
        Validation(queue_rules.FLAVOR_TOPOLOGY.text, "topologyName is immutable when topologyName is set"),
    )

    node_labels: Annotated[AtomicDict[str] | None, MaxLen(8)] = optional_field(
        "labels of its nodes, at most 8: pods of the flavor get them as `nodeSelector`, and ones that ask for others do not fit"
    )
    node_taints: Annotated[AtomicList[Taint] | None, MaxLen(8), Validation(queue_rules.TAINT_EFFECTS.text, _EFFECT)] = optional_field(
        "taints of its nodes, at most 8: workloads that do not tolerate them do not get the flavor"
    )
    tolerations: Annotated[TolerationList | None, ListType("atomic")] = optional_field("tolerations that pods of the flavor get besides")
    topology_name: Name | None = optional_field("the Topology of its nodes; without one, pods are placed by the scheduler alone")


class ResourceFlavor(KueueObject):
    """A kind of nodes: a model of GPU, spot or reserved, a zone."""

    RESOURCE: ClassVar[Resource] = kueue_resource("ResourceFlavor", "resourceflavors", "flavor", "flavors", "rf")

    kind: Literal["ResourceFlavor"] = constant("kind of the object", "ResourceFlavor")
    spec: ResourceFlavorSpec | None = optional_field("the nodes of the flavor; any node where left out")


class TopologyLevel(Model):
    """One level of a topology."""

    node_label: Annotated[str, MinLen(1), MaxLen(316), Pattern(QUALIFIED_NAME)] = Field(
        description="label whose values are the places of the level; `kubernetes.io/hostname` only for the last one"
    )


class TopologySpec(Model):
    """Levels of places, each inside of the one before."""

    levels: Annotated[
        AtomicList[TopologyLevel],
        MinLen(1),
        MaxLen(16),
        IMMUTABLE,
        _UNIQUE,
        Validation(queue_rules.HOSTNAME_LAST.text, "the kubernetes.io/hostname label can only be used at the lowest level of topology"),
    ] = Field(description="the levels, the widest first, such as block, rack, host; they cannot change")


class Topology(KueueObject):
    """How near to each other nodes are, by their labels."""

    RESOURCE: ClassVar[Resource] = kueue_resource("Topology", "topologies", "topo")

    kind: Literal["Topology"] = constant("kind of the object", "Topology")
    spec: TopologySpec | None = optional_field("levels of places, each inside of the one before")


class WorkloadPriorityClass(KueueObject):
    """A priority in the queue, which the pods of a job do not have: jobs name it in the label `kueue.x-k8s.io/priority-class`."""

    RESOURCE: ClassVar[Resource] = kueue_resource(
        "WorkloadPriorityClass",
        "workloadpriorityclasses",
        "wpc",
        columns=(Column("Value", "integer", ".value", "Value of workloadPriorityClass's Priority"),),
    )

    kind: Literal["WorkloadPriorityClass"] = constant("kind of the object", "WorkloadPriorityClass")
    value: Int32 = Field(description="the priority: the highest is first in line")
    description: Annotated[str | None, V1BETA2(MaxLen(2048))] = optional_field("what it is for, in words for people")


# Checks before the admission: AdmissionCheck, and the configurations of the two that come with Kueue.


class AdmissionCheckParameters(Model):
    """The object that configures a check."""

    api_group: Annotated[Name, V1BETA2(MinLen(1))] = Field(description="API group of the object, such as `kueue.x-k8s.io`")
    kind: Annotated[str, MaxLen(63), V1BETA2(MinLen(1)), Pattern(r"^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$")] = Field(
        description="its kind, such as `ProvisioningRequestConfig` or `MultiKueueConfig`"
    )
    name: Annotated[str, MaxLen(63), V1BETA2(MinLen(1)), Pattern(_LABEL)] = Field(description="its name")


class AdmissionCheckSpec(Model):
    """Who makes the check."""

    controller_name: Annotated[str, V1BETA2(MinLen(1), MaxLen(253)), IMMUTABLE] = Field(
        description="`kueue.x-k8s.io/provisioning-request`, `kueue.x-k8s.io/multikueue` or another controller; it cannot change"
    )
    parameters: AdmissionCheckParameters | None = optional_field("the object that configures it")
    retry_delay_minutes: Annotated[Pointer[Int64], V1BETA1()] = Field(
        default=15, description="ignored: minutes until a failed check is made again"
    )


class AdmissionCheckStatus(Model):
    """Whether the check can be made; written by its controller."""

    conditions: Conditions | None = optional_field("`Active`: whether its controller is there and its parameters are right")


class AdmissionCheck(KueueObject):
    """A check that a workload passes between its quota and its start."""

    RESOURCE: ClassVar[Resource] = kueue_resource("AdmissionCheck", "admissionchecks", "ac", status=True)

    kind: Literal["AdmissionCheck"] = constant("kind of the object", "AdmissionCheck")
    spec: AdmissionCheckSpec | None = optional_field("who makes the check")
    status: AdmissionCheckStatus | None = optional_field("whether the check can be made; written by its controller")


class ProvisioningRequestRetryStrategy(Model):
    """How often a failed request is made again."""

    backoff_limit_count: Int32 | None = Field(default=3, description="how many times it is made again")
    backoff_base_seconds: Int32 | None = Field(default=60, description="seconds before the first time; each pause is twice the one before")
    backoff_max_seconds: Int32 | None = Field(default=1800, description="the longest pause, in seconds")


class ProvisioningRequestNodeSelector(Model):
    """A label that the pods ask their nodes for."""

    key: Annotated[str, MinLen(1), MaxLen(317), Pattern(QUALIFIED_NAME)] = Field(description="key of the label")
    value_from_provisioning_class_detail: Annotated[str, MinLen(1), MaxLen(32768)] = Field(
        description="key of `status.provisioningClassDetails` of the request, whose value the label has"
    )


class ProvisioningRequestPodSetUpdates(Model):
    """What pods get of an answered request."""

    node_selector: Annotated[list[ProvisioningRequestNodeSelector] | None, MaxLen(8), V1BETA2(Keyed("key"))] = optional_field(
        "labels that the pods ask their nodes for, at most 8"
    )


class ProvisioningRequestConfigSpec(Model):
    """What an autoscaler is asked for."""

    provisioning_class_name: Annotated[Name, V1BETA2(MinLen(1))] = Field(
        description="class of the request, such as `check-capacity.autoscaling.x-k8s.io`"
    )
    parameters: Annotated[dict[str, Annotated[str, MaxLen(255)]] | None, MaxLen(100)] = optional_field("parameters of the class")
    managed_resources: Annotated[SetList[str] | None, MaxLen(100)] = optional_field(
        "resources that are asked for: pods that want none of them pass; all by default"
    )
    retry_strategy: ProvisioningRequestRetryStrategy | None = Field(
        default=ProvisioningRequestRetryStrategy(backoff_limit_count=3, backoff_base_seconds=60, backoff_max_seconds=1800),
        description="how often a failed request is made again",
    )
    pod_set_updates: ProvisioningRequestPodSetUpdates | None = optional_field("what pods get of an answered request")
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None = optional_field(
        "pod sets that are asked for as one: with equal templates, or with templates that are equal to the scheduler; none by default"
    )


class ProvisioningRequestConfig(KueueObject):
    """What an AdmissionCheck asks a cluster autoscaler for."""

    RESOURCE: ClassVar[Resource] = kueue_resource("ProvisioningRequestConfig", "provisioningrequestconfigs", "prc")

    kind: Literal["ProvisioningRequestConfig"] = constant("kind of the object", "ProvisioningRequestConfig")
    spec: ProvisioningRequestConfigSpec | None = optional_field("what an autoscaler is asked for")


class MultiKueueConfigSpec(Model):
    """The clusters that workloads are sent to."""

    clusters: Annotated[
        list[Annotated[str, V1BETA2(MaxLen(256))]],
        MinLen(1),
        MaxLen(20),
        V1BETA1(ListType("set")),
        V1BETA2(Since("kueue", "0.19", ListType("atomic"), _UNIQUE), Until("kueue", "0.19", ListType("set"))),
    ] = Field(description="names of MultiKueueClusters, at most 20")
    quota_management: Annotated[Literal["Manual", "Automated"] | None, V1BETA2()] = optional_field(
        "the queue's quotas as written, `Manual`, or `Automated`: the sum of those of the clusters"
    )


class MultiKueueConfig(KueueObject):
    """The clusters that an AdmissionCheck sends workloads to."""

    RESOURCE: ClassVar[Resource] = kueue_resource("MultiKueueConfig", "multikueueconfigs", "mkconf", older_warning="")

    kind: Literal["MultiKueueConfig"] = constant("kind of the object", "MultiKueueConfig")
    spec: MultiKueueConfigSpec | None = optional_field("the clusters")


class KubeConfig(Model):
    """Where a kubeconfig is."""

    location: Annotated[str, V1BETA2(MinLen(1), MaxLen(256))] = Field(
        description="name of a Secret in Kueue's namespace, with the key `kubeconfig`, or a path in the pod of Kueue"
    )
    location_type: Annotated[Literal["Secret", "Path"], V1BETA1(Required())] = Field(default="Secret", description="`Secret` or `Path`")


class ClusterProfileReference(Model):
    """A ClusterProfile of the cluster inventory."""

    name: Annotated[str, MinLen(1), MaxLen(256)] = Field(description="name of the ClusterProfile, in Kueue's namespace")


class ClusterSource(Model):
    """How the cluster is reached."""

    FACTS = (Validation(queue_rules.ONE_SOURCE.text, "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"),)

    kube_config: KubeConfig | None = optional_field("where its kubeconfig is")
    cluster_profile_ref: ClusterProfileReference | None = optional_field("its ClusterProfile")


class MultiKueueClusterSpec(Model):
    """How another cluster is reached."""

    cluster_source: Annotated[ClusterSource | None, V1BETA2(Required()), V1BETA2()] = optional_field(
        "how it is reached: by one of `kubeConfig` and `clusterProfileRef`"
    )
    kube_config: Annotated[KubeConfig | None, V1BETA1(Required()), V1BETA1(use="clusterSource.kubeConfig")] = optional_field(
        "where its kubeconfig is"
    )
    cluster_profile_ref: Annotated[ClusterProfileReference | None, V1BETA1(use="clusterSource.clusterProfileRef")] = optional_field(
        "its ClusterProfile"
    )


class MultiKueueClusterStatus(Model):
    """Whether the cluster is reached; written by Kueue."""

    conditions: Conditions | None = optional_field("`Active`: whether it is connected")


class MultiKueueCluster(KueueObject):
    """Another cluster, which workloads are sent to."""

    RESOURCE: ClassVar[Resource] = kueue_resource(
        "MultiKueueCluster",
        "multikueueclusters",
        "mkc",
        status=True,
        columns=(
            Column("Connected", "string", ".status.conditions[?(@.type=='Active')].status", "MultiKueueCluster is connected"),
            Column("Age", "date", ".metadata.creationTimestamp", "Time this workload was created"),
        ),
    )

    kind: Literal["MultiKueueCluster"] = constant("kind of the object", "MultiKueueCluster")
    spec: MultiKueueClusterSpec | None = optional_field("how it is reached")
    status: MultiKueueClusterStatus | None = optional_field("whether it is reached; written by Kueue")
