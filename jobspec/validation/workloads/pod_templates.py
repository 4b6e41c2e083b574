"""The pod template of what keeps pods running for good: its pods are always restarted, and have no deadline.

Follows `ValidatePodTemplateSpecForReplicaSet`, k8s.io/kubernetes pkg/apis/apps/validation, 1.36, and its likes for other kinds.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, text
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def lasting_pods(spec: dict[str, Any], kind: str) -> Iterator[Problem]:
    """The problems of the template beside a selector, where pods of a *kind* are to run for good."""
    pod, at = mapping(spec, "template", "spec"), ("spec", "template", "spec")
    policy = text(pod, "restartPolicy") or "Always"
    if policy != "Always":
        message = f"`restartPolicy` of a {kind}'s pods can only be `Always`, not {describe(policy)}"
        yield Problem("unsupported-choice", (*at, "restartPolicy"), message, "for pods that come to an end, write a Job")
    if is_given(pod, "activeDeadlineSeconds"):
        message = f"pods of a {kind} run for good, and cannot have `activeDeadlineSeconds`"
        yield Problem("conflicting-values", (*at, "activeDeadlineSeconds"), message, "remove it", at_key=True)
