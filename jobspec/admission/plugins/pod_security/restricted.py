"""The checks of the level `restricted`: what a hardened pod says and does not say.

Follows `check_*.go` of the level, k8s.io/pod-security-admission policy, 0.36.3; each function names its file.
"""

from __future__ import annotations

from jobspec.admission.plugins.pod_security.baseline import contexts, proc_mount, seccomp, unless_own_users
from jobspec.admission.plugins.pod_security.breach import Breach, Check
from jobspec.admission.plugins.values import containers, sequence
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.pod_security.breach import Find
    from jobspec.diagnostics import Path

    Data = dict[str, Any]

_POD: Path = ("spec", "securityContext")
_VOLUMES = "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split()  # noqa: SIM905 (names)
_PROFILES = ("RuntimeDefault", "Localhost")


def _unless_windows(find: Find) -> Find:
    """A check that pods for Windows pass, since the fields that it looks at do not exist there."""

    def relaxed(metadata: Data, spec: Data) -> Iterator[Breach]:
        if mapping(spec, "os").get("name") != "windows":
            yield from find(metadata, spec)

    return relaxed


def _escalation(_: Data, spec: Data) -> Iterator[Breach]:
    """check_allowPrivilegeEscalation.go."""
    for path, container in containers(spec):
        if mapping(container, "securityContext").get("allowPrivilegeEscalation") is not False:
            why = f"wants `securityContext.allowPrivilegeEscalation: false` in the container `{container.get('name')}`"
            yield Breach((*path, "securityContext", "allowPrivilegeEscalation"), why)


def _capabilities(_: Data, spec: Data) -> Iterator[Breach]:
    """check_capabilities_restricted.go."""
    for path, container in containers(spec):
        own, place = mapping(container, "securityContext", "capabilities"), (*path, "securityContext", "capabilities")
        if "ALL" not in sequence(own, "drop"):
            yield Breach((*place, "drop"), f"wants `securityContext.capabilities.drop: [ALL]` in the container `{container.get('name')}`")
        for index, name in enumerate(sequence(own, "add")):
            if name != "NET_BIND_SERVICE":
                yield Breach((*place, "add", index), f"forbids the capability `{name}`", "remove it")


def _volumes(_: Data, spec: Data) -> Iterator[Breach]:
    """check_restrictedVolumes.go."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        sources = [name for name, each in volume.items() if isinstance(each, dict)]
        if sources and not any(name in _VOLUMES for name in sources):
            why = f"forbids volumes of the type `{sources[0]}`, as `{volume.get('name')}` is one"
            yield Breach(("spec", "volumes", index, sources[0]), why, "use a claim, or another type that it allows")


def _non_root(_: Data, spec: Data) -> Iterator[Breach]:
    """check_runAsNonRoot.go."""
    said = [(path, context.get("runAsNonRoot")) for path, context in contexts(spec)]
    wrong = [path for path, value in said if value is False]
    for path in wrong:
        yield Breach((*path, "runAsNonRoot"), "forbids `runAsNonRoot: false`", "write `true`")
    if not wrong and not said[0][1]:
        yield from _unsaid(spec, "`securityContext.runAsNonRoot: true`", lambda own: own.get("runAsNonRoot") is None)


def _unsaid(spec: Data, wanted: str, is_missing: Any) -> Iterator[Breach]:
    """The breach where neither the pod nor some of its containers say what is *wanted*."""
    names = [f"`{each.get('name')}`" for _, each in containers(spec) if is_missing(mapping(each, "securityContext"))]
    if names:
        them = f"the container {names[0]}" if len(names) == 1 else f"the containers {', '.join(names)}"
        yield Breach(_POD, f"wants {wanted} in the pod, or in {them}")


def _root_user(_: Data, spec: Data) -> Iterator[Breach]:
    """check_runAsUser.go."""
    for path, context in contexts(spec):
        if context.get("runAsUser") is not None and context["runAsUser"] == 0:
            yield Breach((*path, "runAsUser"), "forbids `runAsUser: 0`", "name another user, or leave it out")


def _seccomp(metadata: Data, spec: Data) -> Iterator[Breach]:
    """check_seccompProfile_restricted.go."""
    wrong = list(seccomp(metadata, spec))
    yield from wrong
    if not wrong and mapping(spec, "securityContext", "seccompProfile").get("type") not in _PROFILES:
        yield from _unsaid(
            spec, "`securityContext.seccompProfile.type: RuntimeDefault`", lambda own: not isinstance(own.get("seccompProfile"), dict)
        )


CHECKS = (
    Check(
        "allowPrivilegeEscalation",
        "allowPrivilegeEscalation != false",
        {8: _escalation, 25: _unless_windows(_escalation)},
    ),
    Check(
        "capabilities_restricted",
        "unrestricted capabilities",
        {22: _capabilities, 25: _unless_windows(_capabilities)},
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
