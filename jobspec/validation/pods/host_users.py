"""What a pod with users of its own cannot share with its node.

Follows `validateHostUsers`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def user_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of `hostUsers: false`."""
    if spec.get("hostUsers") is False:
        yield from _own_users(spec, path)


def _own_users(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of what users of the pod's own exclude."""
    for field in _SHARED:
        if spec.get(field):
            message = f"with `hostUsers: false`, the pod cannot share the node's namespaces, as by `{field}: true`"
            yield Problem("conflicting-values", (*path, field), message, "remove one of the two")
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            if container.get("volumeDevices"):
                message = "with `hostUsers: false`, containers cannot have devices"
                yield Problem("conflicting-values", (*path, field, index, "volumeDevices"), message, "remove one of the two", at_key=True)
