"""The spec of a pod: the order of its rules, and those of host names, host users and the operating system.

Follows `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the feature gates as that release ships them.

What the rules get is decoded (`jobspec.go.values`), without the fields of features that are off, and, of a pod, with the requests and host
ports that the server fills in; they read all other defaults by functions in `defaults`.
"""

from __future__ import annotations

from jobspec.diagnostics import Data, Path, Problem, Problems
from jobspec.go.formats import address
from jobspec.kinds import SYSTEM_PRIORITIES
from jobspec.kubernetes.metadata import bad_label_name, bad_subdomain
from jobspec.kubernetes.pods.containers import POLICIES, container_problems, file_volume_problems, host_network_problems
from jobspec.kubernetes.pods.defaults import containers_of, restart_policy
from jobspec.kubernetes.problems import describe, excluded, missing, name_of, named, required_choice, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
#: Fields of a pod's spec, and of its containers, whose rules are loaded only for pods that have one of them.
_VOLUMES = frozenset(("volumes", "volumeMounts", "volumeDevices"))
_SECURITY = frozenset(("securityContext", "shareProcessNamespace"))
_RESOURCES = frozenset(("resourceClaims", "resources"))
_SCHEDULING = frozenset(
    (
        *("affinity", "topologySpreadConstraints", "tolerations", "nodeSelector", "nodeName", "schedulingGates", "readinessGates"),
        *("priorityClassName", "runtimeClassName", "preemptionPolicy", "overhead"),
    )
)


def pod_spec_problems(spec: Data, path: Path) -> Problems:
    """The problems of a decoded spec of a pod or of a template, at *path*, in the order of the server."""
    inside = {field for name in _CONTAINERS for container in spec.get(name, ()) for field in container}
    if not _VOLUMES.isdisjoint(spec) or not _VOLUMES.isdisjoint(inside):
        from jobspec.kubernetes.pods.volumes import mount_problems, volume_problems

        yield from volume_problems(spec, path)
        yield from mount_problems(spec, path)
    yield from container_problems(spec, path)
    yield from host_network_problems(spec, path)
    if restart_policy(spec) not in POLICIES:
        yield unsupported(spec["restartPolicy"], POLICIES, (*path, "restartPolicy"))
    if not _SECURITY.isdisjoint(spec):
        from jobspec.kubernetes.pods.security import pod_security_problems

        yield from pod_security_problems(spec, path)
    yield from _account_and_deadline(spec, path)
    yield from _system(spec, path)
    yield from file_volume_problems(spec, path)
    if not _RESOURCES.isdisjoint(spec):
        from jobspec.kubernetes.pods.resources import pod_resources_problems, resource_claim_problems

        yield from resource_claim_problems(spec, path)
        yield from pod_resources_problems(spec, path)
    if not _SCHEDULING.isdisjoint(spec):
        from jobspec.kubernetes.pods.scheduling import affinity_problems, scheduling_problems, topology_spread_problems

        yield from affinity_problems(spec, path)
        yield from topology_spread_problems(spec, path)
        yield from scheduling_problems(spec, path)
    yield from _host_names(spec, path)
    if spec.get("hostUsers") is False:
        yield from _own_users(spec, path)


_MAX_INT32 = (1 << 31) - 1


def _account_and_deadline(spec: Data, path: Path) -> Problems:
    """The problems of the name of a pod's ServiceAccount, and of a deadline that is no number of seconds."""
    field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
    if spec.get(field):
        yield from named(spec[field], "a ServiceAccount", bad_subdomain, (*path, field))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MAX_INT32:
        message = f"`activeDeadlineSeconds` is from 1 to {_MAX_INT32:,}, not {seconds:,}"
        yield Problem("out-of-range", (*path, "activeDeadlineSeconds"), message)


# What a pod is called on its network, and how it finds others.
#
# Follows `validatePodDNSConfig`, `ValidateHostAliases`, `validatePodHostName` and `ValidatePodSpec`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_SERVERS, _MAX_SEARCHES, _MAX_SEARCH_LIST, _MAX_HOSTNAME = 3, 32, 2048, 64


