"""Security contexts of pods and containers: users, groups, privileges, kernel parameters, profiles, Windows identities.

Follows `validatePodSpecSecurityContext`, `validateSysctls` and `ValidateSecurityContext`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
Privileged containers are allowed, as clusters allow them.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.metadata import bad_subdomain
from jobspec.kubernetes.problems import choice, duplicate, excluded, field_items, missing, named, one_of, required_choice, wrong_id

_CHOICES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}
_PROC_MOUNTS = ("Default", "Unmasked")
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LONGEST_SYSCTL = 253
_OF_IPC = frozenset(
    f"kernel.{each}" for each in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def pod_security_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of the security context of a pod."""
    security, at = spec.get("securityContext"), (*path, "securityContext")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "one shares the processes of the pod, the other those of the node"
        message = f"`shareProcessNamespace` and `hostPID` are mutually exclusive: {why}"
        yield excluded((*path, "shareProcessNamespace"), message, "remove one of the two")
    if not security:
        return
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        yield from wrong_id(security.get(field, 0), (*at, field))
    for place, group in field_items(security, "supplementalGroups", at):
        yield from wrong_id(group, place)
    for field, choices in _CHOICES.items():
        known = choices if field != "seLinuxChangePolicy" or is_at_least(release, "1.37") else choices[1:]
        yield from choice(security, field, known, at)
    yield from _sysctls(security, spec, at)
    yield from _confined(security, at)


def _sysctls(security: Data, spec: Data, path: Path) -> Problems:
    names: set[str] = set()
    for place, each in field_items(security, "sysctls", path):
        name, at = each.get("name", ""), (*place, "name")
        if not name:
            yield missing("name", each, place)
        elif not _is_parameter(name):
            form = f"use lower-case words with `.` between them, at most {_LONGEST_SYSCTL} characters"
            yield Problem("wrong-format", at, f'"{name}" is not a kernel parameter: {form}')
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
    """Return the field of a pod, such as `hostIPC`, by which a sysctl applies to the whole node.

    For sysctls of the pod alone, return an empty string.
    """
    first = next((each for each in name if each in "./"), ".")
    dotted = name.translate(str.maketrans("./", "/.")) if first == "/" else name
    dotted = dotted.partition("*")[0]
    if dotted.startswith("net."):
        return "hostNetwork"
    return "hostIPC" if dotted in _OF_IPC or dotted.startswith("fs.mqueue.") else ""


def container_security_problems(security: Data, spec: Data, path: Path) -> Problems:
    """Yield the problems of the security context of a container in a pod with *spec*."""
    for field in ("runAsUser", "runAsGroup"):
        yield from wrong_id(security.get(field, 0), (*path, field))
    mount = security.get("procMount", "Default")
    yield from one_of(mount, _PROC_MOUNTS, (*path, "procMount"))
    if mount == "Unmasked" and spec.get("hostUsers", True):
        message = "`procMount: Unmasked` needs `hostUsers: false`"
        yield excluded((*path, "procMount"), message, "write `hostUsers: false` in the pod, or remove it")
    at, has_none = (*path, "allowPrivilegeEscalation"), security.get("allowPrivilegeEscalation") is False
    if has_none and security.get("privileged"):
        yield excluded(at, "a container with `privileged: true` cannot have `allowPrivilegeEscalation: false`", "remove one of the two")
    if has_none and "CAP_SYS_ADMIN" in security.get("capabilities", {}).get("add", ()):
        message = "a container with the capability CAP_SYS_ADMIN cannot have `allowPrivilegeEscalation: false`"
        yield excluded(at, message, "remove one of the two")
    yield from _confined(security, path)


def _confined(security: Data, path: Path) -> Problems:
    """The problems of profiles, and of identities on Windows, of a pod or of a container."""
    for field, file_problems in (("seccompProfile", _seccomp_file), ("appArmorProfile", _app_armor_file)):
        if field in security:
            at = (*path, field)
            yield from required_choice(security[field], "type", _TYPES, at, "it is `RuntimeDefault`, `Localhost` or `Unconfined`")
            yield from file_problems(security[field], at)
    if "windowsOptions" in security:
        yield from _windows(security["windowsOptions"], (*path, "windowsOptions"))


