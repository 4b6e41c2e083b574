"""Security contexts of pods and containers: users, groups, privileges, kernel parameters.

Follows `validatePodSpecSecurityContext`, `validateSysctls` and `ValidateSecurityContext`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
Privileged containers are allowed, as clusters allow them.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import duplicate, excluded, missing, unsupported, wrong_id
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Spec = dict[str, Any]
    Security = dict[str, Any]

_CHOICES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("Recursive",),  # `MountOption` needs a feature that is off
}
_PROC_MOUNTS = ("Default", "Unmasked")
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LONGEST_SYSCTL = 253
_OF_IPC = frozenset(
    f"kernel.{each}" for each in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def pod_security_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of the security context of a pod."""
    security, at = spec.get("securityContext"), (*path, "securityContext")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        message = (
            "`shareProcessNamespace` and `hostPID` exclude each other: one shares the processes of the pod, the other those of the node"
        )
        yield excluded((*path, "shareProcessNamespace"), message, "remove one of the two")
    if not security:
        return
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        yield from wrong_id(security.get(field, 0), (*at, field))
    for index, group in enumerate(security.get("supplementalGroups", ())):
        yield from wrong_id(group, (*at, "supplementalGroups", index))
    for field, choices in _CHOICES.items():
        if field in security and security[field] not in choices:
            yield unsupported(security[field], choices, (*at, field))
    if "sysctls" in security:
        yield from _sysctls(security["sysctls"], spec, (*at, "sysctls"))
    yield from _confined(security, at)


def _sysctls(sysctls: list[dict[str, Any]], spec: Spec, path: Path) -> Iterator[Problem]:
    names: set[str] = set()
    for index, each in enumerate(sysctls):
        name, at = each.get("name", ""), (*path, index, "name")
        if not name:
            yield missing("name", each, (*path, index))
        elif not _is_parameter(name):
            message = (
                f'"{name}" is no kernel parameter: it is of words in lower case with `.` between them, at most {_LONGEST_SYSCTL} characters'
            )
            yield Problem("wrong-format", at, message)
        elif name in names:
            yield duplicate(name, "a parameter", at)
        names.add(name)
        shared = _shared_with_host(name)
        if shared and spec.get(shared):
            yield excluded(at, f"`{name}` would be set for the whole node, as the pod has `{shared}: true`", "remove one of the two")


def _is_parameter(name: str) -> bool:
    import re

    return len(name) <= _LONGEST_SYSCTL and re.fullmatch(rf"({_SEGMENT}[./])*{_SEGMENT}", name) is not None


def _shared_with_host(name: str) -> str:
    """The field of a pod by which a kernel parameter is that of the node; empty where there is none."""
    first = next((each for each in name if each in "./"), ".")
    dotted = name.translate(str.maketrans("./", "/.")) if first == "/" else name
    dotted = dotted.partition("*")[0]
    if dotted.startswith("net."):
        return "hostNetwork"
    return "hostIPC" if dotted in _OF_IPC or dotted.startswith("fs.mqueue.") else ""


def container_security_problems(security: Security, spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of the security context of a container in a pod with *spec*."""
    for field in ("runAsUser", "runAsGroup"):
        yield from wrong_id(security.get(field, 0), (*path, field))
    mount = security.get("procMount")
    if mount is not None and mount not in _PROC_MOUNTS:
        yield unsupported(mount, _PROC_MOUNTS, (*path, "procMount"))
    elif mount == "Unmasked" and spec.get("hostUsers", True):
        message = "`procMount: Unmasked` needs a pod with users of its own"
        yield excluded((*path, "procMount"), message, "write `hostUsers: false` in the pod, or leave it out")
    if security.get("allowPrivilegeEscalation") is False:
        yield from _escalation(security, path)
    yield from _confined(security, path)


def _confined(security: Security, path: Path) -> Iterator[Problem]:
    """The problems of profiles, and of identities on Windows."""
    if "seccompProfile" in security or "appArmorProfile" in security:
        from jobspec.validation.pods.profiles import profile_problems

        yield from profile_problems(security, path)
    if "windowsOptions" in security:
        from jobspec.validation.pods.windows import windows_problems

        yield from windows_problems(security["windowsOptions"], (*path, "windowsOptions"))


def _escalation(security: Security, path: Path) -> Iterator[Problem]:
    """What gives privileges to a container that cannot get any."""
    at = (*path, "allowPrivilegeEscalation")
    if security.get("privileged"):
        yield excluded(at, "a container with `privileged: true` cannot have `allowPrivilegeEscalation: false`", "remove one of the two")
    if "CAP_SYS_ADMIN" in security.get("capabilities", {}).get("add", ()):
        message = "a container with the capability CAP_SYS_ADMIN cannot have `allowPrivilegeEscalation: false`"
        yield excluded(at, message, "remove one of the two")
