"""Containers."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import AtomicList, Int32, Keyed, Model, OneOf, PodList, Pointer, SetList, Since, pod_keys
from jobspec.models.pod.env import EnvVar
from jobspec.models.pod.env_from import EnvFromSource
from jobspec.models.pod.probe import Lifecycle, Probe
from jobspec.models.pod.resources import ContainerResizePolicy, ResourceRequirements
from jobspec.models.pod.security import SecurityContext


class ContainerPort(Model):
    """A port that a container listens on; mostly information, as others are reachable too."""

    name: str | None = Field(None, description="name for probes and services to refer to, at most 15 characters, unique in the pod")
    container_port: Int32 = Field(description="number of the port, from 1 to 65535")
    protocol: str = Field("TCP", description="`TCP`, `UDP` or `SCTP`")
    host_port: Int32 | None = Field(None, description="port of the node that leads here; with `hostNetwork`, equal to `containerPort`")
    host_ip: str | None = Field(None, alias="hostIP", description="address of the node that `hostPort` is bound to, all by default")


class VolumeMount(Model):
    """A volume at a path of the container."""

    FACTS = (OneOf("subPath", "subPathExpr"),)

    name: str = Field(description="name of the volume, among the pod's `volumes`")
    mount_path: str = Field(description="path in the container, without `:`")
    sub_path: str | None = Field(None, description="path inside of the volume, its root by default; relative and without `..`")
    sub_path_expr: str | None = Field(None, description="the same with `$(NAME)` for variables of the container; excludes `subPath`")
    read_only: bool | None = Field(None, description="nothing can be written; false by default")
    recursive_read_only: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        None, description="mounts below too: `Disabled` (default), `IfPossible` or `Enabled`"
    )
    mount_propagation: Pointer[str] = Field(
        None, description="later mounts are seen: `None` (default), `HostToContainer` or `Bidirectional`"
    )


class VolumeDevice(Model):
    """A volume as a block device of the container."""

    name: str = Field(description="name of the volume, a claim with `volumeMode: Block`")
    device_path: str = Field(description="path of the device in the container, such as `/dev/xvda`")


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a rule is about."""

    operator: str = Field(description="`In` or `NotIn` the values")
    values: SetList[Int32] | None = Field(None, description="the exit codes, at most 255 of them")


class ContainerRestartRule(Model):
    """What an end of the container leads to."""

    action: str = Field(description="`Restart`, or `RestartAllContainers` for the whole pod in place")
    exit_codes: ContainerRestartRuleOnExitCodes | None = Field(None, description="the exit codes for which the rule holds; needed")


class Container(Model):
    """A container of a pod."""

    name: str = Field(description="name, unique in the pod: a DNS label of at most 63 characters")
    image: str | None = Field(None, description="image to run, best with a tag or a digest")
    image_pull_policy: str | None = Field(None, description="`Always` (default for `:latest` or no tag), `IfNotPresent` or `Never`")
    restart_policy: Annotated[Pointer[str], Since("kubernetes", "0.28")] = Field(
        None, description="as the pod's, for this one; `Always` makes an init container a sidecar"
    )
    restart_policy_rules: Annotated[AtomicList[ContainerRestartRule] | None, Since("kubernetes", "0.34")] = Field(
        None, description="rules by exit code, at most 20: the first that fits wins over `restartPolicy`, which has to be set too"
    )
    command: PodList[str] | None = Field(None, description="program to start, without a shell, instead of the image's entrypoint")
    args: PodList[str] | None = Field(None, description="arguments, instead of the image's; `$(NAME)` is replaced by a variable")
    working_dir: str | None = Field(None, description="folder in which the program starts, the image's own by default")
    env: Annotated[list[EnvVar] | None, pod_keys("name")] = Field(None, description="variables, which win over `envFrom`")
    env_from: PodList[EnvFromSource] | None = Field(None, description="variables from whole ConfigMaps and Secrets; the last wins")
    ports: Annotated[list[ContainerPort] | None, Keyed("containerPort", "protocol")] = Field(None, description="ports that it listens on")
    resources: ResourceRequirements | None = Field(None, description="CPU, memory, GPUs: what is reserved, and what it may use at most")
    resize_policy: AtomicList[ContainerResizePolicy] | None = Field(None, description="which changes of its resources restart it")
    volume_mounts: Annotated[list[VolumeMount] | None, pod_keys("mountPath")] = Field(None, description="volumes in its file system")
    volume_devices: Annotated[list[VolumeDevice] | None, pod_keys("devicePath")] = Field(None, description="volumes as block devices")
    liveness_probe: Probe | None = Field(None, description="check whose failure restarts it")
    readiness_probe: Probe | None = Field(None, description="check whose failure takes the pod out of its services")
    startup_probe: Probe | None = Field(None, description="check that comes before the other two; its failure restarts it")
    lifecycle: Lifecycle | None = Field(None, description="hooks after its start and before its end")
    security_context: SecurityContext | None = Field(None, description="user, privileges and confinement")
    termination_message_path: str | None = Field(None, description="file that is read into the status, `/dev/termination-log` by default")
    termination_message_policy: str | None = Field(None, description="`File` (default), or `FallbackToLogsOnError`: else the log's end")
    stdin: bool | None = Field(None, description="keep standard input open for `kubectl attach`; false by default")
    stdin_once: bool | None = Field(None, description="close standard input after the first attached session; false by default")
    tty: bool | None = Field(None, description="give it a terminal, which needs `stdin`; false by default")


class EphemeralContainer(Container):
    """A container added to a running pod for debugging, which may not have ports, resources, probes or hooks."""

    target_container_name: str | None = Field(None, description="container whose processes it sees; the pod's namespaces by default")
