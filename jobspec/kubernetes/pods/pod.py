"""Pods, pod templates and PodTemplate objects as the server's Go code judges them; and their spec, with the order of its rules.

Follows `ValidatePodCreate`, `ValidatePodUpdate`, `ValidatePodTemplate` and `ValidatePodSpec`, k8s.io/kubernetes
pkg/apis/core/validation, 1.30 to 1.37, with the feature gates as each release ships them.

What the rules get is decoded (`jobspec.go.codec`), without the fields of features that are off, and, of a pod, with the requests and host
ports that the server fills in; they read all other defaults by functions in `defaults`.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.codec import decode_as_go
from jobspec.go.formats import plain_address, sloppy_address
from jobspec.go.values import MAX_INT32
from jobspec.kubernetes.metadata import annotation_problems, bad_label_name, bad_subdomain, generated_name, label_problems
from jobspec.kubernetes.pods import containers, resources
from jobspec.kubernetes.pods.amounts import OF_PODS
from jobspec.kubernetes.pods.defaults import CONTAINERS, containers_of, of_class, without_disabled
from jobspec.kubernetes.problems import choice, describe, excluded, field_items, missing, name_of, named, required, required_choice
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_SPEC: Path = ("spec",)
_WITH_METADATA = ("volumes", "affinity", "topologySpreadConstraints", "resourceClaims")
"""Fields on which a pod's own metadata decides, too."""


def new_pod_problems(pod: Data, _: Data | None, release: str) -> Problems:
    """Yield the problems of a decoded new pod, except those of its metadata."""
    yield from (each for each in _new(pod, release) if not _repeats(each, pod))


def changed_pod_problems(data: Data, old: Data, shape: Shape, release: str) -> Problems:
    """Yield the problems of a pod as an update of *old*, except those of its metadata."""
    pod = decode_as_go(data, shape)
    yield from (each for each in _changed_pod_problems(data, old, shape, release) if not _repeats(each, pod))


def _repeats(problem: Problem, pod: Data) -> bool:
    """True if a problem of a request repeats that of the limit it was copied from.

    The server copies the limit.
    """
    if problem.path[-2:-1] != ("requests",) or problem.path[1] == "volumes" or problem.rule == "conflicting-values":
        return False
    if problem.path[1] == "resources" and _have_containers(str(problem.path[-1]), pod.get("spec", {})):
        return False
    return problem.path[-1] not in (value_at(pod, problem.path[:-1]) or {})


def _have_containers(resource: str, spec: Data) -> bool:
    """True if a pod-level request defaults to the containers' requests, not the pod's limit."""
    amounts = (each.get("resources", {}) for field in CONTAINERS for each in spec.get(field, ()))
    return resource in OF_PODS and any(resource in each.get(field, {}) for each in amounts for field in ("requests", "limits"))


def _new(pod: Data, release: str) -> Problems:
    """The problems of a pod that is to be made.

    The priority of one that names no class is that of the cluster's default class, which the plugins look for.
    """
    pod = _filled_in(pod, release)
    spec = pod["spec"]
    yield from _any(pod, release)
    yield from _contradictions(pod, spec, (), of_template=False)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield excluded(("spec", "nodeName"), "`nodeName` and `schedulingGates` are mutually exclusive", "remove one of the two")
    if spec.get("priorityClassName"):
        yield from priority_problems(spec)
    if "overhead" in spec and not spec.get("runtimeClassName"):
        message = "`overhead` needs a `runtimeClassName`"
        hint = "remove it, or name the class by `runtimeClassName`"
        yield excluded((*_SPEC, "overhead"), message, hint, at_key=True)
    if spec.get("ephemeralContainers"):
        message = "ephemeral containers can only be added to a pod that runs"
        yield excluded(("spec", "ephemeralContainers"), message, "use `kubectl debug` on the running pod")


def _changed_pod_problems(data: Data, old: Data, shape: Shape, release: str) -> Problems:
    """The problems of a pod that is there, in its new state."""
    from jobspec.kubernetes.pods.update import pod_update_problems, with_account, with_nulls_as_texts

    pod, before = (_filled_in(decode_as_go(with_nulls_as_texts(each), shape), release) for each in (data, old))
    pod = with_account(pod, before)
    yield from _any(pod, release)
    yield from pod_update_problems(pod, before)


def _filled_in(pod: Data, release: str) -> Data:
    return {**pod, "spec": resources.filled_in(pod.get("spec", {}), release)}


