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
    optional_field,
    pod_keys,
)


class ContainerPort(Model):
    """A port that a container listens on; mostly information, as others are reachable too."""

    name: str | None = optional_field("name for probes and services to refer to, at most 15 characters, unique in the pod")
    container_port: Int32 = Field(description="number of the port, from 1 to 65535")
    protocol: str = Field(default="TCP", description="`TCP`, `UDP` or `SCTP`")
    host_port: Int32 | None = optional_field("port of the node that leads here; with `hostNetwork`, equal to `containerPort`")
    host_ip: str | None = Field(default=None, alias="hostIP", description="address of the node that `hostPort` is bound to, all by default")


class VolumeMount(Model):
    """A volume at a path of the container."""

    FACTS = (OneOf("subPath", "subPathExpr"),)

    name: str = Field(description="name of the volume, among the pod's `volumes`")
    mount_path: str = Field(description="path in the container, without `:`")
    sub_path: str | None = optional_field("path inside of the volume, its root by default; relative and without `..`")
    sub_path_expr: str | None = optional_field("the same with `$(NAME)` for variables of the container; excludes `subPath`")
    read_only: bool | None = optional_field("nothing can be written; false by default")
    recursive_read_only: Annotated[Pointer[str], Since("kubernetes", "0.31")] = optional_field(
        "mounts below too: `Disabled` (default), `IfPossible` or `Enabled`"
    )
    mount_propagation: Pointer[str] = optional_field("later mounts are seen: `None` (default), `HostToContainer` or `Bidirectional`")
    bind_mount_options: Annotated[SetList[str] | None, Since("kubernetes", "0.37")] = optional_field("`noexec`, `nodev`, `nosuid` (alpha)")


class VolumeDevice(Model):
    """A volume as a block device of the container."""

    name: str = Field(description="name of the volume, a claim with `volumeMode: Block`")
    device_path: str = Field(description="path of the device in the container, such as `/dev/xvda`")


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a rule is about."""

    operator: Annotated[str, Unset("nothing")] = Field(description="`In` or `NotIn` the values")
    values: SetList[Int32] | None = optional_field("the exit codes, at most 255 of them")


class ContainerRestartRule(Model):
    """What an end of the container leads to."""

    action: Annotated[str, Unset("nothing")] = Field(description="`Restart`, or `RestartAllContainers` for the whole pod in place")
    exit_codes: ContainerRestartRuleOnExitCodes | None = optional_field("the exit codes for which the rule holds; needed")


# Environment variables of a container.


class ConfigMapKeySelector(Model):
    """One key of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = optional_field("start the container even when the ConfigMap or the key is missing")


class SecretKeySelector(Model):
    """One key of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the Secret, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = optional_field("start the container even when the Secret or the key is missing")


class ObjectFieldSelector(Model):
    """A field of the pod itself."""

    FACTS = (MapType("atomic"),)

    api_version: str | None = optional_field("API version that the path is written in, `v1` by default")
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

    container_name: str | None = optional_field("container that has the resource; required in volumes")
    resource: str = Field(description="the resource, such as `limits.cpu`")
    divisor: Quantity | None = optional_field("the unit of the exposed number, 1 by default")


class EnvVarSource(Model):
    """Where the value of a variable comes from; exactly one source."""

    FACTS = (OneOf(),)

    field_ref: ObjectFieldSelector | None = optional_field("a field of the pod")
    resource_field_ref: ResourceFieldSelector | None = optional_field("a limit or request of a container")
    config_map_key_ref: ConfigMapKeySelector | None = optional_field("a key of a ConfigMap")
    secret_key_ref: SecretKeySelector | None = optional_field("a key of a Secret")
    file_key_ref: Annotated[FileKeySelector | None, Since("kubernetes", "0.34")] = optional_field("a key of a file in a volume")


class EnvVar(Model):
    """A variable in the environment of a container."""

    FACTS = (OneOf("value", "valueFrom"),)

    name: str = Field(description="name of the variable")
    value: str | None = optional_field("its text, in which `$(NAME)` stands for an earlier variable")
    value_from: EnvVarSource | None = optional_field("where to take the value from, instead of `value`")


# Environment variables of a container from whole ConfigMaps and Secrets.


class ConfigMapEnvSource(Model):
    """All keys of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    optional: Pointer[bool] = optional_field("start the container even when the ConfigMap is missing")


