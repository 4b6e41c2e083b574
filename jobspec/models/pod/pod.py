"""Pod (`v1`): containers that run together on one node."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from jobspec.models.base import (
    GoPointer,
    Int32,
    Int64,
    Keyed,
    ListType,
    Merge,
    Model,
    PodList,
    Pointer,
    Quantity,
    Required,
    Resource,
    SetList,
    Since,
    Time,
    Until,
    constant,
    optional_field,
    pod_keys,
)
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.container import ResourceRequirements
from jobspec.models.pod.spec import PodSpec
from jobspec.models.pod.volume import VolumeHealthCondition

# The status of a pod, which the kubelet writes; a create decodes it and drops it.


class PodCondition(Model):
    """A state that the pod is in."""

    type: str = Field(description="the state, such as `PodScheduled`, `Ready` or `DisruptionTarget`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    reason: str | None = optional_field("why, as a word")
    message: str | None = optional_field("why, as a sentence")
    last_probe_time: Time | None = optional_field("when the state was last looked at")
    last_transition_time: Time | None = optional_field("when `status` last changed")
    observed_generation: Int64 | None = optional_field("`metadata.generation` that the condition was set for")


class HostIP(Model):
    """An address of the node."""

    ip: str = Field(description="the IP address")


class PodIP(Model):
    """An address of the pod."""

    ip: str = Field(description="the IP address")


class PodResourceClaimStatus(Model):
    """The ResourceClaim that was made for one of the pod's `resourceClaims`."""

    name: str = Field(description="name of the entry in the pod's `resourceClaims`")
    resource_claim_name: Pointer[str] = optional_field("name of the ResourceClaim; left out where none was needed")


class ContainerExtendedResourceRequest(Model):
    """An extended resource of a container, and the request for it in the claim that was made."""

    container_name: str = Field(description="name of the container")
    resource_name: str = Field(description="name of the extended resource")
    request_name: str = Field(description="name of the request in the claim")


class PodExtendedResourceClaimStatus(Model):
    """The ResourceClaim by which the pod gets its extended resources."""

    request_mappings: PodList[ContainerExtendedResourceRequest] = Field(description="which request of the claim is for what")
    resource_claim_name: str = Field(description="name of the ResourceClaim")


class PodVolumeHealth(Model):
    """The health of a volume of the pod, as the kubelet hears of it."""

    name: str = Field(description="name of the volume")
    health_conditions: Annotated[list[VolumeHealthCondition] | None, Keyed("status", "reason")] = optional_field("what is wrong with it")
    last_transition_time: Time | None = optional_field("since when these conditions hold")


class NodeAllocatableMappedResources(Model):
    """What a ResourceClaim takes of one of the node's own resources."""

    name: str = Field(description="name of the resource")
    quantity: Annotated[Quantity, GoPointer()] = Field(description="how much of it")


class NodeAllocatableOverheadResources(Model):
    """What a ResourceClaim takes of one of the node's own resources besides what it gives."""

    name: str = Field(description="name of the resource")
    per_pod: Annotated[Quantity | None, GoPointer()] = optional_field("how much of it for the pod")
    per_container: Annotated[Quantity | None, GoPointer()] = optional_field("how much more for each container that uses the claim")


class NodeAllocatableResourceClaimStatus(Model):
    """What a ResourceClaim takes of the node's own resources."""

    resource_claim_name: str = Field(description="name of the ResourceClaim")
    containers: SetList[str] | None = optional_field("names of the containers that use the claim")
    resources: Annotated[dict[str, Quantity] | None, Until("kubernetes", "0.37"), Until("kubernetes", "0.37", Required())] = optional_field(
        "what is taken, by resource"
    )
    mapping: Annotated[list[NodeAllocatableMappedResources] | None, Keyed("name"), Since("kubernetes", "0.37")] = optional_field(
        "what is taken of each resource"
    )
    overhead: Annotated[list[NodeAllocatableOverheadResources] | None, Keyed("name"), Since("kubernetes", "0.37")] = optional_field(
        "what is taken of each resource besides"
    )


