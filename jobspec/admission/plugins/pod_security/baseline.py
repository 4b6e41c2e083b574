"""The checks of the level `baseline`: no known way for a pod to gain rights on its node.

Follows `check_*.go` of the level, k8s.io/pod-security-admission policy, 0.36.3; each function names its file.
"""

from __future__ import annotations

from jobspec.admission.plugins.pod_security.breach import Breach, Check
from jobspec.admission.plugins.values import containers, sequence
from jobspec.diagnostics import Key
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.pod_security.breach import Find
    from jobspec.diagnostics import Path

    Data = dict[str, Any]

_POD: Path = ("spec", "securityContext")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_CAPABILITIES = tuple(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(),  # noqa: SIM905
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t")
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_KEEPALIVE = ("tcp_keepalive_time", "tcp_fin_timeout", "tcp_keepalive_intvl", "tcp_keepalive_probes")
_SYSCTLS_29 = (*_SYSCTLS_27, *(f"net.ipv4.{each}" for each in _KEEPALIVE))
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def contexts(spec: Data) -> Iterator[tuple[Path, Data]]:
    """The security contexts of the pod and of its containers, with their paths; empty ones where there is none."""
    yield _POD, mapping(spec, "securityContext")
    for path, container in containers(spec):
        yield (*path, "securityContext"), mapping(container, "securityContext")


def _app_armor(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_appArmorProfile.go."""
    for path, context in contexts(spec):
        if "appArmorProfile" in context and (profile := mapping(context, "appArmorProfile")):
            yield from _profile(profile, (*path, "appArmorProfile", "type"), "AppArmor")
    for key, value in mapping(metadata, "annotations").items():
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not str(value).startswith("localhost/"):
            yield Breach(("metadata", "annotations", Key(key)), f"forbids the AppArmor profile `{value}`", "leave it out")


def _profile(profile: Data, path: Path, kind: str) -> Iterator[Breach]:
    if profile.get("type") not in _PROFILES:
        why = f"forbids the {kind} profile `{profile.get('type') or ''}`"
        yield Breach(path, why, "write `RuntimeDefault` or `Localhost`")


def _capabilities(_: Data, spec: Data) -> Iterator[Breach]:
    """check_capabilities_baseline.go."""
    for path, container in containers(spec):
        for index, name in enumerate(sequence(mapping(container, "securityContext", "capabilities"), "add")):
            if name not in _CAPABILITIES:
                yield Breach((*path, "securityContext", "capabilities", "add", index), f"forbids the capability `{name}`", "remove it")


def _host_namespaces(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostNamespaces.go."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield Breach(("spec", field), f"forbids `{field}: true`", "leave it out")


def _host_paths(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostPathVolumes.go."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        if isinstance(volume.get("hostPath"), dict):
            why = f"forbids volumes of the node's own folders, as `{volume.get('name')}` is one"
            yield Breach(("spec", "volumes", index, "hostPath"), why, "use a claim or an `emptyDir`")


def _host_ports(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostPorts.go."""
    for path, container in containers(spec):
        for index, port in enumerate(sequence(container, "ports")):
            if port.get("hostPort"):
                yield Breach((*path, "ports", index, "hostPort"), f"forbids ports of the node, such as {port['hostPort']}", "leave it out")


def _hosts_of_probes(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostProbesAndhostLifecycle.go."""
    for path, container in containers(spec):
        handlers = [((each,), container) for each in _PROBES] + [(("lifecycle", each), container) for each in _HOOKS]
        for steps, inside in handlers:
            for action in ("httpGet", "tcpSocket"):
                host = mapping(inside, *steps, action).get("host")
                if host:
                    why = f"forbids probes and hooks that name a host, such as `{host}`"
                    yield Breach((*path, *steps, action, "host"), why, "leave it out: the pod itself is meant")


def _privileged(_: Data, spec: Data) -> Iterator[Breach]:
    """check_privileged.go."""
    for path, container in containers(spec):
        if mapping(container, "securityContext").get("privileged"):
            yield Breach((*path, "securityContext", "privileged"), "forbids `privileged: true`", "leave it out")


def proc_mount(_: Data, spec: Data) -> Iterator[Breach]:
    """check_procMount_baseline.go."""
    for path, container in containers(spec):
        mount = mapping(container, "securityContext").get("procMount")
        if mount is not None and mount != "Default":
            yield Breach((*path, "securityContext", "procMount"), f"forbids `procMount: {mount}`", "leave it out")


def unless_own_users(find: Find) -> Find:
    """A check that pods with users of their own (`hostUsers: false`) pass."""

    def relaxed(metadata: Data, spec: Data) -> Iterator[Breach]:
        if spec.get("hostUsers") is not False:
            yield from find(metadata, spec)

    return relaxed


def _selinux(types: tuple[str, ...]) -> Find:
    """check_seLinuxOptions.go."""

    def find(_: Data, spec: Data) -> Iterator[Breach]:
        for path, context in contexts(spec):
            options = mapping(context, "seLinuxOptions")
            if (kind := options.get("type") or "") not in types:
                yield Breach((*path, "seLinuxOptions", "type"), f"forbids the SELinux type `{kind}`", "leave it out")
            for field in ("user", "role"):
                if options.get(field):
                    yield Breach((*path, "seLinuxOptions", field), f"forbids to name an SELinux {field}", "leave it out")

    return find


def _seccomp_annotations(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_baseline.go, before there was a field."""
    annotations = mapping(metadata, "annotations")
    names = dict.fromkeys(f"{_SECCOMP_OF}{container.get('name') or ''}" for _, container in containers(spec))
    for key in (_SECCOMP, *names):
        value = annotations.get(key)
        if value is not None and value not in ("runtime/default", "docker/default") and not str(value).startswith("localhost/"):
            yield Breach(("metadata", "annotations", Key(key)), f"forbids the seccomp profile `{value}`", "leave it out")


def seccomp(_: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_baseline.go."""
    for path, context in contexts(spec):
        if isinstance(context.get("seccompProfile"), dict):
            yield from _profile(context["seccompProfile"], (*path, "seccompProfile", "type"), "seccomp")


def _sysctls(allowed: tuple[str, ...]) -> Find:
    """check_sysctls.go."""

    def find(_: Data, spec: Data) -> Iterator[Breach]:
        for index, each in enumerate(sequence(mapping(spec, "securityContext"), "sysctls")):
            if each.get("name") not in allowed:
                yield Breach((*_POD, "sysctls", index, "name"), f"forbids the sysctl `{each.get('name') or ''}`", "remove it")

    return find


def _host_process(_: Data, spec: Data) -> Iterator[Breach]:
    """check_windowsHostProcess.go."""
    for path, context in contexts(spec):
        if mapping(context, "windowsOptions").get("hostProcess"):
            yield Breach((*path, "windowsOptions", "hostProcess"), "forbids `hostProcess: true`", "leave it out")


CHECKS = (
    Check("appArmorProfile", "forbidden AppArmor profile", {0: _app_armor}),
    Check("capabilities_baseline", "non-default capabilities", {0: _capabilities}),
    Check("hostNamespaces", "host namespaces", {0: _host_namespaces}),
    Check("hostPathVolumes", "hostPath volumes", {0: _host_paths}),
    Check("hostPorts", "hostPort", {0: _host_ports}),
    Check("hostProbesAndHostLifecycle", "probe or lifecycle host", {34: _hosts_of_probes}),
    Check("privileged", "privileged", {0: _privileged}),
    Check("procMount", "procMount", {0: proc_mount, 35: unless_own_users(proc_mount)}),
    Check("seLinuxOptions", "seLinuxOptions", {0: _selinux(_SELINUX), 31: _selinux((*_SELINUX, "container_engine_t"))}),
    Check("seccompProfile_baseline", "seccompProfile", {0: _seccomp_annotations, 19: seccomp}),
    Check(
        "sysctls",
        "forbidden sysctls",
        {0: _sysctls(_SYSCTLS), 27: _sysctls(_SYSCTLS_27), 29: _sysctls(_SYSCTLS_29), 32: _sysctls(_SYSCTLS_32)},
    ),
    Check("windowsHostProcess", "hostProcess", {0: _host_process}),
)
