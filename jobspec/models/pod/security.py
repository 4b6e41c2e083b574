"""Users, privileges and confinement of pods and containers."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import Int64, Model, PodList, Pointer, Since


class Capabilities(Model):
    """Linux capabilities beyond or below what the container runtime gives."""

    add: PodList[str] | None = Field(None, description="capabilities to add, without `CAP_`, such as `IPC_LOCK` for RDMA")
    drop: PodList[str] | None = Field(None, description="capabilities to take away, such as `ALL`")


class SELinuxOptions(Model):
    """An SELinux label."""

    user: str | None = Field(None, description="user part of the label")
    role: str | None = Field(None, description="role part of the label")
    type: str | None = Field(None, description="type part of the label")
    level: str | None = Field(None, description="level part of the label, such as `s0:c123,c456`")


class SeccompProfile(Model):
    """Which system calls are allowed."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = Field(
        None, description="file below the kubelet's seccomp folder; needed with `Localhost`, only there"
    )


class AppArmorProfile(Model):
    """The AppArmor profile of the processes."""

    type: str = Field(description="`RuntimeDefault`, `Localhost` or `Unconfined`")
    localhost_profile: Pointer[str] = Field(None, description="name of a profile loaded on the node; needed with `Localhost`, only there")


class WindowsSecurityContextOptions(Model):
    """Identity of a container on Windows."""

    gmsa_credential_spec_name: Pointer[str] = Field(None, description="name of the GMSA credential spec to use")
    gmsa_credential_spec: Pointer[str] = Field(None, description="the GMSA credential spec itself; an admission webhook fills it in")
    run_as_user_name: Pointer[str] = Field(None, description="user that starts the program, the image's own by default")
    host_process: Pointer[bool] = Field(None, description="run on the host itself; all containers of a pod or none, with `hostNetwork`")


class SecurityContext(Model):
    """Security of one container; it overrides the pod's."""

    run_as_user: Pointer[Int64] = Field(None, description="user ID of the program, the image's own by default")
    run_as_group: Pointer[Int64] = Field(None, description="primary group ID of the program")
    run_as_non_root: Pointer[bool] = Field(None, description="refuse to start where the user would be root (0)")
    allow_privilege_escalation: Pointer[bool] = Field(None, description="processes may gain privileges, as by setuid; true by default")
    privileged: Pointer[bool] = Field(None, description="as good as root on the node; false by default")
    capabilities: Capabilities | None = Field(None, description="Linux capabilities to add and to drop")
    read_only_root_filesystem: Pointer[bool] = Field(None, description="only volumes can be written; false by default")
    seccomp_profile: SeccompProfile | None = Field(None, description="which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = Field(
        None, description="AppArmor profile of the container"
    )
    se_linux_options: SELinuxOptions | None = Field(None, description="SELinux label; the container runtime picks one by default")
    proc_mount: Pointer[str] = Field(None, description="how `/proc` is masked: `Default` or `Unmasked`, which needs `hostUsers: false`")
    windows_options: WindowsSecurityContextOptions | None = Field(None, description="settings for Windows, in place of those for Linux")


class Sysctl(Model):
    """A kernel parameter of the pod's namespaces."""

    name: str = Field(description="name of the parameter, such as `net.core.somaxconn`")
    value: str = Field(description="its value, as text")


class PodSecurityContext(Model):
    """Security of all containers of a pod, and of its volumes."""

    run_as_user: Pointer[Int64] = Field(None, description="user ID of the programs, the image's own by default")
    run_as_group: Pointer[Int64] = Field(None, description="primary group ID of the programs")
    run_as_non_root: Pointer[bool] = Field(None, description="refuse to start containers whose user would be root (0)")
    fs_group: Pointer[Int64] = Field(None, description="group ID that owns the files of volumes, and a further group of the programs")
    fs_group_change_policy: Pointer[str] = Field(None, description="`Always` (default), or `OnRootMismatch`: quick where the root fits")
    supplemental_groups: PodList[Int64] | None = Field(None, description="further group IDs of the programs")
    supplemental_groups_policy: Annotated[Pointer[str], Since("kubernetes", "0.31")] = Field(
        None, description="`Merge` (default) adds the image's groups, `Strict` does not"
    )
    seccomp_profile: SeccompProfile | None = Field(None, description="which system calls are allowed")
    app_armor_profile: Annotated[AppArmorProfile | None, Since("kubernetes", "0.31")] = Field(
        None, description="AppArmor profile of the containers"
    )
    se_linux_options: SELinuxOptions | None = Field(None, description="SELinux label; the container runtime picks one by default")
    se_linux_change_policy: Annotated[Pointer[str], Since("kubernetes", "0.32")] = Field(
        None, description="how volumes get the SELinux label: `MountOption` mounts with it, `Recursive` changes file by file"
    )
    sysctls: PodList[Sysctl] | None = Field(None, description="kernel parameters; unsafe ones where the kubelet allows them")
    windows_options: WindowsSecurityContextOptions | None = Field(None, description="settings for Windows, in place of those for Linux")
