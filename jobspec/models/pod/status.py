"""The status of a pod, which the kubelet writes; a create decodes it and drops it."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import AtomicList, Int64, Keyed, Merge, Model, PodList, Pointer, Quantity, SetList, Time
from jobspec.models.pod.container_status import ContainerStatus
from jobspec.models.pod.resources import ResourceRequirements


class PodCondition(Model):
    """A state that the pod is in."""

    type: str = Field(description="the state, such as `PodScheduled`, `Ready` or `DisruptionTarget`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    reason: str | None = Field(None, description="why, as a word")
    message: str | None = Field(None, description="why, as a sentence")
    last_probe_time: Time | None = Field(None, description="when the state was last looked at")
    last_transition_time: Time | None = Field(None, description="when `status` last changed")
    observed_generation: Int64 | None = Field(None, description="`metadata.generation` that the condition was set for")


class HostIP(Model):
    """An address of the node."""

    ip: str = Field(description="the IP address")


class PodIP(Model):
    """An address of the pod."""

    ip: str = Field(description="the IP address")


class PodResourceClaimStatus(Model):
    """The ResourceClaim that was made for one of the pod's `resourceClaims`."""

    name: str = Field(description="name of the entry in the pod's `resourceClaims`")
    resource_claim_name: Pointer[str] = Field(None, description="name of the ResourceClaim; left out where none was needed")


class ContainerExtendedResourceRequest(Model):
    """An extended resource of a container, and the request for it in the claim that was made."""

    container_name: str = Field(description="name of the container")
    resource_name: str = Field(description="name of the extended resource")
    request_name: str = Field(description="name of the request in the claim")


class PodExtendedResourceClaimStatus(Model):
    """The ResourceClaim by which the pod gets its extended resources."""

    request_mappings: PodList[ContainerExtendedResourceRequest] = Field(description="which request of the claim is for what")
    resource_claim_name: str = Field(description="name of the ResourceClaim")


class NodeAllocatableResourceClaimStatus(Model):
    """What a ResourceClaim takes of the node's own resources."""

    resource_claim_name: str = Field(description="name of the ResourceClaim")
    containers: SetList[str] | None = Field(None, description="names of the containers that use the claim")
    resources: dict[str, Quantity] = Field(description="what is taken, by resource")


class PodStatus(Model):
    """What the kubelet and the control plane know of the pod."""

    phase: str | None = Field(None, description="`Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`")
    reason: str | None = Field(None, description="why it is in the phase, as a word such as `Evicted`")
    message: str | None = Field(None, description="why it is in the phase, as a sentence")
    conditions: Annotated[list[PodCondition] | None, Keyed("type")] = Field(None, description="states of the pod")
    observed_generation: Int64 | None = Field(None, description="`metadata.generation` that the status was set for")
    nominated_node_name: str | None = Field(None, description="the node where others are evicted for the pod")
    start_time: Time | None = Field(None, description="when the kubelet first saw the pod")
    host_ip: str | None = Field(None, alias="hostIP", description="address of the node")
    host_ips: Annotated[list[HostIP] | None, Merge("ip")] = Field(None, alias="hostIPs", description="all addresses of the node")
    pod_ip: str | None = Field(None, alias="podIP", description="address of the pod")
    pod_ips: Annotated[list[PodIP] | None, Keyed("ip")] = Field(None, alias="podIPs", description="all addresses of the pod, one a family")
    init_container_statuses: PodList[ContainerStatus] | None = Field(None, description="status of each init container")
    container_statuses: PodList[ContainerStatus] | None = Field(None, description="status of each container")
    ephemeral_container_statuses: PodList[ContainerStatus] | None = Field(None, description="status of each ephemeral container")
    qos_class: str | None = Field(None, description="`Guaranteed`, `Burstable` or `BestEffort`, by the pod's requests and limits")
    resize: str | None = Field(None, description="deprecated: state of a resize of resources")
    resource_claim_statuses: Annotated[list[PodResourceClaimStatus] | None, Keyed("name")] = Field(
        None, description="the ResourceClaims that were made for the pod"
    )
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = Field(
        None, description="the ResourceClaim that was made for the pod's extended resources"
    )
    allocated_resources: dict[str, Quantity] | None = Field(None, description="what the node reserves for the pod as a whole")
    resources: ResourceRequirements | None = Field(None, description="requests and limits that the pod as a whole has now")
    node_allocatable_resource_claim_statuses: AtomicList[NodeAllocatableResourceClaimStatus] | None = Field(
        None, description="what ResourceClaims take of the node's own resources"
    )
