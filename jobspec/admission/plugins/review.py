"""Review a pod or a claim by the server's admission plugins, in the order in which it asks them.

Follows `AllOrderedPlugins`, k8s.io/kubernetes pkg/kubeapiserver/options, 1.36: all fill in first, and then all validate.
"""

from __future__ import annotations

from jobspec.kinds import LIMIT_RANGE, RESOURCE_QUOTA
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.targets import Target
    from jobspec.validation.problem import Problem

    Data = dict[str, Any]


class PodReview:
    """What the plugins say of a pod, and the pod as they leave it."""

    __slots__ = ("pod", "refusals", "waits", "warnings")

    def __init__(self, pod: Data, refusals: Sequence[Problem], warnings: Sequence[Problem], waits: Sequence[Problem] = ()) -> None:
        self.pod = pod
        """With what the plugins filled in: requests and limits by LimitRange, priority, overhead, account."""
        self.refusals = refusals
        """Why the server refuses it; the server tells the first alone. Paths are those of the pod as it was given."""
        self.warnings = warnings
        """What the server warns of, where it refuses nothing."""
        self.waits = waits
        """What the accepted pod would wait for, for ever."""


def review_pod(pod: Data, namespace: str, objects: PolicyObjects, target: Target) -> PodReview:
    """The answer of the plugins to a new pod, whose structure the server accepts."""
    from jobspec.admission.plugins.priority import with_priority
    from jobspec.admission.plugins.runtime_class import with_runtime_class
    from jobspec.admission.plugins.service_account import with_account

    decoded = _decoded(pod, target)
    accounted, by_account = with_account(_limited(decoded, namespace, objects), namespace, objects)
    ranked, by_priority = with_priority(accounted, objects)
    filled, by_class = with_runtime_class(ranked, objects)
    by_limits = _by_limits(decoded, filled, namespace, objects, target)
    by_labels, warned = _by_labels(filled, namespace, objects)
    refusals = [*by_account, *by_priority, *by_class, *by_limits, *by_labels, *_by_quota(filled, namespace, objects)]
    return PodReview(filled, refusals, [] if refusals else warned, _waits(filled, namespace, objects))


def _decoded(pod: Data, target: Target) -> Data:
    """A pod as the plugins get it: decoded, and with the defaults of pods."""
    from jobspec import shapes
    from jobspec.validation.pods.defaults import filled_in
    from jobspec.validation.typed import typed_value

    shape = shapes.load("v1", "Pod", target)
    assert shape
    typed = typed_value(pod, shape)
    return {**typed, "spec": filled_in(typed.get("spec") or {})}


def _limited(pod: Data, namespace: str, objects: PolicyObjects) -> Data:
    if not objects.in_namespace(LIMIT_RANGE, namespace):
        return pod
    from jobspec.admission.plugins.limit_ranges import with_limit_defaults

    return with_limit_defaults(pod, namespace, objects)


def _by_limits(pod: Data, filled: Data, namespace: str, objects: PolicyObjects, target: Target) -> list[Problem]:
    if not objects.in_namespace(LIMIT_RANGE, namespace):
        return []
    from jobspec.admission.plugins.limit_ranges import limit_problems, problems_of_defaults

    return [*problems_of_defaults(pod, filled, target), *limit_problems(filled, namespace, objects)]


def _by_labels(pod: Data, namespace: str, objects: PolicyObjects) -> tuple[list[Problem], list[Problem]]:
    """Why the namespace refuses the pod by its labels, and what it warns of."""
    labels = objects.labels(namespace)
    if not labels:
        return [], []
    from jobspec.admission.plugins.pod_security.evaluation import pod_security_problems

    return pod_security_problems(pod, namespace, labels)


def _by_quota(pod: Data, namespace: str, objects: PolicyObjects) -> list[Problem]:
    if not objects.in_namespace(RESOURCE_QUOTA, namespace):
        return []
    from jobspec.admission.plugins.quotas import quota_problems

    return list(quota_problems(pod, namespace, objects))


def _waits(pod: Data, namespace: str, objects: PolicyObjects) -> list[Problem]:
    if not objects.closed:
        return []
    from jobspec.admission.plugins.waiting import waiting_problems

    return list(waiting_problems(pod, namespace, objects))


def claim_problems(claim: Data, namespace: str, objects: PolicyObjects, *, is_new: bool) -> list[Problem]:
    """Why the plugins refuse a claim."""
    found: list[Problem] = []
    if objects.in_namespace(LIMIT_RANGE, namespace):
        from jobspec.admission.plugins.limit_ranges import claim_limit_problems

        found += claim_limit_problems(claim, namespace, objects)
    if is_new and objects.in_namespace(RESOURCE_QUOTA, namespace):
        from jobspec.admission.plugins.quotas import claim_quota_problems

        found += claim_quota_problems(claim, namespace, objects)
    return found


def template_warnings(data: Data, path: tuple[str, ...], namespace: str, objects: PolicyObjects) -> list[Problem]:
    """What the server warns of where a workload has its pod template at *path*: it refuses only the pods, which come later."""
    template, labels = mapping(data, *path), objects.labels(namespace)
    if not template or not labels:
        return []
    from jobspec.admission.plugins.pod_security.evaluation import template_warnings as warnings_of

    return warnings_of(template, path, namespace, labels)
