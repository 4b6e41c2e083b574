"""The annotations of pods that the server reads: of the scheduler and the garbage collector, and deprecated ones with profiles.

Follows `ValidatePodSpecificAnnotations`, `validateSeccompAnnotationsAndFields` and `validateAppArmorAnnotationsAndFieldsMatchOnCreate`,
k8s.io/kubernetes pkg/apis/core/validation, and `applyAppArmorVersionSkew`, pkg/registry/core/pod, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.pods.complaints import excluded, near
from jobspec.validation.pods.profiles import DEFAULT, LOCALHOST, UNCONFINED
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Spec = dict[str, Any]
    Annotations = dict[str, str]

_MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DOCKER_DEFAULT = "docker/default"
_TYPES = {"Unconfined": (UNCONFINED,), "RuntimeDefault": (DEFAULT, _DOCKER_DEFAULT)}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def annotation_rule_problems(annotations: Annotations, spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of *annotations*, which stand at *path*, in themselves."""
    for key, value in annotations.items():
        at = (*path, Key(key))
        if key == _MIRROR and not spec.get("nodeName"):
            yield excluded(at, "a mirror pod, which a kubelet makes of a file of its own, has a `nodeName`", "remove the annotation")
        elif key == _COST and not _is_cost(value):
            yield Problem("wrong-format", at, f'the cost of a deletion is a whole number of 32 bits, not "{value}"')
        elif key == _SECCOMP_OF_POD or key.startswith(_SECCOMP):
            yield from _seccomp(value, at)
        elif key.startswith(_APP_ARMOR):
            yield from _app_armor(key.removeprefix(_APP_ARMOR), value, spec, at)
        elif key == _TOLERATIONS:
            from jobspec.validation.pods.toleration_annotation import toleration_annotation_problems

            yield from toleration_annotation_problems(value, at)


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or (text != "0" and text.startswith("0")):
        return False
    return -(1 << 31) <= int(text) < 1 << 31


def _seccomp(value: str, path: Path) -> Iterator[Problem]:
    if value in (DEFAULT, _DOCKER_DEFAULT, UNCONFINED):
        return
    file = value.removeprefix(LOCALHOST)
    if file == value or file.startswith("/") or ".." in file.split("/"):
        message = f'"{value}" is no seccomp profile: it is `{DEFAULT}`, `{UNCONFINED}`, or `{LOCALHOST}` and a path'
        yield Problem("wrong-format", path, message, "use the field `seccompProfile` of a `securityContext`")


def _app_armor(name: str, value: str, spec: Spec, path: Path) -> Iterator[Problem]:
    names = {container.get("name", "") for _, container in _containers(spec, ())}
    if name not in names:
        yield Problem("invalid-metadata", path, f"the pod has no container `{name}`", near(name, names), at_key=True)
    if value and value not in (DEFAULT, UNCONFINED) and not value.startswith(LOCALHOST):
        message = f'"{value}" is no AppArmor profile: it is `{DEFAULT}`, `{UNCONFINED}`, or `{LOCALHOST}` and a name'
        yield Problem("wrong-format", path, message, "use the field `appArmorProfile` of a `securityContext`")


def contradiction_problems(annotations: Annotations, spec: Spec, path: Path, *, of_template: bool) -> Iterator[Problem]:
    """The annotations that say something else than the profiles in the spec at *path*."""
    if not any(key == _SECCOMP_OF_POD or key.startswith((_SECCOMP, _APP_ARMOR)) for key in annotations):
        return
    own = spec.get("securityContext", {})
    yield from _differs(annotations.get(_SECCOMP_OF_POD), own.get("seccompProfile"), (*path, "securityContext", "seccompProfile"))
    is_windows = spec.get("os", {}).get("name") == "windows"
    for at, container in _containers(spec, path):
        inner, name = container.get("securityContext", {}), container.get("name", "")
        yield from _differs(annotations.get(_SECCOMP + name), inner.get("seccompProfile"), (*at, "securityContext", "seccompProfile"))
        said = annotations.get(_APP_ARMOR + name)
        profile = inner.get("appArmorProfile")
        if profile is None and (of_template or not _can_be_copied(said)):
            profile = own.get("appArmorProfile")
        if not is_windows:
            yield from _differs(said, profile, (*at, "securityContext", "appArmorProfile"), default=(DEFAULT,))


def _can_be_copied(said: str | None) -> bool:
    """Whether the server makes a field of a pod from the annotation, so that the two cannot contradict."""
    return said in (DEFAULT, UNCONFINED) or (said or "").removeprefix(LOCALHOST).strip() not in ("", said)


def _differs(
    said: str | None, profile: dict[str, Any] | None, path: Path, default: tuple[str, ...] = _TYPES["RuntimeDefault"]
) -> Iterator[Problem]:
    if said is None or profile is None:
        return
    kind, file = profile.get("type"), profile.get("localhostProfile")
    hint = "remove the annotation, which is deprecated"
    wanted = {**_TYPES, "RuntimeDefault": default}.get(kind or "")
    if (wanted and said not in wanted) or (kind == "Localhost" and not said.startswith(LOCALHOST)):
        yield excluded((*path, "type"), f'an annotation says "{said}", and this field `{kind}`', hint)
    elif kind == "Localhost" and said.removeprefix(LOCALHOST) != file:
        yield excluded((*path, "localhostProfile"), f'an annotation says "{said}", and this field `{file}`', hint)


def _containers(spec: Spec, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every container with its path."""
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field, ())):
            yield (*path, field, index), container
