"""Containers, their variables, probes, resources and security contexts."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import (
    POD_DEFAULT,
    AtomicList,
    GoPointer,
    Int32,
    Int64,
    IntOrString,
    Keyed,
    MapType,
    Model,
    OneOf,
    PodList,
    Pointer,
    Quantity,
    SetList,
    Since,
    Unset,
    Until,
    pod_keys,
)


class ContainerPort(Model):
    """A port that a container listens on; mostly information, as others are reachable too."""

    name: str | None = Field(default=None, description="name for probes and services to refer to, at most 15 characters, unique in the pod")
    container_port: Int32 = Field(description="number of the port, from 1 to 65535")
    protocol: str = Field(default="TCP", description="`TCP`, `UDP` or `SCTP`")
    host_port: Int32 | None = Field(
        default=None, description="port of the node that leads here; with `hostNetwork`, equal to `containerPort`"
    )
    host_ip: str | None = Field(default=None, alias="hostIP", description="address of the node that `hostPort` is bound to, all by default")


class VolumeMount(Model):
    """A volume at a path of the container."""

    FACTS = (OneOf("subPath", "subPathExpr"),)

    name: str = Field(description="name of the volume, among the pod's `volumes`")
    mount_path: str = Field(description="path in the container, without `:`")
    sub_path: str | None = Field(default=None, description="path inside of the volume, its root by default; relative and without `..`")
    sub_path_expr: str | None = Field(
        default=None, description="the same with `$(NAME)` for variables of the container; excludes `subPath`"
    )
    read_only: bool | None = Field(default=None, description="nothing can be written; false by default")
    recursive_read_only: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        default=None, description="mounts below too: `Disabled` (default), `IfPossible` or `Enabled`"
    )
    mount_propagation: Pointer[str] = Field(
        default=None, description="later mounts are seen: `None` (default), `HostToContainer` or `Bidirectional`"
    )


class VolumeDevice(Model):
    """A volume as a block device of the container."""

    name: str = Field(description="name of the volume, a claim with `volumeMode: Block`")
    device_path: str = Field(description="path of the device in the container, such as `/dev/xvda`")


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a rule is about."""

    operator: str = Field(description="`In` or `NotIn` the values")
    values: SetList[Int32] | None = Field(default=None, description="the exit codes, at most 255 of them")


class ContainerRestartRule(Model):
    """What an end of the container leads to."""

    action: str = Field(description="`Restart`, or `RestartAllContainers` for the whole pod in place")
    exit_codes: ContainerRestartRuleOnExitCodes | None = Field(default=None, description="the exit codes for which the rule holds; needed")


# Environment variables of a container.


class ConfigMapKeySelector(Model):
    """One key of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = Field(default=None, description="start the container even when the ConfigMap or the key is missing")


class SecretKeySelector(Model):
    """One key of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the Secret, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = Field(default=None, description="start the container even when the Secret or the key is missing")


class ObjectFieldSelector(Model):
    """A field of the pod itself."""

    FACTS = (MapType("atomic"),)

    api_version: str | None = Field(default=None, description="API version that the path is written in, `v1` by default")
    field_path: str = Field(description="path of the field, such as `metadata.name`")


class FileKeySelector(Model):
    """A variable from a file that a container wrote into a volume."""

    FACTS = (MapType("atomic"),)

    volume_name: str = Field(description="the volume that holds the file")
    path: str = Field(description="path of the file inside the volume, relative and without `..`")
    key: str = Field(description="the variable to take from the file")
    optional: Annotated[bool, GoPointer()] = Field(
        default=False, description="start the container even when the file or the key is missing"
    )


class ResourceFieldSelector(Model):
    """A resource limit or request of a container."""

    FACTS = (MapType("atomic"),)

    container_name: str | None = Field(default=None, description="container that has the resource; required in volumes")
    resource: str = Field(description="the resource, such as `limits.cpu`")
    divisor: Quantity | None = Field(default=None, description="the unit of the exposed number, 1 by default")


