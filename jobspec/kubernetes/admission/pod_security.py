"""Pod Security: what the labels of a namespace forbid its pods.

Follows k8s.io/pod-security-admission 0.30.14 to 0.37.2, with the defaults that the server has without a configuration file: `privileged`
where no label says more, and no exemptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from jobspec.diagnostics.diagnostic import Reasons
from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import containers, sequence
from jobspec.kubernetes.index import POD_SECURITY_LABEL
from jobspec.kubernetes.pods.annotations import APP_ARMOR, SECCOMP, SECCOMP_OF_POD
from jobspec.kubernetes.pods.defaults import HOOKS, PROBES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    #: The places at which the metadata and spec of a pod break a rule.
    Find = Callable[[Data, Data], Iterable["Breach"]]


# Check a pod by the Pod Security levels of its namespace: `enforce` refuses it, `warn` warns.
#
# Follows `Admission.EvaluatePod` and `NewEvaluator`, k8s.io/pod-security-admission admission and policy, 0.36.3.


def pod_security_problems(pod: Data, namespace: str, labels: Mapping[str, Any], release: str) -> tuple[list[Problem], list[Problem]]:
    """Return why a namespace with these labels refuses a pod, and what the server warns of.

    If the server refuses the pod, there are no warnings.
    """
    levels = levels_of(labels)
    refusals = _problems(pod, levels.enforce, release, f"PodSecurity: namespace `{namespace}` enforces")
    return refusals, [] if refusals else _problems(pod, levels.warn, release, f"PodSecurity: namespace `{namespace}` warns about")


def template_warnings(template: Data, path: Path, namespace: str, labels: Mapping[str, Any], release: str) -> list[Problem]:
    """Return what the server warns of for a workload with this pod template at *path*.

    The server refuses only the pods, which come later.
    """
    found = _problems(template, levels_of(labels).warn, release, f"PodSecurity: namespace `{namespace}` warns about")
    return [each.moved_to((*path, *each.path)) for each in found]


def _problems(pod: Data, level: Level, release: str, says: str) -> list[Problem]:
    says += f" `{level.name}`" + ("" if level.minor == LATEST else f" of v1.{level.minor}")
    return [
        Problem("pod-security", each.path, Reasons(f"{says}, which", [each.why]), each.hint) for _, each in breaches(pod, level, release)
    ]


def breaches(pod: Data, level: Level, release: str) -> list[tuple[str, Breach]]:
    """Return the violations of a level by a pod, each with the check's name on the server.

    A server knows no later version of a level than its own *release*.
    """
    if level.name == "privileged":
        return []
    minor = min(level.minor, int(release.partition(".")[2]))
    strict = [check for check in RESTRICTED_CHECKS if check.at(minor)] if level.name == "restricted" else []
    replaced = {check.replaces for check in strict}
    checks = [*(check for check in BASELINE_CHECKS if check.name not in replaced), *strict]
    metadata, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    return [(check.reason, each) for check in checks if (find := check.at(minor)) for each in find(metadata, spec)]


# The Pod Security levels of a namespace, by its labels.
#
# Follows `PolicyToEvaluate`, k8s.io/pod-security-admission api, 0.36.3.


LEVELS = ("privileged", "baseline", "restricted")
LATEST = 1_000_000
"""The minor version that `latest` stands for: after all that a label can usefully name."""
_TOO_MANY = 2**63
"""The first number that the server's own numbers do not reach."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of Pod Security in a version."""

    name: str
    minor: int


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a namespace: what its pods have to keep, and what the server warns of."""

    enforce: Level
    warn: Level


def levels_of(labels: Mapping[str, Any]) -> Levels:
    """Return the levels that labels name.

    A wrong level of `enforce` counts as the strictest; a wrong level of `warn` counts as none.
    """
    enforce = _level(labels, "enforce", otherwise="restricted")
    warn = _level(labels, "warn", otherwise="privileged")
    said = labels.get(f"{POD_SECURITY_LABEL}enforce")
    if f"{POD_SECURITY_LABEL}warn" not in labels and said in LEVELS and said != "privileged":
        return Levels(enforce, Level(enforce.name, warn.minor if f"{POD_SECURITY_LABEL}warn-version" in labels else enforce.minor))
    return Levels(enforce, warn)


def _level(labels: Mapping[str, Any], mode: str, *, otherwise: str) -> Level:
    name, version = labels.get(POD_SECURITY_LABEL + mode, "privileged"), labels.get(f"{POD_SECURITY_LABEL}{mode}-version", "latest")
    minor = _minor(version)
    return Level(name if name in LEVELS else otherwise, LATEST if minor is None else minor)


def _minor(version: Any) -> int | None:
    """The minor version of `v1.30` or `latest`, None for any other text."""
    if version == "latest":
        return LATEST
    digits = version[3:] if isinstance(version, str) and version.startswith("v1.") else ""
    is_number = digits.isascii() and digits.isdigit() and (digits == "0" or not digits.startswith("0"))
    return min(int(digits), LATEST - 1) if is_number and int(digits) < _TOO_MANY else None


def label_problems(labels: Mapping[str, Any]) -> Problems:
    """Yield the problems of a namespace's level labels. The server refuses the namespace."""
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(POD_SECURITY_LABEL + mode), labels.get(f"{POD_SECURITY_LABEL}{mode}-version")
        if level is not None and level not in LEVELS:
            message = f"a Pod Security level is one of `privileged`, `baseline` and `restricted`, not `{level}`"
            yield Problem("unsupported-choice", ("metadata", "labels", Key(POD_SECURITY_LABEL + mode)), message)
        if version is not None and _minor(version) is None:
            message = f"a version of Pod Security is `latest`, or such as `v1.30`, not `{version}`"
            yield Problem("wrong-format", ("metadata", "labels", Key(f"{POD_SECURITY_LABEL}{mode}-version")), message)


