"""The spec of a pod and its template: what it is and where it runs."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import (
    AtomicDict,
    AtomicList,
    Int32,
    Int64,
    Keyed,
    MapType,
    Model,
    PodList,
    Pointer,
    Quantity,
    Required,
    Since,
    Unset,
    Until,
    optional_field,
    pod_keys,
)
from jobspec.models.meta import EmbeddedMeta, LabelSelector
from jobspec.models.pod.container import (
    Container,
    EphemeralContainer,
    LocalObjectReference,
    PodResourceClaim,
    PodSecurityContext,
    ResourceRequirements,
)
from jobspec.models.pod.volume import Volume


class PodOS(Model):
    """The operating system of the containers."""

    name: str = Field(description="`linux` or `windows`")


class PodReadinessGate(Model):
    """A condition that has to be true before the pod is ready; a controller sets it."""

    condition_type: str = Field(description="type of the condition in the pod's status")


# On which nodes and beside which pods a pod may, or preferably should, run.


class NodeSelectorRequirement(Model):
    """A condition on one label or field of a node."""

    key: str = Field(description="key of the label, or the field `metadata.name`")
    operator: str = Field(description="`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`")
    values: PodList[str] | None = optional_field("values to compare with: one integer for `Gt` and `Lt`, none for `Exists`")


class NodeSelectorTerm(Model):
    """Conditions on a node that hold together; without any, no node fits."""

    FACTS = (MapType("atomic"),)

    match_expressions: PodList[NodeSelectorRequirement] | None = optional_field("conditions on labels")
    match_fields: PodList[NodeSelectorRequirement] | None = optional_field("conditions on fields: `metadata.name` alone")


class NodeSelector(Model):
    """Nodes that fit at least one of several terms."""

    FACTS = (MapType("atomic"),)

    node_selector_terms: PodList[NodeSelectorTerm] = Field(description="the terms, of which one has to fit")


class PreferredSchedulingTerm(Model):
    """A preference for some nodes."""

    weight: Int32 = Field(description="weight of the preference, from 1 to 100")
    preference: NodeSelectorTerm = Field(description="the preferred nodes")


class NodeAffinity(Model):
    """Nodes that a pod requires and prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = optional_field("the only nodes allowed")
    preferred_during_scheduling_ignored_during_execution: PodList[PreferredSchedulingTerm] | None = optional_field(
        "preferences; the node with the greatest sum of weights wins"
    )


class PodAffinityTerm(Model):
    """A selection of pods, and the topology in which they count as near."""

    topology_key: str = Field(description="node label whose equal values make one place, such as `kubernetes.io/hostname`")
    label_selector: LabelSelector | None = optional_field("the pods by label; left out, no pods")
    match_label_keys: Annotated[AtomicList[str] | None, Since("kubernetes", "0.29")] = optional_field(
        "label keys whose values the pods share with this one"
    )
    mismatch_label_keys: Annotated[AtomicList[str] | None, Since("kubernetes", "0.29")] = optional_field(
        "label keys whose values differ between the pods and this one"
    )
    namespaces: PodList[str] | None = optional_field("namespaces to look in, by name; this pod's own by default")
    namespace_selector: LabelSelector | None = optional_field("namespaces to look in by label; the empty selector takes all")


class WeightedPodAffinityTerm(Model):
    """A preference for, or against, places near a selection of pods."""

    weight: Int32 = Field(description="weight of the preference, from 1 to 100")
    pod_affinity_term: PodAffinityTerm = Field(description="the pods and the place")


class PodAffinity(Model):
    """Pods to be near to."""

    required_during_scheduling_ignored_during_execution: PodList[PodAffinityTerm] | None = optional_field(
        "only places where all terms find a pod"
    )
    preferred_during_scheduling_ignored_during_execution: PodList[WeightedPodAffinityTerm] | None = optional_field(
        "preferences; the node with the greatest sum of weights wins"
    )


class PodAntiAffinity(Model):
    """Pods to be far from."""

    required_during_scheduling_ignored_during_execution: PodList[PodAffinityTerm] | None = optional_field(
        "only places where no term finds a pod"
    )
    preferred_during_scheduling_ignored_during_execution: PodList[WeightedPodAffinityTerm] | None = optional_field(
        "preferences against places; the node with the smallest sum of weights wins"
    )


class Affinity(Model):
    """Rules for the choice of a node, beyond `nodeSelector`; they do not move running pods."""

    node_affinity: NodeAffinity | None = optional_field("by the nodes' own labels")
    pod_affinity: PodAffinity | None = optional_field("near to other pods")
    pod_anti_affinity: PodAntiAffinity | None = optional_field("away from other pods")


# How a pod resolves host names.


