"""The containers of a pod: images, variables, ports, probes, hooks and restarts; and the restart policy and account of the pod.

Follows `validateContainers`, `validateInitContainers`, `validateEphemeralContainers` and `validateContainerCommon`, k8s.io/kubernetes
pkg/apis/core/validation, 1.30 to 1.37; volumes that containers mount are in `volumes`.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import canonical_quantity
from jobspec.kubernetes.metadata import bad_label_name, bad_qualified_name, bad_subdomain, masked
from jobspec.kubernetes.pods.defaults import PROBES, containers_of, grace_period, restart_policy
from jobspec.kubernetes.pods.resources import bad_container_resource, requirement_problems
from jobspec.kubernetes.problems import (
    at_most,
    choice,
    duplicate,
    excluded,
    field_items,
    missing,
    named,
    near,
    negative,
    one_of,
    required,
    required_choice,
    required_name,
    unsupported,
    wrong_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MESSAGES = ("File", "FallbackToLogsOnError")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
POLICIES = ("Always", "OnFailure", "Never")
_OF_RUNNING = ("lifecycle", *PROBES)
"""Fields that init containers cannot have unless they are sidecars."""
_NOT_FOR_DEBUGGING = (
    *("ports", "resources", *PROBES, "lifecycle"),
    *("resizePolicy", "restartPolicy", "restartPolicyRules"),
)
"""Fields that ephemeral containers cannot have."""


def container_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of all containers of a pod."""
    yield from required(spec, "containers", path, "a pod has at least one container")
    names: set[str] = set()
    for at, container in field_items(spec, "containers", path):
        yield from _common(container, spec, names, at, release)
        yield from _running(container, spec, at, release)
        yield from _restarts(container, at, release)
    yield from _host_ports(field_items(spec, "containers", path))
    for at, container in field_items(spec, "initContainers", path):
        yield from _init(container, spec, names, at, release)
    yield from _ephemeral(spec, names, path, release)


def _common(container: Data, spec: Data, names: set[str], path: Path, release: str) -> Problems:
    """Yield the problems that any container can have.

    *names*: the names of other containers; this one's is added. Two without a name have the same.
    """
    name = container.get("name", "")
    yield from required_name(container, "name", "a container", bad_label_name, path)
    if name in names:
        yield duplicate(name, "a container", (*path, "name"))
    names.add(name)
    yield from required(container, "image", path)
    yield from choice(container, "terminationMessagePolicy", _MESSAGES, path, or_empty=True)
    yield from choice(container, "imagePullPolicy", PULL_POLICIES, path, or_empty=True)
    yield from _port_problems(container, path)
    yield from _env_problems(container, path, release)
    if container.get("resources"):
        yield from requirement_problems(container["resources"], (*path, "resources"), bad_container_resource, spec)
    yield from _resizes(container, path, restart_policy(spec))
    if "securityContext" in container:
        from jobspec.kubernetes.pods.security import container_security_problems

        yield from container_security_problems(container["securityContext"], spec, (*path, "securityContext"))


def _running(container: Data, spec: Data, path: Path, release: str) -> Problems:
    """The problems of the probes and hooks of a container that runs beside others."""
    if container.keys().isdisjoint(_OF_RUNNING):
        return
    hooks, seconds = container.get("lifecycle", {}), grace_period(spec)
    for name in ("postStart", "preStop"):
        if name in hooks:
            yield from _action(hooks[name], _OF_HOOKS, (*path, "lifecycle", name))
            yield from _sleep(hooks[name], (*path, "lifecycle", name), seconds, release)
    for name in PROBES:
        if name in container:
            yield from _probe(name, container[name], (*path, name))


def _init(container: Data, spec: Data, names: set[str], path: Path, release: str) -> Problems:
    yield from _common(container, spec, names, path, release)
    yield from _restarts(container, path, release, is_init=True)
    yield from _host_ports([(path, container)])
    if container.get("restartPolicy") == "Always":
        yield from _running(container, spec, path, release)
        return
    for field in _OF_RUNNING:
        if field in container:
            message = f"an init container, which ends before the others start, cannot have `{field}`"
            yield excluded((*path, field), message, "remove it; or make it a sidecar by `restartPolicy: Always`")
    for at, each in field_items(container, "resizePolicy", path) if is_at_least(release, "1.36") else ():
        if each.get("restartPolicy") == "RestartContainer":
            yield excluded((*at, "restartPolicy"), "an init container runs once, so a resize cannot restart it", "write `NotRequired`")