def _host_names(spec: Data, path: Path) -> Problems:
    """The problems of DNS, of `hostAliases`, and of the pod's own names."""
    yield from _dns(spec, path)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = (*path, "hostAliases", index)
        if alias.get("ip"):
            yield from _address(alias["ip"], (*at, "ip"))
        else:
            yield missing("ip", alias, at)
        for order, name in enumerate(alias.get("hostnames") or ()):
            if why := bad_subdomain(name):
                yield Problem("invalid-name", (*at, "hostnames", order), f'"{name}" is not a valid name for a host: {why}')
    for field in ("hostname", "subdomain"):
        if spec.get(field) and (why := bad_label_name(spec[field])):
            hint = "it is one part of the name, the others come from the pod's namespace" if "." in spec[field] else ""
            yield Problem("invalid-name", (*path, field), f"`{spec[field]}` cannot be the `{field}`: {why}", hint)
    if "hostnameOverride" in spec:
        yield from _override(spec, path)


def _address(text: str, path: Path) -> Problems:
    """The problem of a text that is no IP address, or one that programs read differently."""
    found = address(text)
    mapped = getattr(found, "ipv4_mapped", None)
    if found is None or mapped is not None:
        hint = f"write `{mapped}`" if mapped is not None else ""
        yield Problem("wrong-format", path, f"{name_of(path)}: expected an IP address, got {describe(text)}", hint)


def _override(spec: Data, path: Path) -> Problems:
    name, at = spec["hostnameOverride"], (*path, "hostnameOverride")
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            message = f"`hostnameOverride` excludes `{field}: true`, which sets the name of the host, too"
            yield Problem("conflicting-values", at, message, "remove one of the two", at_key=True)
    if len(name) > _MAX_HOSTNAME:
        yield Problem("wrong-size", at, f"a host's name has at most {_MAX_HOSTNAME} characters, and this has {len(name)}")
    else:
        yield from named(name, "a host", bad_subdomain, at)


def _dns(spec: Data, path: Path) -> Problems:
    policy, config, at = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig"), (*path, "dnsConfig")
    if policy not in _POLICIES:
        yield unsupported(policy, _POLICIES, (*path, "dnsPolicy"))
    if config is None:
        if policy == "None":
            yield missing("dnsConfig", spec, path, "with `dnsPolicy: None`, name at least one of its `nameservers`")
    elif policy == "None" and not config.get("nameservers"):
        yield missing("nameservers", config, at, "with `dnsPolicy: None`, name at least one")
    else:
        yield from _dns_config(config, at)


def _dns_config(config: Data, path: Path) -> Problems:
    servers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if len(servers) > _MAX_SERVERS:
        message = f"a resolver asks at most {_MAX_SERVERS} name servers, and here are {len(servers)}"
        yield Problem("wrong-size", (*path, "nameservers"), message)
    for index, server in enumerate(servers):
        yield from _address(server, (*path, "nameservers", index))
    if len(searches) > _MAX_SEARCHES:
        yield Problem("wrong-size", (*path, "searches"), f"a resolver tries at most {_MAX_SEARCHES} domains, and here are {len(searches)}")
    if len(" ".join(searches).encode()) > _MAX_SEARCH_LIST:
        yield Problem("wrong-size", (*path, "searches"), f"the domains have more than {_MAX_SEARCH_LIST} characters together")
    for index, domain in enumerate(searches):
        if domain != "." and not _is_search_domain(domain.removesuffix(".")):
            message = f"{describe(domain)} is not a domain: it is of lower-case letters, digits, `-`, `_` and `.`"
            yield Problem("wrong-format", (*path, "searches", index), message)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield missing("name", option, (*path, "options", index))


def _is_search_domain(domain: str) -> bool:
    """Whether a text is a DNS subdomain whose labels may hold underscores, also at their beginning, but not at their end."""
    import re

    label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
    return len(domain) <= 253 and re.fullmatch(rf"{label}(\.{label})*", domain) is not None