class HostAlias(Model):
    """A line of the pod's `/etc/hosts`."""

    ip: Annotated[str | None, Since("kubernetes", "0.31", Required())] = optional_field("the IP address")
    hostnames: PodList[str] | None = optional_field("host names of the address")


class PodDNSConfigOption(Model):
    """An option of the resolver."""

    name: str | None = optional_field("name of the option, such as `ndots`; needed")
    value: Pointer[str] = optional_field("its value, where it takes one")


class PodDNSConfig(Model):
    """Settings of `/etc/resolv.conf`, added to those of `dnsPolicy`."""

    nameservers: PodList[str] | None = optional_field("addresses of name servers, at most 3; needed with policy `None`")
    searches: PodList[str] | None = optional_field("domains to try for short names, at most 32")
    options: PodList[PodDNSConfigOption] | None = optional_field("options of the resolver")


# When and where a pod is scheduled, apart from affinity.


class Toleration(Model):
    """Taints of nodes that do not keep the pod away."""

    key: str | None = optional_field("key of the taint, such as `nvidia.com/gpu`; left out with `Exists`, for every key")
    operator: str | None = optional_field("`Equal` (default) or `Exists`; behind a feature gate also `Lt` and `Gt`")
    value: str | None = optional_field("value of the taint; none with `Exists`")
    effect: str | None = optional_field("`NoSchedule`, `PreferNoSchedule` or `NoExecute`; left out, every effect")
    toleration_seconds: Pointer[Int64] = optional_field("seconds until a `NoExecute` taint evicts the pod; never by default")


class TopologySpreadConstraint(Model):
    """Spread the pods that match evenly over places."""

    max_skew: Int32 = Field(description="most by which the numbers of pods in two places may differ, at least 1")
    topology_key: str = Field(description="node label whose equal values make one place, such as `topology.kubernetes.io/zone`")
    when_unsatisfiable: str = Field(description="`DoNotSchedule` keeps the pod pending, `ScheduleAnyway` only prefers")
    label_selector: LabelSelector | None = optional_field("the pods that count, by label")
    match_label_keys: AtomicList[str] | None = optional_field("label keys whose values the pods share with this one")
    min_domains: Pointer[Int32] = optional_field("fewest places that have to exist, 1 by default; only with `DoNotSchedule`")
    node_affinity_policy: Pointer[str] = optional_field("`Honor` (default) counts only nodes that the pod may choose, `Ignore` all")
    node_taints_policy: Pointer[str] = optional_field("`Ignore` (default) counts nodes with taints too, `Honor` only tolerated ones")


class PodSchedulingGate(Model):
    """A reason to hold a new pod back; it is scheduled once all gates are removed."""

    name: str = Field(description="name of the gate")


class WorkloadReference(Model):
    """The Workload that the pod belongs to, and its group in it."""

    name: str = Field(description="name of the Workload, in the pod's own namespace")
    pod_group: str = Field(description="name of the group inside of the Workload")
    pod_group_replica_key: str | None = optional_field("which replica of the group the pod belongs to; the one there is by default")


class PodSchedulingGroup(Model):
    """The group that the pod is scheduled with."""

    pod_group_name: Pointer[str] = optional_field("name of the PodGroup, in the pod's own namespace")


class EvictionResponder(Model):
    """A program that helps the pod to end before it is evicted."""

    FACTS = (MapType("atomic"),)

    name: str = Field(description="name of the responder, with a domain as prefix: `example.com/checkpoint`")
    priority: Int32 = Field(description="from 0 to 100000; the greatest is asked first")