def _ephemeral(spec: Data, names: set[str], path: Path, release: str) -> Problems:
    known = set(names)
    for at, container in field_items(spec, "ephemeralContainers", path):
        yield from _common(container, spec, names, at, release)
        yield from image_problems(container, at)
        target = container.get("targetContainerName")
        if target and target not in known:
            yield Problem("unsupported-choice", (*at, "targetContainerName"), f"the pod has no container `{target}`", near(target, known))
        for field in _NOT_FOR_DEBUGGING:
            if field in container and container[field] != {}:
                yield excluded((*at, field), f"an ephemeral container has no `{field}`")
        for place, mount in field_items(container, "volumeMounts", at):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield excluded((*place, field), f"an ephemeral container has no `{field}` in its mounts")


def image_problems(container: Data, path: Path) -> Problems:
    """Yield the problem of blanks around an image, which pods cannot have, and templates can."""
    image = container.get("image", "")
    if image != image.strip(BLANKS):
        message = f'leading or trailing spaces in the image "{image}"'
        yield Problem("wrong-format", (*path, "image"), message, f"write `{image.strip(BLANKS)}`" if image.strip(BLANKS) else "")


#: What Go takes for blanks.
BLANKS = " \t\n\v\f\r\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


# The variables of a container.
#
# Follows `ValidateEnv`, `ValidateEnvFrom` and `validateFileKeyRefVolumes`, k8s.io/kubernetes pkg/apis/core/validation, and
# `IsRelaxedEnvVarName` and `IsConfigMapKey`, k8s.io/apimachinery pkg/util/validation, 1.36.


_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_FROM = ("configMapRef", "secretRef")
_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")


def _env_problems(container: Data, path: Path, release: str) -> Problems:
    """The problems of a container's `env` and `envFrom`, apart from the volumes that they name."""
    bad_name = _bad_variable if is_at_least(release, "1.32") else _bad_strict_variable
    for at, variable in field_items(container, "env", path):
        yield from required_name(variable, "name", "a variable", bad_name, at)
        if "valueFrom" in variable:
            yield from _value_from(variable, (*at, "valueFrom"))
    for at, each in field_items(container, "envFrom", path):
        yield from _env_from_item(each, at, bad_name)


def _value_from(variable: Data, path: Path) -> Problems:
    """The problems of the `valueFrom` of a variable."""
    source = variable["valueFrom"]
    given = [name for name in _SOURCES if name in source]
    for name in given:
        yield from _value_source(name, source[name], (*path, name))
    if not given:
        hint = "if one is written, the kind's CRD drops it, as those of JobSet drop `fileKeyRef`: use `secretKeyRef` or `configMapKeyRef`"
        yield Problem("missing-field", path, f"`valueFrom` needs one of {', '.join(f'`{each}`' for each in _SOURCES)}", hint=hint)
    elif variable.get("value"):
        yield excluded(path, "`value` and `valueFrom` are mutually exclusive", "remove one of the two")
    elif len(given) > 1:
        yield excluded(path, f"a variable can have one source only, not {' and '.join(f'`{each}`' for each in given)}", "keep one")


def _value_source(name: str, source: Data, path: Path) -> Problems:
    if name == "fieldRef":
        yield from field_problems(source, path, _FIELDS_OF_VARIABLES)
    elif name == "resourceFieldRef":
        yield from resource_problems(source, path, in_volume=False)
    elif name == "fileKeyRef":
        yield from _file_key(source, path)
    else:
        what = "a ConfigMap" if name == "configMapKeyRef" else "a Secret"
        yield from required_name(source, "name", what, bad_subdomain, path, f"name {what}")
        yield from required_name(source, "key", f"a key of {what}", bad_data_key, path)