def _any(pod: Data, release: str) -> Problems:
    """The problems that new and changed pods can have."""
    spec = pod["spec"]
    yield from _annotations(pod, spec, ())
    yield from pod_spec_problems(spec, ("spec",), release)
    for at, container in containers_of(spec, ("spec",), CONTAINERS):
        yield from containers.image_problems(container, at)
    if not spec.keys().isdisjoint(_WITH_METADATA):
        yield from pod_only_problems(pod, release)


# The template of pods, as workloads and PodTemplates hold it.
#
# Follows `ValidatePodTemplateSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Which restart policies a template may have is for
# each kind of workload to say.


def template_problems(template: Data, path: Path, release: str) -> Problems:
    """Yield the problems of a decoded template (`jobspec.go.codec`) at *path*.

    If the template has no `spec`, an empty one is judged.
    """
    spec = without_disabled(template.get("spec", {}), release)
    yield from template_metadata_problems(template, spec, path)
    yield from pod_spec_problems(spec, (*path, "spec"), release)
    yield from _contradictions(template, spec, path, of_template=True)
    if spec.get("ephemeralContainers"):
        message = "a template cannot have ephemeral containers, which are added to running pods"
        yield excluded((*path, "spec", "ephemeralContainers"), message, "use `kubectl debug` on a running pod")


def pod_template_problems(made: Data, _: Data | None, release: str) -> Problems:
    """Yield the problems of a decoded PodTemplate."""
    return template_problems(made.get("template", {}), ("template",), release)


def with_template(own: Iterable[Problem], template: Data, release: str, path: Path = ("spec", "template")) -> Problems:
    """Yield the *own* problems of an object, then those of its pod template at other places."""
    reported: set[Path] = set()
    for problem in own:
        reported.add(problem.path)
        yield problem
    yield from (problem for problem in template_problems(template, path, release) if problem.path not in reported)


def template_metadata_problems(template: Data, spec: Data, path: Path) -> Problems:
    """Yield the problems of the labels and annotations of a template with *spec*."""
    metadata = template.get("metadata", {})
    yield from label_problems(metadata.get("labels"), (*path, "metadata"))
    yield from annotation_problems(metadata.get("annotations"), (*path, "metadata"))
    yield from _annotations(template, spec, path)


# The annotations that the server reads, of a pod or of a template at a path.


#: How their names begin.
_READ = (
    *("kubernetes.io/config.", "controller.kubernetes.io/pod-deletion-cost", "scheduler.alpha.kubernetes.io/tolerations"),
    *("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.", "container.apparmor."),
)


def _read(resource: Data) -> dict[str, str]:
    return {key: value for key, value in resource.get("metadata", {}).get("annotations", {}).items() if key.startswith(_READ)}


def _annotations(resource: Data, spec: Data, path: Path) -> Problems:
    """The problems of the values of annotations."""
    if annotations := _read(resource):
        from jobspec.kubernetes.pods.annotations import annotation_problems

        yield from annotation_problems(annotations, spec, (*path, "metadata", "annotations"))


def _contradictions(resource: Data, spec: Data, path: Path, *, of_template: bool) -> Problems:
    """The problems of fields that contradict the annotations."""
    if annotations := _read(resource):
        from jobspec.kubernetes.pods.annotations import contradiction_problems

        yield from contradiction_problems(annotations, spec, (*path, "spec"), of_template=of_template)


# Rules that hold for pods and not for templates: they depend on the name, the labels and the class that a pod has.
#
# Follows `validatePodMetadataAndSpec`, `validatePodResourceClaim` and `ValidateVolumes`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
# A pod without `serviceAccountName` can have tokens, since admission names the account `default` for it on every cluster that does not turn
# that off.


_MAX_NAME = 253


def pod_only_problems(pod: Data, release: str) -> Problems:
    """Yield the problems of a pod, new or changed, that no template has."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if "volumes" in spec:
        yield from _of_volumes(spec, metadata, release)
    if spec.get("resourceClaims"):
        from jobspec.kubernetes.pods.annotations import MIRROR

        if MIRROR in metadata.get("annotations", {}):
            message = f"a pod with the annotation `{MIRROR}` cannot claim devices"
            yield excluded((*_SPEC, "resourceClaims"), message, "remove one of the two", at_key=True)
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        yield from _repeated_keys(spec, metadata.get("labels", {}), release)


def _repeated_keys(spec: Data, labels: dict[str, str], release: str) -> Problems:
    """The problems of keys in selectors to which the server adds the pod's *labels*."""
    from jobspec.kubernetes.pods import scheduling

    spread = field_items(spec, "topologySpreadConstraints", _SPEC) if is_at_least(release, "1.34") else ()
    for at, term in (*scheduling.pod_terms(spec, _SPEC), *spread):
        if term.get("labelSelector") is not None:
            yield from scheduling.repeated_key_problems(term, labels, at)