class SecretEnvSource(Model):
    """All keys of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the Secret, in the pod's own namespace")
    optional: Pointer[bool] = optional_field("start the container even when the Secret is missing")


class EnvFromSource(Model):
    """One variable for each key of a ConfigMap or a Secret; exactly one source."""

    prefix: str | None = optional_field("text to put before each key")
    config_map_ref: ConfigMapEnvSource | None = optional_field("the ConfigMap")
    secret_ref: SecretEnvSource | None = optional_field("the Secret")


# Health checks of a container, and hooks of its life.


class ExecAction(Model):
    """A command inside of the container; exit code 0 is success."""

    command: PodList[str] | None = optional_field("program and arguments, started in `/` and without a shell")


class HTTPHeader(Model):
    """A header of an HTTP request."""

    name: str = Field(description="name of the header")
    value: str = Field(description="value of the header")


class HTTPGetAction(Model):
    """An HTTP GET from the node; a status from 200 to 399 is success."""

    path: str | None = optional_field("path of the URL, `/` by default")
    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = optional_field("host to connect to, the pod's IP by default")
    scheme: str | None = optional_field("`HTTP` (default) or `HTTPS`, whose certificate is not checked")
    http_headers: PodList[HTTPHeader] | None = optional_field("headers to send; a name may come twice")
    protocol: Annotated[Pointer[str], Since("kubernetes", "0.37")] = optional_field("`HTTP1` (default) or, without TLS, `HTTP2` (alpha)")


class TCPSocketAction(Model):
    """A TCP connection from the node; that it opens is success."""

    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = optional_field("host to connect to, the pod's IP by default")


class GRPCAction(Model):
    """A call of gRPC's health checking protocol."""

    port: Int32 = Field(description="number of the port, from 1 to 65535; a name is not possible")
    service: Annotated[str, GoPointer(), POD_DEFAULT] = Field(
        default="", description="service to ask about; empty for the server as a whole"
    )
    mode: Annotated[Pointer[str], Since("kubernetes", "0.37")] = optional_field(
        "`Plaintext` (default) or `TLS`, whose certificate is not checked"
    )


class Probe(Model):
    """A repeated check of a container; exactly one action."""

    FACTS = (OneOf("exec", "httpGet", "tcpSocket", "grpc"),)

    exec: ExecAction | None = optional_field("run a command in the container")
    http_get: HTTPGetAction | None = optional_field("ask an HTTP server")
    tcp_socket: TCPSocketAction | None = optional_field("open a TCP connection")
    grpc: GRPCAction | None = optional_field("ask a gRPC server")
    initial_delay_seconds: Int32 | None = optional_field("seconds from the container's start to the first check, 0 by default")
    period_seconds: Int32 | None = optional_field("seconds from check to check, 10 by default, at least 1")
    timeout_seconds: Int32 | None = optional_field("seconds until a check without answer counts as failed, 1 by default")
    success_threshold: Int32 | None = optional_field("successes in a row to pass again, 1 by default and except for readiness")
    failure_threshold: Int32 | None = optional_field("failures in a row until it counts, 3 by default")
    termination_grace_period_seconds: Pointer[Int64] = optional_field("seconds to end after the failure, instead of the pod's")


class SleepAction(Model):
    """A pause."""

    seconds: Int64 = Field(description="length of the pause, in seconds")


class LifecycleHandler(Model):
    """What to do at a moment of a container's life; exactly one action."""

    FACTS = (OneOf(),)

    exec: ExecAction | None = optional_field("run a command in the container")
    http_get: HTTPGetAction | None = optional_field("send an HTTP request")
    sleep: Annotated[SleepAction | None, Since("kubernetes", "0.29")] = optional_field("wait")
    tcp_socket: TCPSocketAction | None = optional_field("deprecated: accepted, and fails when the hook runs")


class Lifecycle(Model):
    """Hooks of a container's life."""

    post_start: LifecycleHandler | None = optional_field("runs beside the start of the container, which is killed when it fails")
    pre_stop: LifecycleHandler | None = optional_field("runs before the stop signal; the grace period counts from its start")
    stop_signal: Annotated[Pointer[str], Since("kubernetes", "0.33")] = optional_field(
        "signal to stop with, such as `SIGUSR1`; the image's own or `SIGTERM` by default; the pod has to set `os`"
    )


# What containers and pods may consume.


class ResourceClaim(Model):
    """A use of one of the pod's `resourceClaims`."""

    name: str = Field(description="name of the entry in the pod's `resourceClaims`")
    request: Annotated[str | None, Since("kubernetes", "0.31")] = optional_field(
        "one request of the claim; without it, everything that the claim got"
    )


class ResourceRequirements(Model):
    """What is reserved for a container, and what it may use at most."""

    limits: dict[str, Quantity] | None = optional_field("most it may use, by resource: `cpu`, `memory`, `nvidia.com/gpu`")
    requests: dict[str, Quantity] | None = optional_field("what the scheduler reserves, by resource; the limit by default")
    claims: Annotated[list[ResourceClaim] | None, Keyed("name")] = optional_field("devices by dynamic resource allocation")