def _file_key(source: Data, path: Path) -> Problems:
    """The problems of a variable from a file that a container wrote."""
    yield from (missing(name, source, path) for name in ("key", "volumeName", "path") if not source.get(name))
    key, volume, file = source.get("key"), source.get("volumeName"), source.get("path", "")
    if key:
        yield from named(key, "a variable", _bad_variable, (*path, "key"))
    if volume:
        yield from named(volume, "a volume", bad_label_name, (*path, "volumeName"))
    if ".." in file.split("/"):
        yield Problem("wrong-format", (*path, "path"), f"`{file}` leaves the volume by `..`", "write a path inside of the volume")


def _env_from_item(source: Data, path: Path, bad_name: Callable[[str], str]) -> Problems:
    """The problems of an item of `envFrom`."""
    prefix = source.get("prefix")
    if prefix:
        yield from named(prefix, "variables to start with", bad_name, (*path, "prefix"))
    given = [name for name in _ENV_FROM if name in source]
    for name in given:
        what = "a ConfigMap" if name == "configMapRef" else "a Secret"
        yield from required_name(source[name], "name", what, lambda each: bad_subdomain(masked(each)), (*path, name), f"name {what}")
    if not given:
        yield Problem("missing-field", path, "the item needs `configMapRef` or `secretRef`")
    elif len(given) > 1:
        yield excluded(path, "`configMapRef` and `secretRef` are mutually exclusive", "write an item for each")