class EnvVarSource(Model):
    """Where the value of a variable comes from; exactly one source."""

    FACTS = (OneOf(),)

    field_ref: ObjectFieldSelector | None = Field(default=None, description="a field of the pod")
    resource_field_ref: ResourceFieldSelector | None = Field(default=None, description="a limit or request of a container")
    config_map_key_ref: ConfigMapKeySelector | None = Field(default=None, description="a key of a ConfigMap")
    secret_key_ref: SecretKeySelector | None = Field(default=None, description="a key of a Secret")
    file_key_ref: Annotated[FileKeySelector | None, Since("kubernetes", "0.34")] = Field(
        default=None, description="a key of a file in a volume"
    )


class EnvVar(Model):
    """A variable in the environment of a container."""

    FACTS = (OneOf("value", "valueFrom"),)

    name: str = Field(description="name of the variable")
    value: str | None = Field(default=None, description="its text, in which `$(NAME)` stands for an earlier variable")
    value_from: EnvVarSource | None = Field(default=None, description="where to take the value from, instead of `value`")


# Environment variables of a container from whole ConfigMaps and Secrets.


class ConfigMapEnvSource(Model):
    """All keys of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    optional: Pointer[bool] = Field(default=None, description="start the container even when the ConfigMap is missing")


class SecretEnvSource(Model):
    """All keys of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the Secret, in the pod's own namespace")
    optional: Pointer[bool] = Field(default=None, description="start the container even when the Secret is missing")


class EnvFromSource(Model):
    """One variable for each key of a ConfigMap or a Secret; exactly one source."""

    prefix: str | None = Field(default=None, description="text to put before each key")
    config_map_ref: ConfigMapEnvSource | None = Field(default=None, description="the ConfigMap")
    secret_ref: SecretEnvSource | None = Field(default=None, description="the Secret")


# Health checks of a container, and hooks of its life.


class ExecAction(Model):
    """A command inside of the container; exit code 0 is success."""

    command: PodList[str] | None = Field(default=None, description="program and arguments, started in `/` and without a shell")


class HTTPHeader(Model):
    """A header of an HTTP request."""

    name: str = Field(description="name of the header")
    value: str = Field(description="value of the header")


class HTTPGetAction(Model):
    """An HTTP GET from the node; a status from 200 to 399 is success."""

    path: str | None = Field(default=None, description="path of the URL, `/` by default")
    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = Field(default=None, description="host to connect to, the pod's IP by default")
    scheme: str | None = Field(default=None, description="`HTTP` (default) or `HTTPS`, whose certificate is not checked")
    http_headers: PodList[HTTPHeader] | None = Field(default=None, description="headers to send; a name may come twice")


class TCPSocketAction(Model):
    """A TCP connection from the node; that it opens is success."""

    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = Field(default=None, description="host to connect to, the pod's IP by default")


class GRPCAction(Model):
    """A call of gRPC's health checking protocol."""

    port: Int32 = Field(description="number of the port, from 1 to 65535; a name is not possible")
    service: Annotated[str, GoPointer(), POD_DEFAULT] = Field(
        default="", description="service to ask about; empty for the server as a whole"
    )


class Probe(Model):
    """A repeated check of a container; exactly one action."""

    FACTS = (OneOf("exec", "httpGet", "tcpSocket", "grpc"),)

    exec: ExecAction | None = Field(default=None, description="run a command in the container")
    http_get: HTTPGetAction | None = Field(default=None, description="ask an HTTP server")
    tcp_socket: TCPSocketAction | None = Field(default=None, description="open a TCP connection")
    grpc: GRPCAction | None = Field(default=None, description="ask a gRPC server")
    initial_delay_seconds: Int32 | None = Field(
        default=None, description="seconds from the container's start to the first check, 0 by default"
    )
    period_seconds: Int32 | None = Field(default=None, description="seconds from check to check, 10 by default, at least 1")
    timeout_seconds: Int32 | None = Field(default=None, description="seconds until a check without answer counts as failed, 1 by default")
    success_threshold: Int32 | None = Field(
        default=None, description="successes in a row to pass again, 1 by default and except for readiness"
    )
    failure_threshold: Int32 | None = Field(default=None, description="failures in a row until it counts, 3 by default")
    termination_grace_period_seconds: Pointer[Int64] = Field(
        default=None, description="seconds to end after the failure, instead of the pod's"
    )