class ContainerResizePolicy(Model):
    """What a change of one resource means to the running container."""

    resource_name: str = Field(description="the resource: `cpu` or `memory`")
    restart_policy: str = Field(description="`NotRequired` to resize in place, or `RestartContainer`")


# Users, privileges and confinement of pods and containers.


class Capabilities(Model):
    """Linux capabilities beyond or below what the container runtime gives."""

    add: PodList[str] | None = optional_field("capabilities to add, without `CAP_`, such as `IPC_LOCK` for RDMA")
    drop: PodList[str] | None = optional_field("capabilities to take away, such as `ALL`")


class SELinuxOptions(Model):
    """An SELinux label."""

    user: str | None = optional_field("user part of the label")
    role: str | None = optional_field("role part of the label")
    type: str | None = optional_field("type part of the label")
    level: str | None = optional_field("level part of the label, such as `s0:c123,c456`")


class SeccompProfile(Model):
    """Which system calls are allowed."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = optional_field("file below the kubelet's seccomp folder; needed with `Localhost`, only there")


class AppArmorProfile(Model):
    """The AppArmor profile of the processes."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = optional_field("name of a profile loaded on the node; needed with `Localhost`, only there")


class WindowsSecurityContextOptions(Model):
    """Identity of a container on Windows."""

    gmsa_credential_spec_name: Pointer[str] = optional_field("name of the GMSA credential spec to use")
    gmsa_credential_spec: Pointer[str] = optional_field("the GMSA credential spec itself; an admission webhook fills it in")
    run_as_user_name: Pointer[str] = optional_field("user that starts the program, the image's own by default")
    host_process: Pointer[bool] = optional_field("run on the host itself; all containers of a pod or none, with `hostNetwork`")