def file_volume_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of volumes named by variables from files.

    Such a volume must exist, and must be an `emptyDir`.
    """
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes", ())}
    for place, container in containers_of(spec, path):
        for own, variable in field_items(container, "env", place):
            source = variable.get("valueFrom", {}).get("fileKeyRef")
            if source is None:
                continue
            name, at = source.get("volumeName", ""), (*own, "valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                yield Problem("unsupported-choice", at, f"the pod has no volume `{name}`", near(name, volumes))
            elif "emptyDir" not in volumes[name] and volumes[name].keys() - {"name"}:  # without any source, a volume is an `emptyDir`
                yield excluded(at, f"a file of variables must be in an `emptyDir`, not in the volume `{name}`", "name an `emptyDir`")


def _bad_variable(name: str) -> str:
    """Why a text cannot be the name of a variable; empty if it can."""
    is_right = all(" " <= each <= "~" and each != "=" for each in name)
    return "" if is_right else "it must consist of printable ASCII characters other than `=`"


def _bad_strict_variable(name: str) -> str:
    """Why a text cannot be the name of a variable before 1.32; empty if it can."""
    if not _KEY.issuperset(name) or "0" <= name[:1] <= "9":
        return "it must consist of letters, digits, `-`, `_` and `.`, and not begin with a digit; from Kubernetes 1.32 on it can be more"
    return "it cannot be `.`, nor start with `..`" if name == "." or name.startswith("..") else ""


def bad_data_key(key: str) -> str:
    """Return why a text cannot be a key of a ConfigMap or Secret; empty if it can.

    Follows `IsConfigMapKey`.
    """
    if len(key) > 253:
        return f"it has {len(key)} characters, more than 253"
    if not key or not _KEY.issuperset(key):
        return "it must consist of letters, digits, `-`, `_` and `.`"
    return "it cannot be `.`, nor start with `..`" if key == "." or key.startswith("..") else ""


# The downward API: fields of the pod, and resources of a container.
#
# Follows `validateObjectFieldSelector` and `validateContainerResourceFieldSelector`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


#: What a variable can be taken from, besides single labels and annotations.
_FIELDS_OF_VARIABLES = (
    *(f"metadata.{each}" for each in ("name", "namespace", "uid")),
    *("spec.nodeName", "spec.serviceAccountName"),
    *(f"status.{each}" for each in ("hostIP", "hostIPs", "podIP", "podIPs")),
)
_RESOURCES = tuple(f"{which}.{name}" for which in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_CPU = ("1m", "1")
_OLD_NAMES = {"spec.host": "spec.nodeName"}  # which are still taken
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")


def field_problems(reference: Data, path: Path, fields: Sequence[str]) -> Problems:
    """Yield the problems of a `fieldRef` at *path*.

    It can name one of *fields*, or a single label or annotation.
    """
    version, field = reference.get("apiVersion") or "v1", reference.get("fieldPath")
    if not field:
        yield missing("fieldPath", reference, path, "name a field of the pod, such as `metadata.name`")
        return
    at = (*path, "fieldPath")
    if version != "v1":
        yield Problem("unsupported-choice", (*path, "apiVersion"), f"the API version of pods is `v1`, not `{version}`", "remove it")
        return
    around, bracket, key = field.removesuffix("']").partition("['")  # as in `metadata.labels['app']`
    if not (field.endswith("']") and bracket and around):
        if _OLD_NAMES.get(field, field) not in fields:
            yield unsupported(field, (*fields, "metadata.labels['KEY']", "metadata.annotations['KEY']"), at)
    elif around not in _SUBSCRIPTED:
        yield Problem("wrong-format", at, f"`{around}` has no keys; only labels and annotations have")
    elif why := bad_qualified_name(key.lower() if around == "metadata.annotations" else key):
        yield Problem("wrong-format", at, f'"{key}" is not a key of a label or annotation: {why}')


def resource_problems(reference: Data, path: Path, *, in_volume: bool) -> Problems:
    """Yield the problems of a `resourceFieldRef` at *path*.

    In a volume, it must name the container.
    """
    resource, divisor = reference.get("resource", ""), canonical_quantity(reference.get("divisor", "0"))  # 0: no divisor
    is_known = resource in _RESOURCES or resource.startswith(_HUGE_PAGES)
    if in_volume and not reference.get("containerName"):
        yield missing("containerName", reference, path, "a volume needs the name of the container")
    elif not resource:
        yield missing("resource", reference, path, "name a resource, such as `limits.memory`")
    elif not is_known:
        yield unsupported(resource, (*_RESOURCES, "limits.hugepages-SIZE"), (*path, "resource"))
    if is_known and divisor != "0":
        yield from one_of(divisor, _CPU if resource.endswith(".cpu") else _SIZES, (*path, "divisor"))


# The ports of containers, and what probes and hooks say of ports.
#
# Follows `validateContainerPorts`, `checkHostPortConflicts`, `validatePodHostNetworkDeps` and `ValidatePortNumOrName`, k8s.io/kubernetes
# pkg/apis/core/validation, and `IsValidPortName`, k8s.io/apimachinery pkg/util/validation, 1.36.


PROTOCOLS = ("TCP", "UDP", "SCTP")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_NAME = _LETTERS | frozenset("0123456789-")


def _port_problems(container: Data, path: Path) -> Problems:
    """The problems of a container's ports, apart from ports of the host that are taken twice."""
    names: set[str] = set()
    for at, port in field_items(container, "ports", path):
        name = port.get("name")
        if name:
            if why := bad_port_name(name):
                yield wrong_name(name, "a port", why, (*at, "name"))
            elif name in names:
                yield duplicate(name, "a port", (*at, "name"))
            names.add(name)
        yield from required(port, "containerPort", at)
        for field in ("containerPort", "hostPort"):
            if port.get(field):
                yield from number_problems(port[field], (*at, field))
        yield from choice(port, "protocol", PROTOCOLS, at, or_empty=True)


def _host_ports(containers: Iterable[tuple[Path, Data]]) -> Problems:
    """Yield the problems of host ports that containers running at the same time share.

    Each container comes with its path.
    """
    taken: set[tuple[str, str, int | None]] = set()
    for path, container in containers:
        for at, port in field_items(container, "ports", path):
            number = port.get("hostPort")
            key = (port.get("protocol") or "TCP", port.get("hostIP", ""), number)
            if number and key in taken:
                message = f"the port {number} of the host ({key[0]}) is taken already by another port of the pod"
                yield Problem("duplicate-item", (*at, "hostPort"), message, "choose another number, or remove one")
            taken.add(key)


