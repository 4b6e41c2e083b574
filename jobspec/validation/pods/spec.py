"""The parts of a pod's spec, in the order in which the server looks at them.

Follows `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the feature gates as that release ships them.

What a part gets is decoded (`jobspec.validation.typed`), without the fields of features that are off, and, of a pod, with the requests and
host ports that the server fills in; a part reads all other defaults by functions in `defaults`.
"""

from __future__ import annotations

from jobspec.validation.pods.affinity import affinity_problems
from jobspec.validation.pods.basics import account_problems, deadline_problems
from jobspec.validation.pods.containers import container_problems
from jobspec.validation.pods.env import file_volume_problems
from jobspec.validation.pods.host_names import host_name_problems
from jobspec.validation.pods.host_users import user_problems
from jobspec.validation.pods.mounts import mount_problems
from jobspec.validation.pods.operating_system import system_problems
from jobspec.validation.pods.pod_resources import pod_resources_problems
from jobspec.validation.pods.ports import host_network_problems
from jobspec.validation.pods.resource_claims import resource_claim_problems
from jobspec.validation.pods.restarts import pod_restart_problems
from jobspec.validation.pods.scheduling import scheduling_problems
from jobspec.validation.pods.security import pod_security_problems
from jobspec.validation.pods.tolerations import toleration_problems
from jobspec.validation.pods.topology_spread import topology_spread_problems
from jobspec.validation.pods.volumes import volume_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem

    Spec = dict[str, Any]
    Part = Callable[[Spec, Path], Iterator[Problem]]


#: What looks at every spec of a pod, in templates too.
PARTS: tuple[Part, ...] = (
    volume_problems,
    mount_problems,
    resource_claim_problems,
    container_problems,
    host_network_problems,
    pod_resources_problems,
    pod_restart_problems,
    pod_security_problems,
    affinity_problems,
    topology_spread_problems,
    toleration_problems,
    scheduling_problems,
    host_name_problems,
    user_problems,
    account_problems,
    deadline_problems,
    system_problems,
    file_volume_problems,
)


def pod_spec_problems(spec: Spec, path: Path) -> Iterator[Problem]:
    """What stands against a decoded spec of a pod or of a template, at *path*."""
    for part in PARTS:
        yield from part(spec, path)