class SecurityContext(Model):
    """Security of one container; it overrides the pod's."""

    run_as_user: Pointer[Int64] = optional_field("user ID of the program, the image's own by default")
    run_as_group: Pointer[Int64] = optional_field("primary group ID of the program")
    run_as_non_root: Pointer[bool] = optional_field("refuse to start where the user would be root (0)")
    allow_privilege_escalation: Pointer[bool] = optional_field("processes may gain privileges, as by setuid; true by default")
    privileged: Pointer[bool] = optional_field("as good as root on the node; false by default")
    capabilities: Capabilities | None = optional_field("Linux capabilities to add and to drop")
    read_only_root_filesystem: Pointer[bool] = optional_field("only volumes can be written; false by default")
    seccomp_profile: SeccompProfile | None = optional_field("which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = optional_field("AppArmor profile of the container")
    se_linux_options: SELinuxOptions | None = optional_field("SELinux label; the container runtime picks one by default")
    proc_mount: Pointer[str] = optional_field("how `/proc` is masked: `Default` or `Unmasked`, which needs `hostUsers: false`")
    windows_options: WindowsSecurityContextOptions | None = optional_field("settings for Windows, in place of those for Linux")


class Container(Model):
    """A container of a pod."""

    name: str = Field(description="name, unique in the pod: a DNS label of at most 63 characters")
    image: str | None = optional_field("image to run, best with a tag or a digest")
    image_pull_policy: str | None = optional_field("`Always` (default for `:latest` or no tag), `IfNotPresent` or `Never`")
    restart_policy: Annotated[Pointer[str], Since("kubernetes", "0.28")] = optional_field(
        "as the pod's, for this one; `Always` makes an init container a sidecar"
    )
    restart_policy_rules: Annotated[AtomicList[ContainerRestartRule] | None, Since("kubernetes", "0.34")] = optional_field(
        "rules by exit code, at most 20: the first that fits wins over `restartPolicy`, which has to be set too"
    )
    command: PodList[str] | None = optional_field("program to start, without a shell, instead of the image's entrypoint")
    args: PodList[str] | None = optional_field("arguments, instead of the image's; `$(NAME)` is replaced by a variable")
    working_dir: str | None = optional_field("folder in which the program starts, the image's own by default")
    env: Annotated[list[EnvVar] | None, pod_keys("name")] = optional_field("variables, which win over `envFrom`")
    env_from: PodList[EnvFromSource] | None = optional_field("variables from whole ConfigMaps and Secrets; the last wins")
    ports: Annotated[list[ContainerPort] | None, Keyed("containerPort", "protocol")] = optional_field("ports that it listens on")
    resources: ResourceRequirements | None = optional_field("CPU, memory, GPUs: what is reserved, and what it may use at most")
    resize_policy: AtomicList[ContainerResizePolicy] | None = optional_field("which changes of its resources restart it")
    volume_mounts: Annotated[list[VolumeMount] | None, pod_keys("mountPath")] = optional_field("volumes in its file system")
    volume_devices: Annotated[list[VolumeDevice] | None, pod_keys("devicePath")] = optional_field("volumes as block devices")
    liveness_probe: Probe | None = optional_field("check whose failure restarts it")
    readiness_probe: Probe | None = optional_field("check whose failure takes the pod out of its services")
    startup_probe: Probe | None = optional_field("check that comes before the other two; its failure restarts it")
    lifecycle: Lifecycle | None = optional_field("hooks after its start and before its end")
    security_context: SecurityContext | None = optional_field("user, privileges and confinement")
    termination_message_path: str | None = optional_field("file that is read into the status, `/dev/termination-log` by default")
    termination_message_policy: str | None = optional_field("`File` (default), or `FallbackToLogsOnError`: else the log's end")
    stdin: bool | None = optional_field("keep standard input open for `kubectl attach`; false by default")
    stdin_once: bool | None = optional_field("close standard input after the first attached session; false by default")
    tty: bool | None = optional_field("give it a terminal, which needs `stdin`; false by default")


class EphemeralContainer(Container):
    """A container added to a running pod for debugging, which may not have ports, resources, probes or hooks."""

    target_container_name: str | None = optional_field("container whose processes it sees; the pod's namespaces by default")


class ClaimSource(Model):
    """Where the ResourceClaim of a pod comes from; one of the two."""

    resource_claim_name: Pointer[str] = optional_field("an existing ResourceClaim in the pod's namespace")
    resource_claim_template_name: Pointer[str] = optional_field("a template, from which the pod gets a claim of its own")


class PodResourceClaim(Model):
    """A ResourceClaim that has to be allocated before the pod starts; one of the two sources."""

    name: str = Field(description="name by which containers refer to it")
    source: Annotated[
        ClaimSource | None, Until("kubernetes", "0.31", use="`resourceClaimName` or `resourceClaimTemplateName` right beside `name`")
    ] = optional_field("where the claim comes from; needed")
    resource_claim_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = optional_field(
        "an existing ResourceClaim in the pod's namespace"
    )
    resource_claim_template_name: Annotated[Pointer[str], Since("kubernetes", "0.31")] = optional_field(
        "a template, from which the pod gets a claim of its own"
    )


class Sysctl(Model):
    """A kernel parameter of the pod's namespaces."""

    name: str = Field(description="name of the parameter, such as `net.core.somaxconn`")
    value: str = Field(description="its value, as text")


class PodSecurityContext(Model):
    """Security of all containers of a pod, and of its volumes."""

    run_as_user: Pointer[Int64] = optional_field("user ID of the programs, the image's own by default")
    run_as_group: Pointer[Int64] = optional_field("primary group ID of the programs")
    run_as_non_root: Pointer[bool] = optional_field("refuse to start containers whose user would be root (0)")
    fs_group: Pointer[Int64] = optional_field("group ID that owns the files of volumes, and a further group of the programs")
    fs_group_change_policy: Pointer[str] = optional_field("`Always` (default), or `OnRootMismatch`: quick where the root fits")
    supplemental_groups: PodList[Int64] | None = optional_field("further group IDs of the programs")
    supplemental_groups_policy: Annotated[Pointer[str], Since("kubernetes", "0.31")] = optional_field(
        "`Merge` (default) adds the image's groups, `Strict` does not"
    )
    seccomp_profile: SeccompProfile | None = optional_field("which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = optional_field("AppArmor profile of the containers")
    se_linux_options: SELinuxOptions | None = optional_field("SELinux label; the container runtime picks one by default")
    se_linux_change_policy: Annotated[Pointer[str], Since("kubernetes", "0.32")] = optional_field(
        "how volumes get the SELinux label: `MountOption` mounts with it, `Recursive` changes file by file"
    )
    sysctls: PodList[Sysctl] | None = optional_field("kernel parameters; unsafe ones where the kubelet allows them")
    windows_options: WindowsSecurityContextOptions | None = optional_field("settings for Windows, in place of those for Linux")


# References to other objects.


class LocalObjectReference(Model):
    """An object in the same namespace, by name."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the object")


class TypedLocalObjectReference(Model):
    """An object of any kind in the same namespace."""

    FACTS = (MapType("atomic"),)

    api_group: Annotated[Pointer[str], Unset("null")] = optional_field("API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class TypedObjectReference(Model):
    """An object of any kind, possibly in another namespace."""

    api_group: Annotated[Pointer[str], Unset("null")] = optional_field("API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")
    namespace: Pointer[str] = optional_field("its namespace (alpha): another one has to allow it with a ReferenceGrant")
