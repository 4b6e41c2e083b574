"""The containers of a pod: regular ones, init containers and ephemeral ones. What looks at a field is loaded where a container has it.

Follows `validateContainers`, `validateInitContainers`, `validateEphemeralContainers` and `validateContainerCommon`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36; volumes that containers mount are in `mounts`.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name
from jobspec.validation.pods.complaints import duplicate, excluded, missing, near, unsupported, wrong_name
from jobspec.validation.pods.defaults import PROBES, grace_period, restart_policy
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Container = dict[str, Any]
    Spec = dict[str, Any]

_MESSAGES = ("File", "FallbackToLogsOnError")
_PULLS = ("Always", "IfNotPresent", "Never")
_OF_RUNNING = ("lifecycle", *PROBES)
"""Fields of what runs beside others, and not to its end before them."""
_NOT_FOR_DEBUGGING = (
    *("ports", "resources", *PROBES, "lifecycle"),
    *("resizePolicy", "restartPolicy", "restartPolicyRules"),
)
"""Fields that containers for debugging cannot have."""


def container_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of all containers of a pod."""
    containers = spec.get("containers", [])
    if not containers:
        yield missing("containers", spec, path, "a pod has at least one container")
    names: set[str] = set()
    for index, container in enumerate(containers):
        at = (*path, "containers", index)
        yield from _common(container, spec, at)
        yield from _name(container, names, at)
        yield from _running(container, spec, at)
        yield from _restarts(container, at)
    yield from _host_ports([((*path, "containers", index), each) for index, each in enumerate(containers)])
    for index, container in enumerate(spec.get("initContainers", ())):
        yield from _init(container, spec, names, (*path, "initContainers", index))
    if "ephemeralContainers" in spec:
        yield from _ephemeral(spec, names, path)


def _common(container: Container, spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of a container that any container can have."""
    name = container.get("name")
    if not name:
        yield missing("name", container, path)
    elif why := bad_label_name(name):
        yield wrong_name(name, "a container", why, (*path, "name"))
    if not container.get("image"):
        yield missing("image", container, path)
    for field, choices in (("terminationMessagePolicy", _MESSAGES), ("imagePullPolicy", _PULLS)):
        value = container.get(field)
        if value and value not in choices:
            yield unsupported(value, choices, (*path, field))
    if "ports" in container:
        from jobspec.validation.pods.ports import port_problems

        yield from port_problems(container, path)
    if "env" in container or "envFrom" in container:
        from jobspec.validation.pods.env import env_problems

        yield from env_problems(container, path)
    yield from _resources(container, spec, path)
    if "securityContext" in container:
        from jobspec.validation.pods.security import container_security_problems

        yield from container_security_problems(container["securityContext"], spec, (*path, "securityContext"))


def _resources(container: Container, spec: Spec, path: Path) -> Iterator[Problem]:
    if container.get("resources"):
        from jobspec.validation.pods.resources import resources_problems

        yield from resources_problems(container, spec, path)
    if "resizePolicy" in container:
        from jobspec.validation.pods.restarts import resize_problems

        yield from resize_problems(container, path, restart_policy(spec))


def _running(container: Container, spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of a container that runs beside others."""
    if not container.keys().isdisjoint(_OF_RUNNING):
        from jobspec.validation.pods.probes import running_problems

        yield from running_problems(container, path, grace_period(spec))


def _restarts(container: Container, path: Path) -> Iterator[Problem]:
    if "restartPolicy" in container or "restartPolicyRules" in container:
        from jobspec.validation.pods.restarts import restart_problems

        yield from restart_problems(container, path)


def _host_ports(containers: list[tuple[Path, Container]]) -> Iterator[Problem]:
    if any("ports" in container for _, container in containers):
        from jobspec.validation.pods.ports import host_port_problems

        yield from host_port_problems(containers)


def _name(container: Container, names: set[str], path: Path) -> Iterator[Problem]:
    """The problem of a name that another container of the pod has; *names* gets the name. Two without a name have the same."""
    name = container.get("name", "")
    if name in names:
        yield duplicate(name, "a container", (*path, "name"))
    names.add(name)


def _init(container: Container, spec: Spec, names: set[str], path: Path) -> Iterator[Problem]:
    yield from _common(container, spec, path)
    yield from _name(container, names, path)
    if "restartPolicy" in container or "restartPolicyRules" in container:
        from jobspec.validation.pods.restarts import init_restart_problems

        yield from init_restart_problems(container, path)
    yield from _host_ports([(path, container)])
    if container.get("restartPolicy") == "Always":
        yield from _running(container, spec, path)
        return
    for field in _OF_RUNNING:
        if field in container:
            message = f"an init container, which runs to its end before the others start, has no `{field}`"
            yield excluded((*path, field), message, "remove it; or make it a sidecar by `restartPolicy: Always`")
    if "resizePolicy" in container:
        from jobspec.validation.pods.restarts import init_resize_problems

        yield from init_resize_problems(container, path)


def _ephemeral(spec: Spec, names: set[str], path: Path) -> Iterator[Problem]:
    known = set(names)
    for index, container in enumerate(spec["ephemeralContainers"]):
        at = (*path, "ephemeralContainers", index)
        yield from _common(container, spec, at)
        yield from image_problems(container, at)
        yield from _name(container, names, at)
        target = container.get("targetContainerName")
        if target and target not in known:
            message = f"the pod has no container `{target}`"
            yield Problem("unsupported-choice", (*at, "targetContainerName"), message, near(target, known))
        for field in _NOT_FOR_DEBUGGING:
            if field in container and container[field] != {}:
                yield excluded((*at, field), f"an ephemeral container has no `{field}`")
        for number, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield excluded((*at, "volumeMounts", number, field), f"an ephemeral container has no `{field}` in its mounts")


def image_problems(container: Container, path: Path) -> Iterator[Problem]:
    """The problem of blanks around an image, which pods cannot have, and templates can."""
    image = container.get("image", "")
    if image != image.strip(_BLANKS):
        message = f'there are blanks around the image "{image}"'
        yield Problem("wrong-format", (*path, "image"), message, f"write `{image.strip(_BLANKS)}`" if image.strip(_BLANKS) else "")


#: What Go takes for blanks.
_BLANKS = " \t\n\v\f\r\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