def _of_volumes(spec: Data, metadata: Data, release: str) -> Problems:
    """Yield the problems of image volumes, and of the claims' names of ephemeral volumes."""
    from jobspec.kubernetes.pods.volumes import image_volume_problems, source_of

    if not is_at_least(release, "1.37"):  # from which on templates are asked for it, too
        yield from image_volume_problems(spec, _SPEC)
    prefix = metadata.get("generateName")
    pod = metadata.get("name") or (generated_name(prefix) if prefix else "")
    made = {f"{pod}-{volume.get('name') or ''}" for volume in spec.get("volumes") or () if pod and "ephemeral" in volume}
    for at, volume in field_items(spec, "volumes", _SPEC):
        name = volume.get("name") or ""
        claim = f"{pod}-{name}"
        is_named = pod and not bad_subdomain(pod) and not bad_label_name(name)
        if source_of(volume) == "ephemeral" and is_named and len(claim) > _MAX_NAME:
            named_after = "the claim of the volume is named after the pod, too, and its name"
            message = f"{named_after} has {len(claim)} characters, more than {_MAX_NAME}"
            yield Problem("wrong-size", (*at, "name"), message, "give the pod or the volume a shorter name")
        used = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if used in made:
            message = f"`{used}` is the claim that is made for an ephemeral volume of this pod"
            hint = "mount that volume instead"
            yield excluded((*at, "persistentVolumeClaim", "claimName"), message, hint)


# The spec of a pod or of a template, and the order of its rules.


#: Fields of containers, and of a pod's spec, whose rules are run only for pods that have one of them.
_MOUNTS = ("volumeMounts", "volumeDevices")
_SECURITY = ("securityContext", "shareProcessNamespace")
_RESOURCES = ("resourceClaims", "resources")
_SCHEDULING = (
    *("affinity", "topologySpreadConstraints", "tolerations", "nodeSelector", "nodeName", "schedulingGates", "readinessGates"),
    *("priorityClassName", "runtimeClassName", "preemptionPolicy", "overhead"),
)


def pod_spec_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of a decoded spec of a pod or template, in the order of the server."""
    if "volumes" in spec or any(not each.keys().isdisjoint(_MOUNTS) for _, each in containers_of(spec, path)):
        yield from _volumes_and_mounts(spec, path, release)
    yield from containers.container_problems(spec, path, release)
    yield from containers.host_network_problems(spec, path)
    yield from choice(spec, "restartPolicy", containers.POLICIES, path, or_empty=True)
    if not spec.keys().isdisjoint(_SECURITY):
        from jobspec.kubernetes.pods.security import pod_security_problems

        yield from pod_security_problems(spec, path, release)
    yield from _account_and_deadline(spec, path)
    yield from _system(spec, path)
    yield from containers.file_volume_problems(spec, path)
    if not spec.keys().isdisjoint(_RESOURCES):
        yield from resources.resource_claim_problems(spec, path)
        yield from resources.pod_resources_problems(spec, path)
    if not spec.keys().isdisjoint(_SCHEDULING):
        from jobspec.kubernetes.pods import scheduling

        yield from scheduling.affinity_problems(spec, path, release)
        yield from scheduling.topology_spread_problems(spec, path, release)
        yield from scheduling.scheduling_problems(spec, path)
    yield from _host_names(spec, path, release)
    if spec.get("hostUsers") is False:
        yield from _own_users(spec, path, release)


def _volumes_and_mounts(spec: Data, path: Path, release: str) -> Problems:
    """The problems of volumes, and of what containers mount of them."""
    from jobspec.kubernetes.pods.volumes import image_volume_problems, mount_problems, volume_problems

    yield from volume_problems(spec, path, release)
    if is_at_least(release, "1.37"):
        yield from image_volume_problems(spec, path)
    yield from mount_problems(spec, path)


def _account_and_deadline(spec: Data, path: Path) -> Problems:
    """Yield the problems of a ServiceAccount's name, and of a deadline that is no valid number."""
    field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
    if spec.get(field):
        yield from named(spec[field], "a ServiceAccount", bad_subdomain, (*path, field))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= MAX_INT32:
        message = f"`activeDeadlineSeconds` is from 1 to {MAX_INT32:,}, not {seconds:,}"
        yield Problem("out-of-range", (*path, "activeDeadlineSeconds"), message)