# A breach: what a pod has or lacks, against a check of Pod Security, and where.


@dataclass(frozen=True, slots=True)
class Breach:
    """One place of a pod that breaks a check, with what to write instead.

    The reason is `forbids ...` or `requires ...`.
    """

    path: Path
    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a level: its name on the server, and its forms by first minor version."""

    name: str
    reason: str
    forms: dict[int, Find]
    replaces: str = ""
    """The check of the level `baseline` that `restricted` leaves out, since this one is stricter."""

    def at(self, minor: int) -> Find | None:
        """Return the form of the check at a minor version. Before its first form, return None."""
        since = [each for each in self.forms if each <= minor]
        return self.forms[max(since)] if since else None


# The checks of the level `baseline`: no known privilege escalation.
#
# Follows `check_*.go` of the level, k8s.io/pod-security-admission policy, 0.36.3; each function names its file.


_POD: Path = ("spec", "securityContext")
_PROFILES = ("RuntimeDefault", "Localhost")
_CAPABILITIES = tuple(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(),  # noqa: SIM905
)
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t")
#: The sysctls below `net.ipv4.` that are allowed, by the minor version from which on they are.
_SYSCTLS_SINCE = {
    0: ("ip_local_port_range", "tcp_syncookies", "ping_group_range", "ip_unprivileged_port_start"),
    27: ("ip_local_reserved_ports",),
    29: ("tcp_keepalive_time", "tcp_fin_timeout", "tcp_keepalive_intvl", "tcp_keepalive_probes"),
    32: ("tcp_rmem", "tcp_wmem"),
    37: ("tcp_slow_start_after_idle", "tcp_notsent_lowat"),
}


def contexts(spec: Data) -> Iterator[tuple[Path, Data]]:
    """Yield the security contexts of the pod and of its containers, with their paths.

    If there is no security context, an empty one is yielded.
    """
    yield _POD, mapping(spec, "securityContext")
    for path, container in containers(spec):
        yield (*path, "securityContext"), mapping(container, "securityContext")


_REMOVE = "remove what is forbidden"


def _wrong_values(
    around: Callable[[Data], Iterable[tuple[Path, Data]]], steps: str, is_wrong: Callable[[Any], bool], why: str, hint: str = _REMOVE
) -> Find:
    """Return a check of each value at some steps from places of a pod.

    A list has `[]` after its name; `{}` in *why* is the value.
    """
    names = [(step.removesuffix("[]"), step.endswith("[]")) for step in steps.split(".")]

    def find(_: Data, spec: Data) -> Iterator[Breach]:
        found: list[tuple[Path, Any]] = list(around(spec))
        for name, is_list in names:
            if is_list:
                found = [((*path, name, index), item) for path, each in found for index, item in enumerate(sequence(each, name))]
            else:
                found = [((*path, name), each.get(name) if isinstance(each, dict) else None) for path, each in found]
        yield from (Breach(path, why.format("" if each is None else each), hint) for path, each in found if is_wrong(each))

    return find


def _app_armor(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_appArmorProfile.go."""
    for path, context in contexts(spec):
        if "appArmorProfile" in context and (profile := mapping(context, "appArmorProfile")):
            yield from _profile(profile, (*path, "appArmorProfile", "type"), "AppArmor")
    for key, value in mapping(metadata, "annotations").items():
        if key.startswith(APP_ARMOR) and value not in ("", "runtime/default") and not str(value).startswith("localhost/"):
            yield Breach(("metadata", "annotations", Key(key)), f"forbids the AppArmor profile `{value}`", _REMOVE)