# The status of a container, which the kubelet writes.


class ContainerStateWaiting(Model):
    """A container that does not run yet."""

    reason: str | None = optional_field("why, as a word such as `ImagePullBackOff`")
    message: str | None = optional_field("why, as a sentence")


class ContainerStateRunning(Model):
    """A container that runs."""

    started_at: Time | None = optional_field("when it started")


class ContainerStateTerminated(Model):
    """A container that ended."""

    exit_code: Int32 = Field(description="exit code of the program")
    signal: Int32 | None = optional_field("signal that ended it")
    reason: str | None = optional_field("why, as a word such as `OOMKilled`")
    message: str | None = optional_field("why, as a sentence, or what stood in the termination message")
    started_at: Time | None = optional_field("when it started")
    finished_at: Time | None = optional_field("when it ended")
    container_id: str | None = Field(default=None, alias="containerID", description="the container, as `containerd://...`")


class ContainerState(Model):
    """A state of a container: one of the three, `waiting` without any."""

    waiting: ContainerStateWaiting | None = optional_field("it does not run yet")
    running: ContainerStateRunning | None = optional_field("it runs")
    terminated: ContainerStateTerminated | None = optional_field("it ended")


class ImageVolumeStatus(Model):
    """The image that a volume holds."""

    image_ref: str = Field(description="the image by its digest")


class VolumeStatus(Model):
    """What is known of a mounted volume."""

    image: ImageVolumeStatus | None = optional_field("the image of a volume of type `image`")


class VolumeMountStatus(Model):
    """A volume as it is mounted in a container."""

    name: str = Field(description="name of the volume")
    mount_path: str = Field(description="path in the container")
    read_only: bool | None = optional_field("nothing can be written")
    recursive_read_only: Pointer[str] = optional_field("`Enabled` or `Disabled` for mounts below")
    volume_status: VolumeStatus | None = optional_field("what is known of the volume")


class LinuxContainerUser(Model):
    """User and groups of a container's first process."""

    uid: Int64 = Field(description="user ID")
    gid: Int64 = Field(description="primary group ID")
    supplemental_groups: PodList[Int64] | None = optional_field("further group IDs")


class ContainerUser(Model):
    """As whom a container runs."""

    linux: LinuxContainerUser | None = optional_field("user and groups on Linux")


class ResourceHealth(Model):
    """Health of a device."""

    resource_id: str = Field(alias="resourceID", description="the device, by a name that its driver gives")
    health: str | None = optional_field("`Healthy`, `Unhealthy` or `Unknown`")
    message: str | None = optional_field("more about the health, as a sentence")


class ResourceStatus(Model):
    """Health of the devices that a container has of a resource."""

    name: str = Field(description="name of the resource, or `claim:CLAIM/REQUEST`")
    resources: Annotated[list[ResourceHealth] | None, Keyed("resourceID")] = optional_field("the devices")


class ContainerStatus(Model):
    """What the kubelet knows of a container."""

    name: str = Field(description="name of the container")
    state: ContainerState | None = optional_field("the state that it is in")
    last_state: ContainerState | None = optional_field("how it ended before its last restart")
    ready: bool = Field(description="it passes its readiness probe")
    restart_count: Int32 = Field(description="how often it was restarted")
    started: bool | None = optional_field("it passed its startup probe, and its hook after the start is done")
    image: str = Field(description="image that it runs")
    image_id: str = Field(alias="imageID", description="the image by its digest")
    container_id: str | None = Field(default=None, alias="containerID", description="the container, as `containerd://...`")
    allocated_resources: dict[str, Quantity] | None = optional_field("what the node reserves for it")
    resources: ResourceRequirements | None = optional_field("requests and limits that it has now")
    volume_mounts: Annotated[list[VolumeMountStatus] | None, pod_keys("mountPath")] = optional_field("its volumes as mounted")
    user: ContainerUser | None = optional_field("as whom its first process runs")
    allocated_resources_status: Annotated[list[ResourceStatus] | None, pod_keys("name")] = optional_field("health of its devices")
    stop_signal: Pointer[str] = optional_field("signal that stops it")