# Host names and DNS of a pod.
#
# Follows `validatePodDNSConfig`, `ValidateHostAliases`, `validatePodHostName` and `ValidatePodSpec`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_SERVERS, _MAX_SEARCHES, _MAX_SEARCH_LIST, _MAX_HOSTNAME = 3, 32, 2048, 64


def _host_names(spec: Data, path: Path, release: str) -> Problems:
    """The problems of DNS, of `hostAliases`, and of the pod's own names."""
    yield from _dns(spec, path, release)
    for at, alias in field_items(spec, "hostAliases", path):
        if alias.get("ip"):
            yield from _address(alias["ip"], (*at, "ip"), release)
        else:
            yield missing("ip", alias, at)
        for place, name in field_items(alias, "hostnames", at):
            if why := bad_subdomain(name):
                yield Problem("invalid-name", place, f'"{name}" is not a valid name for a host: {why}')
    for field in ("hostname", "subdomain"):
        if spec.get(field) and (why := bad_label_name(spec[field])):
            hint = "it is one part of the name, the others come from the pod's namespace" if "." in spec[field] else ""
            yield Problem("invalid-name", (*path, field), f"`{spec[field]}` cannot be the `{field}`: {why}", hint)
    if "hostnameOverride" in spec:
        yield from _override(spec, path)


def _address(text: str, path: Path, release: str) -> Problems:
    """Yield the problem of a text that is no IP address.

    From 1.36 on, an address that programs read differently is a problem, too.
    """
    found, is_strict = sloppy_address(text), is_at_least(release, "1.36")
    if found is None or (is_strict and plain_address(text) is None):
        mapped = getattr(found, "ipv4_mapped", None) or found
        hint = f"write `{mapped}`" if mapped is not None else ""
        yield Problem("wrong-format", path, f"{name_of(path)}: expected an IP address, got {describe(text)}", hint)


def _override(spec: Data, path: Path) -> Problems:
    name, at = spec["hostnameOverride"], (*path, "hostnameOverride")
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            message = f"`hostnameOverride` excludes `{field}: true`, which sets the name of the host, too"
            yield excluded(at, message, "remove one of the two", at_key=True)
    if len(name) > _MAX_HOSTNAME:
        yield Problem("wrong-size", at, f"a host's name has at most {_MAX_HOSTNAME} characters, and this has {len(name)}")
    else:
        yield from named(name, "a host", bad_subdomain, at)


def _dns(spec: Data, path: Path, release: str) -> Problems:
    policy, config, at = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig"), (*path, "dnsConfig")
    yield from choice(spec, "dnsPolicy", _POLICIES, path, or_empty=True)
    if config is None:
        if policy == "None":
            yield missing("dnsConfig", spec, path, "with `dnsPolicy: None`, name at least one of its `nameservers`")
    elif policy == "None" and not config.get("nameservers"):
        yield missing("nameservers", config, at, "with `dnsPolicy: None`, name at least one")
    else:
        yield from _dns_config(config, at, release)


def _dns_config(config: Data, path: Path, release: str) -> Problems:
    servers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if len(servers) > _MAX_SERVERS:
        yield Problem("wrong-size", (*path, "nameservers"), f"expected at most {_MAX_SERVERS} name servers, got {len(servers)}")
    for at, server in field_items(config, "nameservers", path):
        yield from _address(server, at, release)
    if len(searches) > _MAX_SEARCHES:
        yield Problem("wrong-size", (*path, "searches"), f"expected at most {_MAX_SEARCHES} search domains, got {len(searches)}")
    if len(" ".join(searches).encode()) > _MAX_SEARCH_LIST:
        yield Problem("wrong-size", (*path, "searches"), f"the domains have more than {_MAX_SEARCH_LIST} characters together")
    for at, domain in field_items(config, "searches", path):
        if is_at_least(release, "1.33"):
            fits, letters = domain == "." or _is_search_domain(domain.removesuffix(".")), "`-`, `_` and `.`"
        else:
            fits, letters = not bad_subdomain(domain.removesuffix(".")), "`-` and `.`"
        if not fits:
            yield Problem("wrong-format", at, f"{describe(domain)} is not a domain: it is of lower-case letters, digits, {letters}")
    for at, option in field_items(config, "options", path):
        yield from required(option, "name", at)


