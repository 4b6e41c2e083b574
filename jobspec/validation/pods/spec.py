"""The parts of a pod's spec.

Follows `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the feature gates as that release ships them.

What a part gets is decoded (`jobspec.validation.typed`), without the fields of features that are off, and, of a pod, with the requests and
host ports that the server fills in; a part reads all other defaults by functions in `defaults`.
"""

from __future__ import annotations

from jobspec.validation.pods.basics import account_problems, deadline_problems
from jobspec.validation.pods.containers import container_problems
from jobspec.validation.pods.env import file_volume_problems
from jobspec.validation.pods.mounts import mount_problems
from jobspec.validation.pods.operating_system import system_problems
from jobspec.validation.pods.ports import host_network_problems
from jobspec.validation.pods.rare import RARE
from jobspec.validation.pods.restarts import pod_restart_problems
from jobspec.validation.pods.security import pod_security_problems
from jobspec.validation.pods.volumes import volume_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.pods.rare import Part
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]


#: What looks at every spec of a pod, in templates too; `rare` has the parts that few pods have.
PARTS: tuple[Part, ...] = (
    volume_problems,
    mount_problems,
    container_problems,
    host_network_problems,
    pod_restart_problems,
    pod_security_problems,
    account_problems,
    deadline_problems,
    system_problems,
    file_volume_problems,
)


def pod_spec_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """What stands against a decoded spec of a pod or of a template, at *path*."""
    for part in PARTS:
        yield from part(spec, path)
    for fields, load in RARE:
        if not spec.keys().isdisjoint(fields):
            yield from load()(spec, path)