class PodStatus(Model):
    """What the kubelet and the control plane know of the pod."""

    phase: str | None = optional_field("`Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`")
    reason: str | None = optional_field("why it is in the phase, as a word such as `Evicted`")
    message: str | None = optional_field("why it is in the phase, as a sentence")
    conditions: Annotated[list[PodCondition] | None, Keyed("type")] = optional_field("states of the pod")
    observed_generation: Int64 | None = optional_field("`metadata.generation` that the status was set for")
    nominated_node_name: str | None = optional_field("the node where others are evicted for the pod")
    start_time: Time | None = optional_field("when the kubelet first saw the pod")
    host_ip: str | None = Field(default=None, alias="hostIP", description="address of the node")
    host_ips: Annotated[list[HostIP] | None, Merge("ip")] = Field(default=None, alias="hostIPs", description="all addresses of the node")
    pod_ip: str | None = Field(default=None, alias="podIP", description="address of the pod")
    pod_ips: Annotated[list[PodIP] | None, Keyed("ip")] = Field(
        default=None, alias="podIPs", description="all addresses of the pod, one a family"
    )
    init_container_statuses: PodList[ContainerStatus] | None = optional_field("status of each init container")
    container_statuses: PodList[ContainerStatus] | None = optional_field("status of each container")
    ephemeral_container_statuses: PodList[ContainerStatus] | None = optional_field("status of each ephemeral container")
    qos_class: str | None = optional_field("`Guaranteed`, `Burstable` or `BestEffort`, by the pod's requests and limits")
    resize: str | None = optional_field("deprecated: state of a resize of resources")
    resource_claim_statuses: Annotated[list[PodResourceClaimStatus] | None, Keyed("name")] = optional_field(
        "the ResourceClaims that were made for the pod"
    )
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = optional_field(
        "the ResourceClaim that was made for the pod's extended resources"
    )
    allocated_resources: dict[str, Quantity] | None = optional_field("what the node reserves for the pod as a whole")
    resources: ResourceRequirements | None = optional_field("requests and limits that the pod as a whole has now")
    node_allocatable_resource_claim_statuses: Annotated[
        list[NodeAllocatableResourceClaimStatus] | None,
        Until("kubernetes", "0.37", ListType("atomic")),
        Since("kubernetes", "0.37", Keyed("resourceClaimName")),
    ] = optional_field("what ResourceClaims take of the node's own resources")
    volume_health: Annotated[list[PodVolumeHealth] | None, Keyed("name"), Since("kubernetes", "0.37")] = optional_field(
        "health of the pod's volumes"
    )


class Pod(Model):
    """Containers that run together on one node, with shared volumes and one address."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Pod", plural="pods", component="kubernetes", status=True)

    api_version: Literal["v1"] = constant("version of the API", "v1")
    kind: Literal["Pod"] = constant("kind of the object", "Pod")
    metadata: ObjectMeta | None = optional_field("name, namespace, and the labels by which Services and others find the pod")
    spec: PodSpec | None = optional_field("the pod; once created, hardly anything but the images can change")
    status: PodStatus | None = optional_field("status of the pod; written by the kubelet")


# PodTemplate (`v1`): a pod's template as an object of its own, which few programs use.


class PodTemplateSpec(Model):
    """A pod to make copies of, with metadata of all sorts, as built-in kinds take it."""

    metadata: ObjectMeta | None = optional_field("labels and annotations of the pods; other fields are ignored")
    spec: PodSpec | None = optional_field("what the pods are and where they run")


class PodTemplate(Model):
    """A template from which a program of yours makes pods; nothing in Kubernetes does."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="PodTemplate", plural="podtemplates", component="kubernetes")

    api_version: Literal["v1"] = constant("version of the API", "v1")
    kind: Literal["PodTemplate"] = constant("kind of the object", "PodTemplate")
    metadata: ObjectMeta | None = optional_field("name, namespace, labels and annotations")
    template: PodTemplateSpec | None = optional_field("the pods")