# The profiles that confine processes: seccomp and AppArmor.
#
# Follows `validateSeccompProfileField` and `ValidateAppArmorProfileField`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_TYPES = ("RuntimeDefault", "Localhost", "Unconfined")
_LONGEST_PATH = 4095


def _seccomp_file(profile: Data, path: Path) -> Problems:
    file, at = profile.get("localhostProfile"), (*path, "localhostProfile")
    if profile.get("type") != "Localhost":
        if file is not None:
            yield excluded(at, "`localhostProfile` belongs to `type: Localhost`", "remove it, or write that type")
    elif file is None:
        yield missing("localhostProfile", profile, path, "it names a file below the kubelet's seccomp folder")
    elif file.startswith("/") or ".." in file.split("/"):
        yield Problem("wrong-format", at, f"`{file}` is not a path below the kubelet's seccomp folder: it starts with `/` or holds `..`")


def _app_armor_file(profile: Data, path: Path) -> Problems:
    file, kind, at = profile.get("localhostProfile"), profile.get("type"), (*path, "localhostProfile")
    if kind != "Localhost":
        if file is not None and kind in _TYPES:
            yield excluded(at, "`localhostProfile` belongs to `type: Localhost`", "remove it, or write that type")
    elif not file:
        yield missing("localhostProfile", profile, path, "it names a profile that is loaded on the node")
    elif file != file.strip():
        yield Problem("wrong-format", at, f'leading or trailing spaces in the profile "{file}"', f"write `{file.strip()}`")
    elif len(file.encode()) > _LONGEST_PATH:
        yield Problem("wrong-size", at, f"the profile has {len(file.encode()):,} bytes, more than {_LONGEST_PATH:,}")


# Identities of containers on Windows.
#
# Follows `validateWindowsSecurityContextOptions`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_LONGEST_SPEC = 64 * 1024
_LONGEST_DOMAIN = 255
_LONGEST_USER = 104
_NET_BIOS = r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}'
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"


def _windows(options: Data, path: Path) -> Problems:
    """The problems of the `windowsOptions` of a security context."""
    name, spec, user = (options.get(field) for field in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        yield from named(name, "a GMSA credential spec", bad_subdomain, (*path, "gmsaCredentialSpecName"))
    if spec is not None and not 0 < len(spec.encode()) <= _LONGEST_SPEC:
        message = f"a GMSA credential spec has 1 to {_LONGEST_SPEC:,} bytes, not {len(spec.encode()):,}"
        yield Problem("wrong-size", (*path, "gmsaCredentialSpec"), message)
    if user is not None:
        yield from named(user, "a user on Windows", _bad_user, (*path, "runAsUserName"))


def _bad_user(text: str) -> str:
    """Return why a text is no user; empty if it is one.

    A user may have a domain and a backslash before it.
    """
    import re

    if not text:
        return "it is empty"
    if re.search(r"[\x00-\x1f\x7f]", text):
        return "it contains control characters"
    domain, backslash, user = text.rpartition("\\")
    if "\\" in domain:
        return "it contains more than one backslash"
    if backslash and (why := _bad_domain(domain)):
        return why
    if not 0 < len(user.encode()) <= _LONGEST_USER:
        return f"the user has 1 to {_LONGEST_USER} characters"
    if not user.strip(". "):
        return "the user cannot be of dots and blanks alone"
    return 'the user cannot contain any of `"/:;|=,+*?<>@[]`' if re.search(r'["/:;|=,+*?<>@\[\]]', user) else ""


def _bad_domain(domain: str) -> str:
    import re

    if len(domain.encode()) > _LONGEST_DOMAIN:
        return f"the domain has more than {_LONGEST_DOMAIN} characters"
    fits = re.fullmatch(_NET_BIOS, domain, re.DOTALL) or re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", domain)
    return "" if fits else "the part before the backslash is neither a NetBIOS name nor a DNS name"