class SleepAction(Model):
    """A pause."""

    seconds: Int64 = Field(description="length of the pause, in seconds")


class LifecycleHandler(Model):
    """What to do at a moment of a container's life; exactly one action."""

    FACTS = (OneOf(),)

    exec: ExecAction | None = Field(default=None, description="run a command in the container")
    http_get: HTTPGetAction | None = Field(default=None, description="send an HTTP request")
    sleep: Annotated[SleepAction | None, Since("kubernetes", "0.29")] = Field(default=None, description="wait")
    tcp_socket: TCPSocketAction | None = Field(default=None, description="deprecated: accepted, and fails when the hook runs")


class Lifecycle(Model):
    """Hooks of a container's life."""

    post_start: LifecycleHandler | None = Field(
        default=None, description="runs beside the start of the container, which is killed when it fails"
    )
    pre_stop: LifecycleHandler | None = Field(
        default=None, description="runs before the stop signal; the grace period counts from its start"
    )
    stop_signal: Annotated[Pointer[str], Since("kubernetes", "0.33")] = Field(
        default=None, description="signal to stop with, such as `SIGUSR1`; the image's own or `SIGTERM` by default; the pod has to set `os`"
    )


# What containers and pods may consume.


class ResourceClaim(Model):
    """A use of one of the pod's `resourceClaims`."""

    name: str = Field(description="name of the entry in the pod's `resourceClaims`")
    request: Annotated[str | None, Since("kubernetes", "0.31")] = Field(
        default=None, description="one request of the claim; without it, everything that the claim got"
    )


class ResourceRequirements(Model):
    """What is reserved for a container, and what it may use at most."""

    limits: dict[str, Quantity] | None = Field(default=None, description="most it may use, by resource: `cpu`, `memory`, `nvidia.com/gpu`")
    requests: dict[str, Quantity] | None = Field(default=None, description="what the scheduler reserves, by resource; the limit by default")
    claims: Annotated[list[ResourceClaim] | None, Keyed("name")] = Field(default=None, description="devices by dynamic resource allocation")


class ContainerResizePolicy(Model):
    """What a change of one resource means to the running container."""

    resource_name: str = Field(description="the resource: `cpu` or `memory`")
    restart_policy: str = Field(description="`NotRequired` to resize in place, or `RestartContainer`")


# Users, privileges and confinement of pods and containers.


class Capabilities(Model):
    """Linux capabilities beyond or below what the container runtime gives."""

    add: PodList[str] | None = Field(default=None, description="capabilities to add, without `CAP_`, such as `IPC_LOCK` for RDMA")
    drop: PodList[str] | None = Field(default=None, description="capabilities to take away, such as `ALL`")


class SELinuxOptions(Model):
    """An SELinux label."""

    user: str | None = Field(default=None, description="user part of the label")
    role: str | None = Field(default=None, description="role part of the label")
    type: str | None = Field(default=None, description="type part of the label")
    level: str | None = Field(default=None, description="level part of the label, such as `s0:c123,c456`")


class SeccompProfile(Model):
    """Which system calls are allowed."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = Field(
        default=None, description="file below the kubelet's seccomp folder; needed with `Localhost`, only there"
    )


class AppArmorProfile(Model):
    """The AppArmor profile of the processes."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = Field(
        default=None, description="name of a profile loaded on the node; needed with `Localhost`, only there"
    )


class WindowsSecurityContextOptions(Model):
    """Identity of a container on Windows."""

    gmsa_credential_spec_name: Pointer[str] = Field(default=None, description="name of the GMSA credential spec to use")
    gmsa_credential_spec: Pointer[str] = Field(
        default=None, description="the GMSA credential spec itself; an admission webhook fills it in"
    )
    run_as_user_name: Pointer[str] = Field(default=None, description="user that starts the program, the image's own by default")
    host_process: Pointer[bool] = Field(
        default=None, description="run on the host itself; all containers of a pod or none, with `hostNetwork`"
    )