def _is_search_domain(domain: str) -> bool:
    """True if a text is a DNS subdomain whose labels may hold underscores.

    Labels may begin with an underscore, but not end with one.
    """
    import re

    label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
    return len(domain) <= 253 and re.fullmatch(rf"{label}(\.{label})*", domain) is not None


# What a pod with a user namespace (`hostUsers: false`) cannot have.
#
# Follows `validateHostUsers`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def _own_users(spec: Data, path: Path, release: str) -> Problems:
    """The problems of what `hostUsers: false` excludes."""
    for field in _SHARED:
        if spec.get(field):
            message = f"with `hostUsers: false`, the pod cannot share the node's namespaces, as by `{field}: true`"
            yield excluded((*path, field), message, "remove one of the two")
    for at, container in containers_of(spec, path) if is_at_least(release, "1.34") else ():
        if container.get("volumeDevices"):
            message = "with `hostUsers: false`, containers cannot have devices"
            yield excluded((*at, "volumeDevices"), message, "remove one of the two", at_key=True)


# What a pod cannot have on the operating system that it names, and pods that run on a Windows host itself.
#
# Follows `validateOS`, `validateLinux`, `validateWindows` and `validateWindowsHostProcessPod`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


_SYSTEMS = ("linux", "windows")
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
        for at, context in _contexts(spec, path) if name == "linux" else ():
            if "windowsOptions" in context:
                yield excluded((*at, "windowsOptions"), "a pod for Linux cannot have `windowsOptions`")
    yield from _on_the_host(spec, path)


def _on_windows(spec: Data, path: Path) -> Problems:
    given = [field for field in _OF_POD if field in spec] + [field for field in _OF_HOST if spec.get(field)]
    yield from (excluded((*path, field), f"a pod for Windows cannot have `{field}`") for field in given)
    if spec.get("securityContext", {}).get("sysctls"):
        yield excluded((*path, "securityContext", "sysctls"), "a pod for Windows cannot have `sysctls`")
    for at, context in _contexts(spec, path):
        fields = _OF_POD_SECURITY if at == (*path, "securityContext") else _OF_CONTAINER_SECURITY
        yield from (excluded((*at, field), f"a pod for Windows cannot have `{field}`") for field in fields if field in context)


def _contexts(spec: Data, path: Path) -> Iterator[tuple[Path, Data]]:
    """The security contexts of a pod and of its containers, with their paths."""
    if "securityContext" in spec:
        yield (*path, "securityContext"), spec["securityContext"]
    for at, container in containers_of(spec, path):
        if "securityContext" in container:
            yield (*at, "securityContext"), container["securityContext"]


def _on_the_host(spec: Data, path: Path) -> Problems:
    """Yield the problems of `hostProcess`.

    Either all containers of a pod run on the Windows host itself, or none does.
    """
    of_pod = _host_process(spec)
    own = [(at, _host_process(each)) for at, each in containers_of(spec, path)]
    for at, value in own:
        if of_pod is not None and value is not None and value != of_pod:
            message = f"`hostProcess` must be the same in the whole pod, whose own is {str(of_pod).lower()}"
            yield excluded((*at, "securityContext", "windowsOptions", "hostProcess"), message)
    on_host = [bool(of_pod if value is None else value) for _, value in own]
    if any(on_host) and not all(on_host):
        message = "with `hostProcess: true` in one container, all containers of the pod need it"
        yield excluded(path, message, "set it for the pod as a whole")
    if any(on_host) and not spec.get("hostNetwork"):
        yield missing("hostNetwork", {}, path, "containers with `hostProcess: true` need `hostNetwork: true`")


def _host_process(around: Data) -> bool | None:
    value: bool | None = around.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    return value


# What the admission plugins refuse on every cluster.
#
# Follows `admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, and `validateOverhead`, plugin/pkg/admission/runtimeclass, 1.36.


_WORDS = {"priority": "priority", "preemptionPolicy": "preemption policy"}


def priority_problems(spec: Data) -> Problems:
    """Yield the problems of a priority or preemption policy that contradicts the class.

    If the pod names a system class, the values must be those of the class. If the pod names no class, they must be those of no class.
    """
    name = spec.get("priorityClassName")
    whose = f"the class `{name}` has" if name else "a pod without `priorityClassName` has"
    for field, value in of_class(spec).items():
        if spec.get(field, value) != value:
            message = f"{whose} the {_WORDS[field]} {value}, not {spec[field]}"
            yield excluded((*_SPEC, field), message, "remove it; name a PriorityClass by `priorityClassName`")