class PodSpec(Model):
    """A pod: where it runs and as whom, its containers and its volumes."""

    restart_policy: str | None = optional_field("when containers start again: `Always` (default), `OnFailure` or `Never`")
    scheduler_name: str | None = optional_field("scheduler that places the pod, `default-scheduler` by default")
    priority_class_name: str | None = optional_field("PriorityClass of the pod; the cluster's default class, else priority 0")
    priority: Pointer[Int32] = optional_field("priority, greater goes first; computed from the class, not to be set by hand")
    preemption_policy: Pointer[str] = optional_field("`PreemptLowerPriority` (default) may evict others, `Never` waits")
    scheduling_gates: Annotated[list[PodSchedulingGate] | None, Keyed("name")] = optional_field("gates that hold the pod back")
    scheduling_group: Annotated[PodSchedulingGroup | None, Since("kubernetes", "0.36")] = optional_field(
        "group that the pod is scheduled with (alpha), in place of being scheduled alone"
    )
    workload_ref: Annotated[WorkloadReference | None, Since("kubernetes", "0.35"), Until("kubernetes", "0.36", use="`schedulingGroup`")] = (
        optional_field("Workload that the pod belongs to (alpha), for gang scheduling; it cannot change")
    )
    runtime_class_name: Pointer[str] = optional_field("RuntimeClass of the containers, such as `nvidia`; the node's by default")
    eviction_responders: Annotated[list[EvictionResponder] | None, Keyed("name"), Since("kubernetes", "0.37")] = optional_field(
        "programs that are asked before the pod is evicted, by their priorities"
    )
    node_name: str | None = optional_field("the node; set by the scheduler, or by the manifest to bypass it")
    node_selector: AtomicDict[str] | None = optional_field("labels that the node has, with just these values")
    affinity: Affinity | None = optional_field("nodes and neighbours that the pod requires or prefers")
    tolerations: PodList[Toleration] | None = optional_field("taints of nodes that do not keep the pod away")
    topology_spread_constraints: Annotated[list[TopologySpreadConstraint] | None, Keyed("topologyKey", "whenUnsatisfiable")] = (
        optional_field("how pods of a kind spread over zones or nodes; all constraints hold")
    )
    os: PodOS | None = optional_field("operating system of the containers; forbids the settings of the other one")
    overhead: dict[str, Quantity] | None = optional_field("what the runtime itself takes, by resource; set by the RuntimeClass")
    service_account_name: str | None = optional_field("ServiceAccount that the pod acts as, `default` by default")
    service_account: str | None = optional_field("deprecated: the old name of `serviceAccountName`")
    automount_service_account_token: Pointer[bool] = optional_field("mount a token of the ServiceAccount; true by default")
    image_pull_secrets: Annotated[list[LocalObjectReference] | None, pod_keys("name")] = optional_field("Secrets to pull images with")
    security_context: PodSecurityContext | None = optional_field("users, groups and confinement of all containers")
    host_network: bool | None = optional_field("use the node's own network, as some RDMA set-ups need; false by default")
    host_pid: bool | None = Field(default=None, alias="hostPID", description="see the processes of the node; false by default")
    host_ipc: bool | None = Field(
        default=None, alias="hostIPC", description="share the node's memory segments and semaphores; false by default"
    )
    host_users: Pointer[bool] = optional_field("share the node's user IDs; true by default, false makes a user namespace")
    share_process_namespace: Pointer[bool] = optional_field("containers see each other's processes; false by default")
    hostname: str | None = optional_field("host name inside of the pod, the pod's name by default")
    hostname_override: Annotated[Pointer[str], Since("kubernetes", "0.34")] = optional_field(
        "host name that the programs see, at most 64 characters, over `hostname` and `subdomain`; DNS does not know it"
    )
    subdomain: str | None = optional_field("headless Service whose DNS domain the host name belongs to")
    set_hostname_as_fqdn: Pointer[bool] = Field(
        default=None, alias="setHostnameAsFQDN", description="the host name is the fully qualified one"
    )
    host_aliases: Annotated[list[HostAlias] | None, pod_keys("ip")] = optional_field("further lines of `/etc/hosts`")
    dns_policy: str | None = optional_field("`ClusterFirst` (default), `ClusterFirstWithHostNet`, `Default` (the node's), `None`")
    dns_config: PodDNSConfig | None = optional_field("name servers and search domains, besides those of `dnsPolicy`")
    enable_service_links: Pointer[bool] = optional_field("variables for each Service of the namespace; true by default")
    active_deadline_seconds: Pointer[Int64] = optional_field("seconds until the pod is killed and failed; never by default")
    termination_grace_period_seconds: Pointer[Int64] = optional_field("seconds from the stop signal to the kill, 30 by default")
    readiness_gates: PodList[PodReadinessGate] | None = optional_field("further conditions for the pod to be ready")
    resources: Annotated[ResourceRequirements | None, Since("kubernetes", "0.32")] = optional_field(
        "what the pod as a whole reserves and may use, shared by its containers: `cpu`, `memory` and huge pages only"
    )
    resource_claims: Annotated[list[PodResourceClaim] | None, Keyed("name")] = optional_field("devices to allocate before it runs")
    init_containers: Annotated[list[Container] | None, pod_keys("name")] = optional_field("containers that run first, one by one")
    containers: Annotated[list[Container], pod_keys("name")] = Field(description="the containers, at least one")
    ephemeral_containers: Annotated[list[EphemeralContainer] | None, pod_keys("name")] = optional_field("to debug a running pod")
    volumes: Annotated[list[Volume] | None, pod_keys("name")] = optional_field("volumes that the containers can mount")


# The template from which pods are made.


class PodTemplateSpec(Model):
    """A pod to make copies of."""

    metadata: EmbeddedMeta | None = optional_field("labels and annotations of the pods")
    spec: Annotated[PodSpec | None, Unset("zero")] = optional_field("what the pods are and where they run")