class SecurityContext(Model):
    """Security of one container; it overrides the pod's."""

    run_as_user: Pointer[Int64] = Field(default=None, description="user ID of the program, the image's own by default")
    run_as_group: Pointer[Int64] = Field(default=None, description="primary group ID of the program")
    run_as_non_root: Pointer[bool] = Field(default=None, description="refuse to start where the user would be root (0)")
    allow_privilege_escalation: Pointer[bool] = Field(
        default=None, description="processes may gain privileges, as by setuid; true by default"
    )
    privileged: Pointer[bool] = Field(default=None, description="as good as root on the node; false by default")
    capabilities: Capabilities | None = Field(default=None, description="Linux capabilities to add and to drop")
    read_only_root_filesystem: Pointer[bool] = Field(default=None, description="only volumes can be written; false by default")
    seccomp_profile: SeccompProfile | None = Field(default=None, description="which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = Field(
        default=None, description="AppArmor profile of the container"
    )
    se_linux_options: SELinuxOptions | None = Field(default=None, description="SELinux label; the container runtime picks one by default")
    proc_mount: Pointer[str] = Field(
        default=None, description="how `/proc` is masked: `Default` or `Unmasked`, which needs `hostUsers: false`"
    )
    windows_options: WindowsSecurityContextOptions | None = Field(
        default=None, description="settings for Windows, in place of those for Linux"
    )


class Container(Model):
    """A container of a pod."""

    name: str = Field(description="name, unique in the pod: a DNS label of at most 63 characters")
    image: str | None = Field(default=None, description="image to run, best with a tag or a digest")
    image_pull_policy: str | None = Field(default=None, description="`Always` (default for `:latest` or no tag), `IfNotPresent` or `Never`")
    restart_policy: Annotated[Pointer[str], Since("kubernetes", "0.28")] = Field(
        default=None, description="as the pod's, for this one; `Always` makes an init container a sidecar"
    )
    restart_policy_rules: Annotated[AtomicList[ContainerRestartRule] | None, Since("kubernetes", "0.34")] = Field(
        default=None, description="rules by exit code, at most 20: the first that fits wins over `restartPolicy`, which has to be set too"
    )
    command: PodList[str] | None = Field(default=None, description="program to start, without a shell, instead of the image's entrypoint")
    args: PodList[str] | None = Field(default=None, description="arguments, instead of the image's; `$(NAME)` is replaced by a variable")
    working_dir: str | None = Field(default=None, description="folder in which the program starts, the image's own by default")
    env: Annotated[list[EnvVar] | None, pod_keys("name")] = Field(default=None, description="variables, which win over `envFrom`")
    env_from: PodList[EnvFromSource] | None = Field(default=None, description="variables from whole ConfigMaps and Secrets; the last wins")
    ports: Annotated[list[ContainerPort] | None, Keyed("containerPort", "protocol")] = Field(
        default=None, description="ports that it listens on"
    )
    resources: ResourceRequirements | None = Field(
        default=None, description="CPU, memory, GPUs: what is reserved, and what it may use at most"
    )
    resize_policy: AtomicList[ContainerResizePolicy] | None = Field(default=None, description="which changes of its resources restart it")
    volume_mounts: Annotated[list[VolumeMount] | None, pod_keys("mountPath")] = Field(
        default=None, description="volumes in its file system"
    )
    volume_devices: Annotated[list[VolumeDevice] | None, pod_keys("devicePath")] = Field(
        default=None, description="volumes as block devices"
    )
    liveness_probe: Probe | None = Field(default=None, description="check whose failure restarts it")
    readiness_probe: Probe | None = Field(default=None, description="check whose failure takes the pod out of its services")
    startup_probe: Probe | None = Field(default=None, description="check that comes before the other two; its failure restarts it")
    lifecycle: Lifecycle | None = Field(default=None, description="hooks after its start and before its end")
    security_context: SecurityContext | None = Field(default=None, description="user, privileges and confinement")
    termination_message_path: str | None = Field(
        default=None, description="file that is read into the status, `/dev/termination-log` by default"
    )
    termination_message_policy: str | None = Field(
        default=None, description="`File` (default), or `FallbackToLogsOnError`: else the log's end"
    )
    stdin: bool | None = Field(default=None, description="keep standard input open for `kubectl attach`; false by default")
    stdin_once: bool | None = Field(default=None, description="close standard input after the first attached session; false by default")
    tty: bool | None = Field(default=None, description="give it a terminal, which needs `stdin`; false by default")


