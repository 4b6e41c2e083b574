"""The status of a container, which the kubelet writes."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import Int32, Int64, Keyed, Model, PodList, Pointer, Quantity, Time, pod_keys
from jobspec.models.pod.resources import ResourceRequirements


class ContainerStateWaiting(Model):
    """A container that does not run yet."""

    reason: str | None = Field(None, description="why, as a word such as `ImagePullBackOff`")
    message: str | None = Field(None, description="why, as a sentence")


class ContainerStateRunning(Model):
    """A container that runs."""

    started_at: Time | None = Field(None, description="when it started")


class ContainerStateTerminated(Model):
    """A container that ended."""

    exit_code: Int32 = Field(description="exit code of the program")
    signal: Int32 | None = Field(None, description="signal that ended it")
    reason: str | None = Field(None, description="why, as a word such as `OOMKilled`")
    message: str | None = Field(None, description="why, as a sentence, or what stood in the termination message")
    started_at: Time | None = Field(None, description="when it started")
    finished_at: Time | None = Field(None, description="when it ended")
    container_id: str | None = Field(None, alias="containerID", description="the container, as `containerd://...`")


class ContainerState(Model):
    """A state of a container: one of the three, `waiting` without any."""

    waiting: ContainerStateWaiting | None = Field(None, description="it does not run yet")
    running: ContainerStateRunning | None = Field(None, description="it runs")
    terminated: ContainerStateTerminated | None = Field(None, description="it ended")


class ImageVolumeStatus(Model):
    """The image that a volume holds."""

    image_ref: str = Field(description="the image by its digest")


class VolumeStatus(Model):
    """What is known of a mounted volume."""

    image: ImageVolumeStatus | None = Field(None, description="the image of a volume of type `image`")


class VolumeMountStatus(Model):
    """A volume as it is mounted in a container."""

    name: str = Field(description="name of the volume")
    mount_path: str = Field(description="path in the container")
    read_only: bool | None = Field(None, description="nothing can be written")
    recursive_read_only: Pointer[str] = Field(None, description="`Enabled` or `Disabled` for mounts below")
    volume_status: VolumeStatus | None = Field(None, description="what is known of the volume")


class LinuxContainerUser(Model):
    """User and groups of a container's first process."""

    uid: Int64 = Field(description="user ID")
    gid: Int64 = Field(description="primary group ID")
    supplemental_groups: PodList[Int64] | None = Field(None, description="further group IDs")


class ContainerUser(Model):
    """As whom a container runs."""

    linux: LinuxContainerUser | None = Field(None, description="user and groups on Linux")


class ResourceHealth(Model):
    """Health of a device."""

    resource_id: str = Field(alias="resourceID", description="the device, by a name that its driver gives")
    health: str | None = Field(None, description="`Healthy`, `Unhealthy` or `Unknown`")
    message: str | None = Field(None, description="more about the health, as a sentence")


class ResourceStatus(Model):
    """Health of the devices that a container has of a resource."""

    name: str = Field(description="name of the resource, or `claim:CLAIM/REQUEST`")
    resources: Annotated[list[ResourceHealth] | None, Keyed("resourceID")] = Field(None, description="the devices")


class ContainerStatus(Model):
    """What the kubelet knows of a container."""

    name: str = Field(description="name of the container")
    state: ContainerState | None = Field(None, description="the state that it is in")
    last_state: ContainerState | None = Field(None, description="how it ended before its last restart")
    ready: bool = Field(description="it passes its readiness probe")
    restart_count: Int32 = Field(description="how often it was restarted")
    started: bool | None = Field(None, description="it passed its startup probe, and its hook after the start is done")
    image: str = Field(description="image that it runs")
    image_id: str = Field(alias="imageID", description="the image by its digest")
    container_id: str | None = Field(None, alias="containerID", description="the container, as `containerd://...`")
    allocated_resources: dict[str, Quantity] | None = Field(None, description="what the node reserves for it")
    resources: ResourceRequirements | None = Field(None, description="requests and limits that it has now")
    volume_mounts: Annotated[list[VolumeMountStatus] | None, pod_keys("mountPath")] = Field(None, description="its volumes as mounted")
    user: ContainerUser | None = Field(None, description="as whom its first process runs")
    allocated_resources_status: Annotated[list[ResourceStatus] | None, pod_keys("name")] = Field(None, description="health of its devices")
    stop_signal: Pointer[str] = Field(None, description="signal that stops it")
