"""Small parts of a pod: the annotations that are read, its restart policy, its account, its deadline.

Follows `validateRestartPolicy` and `ValidatePodSpec`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.pods.complaints import unsupported, wrong_name
from jobspec.validation.pods.defaults import restart_policy
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_READ = (
    *("kubernetes.io/config.mirror", "controller.kubernetes.io/pod-deletion-cost", "scheduler.alpha.kubernetes.io/tolerations"),
    *("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.", "container.apparmor."),
)
"""How the names of the annotations begin that the server reads."""
POLICIES = ("Always", "OnFailure", "Never")
_MAX_INT32 = (1 << 31) - 1


def annotations_read(metadata: dict[str, Any]) -> dict[str, str]:
    """The annotations of a pod that the server reads; those of others are no business of its."""
    return {key: value for key, value in metadata.get("annotations", {}).items() if key.startswith(_READ)}


def pod_restart_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of the restart policy of a pod."""
    policy = restart_policy(spec)
    if policy not in POLICIES:
        yield unsupported(policy, POLICIES, (*path, "restartPolicy"))


def account_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of the name of a pod's ServiceAccount."""
    field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
    name = spec.get(field)
    if name and (why := bad_subdomain(name)):
        yield wrong_name(name, "a ServiceAccount", why, (*path, field))


def deadline_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of a deadline that is no number of seconds."""
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MAX_INT32:
        message = f"`activeDeadlineSeconds` is from 1 to {_MAX_INT32:,}, not {seconds:,}"
        yield Problem("out-of-range", (*path, "activeDeadlineSeconds"), message)
