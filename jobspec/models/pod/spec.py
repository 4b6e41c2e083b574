"""What a pod is and where it runs."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import AtomicDict, Int32, Int64, Keyed, Model, PodList, Pointer, Quantity, Since, Until, pod_keys
from jobspec.models.pod.affinity import Affinity
from jobspec.models.pod.container import Container, EphemeralContainer
from jobspec.models.pod.network import HostAlias, PodDNSConfig
from jobspec.models.pod.reference import LocalObjectReference
from jobspec.models.pod.resources import PodResourceClaim, ResourceRequirements
from jobspec.models.pod.scheduling import PodSchedulingGate, PodSchedulingGroup, Toleration, TopologySpreadConstraint, WorkloadReference
from jobspec.models.pod.security import PodSecurityContext
from jobspec.models.pod.volume import Volume


class PodOS(Model):
    """The operating system of the containers."""

    name: str = Field(description="`linux` or `windows`")


class PodReadinessGate(Model):
    """A condition that has to be true before the pod is ready; a controller sets it."""

    condition_type: str = Field(description="type of the condition in the pod's status")


class PodSpec(Model):
    """A pod: where it runs and as whom, its containers and its volumes."""

    restart_policy: str | None = Field(None, description="when containers start again: `Always` (default), `OnFailure` or `Never`")
    scheduler_name: str | None = Field(None, description="scheduler that places the pod, `default-scheduler` by default")
    priority_class_name: str | None = Field(None, description="PriorityClass of the pod; the cluster's default class, else priority 0")
    priority: Pointer[Int32] = Field(None, description="priority, greater goes first; computed from the class, not to be set by hand")
    preemption_policy: Pointer[str] = Field(None, description="`PreemptLowerPriority` (default) may evict others, `Never` waits")
    scheduling_gates: Annotated[list[PodSchedulingGate] | None, Keyed("name")] = Field(None, description="gates that hold the pod back")
    scheduling_group: Annotated[PodSchedulingGroup | None, Since("kubernetes", "0.36")] = Field(
        None, description="group that the pod is scheduled with (alpha), in place of being scheduled alone"
    )
    workload_ref: Annotated[WorkloadReference | None, Since("kubernetes", "0.35"), Until("kubernetes", "0.36", use="`schedulingGroup`")] = (
        Field(None, description="Workload that the pod belongs to (alpha), for gang scheduling; it cannot change")
    )
    runtime_class_name: Pointer[str] = Field(None, description="RuntimeClass of the containers, such as `nvidia`; the node's by default")
    node_name: str | None = Field(None, description="the node; set by the scheduler, or by the manifest to bypass it")
    node_selector: AtomicDict[str] | None = Field(None, description="labels that the node has, with just these values")
    affinity: Affinity | None = Field(None, description="nodes and neighbours that the pod requires or likes")
    tolerations: PodList[Toleration] | None = Field(None, description="taints of nodes that do not keep the pod away")
    topology_spread_constraints: Annotated[list[TopologySpreadConstraint] | None, Keyed("topologyKey", "whenUnsatisfiable")] = Field(
        None, description="how pods of a kind spread over zones or nodes; all constraints hold"
    )
    os: PodOS | None = Field(None, description="operating system of the containers; forbids the settings of the other one")
    overhead: dict[str, Quantity] | None = Field(None, description="what the runtime itself takes, by resource; set by the RuntimeClass")
    service_account_name: str | None = Field(None, description="ServiceAccount that the pod acts as, `default` by default")
    service_account: str | None = Field(None, description="deprecated: the old name of `serviceAccountName`")
    automount_service_account_token: Pointer[bool] = Field(None, description="mount a token of the ServiceAccount; true by default")
    image_pull_secrets: Annotated[list[LocalObjectReference] | None, pod_keys("name")] = Field(
        None, description="Secrets to pull images with"
    )
    security_context: PodSecurityContext | None = Field(None, description="users, groups and confinement of all containers")
    host_network: bool | None = Field(None, description="use the node's own network, as some RDMA set-ups need; false by default")
    host_pid: bool | None = Field(None, alias="hostPID", description="see the processes of the node; false by default")
    host_ipc: bool | None = Field(None, alias="hostIPC", description="share the node's memory segments and semaphores; false by default")
    host_users: Pointer[bool] = Field(None, description="share the node's user IDs; true by default, false makes a user namespace")
    share_process_namespace: Pointer[bool] = Field(None, description="containers see each other's processes; false by default")
    hostname: str | None = Field(None, description="host name inside of the pod, the pod's name by default")
    hostname_override: Annotated[Pointer[str], Since("kubernetes", "0.34")] = Field(
        None, description="host name that the programs see, at most 64 characters, over `hostname` and `subdomain`; DNS does not know it"
    )
    subdomain: str | None = Field(None, description="headless Service whose DNS domain the host name belongs to")
    set_hostname_as_fqdn: Pointer[bool] = Field(None, alias="setHostnameAsFQDN", description="the host name is the fully qualified one")
    host_aliases: Annotated[list[HostAlias] | None, pod_keys("ip")] = Field(None, description="further lines of `/etc/hosts`")
    dns_policy: str | None = Field(None, description="`ClusterFirst` (default), `ClusterFirstWithHostNet`, `Default` (the node's), `None`")
    dns_config: PodDNSConfig | None = Field(None, description="name servers and search domains, besides those of `dnsPolicy`")
    enable_service_links: Pointer[bool] = Field(None, description="variables for each Service of the namespace; true by default")
    active_deadline_seconds: Pointer[Int64] = Field(None, description="seconds until the pod is killed and failed; never by default")
    termination_grace_period_seconds: Pointer[Int64] = Field(None, description="seconds from the stop signal to the kill, 30 by default")
    readiness_gates: PodList[PodReadinessGate] | None = Field(None, description="further conditions for the pod to be ready")
    resources: Annotated[ResourceRequirements | None, Since("kubernetes", "0.32")] = Field(
        None, description="what the pod as a whole reserves and may use, shared by its containers: `cpu`, `memory` and huge pages only"
    )
    resource_claims: Annotated[list[PodResourceClaim] | None, Keyed("name")] = Field(None, description="devices to allocate before it runs")
    init_containers: Annotated[list[Container] | None, pod_keys("name")] = Field(None, description="containers that run first, one by one")
    containers: Annotated[list[Container], pod_keys("name")] = Field(description="the containers, at least one")
    ephemeral_containers: Annotated[list[EphemeralContainer] | None, pod_keys("name")] = Field(None, description="to debug a running pod")
    volumes: Annotated[list[Volume] | None, pod_keys("name")] = Field(None, description="volumes that the containers can mount")
