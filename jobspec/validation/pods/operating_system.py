"""What a pod cannot have on the operating system that it names, and pods that run on a Windows host itself.

Follows `validateOS`, `validateLinux`, `validateWindows` and `validateWindowsHostProcessPod`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import excluded, missing, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]

_SYSTEMS = ("linux", "windows")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
#: What only Linux has: of a pod, and of security contexts of pods and of containers.
_OF_POD = ("hostUsers", "shareProcessNamespace")
_OF_HOST = ("hostPID", "hostIPC")
_OF_POD_SECURITY = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "runAsUser", "runAsGroup"),
    *("supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_OF_CONTAINER_SECURITY = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def system_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of a pod's `os`, and of what contradicts it."""
    if "os" in spec:
        name = spec["os"].get("name")
        if not name:
            yield missing("name", spec["os"], (*path, "os"), "it is `linux` or `windows`")
        elif name not in _SYSTEMS:
            yield unsupported(name, _SYSTEMS, (*path, "os", "name"))
        yield from _on_windows(spec, path) if name == "windows" else _on_linux(spec, path) if name == "linux" else ()
    yield from _on_the_host(spec, path)


def _on_linux(spec: Spec, path: Path) -> Iterator[Problem]:
    for at, security in _contexts(spec, path):
        if "windowsOptions" in security:
            yield excluded((*at, "windowsOptions"), "a pod on Linux has no options for Windows")


def _on_windows(spec: Spec, path: Path) -> Iterator[Problem]:
    given = [field for field in _OF_POD if field in spec] + [field for field in _OF_HOST if spec.get(field)]
    yield from (excluded((*path, field), f"a pod on Windows has no `{field}`") for field in given)
    if spec.get("securityContext", {}).get("sysctls"):
        yield excluded((*path, "securityContext", "sysctls"), "a pod on Windows has no `sysctls`")
    for at, security in _contexts(spec, path):
        fields = _OF_POD_SECURITY if at == (*path, "securityContext") else _OF_CONTAINER_SECURITY
        yield from (excluded((*at, field), f"a pod on Windows has no `{field}`") for field in fields if field in security)


def _contexts(spec: Spec, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The security contexts of a pod and of its containers, with their paths."""
    if "securityContext" in spec:
        yield (*path, "securityContext"), spec["securityContext"]
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field, ())):
            if "securityContext" in container:
                yield (*path, field, index, "securityContext"), container["securityContext"]


def _on_the_host(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of a pod of which containers run on a Windows host itself, as all or none of them do."""
    of_pod = _host_process(spec)
    containers = [((*path, field, index), each) for field in _CONTAINERS for index, each in enumerate(spec.get(field, ()))]
    own = [(at, _host_process(each)) for at, each in containers]
    for at, value in own:
        if of_pod is not None and value is not None and value != of_pod:
            message = f"`hostProcess` is the same everywhere in a pod, and the pod's own is {str(of_pod).lower()}"
            yield excluded((*at, "securityContext", "windowsOptions", "hostProcess"), message)
    on_host = [bool(of_pod if value is None else value) for _, value in own]
    if any(on_host) and not all(on_host):
        yield excluded(
            path, "with `hostProcess: true` in one container, all containers of the pod need it", "set it for the pod as a whole"
        )
    if any(on_host) and not spec.get("hostNetwork"):
        yield missing("hostNetwork", {}, path, "containers with `hostProcess: true` need `hostNetwork: true`")


def _host_process(around: Spec) -> bool | None:
    value: bool | None = around.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    return value