def host_network_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of host ports that differ from container ports under `hostNetwork`."""
    for place, container in field_items(spec, "containers", path) if spec.get("hostNetwork") else ():
        for at, port in field_items(container, "ports", place):
            own, of_host = port.get("containerPort", 0), port.get("hostPort", 0)
            if of_host not in (0, own):
                message = f"on the network of the host a container's port is the host's port, and here {own} would be {of_host}"
                yield excluded((*at, "hostPort"), message)


def number_problems(number: int, path: Path) -> Problems:
    """Yield the problem of a number that is no port."""
    if not 1 <= number <= 65535:
        yield Problem("out-of-range", path, f"ports: expected 1 to 65535, got {number}")


def _port_of_action(action: Data, path: Path) -> Problems:
    """Yield the problem of an action's `port`: a number or the name of a container's port."""
    port = action.get("port")
    if port is None:
        yield missing("port", action, path, "write the number of the port, or its name")
    elif isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
    elif why := bad_port_name(port):
        hint = f"remove the quotes: `{port}`" if port.isdecimal() else ""
        yield Problem("wrong-format", (*path, "port"), f'"{port}" is neither the number nor the name of a port: {why}', hint)


def bad_port_name(name: str) -> str:
    """Return why a text cannot be the name of a port; empty if it can."""
    if len(name) > 15:
        return f"it has {len(name)} characters, more than 15"
    if not _NAME.issuperset(name) or _LETTERS.isdisjoint(name):
        return "it must consist of lower-case letters, digits and `-`, with at least one letter"
    if "--" in name or name[0] == "-" or name[-1] == "-":
        return "it cannot begin or end with a dash, or have two in a row"
    return ""


# Probes and lifecycle hooks.
#
# Follows `validateProbe` and its callers, `validateLifecycle` and `validateHandler`, k8s.io/kubernetes pkg/apis/core/validation, and
# `IsHTTPHeaderName`, k8s.io/apimachinery pkg/util/validation, 1.36.


_OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def _probe(name: str, probe: Data, path: Path) -> Problems:
    yield from _action(probe, _OF_PROBES, path)
    for field in _NUMBERS:
        yield from negative(probe.get(field, 0), (*path, field))
    seconds, successes = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold", 0)
    if seconds is not None and name == "readinessProbe":
        yield excluded((*path, "terminationGracePeriodSeconds"), "a readiness probe cannot have `terminationGracePeriodSeconds`")
    elif seconds is not None and seconds <= 0:
        message = f"`terminationGracePeriodSeconds` of a probe is at least 1, not {seconds}"
        yield Problem("out-of-range", (*path, "terminationGracePeriodSeconds"), message)
    if name != "readinessProbe" and successes > 1:
        message = f"the `successThreshold` of a {name.removesuffix('Probe')} probe is 1, not {successes}"
        yield Problem("out-of-range", (*path, "successThreshold"), message, "remove it")


def _action(around: Data, known: tuple[str, ...], path: Path) -> Problems:
    """Yield the problems of the only action of a probe or hook.

    The server looks at the first action, and refuses further ones.
    """
    given = [name for name in known if name in around]
    if not given:
        choices = ", ".join(f"`{name}`" for name in known)
        yield Problem("missing-field", path, f"`{path[-1]}` needs one of {choices}", at_key=True)
        return
    yield from _action_problems(given[0], around[given[0]], (*path, given[0]))
    for name in given[1:]:
        yield excluded((*path, name), f"`{path[-1]}` can do one thing only, and has `{given[0]}` already", "remove one of the two")


def _action_problems(name: str, action: Data, path: Path) -> Problems:
    if name == "exec" and not action.get("command"):
        yield missing("command", action, path)
    elif name == "httpGet":
        yield from _request(action, path)
    elif name == "tcpSocket":
        yield from _port_of_action(action, path)
    elif name == "grpc":
        yield from number_problems(action["port"], (*path, "port")) if "port" in action else (missing("port", action, path),)


def _sleep(hook: Data, path: Path, grace_period: int, release: str) -> Problems:
    """The problem of a hook that sleeps too long, or, before 1.33, not at all."""
    seconds, at = hook.get("sleep", {}).get("seconds", 0), (*path, "sleep", "seconds")
    if next((name for name in _OF_HOOKS if name in hook), "") != "sleep":
        return
    if not 0 <= seconds <= grace_period:
        message = f"a hook sleeps no longer than the pod has to end, {grace_period} seconds, and not for {seconds}"
        yield Problem("out-of-range", at, message, "raise `terminationGracePeriodSeconds` of the pod")
    elif not seconds and not is_at_least(release, "1.33"):
        yield Problem("out-of-range", at, "a hook sleeps for at least 1 second before Kubernetes 1.33, and not for 0", "remove the hook")


def _request(action: Data, path: Path) -> Problems:
    yield from _port_of_action(action, path)
    yield from choice(action, "scheme", _SCHEMES, path, or_empty=True)
    for at, header in field_items(action, "httpHeaders", path):
        yield from required_name(header, "name", "a header", _bad_header, at)


def _bad_header(name: str) -> str:
    """Why a text cannot be the name of a header of a request; empty if it can."""
    return "" if _HEADER.issuperset(name) else "it must consist of letters, digits and `-`"


# Restarts of containers: their own restart policies, rules by exit code, and resizes that restart.
#
# Follows `validateContainerRestartPolicy`, `validateInitContainerRestartPolicy` and `validateResizePolicy`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.30 to 1.37.


_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_RESIZABLE = ("cpu", "memory")
_RESIZES = ("NotRequired", "RestartContainer")
_MOST_RULES = 20
_MOST_CODES = 255


def _restarts(container: Data, path: Path, release: str, *, is_init: bool = False) -> Problems:
    """Yield the problems of a container's restart policy, and of its rules.

    The server ignores rules in an init container without a policy. Before 1.34, only init containers have a policy, which makes them
    sidecars; 1.34 drops others, 1.35 has rules, and none for sidecars.
    """
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if not is_at_least(release, "1.34"):
        if policy is not None and not is_init:
            message = "only init containers can have a `restartPolicy` before Kubernetes 1.35"
            yield excluded((*path, "restartPolicy"), message, "remove it; that of the pod applies")
        else:
            yield from choice(container, "restartPolicy", ("Always",), path)
        return
    if rules and is_init and policy == "Always" and not is_at_least(release, "1.36"):
        yield excluded((*path, "restartPolicyRules"), "a sidecar always restarts, and can have no rules for that before Kubernetes 1.36")
        return
    if policy is None and rules:
        yield missing("restartPolicy", container, path, "it applies where no rule does")
    else:
        yield from choice(container, "restartPolicy", POLICIES, path)
    if policy is None and is_init:
        return
    yield from at_most(_MOST_RULES, len(rules), "rule", (*path, "restartPolicyRules"))
    for at, rule in field_items(container, "restartPolicyRules", path):
        yield from required_choice(rule, "action", _ACTIONS if is_at_least(release, "1.36") else _ACTIONS[:1], at)
        if "exitCodes" not in rule:
            yield missing("exitCodes", rule, at)
            continue
        yield from required_choice(rule["exitCodes"], "operator", _OPERATORS, (*at, "exitCodes"))
        yield from at_most(_MOST_CODES, len(rule["exitCodes"].get("values", ())), "value", (*at, "exitCodes", "values"))


def _resizes(container: Data, path: Path, of_pod: str) -> Problems:
    """The problems of a container's `resizePolicy` in a pod with the restart policy *of_pod*."""
    seen: set[str] = set()
    for at, each in field_items(container, "resizePolicy", path):
        resource = each.get("resourceName", "")
        if resource in seen:
            yield Problem("duplicate-item", at, f"duplicate resize policy of `{resource}`", "remove one of the two")
        seen.add(resource)
        yield from required_choice(each, "resourceName", _RESIZABLE, at, "it is `cpu` or `memory`")
        yield from required_choice(each, "restartPolicy", _RESIZES, at, "it is `NotRequired` or `RestartContainer`")
        if of_pod == "Never" and each.get("restartPolicy") == "RestartContainer":
            message = "a pod with `restartPolicy: Never` cannot restart containers for a resize"
            yield excluded((*at, "restartPolicy"), message, "write `NotRequired`")