class EphemeralContainer(Container):
    """A container added to a running pod for debugging, which may not have ports, resources, probes or hooks."""

    target_container_name: str | None = Field(
        default=None, description="container whose processes it sees; the pod's namespaces by default"
    )


class ClaimSource(Model):
    """Where the ResourceClaim of a pod comes from; one of the two."""

    resource_claim_name: Pointer[str] = Field(default=None, description="an existing ResourceClaim in the pod's namespace")
    resource_claim_template_name: Pointer[str] = Field(default=None, description="a template, from which the pod gets a claim of its own")


class PodResourceClaim(Model):
    """A ResourceClaim that has to be allocated before the pod starts; one of the two sources."""

    name: str = Field(description="name by which containers refer to it")
    source: Annotated[
        ClaimSource | None, Until("kubernetes", "0.31", use="`resourceClaimName` or `resourceClaimTemplateName` right beside `name`")
    ] = Field(default=None, description="where the claim comes from; needed")
    resource_claim_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        default=None, description="an existing ResourceClaim in the pod's namespace"
    )
    resource_claim_template_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        default=None, description="a template, from which the pod gets a claim of its own"
    )


class Sysctl(Model):
    """A kernel parameter of the pod's namespaces."""

    name: str = Field(description="name of the parameter, such as `net.core.somaxconn`")
    value: str = Field(description="its value, as text")


class PodSecurityContext(Model):
    """Security of all containers of a pod, and of its volumes."""

    run_as_user: Pointer[Int64] = Field(default=None, description="user ID of the programs, the image's own by default")
    run_as_group: Pointer[Int64] = Field(default=None, description="primary group ID of the programs")
    run_as_non_root: Pointer[bool] = Field(default=None, description="refuse to start containers whose user would be root (0)")
    fs_group: Pointer[Int64] = Field(
        default=None, description="group ID that owns the files of volumes, and a further group of the programs"
    )
    fs_group_change_policy: Pointer[str] = Field(
        default=None, description="`Always` (default), or `OnRootMismatch`: quick where the root fits"
    )
    supplemental_groups: PodList[Int64] | None = Field(default=None, description="further group IDs of the programs")
    supplemental_groups_policy: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        default=None, description="`Merge` (default) adds the image's groups, `Strict` does not"
    )
    seccomp_profile: SeccompProfile | None = Field(default=None, description="which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = Field(
        default=None, description="AppArmor profile of the containers"
    )
    se_linux_options: SELinuxOptions | None = Field(default=None, description="SELinux label; the container runtime picks one by default")
    se_linux_change_policy: Annotated[Pointer[str], Since("kubernetes", "0.32")] = Field(
        default=None, description="how volumes get the SELinux label: `MountOption` mounts with it, `Recursive` changes file by file"
    )
    sysctls: PodList[Sysctl] | None = Field(default=None, description="kernel parameters; unsafe ones where the kubelet allows them")
    windows_options: WindowsSecurityContextOptions | None = Field(
        default=None, description="settings for Windows, in place of those for Linux"
    )


# References to other objects.


class LocalObjectReference(Model):
    """An object in the same namespace, by name."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the object")


class TypedLocalObjectReference(Model):
    """An object of any kind in the same namespace."""

    FACTS = (MapType("atomic"),)

    api_group: Annotated[Pointer[str], Unset("null")] = Field(
        default=None, description="API group of the object; left out for the core group"
    )
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class TypedObjectReference(Model):
    """An object of any kind, possibly in another namespace."""

    api_group: Annotated[Pointer[str], Unset("null")] = Field(
        default=None, description="API group of the object; left out for the core group"
    )
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")
    namespace: Pointer[str] = Field(default=None, description="its namespace (alpha): another one has to allow it with a ReferenceGrant")
