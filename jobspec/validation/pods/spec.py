"""The spec of a pod.

Follows `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the feature gates as that release ships them.

What a part gets is decoded (`jobspec.validation.typed`), without the fields of features that are off, and, of a pod, with the requests and
host ports that the server fills in; a part reads all other defaults by functions in `defaults`.
"""

from __future__ import annotations

from jobspec.validation.pods.parts import PARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def pod_spec_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """The problems of a decoded spec of a pod or of a template, at *path*."""
    given = {*spec, "containers"}  # which every pod needs
    inside = {field for name in _CONTAINERS for container in spec.get(name, ()) for field in container}
    for of_pod, of_containers, load in PARTS:
        if not given.isdisjoint(of_pod) or not inside.isdisjoint(of_containers):
            yield from load()(spec, path)
