"""The annotations of pods that the server reads: of the scheduler and the garbage collector, and deprecated ones with profiles.

Follows `ValidatePodSpecificAnnotations`, `validateSeccompAnnotationsAndFields` and `validateAppArmorAnnotationsAndFieldsMatchOnCreate`,
k8s.io/kubernetes pkg/apis/core/validation, and `applyAppArmorVersionSkew`, pkg/registry/core/pod, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.pods.defaults import containers_of
from jobspec.kubernetes.pods.scheduling import toleration_problems
from jobspec.kubernetes.problems import excluded, near

Annotations = dict[str, str]

#: That of a pod that a kubelet makes of a file.
MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
#: What the deprecated ones say for each type of a profile; a profile of the node comes after `localhost/`.
DEFAULT, UNCONFINED, LOCALHOST = "runtime/default", "unconfined", "localhost/"
_DOCKER_DEFAULT = "docker/default"
_TYPES = {"Unconfined": (UNCONFINED,), "RuntimeDefault": (DEFAULT, _DOCKER_DEFAULT)}


def annotation_problems(annotations: Annotations, spec: Data, path: Path) -> Problems:
    """Yield the problems of the values of *annotations*, which are at *path*."""
    for key, value in annotations.items():
        at = (*path, Key(key))
        if key == MIRROR and not spec.get("nodeName"):
            yield excluded(at, "a mirror pod (created by a kubelet from a file) needs a `nodeName`", "remove the annotation")
        elif key == _COST and not _is_cost(value):
            yield Problem("wrong-format", at, f'the deletion cost must be a 32-bit integer, not "{value}"')
        elif key == SECCOMP_OF_POD or key.startswith(SECCOMP):
            yield from _seccomp(value, at)
        elif key.startswith(APP_ARMOR):
            yield from _app_armor(key.removeprefix(APP_ARMOR), value, spec, at)
        elif key == _TOLERATIONS:
            yield from toleration_annotation_problems(value, at)


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or (text != "0" and text.startswith("0")):
        return False
    return -(1 << 31) <= int(text) < 1 << 31


def _seccomp(value: str, path: Path) -> Problems:
    if value in (DEFAULT, _DOCKER_DEFAULT, UNCONFINED):
        return
    file = value.removeprefix(LOCALHOST)
    if file == value or file.startswith("/") or ".." in file.split("/"):
        message = f'"{value}" is not a seccomp profile: it is `{DEFAULT}`, `{UNCONFINED}`, or `{LOCALHOST}` and a path'
        yield Problem("wrong-format", path, message, "use the field `seccompProfile` of a `securityContext`")


def _app_armor(name: str, value: str, spec: Data, path: Path) -> Problems:
    names = {container.get("name", "") for _, container in containers_of(spec, ())}
    if name not in names:
        yield Problem("invalid-metadata", path, f"the pod has no container `{name}`", near(name, names), at_key=True)
    if value and value not in (DEFAULT, UNCONFINED) and not value.startswith(LOCALHOST):
        message = f'"{value}" is not an AppArmor profile: it is `{DEFAULT}`, `{UNCONFINED}`, or `{LOCALHOST}` and a name'
        yield Problem("wrong-format", path, message, "use the field `appArmorProfile` of a `securityContext`")


def contradiction_problems(annotations: Annotations, spec: Data, path: Path, *, of_template: bool) -> Problems:
    """Yield the annotations that contradict the profiles in the spec at *path*."""
    if not any(key == SECCOMP_OF_POD or key.startswith((SECCOMP, APP_ARMOR)) for key in annotations):
        return
    own = spec.get("securityContext", {})
    yield from _differs(annotations.get(SECCOMP_OF_POD), own.get("seccompProfile"), (*path, "securityContext", "seccompProfile"))
    is_windows = spec.get("os", {}).get("name") == "windows"
    for at, container in containers_of(spec, path):
        inner, name = container.get("securityContext", {}), container.get("name", "")
        yield from _differs(annotations.get(SECCOMP + name), inner.get("seccompProfile"), (*at, "securityContext", "seccompProfile"))
        said = annotations.get(APP_ARMOR + name)
        profile = inner.get("appArmorProfile")
        # of a pod, the server makes the field from the annotation, so that the two cannot contradict
        is_copied = said in (DEFAULT, UNCONFINED) or (said or "").removeprefix(LOCALHOST).strip() not in ("", said)
        if profile is None and (of_template or not is_copied):
            profile = own.get("appArmorProfile")
        if not is_windows:
            yield from _differs(said, profile, (*at, "securityContext", "appArmorProfile"), default=(DEFAULT,))


def _differs(said: str | None, profile: Data | None, path: Path, default: tuple[str, ...] = _TYPES["RuntimeDefault"]) -> Problems:
    if said is None or profile is None:
        return
    kind, file = profile.get("type"), profile.get("localhostProfile")
    hint = "remove the annotation, which is deprecated"
    wanted = {**_TYPES, "RuntimeDefault": default}.get(kind or "")
    if (wanted and said not in wanted) or (kind == "Localhost" and not said.startswith(LOCALHOST)):
        yield excluded((*path, "type"), f'an annotation says "{said}", and this field `{kind}`', hint)
    elif kind == "Localhost" and said.removeprefix(LOCALHOST) != file:
        yield excluded((*path, "localhostProfile"), f'an annotation says "{said}", and this field `{file}`', hint)


# Tolerations in an annotation, the older form, which the server still reads.
#
# Follows `ValidateTolerationsInPodAnnotations`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_ANNOTATION_FIELDS = {"key": str, "operator": str, "value": str, "effect": str, "tolerationseconds": int}
_ANNOTATION_NAMES = {"tolerationseconds": "tolerationSeconds"}


def toleration_annotation_problems(text: str, path: Path) -> Problems:
    """Yield the problems of tolerations in the text of the annotation at *path*.

    An empty text is valid.
    """
    if not text:
        return
    tolerations = _decoded(text)
    if tolerations is None:
        yield Problem("wrong-format", path, "the annotation must be a JSON list of tolerations", "use `spec.tolerations`")
        return
    for index, toleration in enumerate(tolerations):
        for problem in toleration_problems(toleration, path):
            message = f"in the toleration {index}: {problem.message}"
            yield Problem(problem.rule, path, message, "use `spec.tolerations` instead of the annotation")


def _decoded(text: str) -> list[Data] | None:
    """Decode the tolerations in a text of JSON. Go finds fields in any case.

    If Go cannot decode the text, return None.
    """
    import json

    def refuse(_: str) -> None:
        raise ValueError

    try:
        found = json.loads(text, parse_constant=refuse)
    except ValueError:
        return None
    if not isinstance(found, list | None) or not all(isinstance(each, dict | None) for each in found or ()):
        return None
    decoded = []
    for each in found or ():
        fields = {name.lower(): value for name, value in (each or {}).items() if name.lower() in _ANNOTATION_FIELDS and value is not None}
        if any(type(value) is not _ANNOTATION_FIELDS[name] for name, value in fields.items()):
            return None
        decoded.append({_ANNOTATION_NAMES.get(name, name): value for name, value in fields.items()})
    return decoded