# What a pod with users of its own cannot share with its node.
#
# Follows `validateHostUsers`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def _own_users(spec: Data, path: Path) -> Problems:
    """The problems of what `hostUsers: false` excludes."""
    for field in _SHARED:
        if spec.get(field):
            message = f"with `hostUsers: false`, the pod cannot share the node's namespaces, as by `{field}: true`"
            yield Problem("conflicting-values", (*path, field), message, "remove one of the two")
    for at, container in containers_of(spec, path, _CONTAINERS):
        if container.get("volumeDevices"):
            message = "with `hostUsers: false`, containers cannot have devices"
            yield Problem("conflicting-values", (*at, "volumeDevices"), message, "remove one of the two", at_key=True)


# What a pod cannot have on the operating system that it names, and pods that run on a Windows host itself.
#
# Follows `validateOS`, `validateLinux`, `validateWindows` and `validateWindowsHostProcessPod`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


_SYSTEMS = ("linux", "windows")
_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
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


def _system(spec: Data, path: Path) -> Problems:
    """The problems of a pod's `os`, and of what contradicts it."""
    if "os" in spec:
        yield from required_choice(spec["os"], "name", _SYSTEMS, (*path, "os"), "it is `linux` or `windows`")
        name = spec["os"].get("name")
        if name == "windows":
            yield from _on_windows(spec, path)
        for at, security in _contexts(spec, path) if name == "linux" else ():
            if "windowsOptions" in security:
                yield excluded((*at, "windowsOptions"), "a pod on Linux has no options for Windows")
    yield from _on_the_host(spec, path)


def _on_windows(spec: Data, path: Path) -> Problems:
    given = [field for field in _OF_POD if field in spec] + [field for field in _OF_HOST if spec.get(field)]
    yield from (excluded((*path, field), f"a pod on Windows has no `{field}`") for field in given)
    if spec.get("securityContext", {}).get("sysctls"):
        yield excluded((*path, "securityContext", "sysctls"), "a pod on Windows has no `sysctls`")
    for at, security in _contexts(spec, path):
        fields = _OF_POD_SECURITY if at == (*path, "securityContext") else _OF_CONTAINER_SECURITY
        yield from (excluded((*at, field), f"a pod on Windows has no `{field}`") for field in fields if field in security)


def _contexts(spec: Data, path: Path) -> Iterator[tuple[Path, Data]]:
    """The security contexts of a pod and of its containers, with their paths."""
    if "securityContext" in spec:
        yield (*path, "securityContext"), spec["securityContext"]
    for at, container in containers_of(spec, path, _CONTAINER_LISTS):
        if "securityContext" in container:
            yield (*at, "securityContext"), container["securityContext"]


def _on_the_host(spec: Data, path: Path) -> Problems:
    """The problems of a pod of which containers run on a Windows host itself, as all or none of them do."""
    of_pod = _host_process(spec)
    own = [(at, _host_process(each)) for at, each in containers_of(spec, path, _CONTAINER_LISTS)]
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


def _host_process(around: Data) -> bool | None:
    value: bool | None = around.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    return value


# What admission refuses of new pods on every cluster, whatever objects it has.
#
# Follows `admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, and `validateOverhead`, plugin/pkg/admission/runtimeclass, 1.36.


_SPEC: Path = ("spec",)
_WORDS = {"priority": "priority", "preemptionPolicy": "preemption policy"}


def priority_problems(spec: Data) -> Problems:
    """The problems of a priority and a preemption policy that a system class does not have, or no class where none is named."""
    name = spec.get("priorityClassName")
    whose = f"the class `{name}` has" if name else "a pod without `priorityClassName` has"
    for field, value in of_class(spec).items():
        if spec.get(field, value) != value:
            message = f"{whose} the {_WORDS[field]} {value}, not {spec[field]}"
            yield Problem("conflicting-values", (*_SPEC, field), message, "remove it; name a PriorityClass by `priorityClassName`")


def of_class(spec: Data) -> Data:
    """What a pod gets of its class, where that is one of every cluster, or where it names none; empty for others."""
    name = spec.get("priorityClassName") or ""
    priority = SYSTEM_PRIORITIES.get(name) if name else 0
    return {} if priority is None else {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"}