def _profile(profile: Data, path: Path, kind: str) -> Iterator[Breach]:
    if profile.get("type") not in _PROFILES:
        why = f"forbids the {kind} profile `{profile.get('type') or ''}`"
        yield Breach(path, why, "write `RuntimeDefault` or `Localhost`")


_unknown_capability = _wrong_values(
    containers, "securityContext.capabilities.add[]", lambda each: each not in _CAPABILITIES, "forbids the capability `{}`"
)


def _host_namespaces(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostNamespaces.go."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield Breach(("spec", field), f"forbids `{field}: true`", _REMOVE)


def _host_paths(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostPathVolumes.go."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        if isinstance(volume.get("hostPath"), dict):
            why = f"forbids hostPath volumes (`{volume.get('name')}`)"
            yield Breach(("spec", "volumes", index, "hostPath"), why, "use a claim or an `emptyDir`")


def _hosts_of_probes(_: Data, spec: Data) -> Iterator[Breach]:
    """check_hostProbesAndhostLifecycle.go."""
    for path, container in containers(spec):
        handlers = [((each,), container) for each in PROBES] + [(("lifecycle", each), container) for each in HOOKS]
        for steps, inside in handlers:
            for action in ("httpGet", "tcpSocket"):
                host = mapping(inside, *steps, action).get("host")
                if host:
                    why = f"forbids a host in probes and hooks (`{host}`)"
                    yield Breach((*path, *steps, action, "host"), why, "remove it: the pod itself is meant")


proc_mount = _wrong_values(containers, "securityContext.procMount", lambda each: each not in (None, "Default"), "forbids `procMount: {}`")


def unless_own_users(find: Find) -> Find:
    """Return a check that pods with users of their own (`hostUsers: false`) pass."""
    return lambda metadata, spec: () if spec.get("hostUsers") is False else find(metadata, spec)


def _selinux(types: tuple[str, ...], _: Data, spec: Data) -> Iterator[Breach]:
    """check_seLinuxOptions.go."""
    for path, context in contexts(spec):
        options = mapping(context, "seLinuxOptions")
        if (kind := options.get("type") or "") not in types:
            yield Breach((*path, "seLinuxOptions", "type"), f"forbids the SELinux type `{kind}`", _REMOVE)
        for field in ("user", "role"):
            if options.get(field):
                yield Breach((*path, "seLinuxOptions", field), f"forbids an SELinux {field}", _REMOVE)


def _seccomp_annotations(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_baseline.go, before there was a field."""
    annotations = mapping(metadata, "annotations")
    names = dict.fromkeys(f"{SECCOMP}{container.get('name') or ''}" for _, container in containers(spec))
    for key in (SECCOMP_OF_POD, *names):
        value = annotations.get(key)
        if value is not None and value not in ("runtime/default", "docker/default") and not str(value).startswith("localhost/"):
            yield Breach(("metadata", "annotations", Key(key)), f"forbids the seccomp profile `{value}`", _REMOVE)


def seccomp(_: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_baseline.go."""
    for path, context in contexts(spec):
        if isinstance(context.get("seccompProfile"), dict):
            yield from _profile(context["seccompProfile"], (*path, "seccompProfile", "type"), "seccomp")


def _sysctls(minor: int) -> Find:
    names = [each for since, added in _SYSCTLS_SINCE.items() if since <= minor for each in added]
    allowed = ("kernel.shm_rmid_forced", *(f"net.ipv4.{each}" for each in names))
    return _wrong_values(
        lambda spec: [(("spec",), spec)], "securityContext.sysctls[].name", lambda each: each not in allowed, "forbids the sysctl `{}`"
    )


#: A check without a function of its own is that of `check_NAME.go`, `procMount` that of `check_procMount_baseline.go`.
BASELINE_CHECKS = (
    Check("appArmorProfile", "forbidden AppArmor profile", {0: _app_armor}),
    Check("capabilities_baseline", "non-default capabilities", {0: _unknown_capability}),
    Check("hostNamespaces", "host namespaces", {0: _host_namespaces}),
    Check("hostPathVolumes", "hostPath volumes", {0: _host_paths}),
    Check("hostPorts", "hostPort", {0: _wrong_values(containers, "ports[].hostPort", bool, "forbids host ports ({})")}),
    Check("hostProbesAndHostLifecycle", "probe or lifecycle host", {34: _hosts_of_probes}),
    Check("privileged", "privileged", {0: _wrong_values(containers, "securityContext.privileged", bool, "forbids `privileged: true`")}),
    Check("procMount", "procMount", {0: proc_mount, 35: unless_own_users(proc_mount)}),
    Check("seLinuxOptions", "seLinuxOptions", {0: partial(_selinux, _SELINUX), 31: partial(_selinux, (*_SELINUX, "container_engine_t"))}),
    Check("seccompProfile_baseline", "seccompProfile", {0: _seccomp_annotations, 19: seccomp}),
    Check("sysctls", "forbidden sysctls", {minor: _sysctls(minor) for minor in _SYSCTLS_SINCE}),
    Check(
        "windowsHostProcess", "hostProcess", {0: _wrong_values(contexts, "windowsOptions.hostProcess", bool, "forbids `hostProcess: true`")}
    ),
)


# The checks of the level `restricted`: pod hardening.
#
# Follows `check_*.go` of the level, k8s.io/pod-security-admission policy, 0.36.3; each function names its file.


_VOLUMES = "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split()  # noqa: SIM905 (names)


def _unless_windows(find: Find) -> Find:
    """Return a check that pods for Windows pass, since they lack the checked fields."""
    return lambda metadata, spec: () if mapping(spec, "os").get("name") == "windows" else find(metadata, spec)


_SET_IN_CONTAINER = "set what is required in the container's `securityContext`"


_escalation = _wrong_values(
    containers,
    "securityContext.allowPrivilegeEscalation",
    lambda each: each is not False,
    "requires `allowPrivilegeEscalation: false`",
    _SET_IN_CONTAINER,
)


def _restricted_capabilities(_: Data, spec: Data) -> Iterator[Breach]:
    """check_capabilities_restricted.go."""
    for path, container in containers(spec):
        own, place = mapping(container, "securityContext", "capabilities"), (*path, "securityContext", "capabilities")
        if "ALL" not in sequence(own, "drop"):
            yield Breach((*place, "drop"), "requires `capabilities.drop: [ALL]`", _SET_IN_CONTAINER)
        for index, name in enumerate(sequence(own, "add")):
            if name != "NET_BIND_SERVICE":
                yield Breach((*place, "add", index), f"forbids the capability `{name}`", _REMOVE)


def _volumes(_: Data, spec: Data) -> Iterator[Breach]:
    """check_restrictedVolumes.go."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        sources = [name for name, each in volume.items() if isinstance(each, dict)]
        if sources and not any(name in _VOLUMES for name in sources):
            why = f"forbids volumes of the type `{sources[0]}` (`{volume.get('name')}`)"
            yield Breach(("spec", "volumes", index, sources[0]), why, "use a claim, or another type that it allows")


def _non_root(_: Data, spec: Data) -> Iterator[Breach]:
    """check_runAsNonRoot.go."""
    said = [(path, context.get("runAsNonRoot")) for path, context in contexts(spec)]
    wrong = [path for path, value in said if value is False]
    for path in wrong:
        yield Breach((*path, "runAsNonRoot"), "forbids `runAsNonRoot: false`", "write `true`")
    if not wrong and not said[0][1]:
        yield from _unsaid(spec, "`runAsNonRoot: true`", lambda own: own.get("runAsNonRoot") is None)


def _unsaid(spec: Data, wanted: str, is_missing: Any) -> Iterator[Breach]:
    """The breach where neither the pod nor some of its containers say what is *wanted*."""
    if any(is_missing(mapping(each, "securityContext")) for _, each in containers(spec)):
        yield Breach(_POD, f"requires {wanted}", "set what is required in the pod's `securityContext`")


_root_user = _wrong_values(contexts, "runAsUser", lambda each: each == 0, "forbids `runAsUser: 0`", "name another user, or remove it")


def _seccomp(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_restricted.go."""
    wrong = list(seccomp(metadata, spec))
    yield from wrong
    if not wrong and mapping(spec, "securityContext", "seccompProfile").get("type") not in _PROFILES:
        yield from _unsaid(spec, "`seccompProfile.type: RuntimeDefault`", lambda own: not isinstance(own.get("seccompProfile"), dict))


RESTRICTED_CHECKS = (
    Check("allowPrivilegeEscalation", "allowPrivilegeEscalation != false", {8: _escalation, 25: _unless_windows(_escalation)}),
    Check(
        "capabilities_restricted",
        "unrestricted capabilities",
        {22: _restricted_capabilities, 25: _unless_windows(_restricted_capabilities)},
        replaces="capabilities_baseline",
    ),
    Check("procMount_restricted", "procMount", {35: proc_mount}, replaces="procMount"),
    Check("restrictedVolumes", "restricted volume types", {0: _volumes}, replaces="hostPathVolumes"),
    Check("runAsNonRoot", "runAsNonRoot != true", {0: _non_root, 35: unless_own_users(_non_root)}),
    Check("runAsUser", "runAsUser=0", {23: _root_user, 35: unless_own_users(_root_user)}),
    Check(
        "seccompProfile_restricted",
        "seccompProfile",
        {19: _seccomp, 25: _unless_windows(_seccomp)},
        replaces="seccompProfile_baseline",
    ),
)
