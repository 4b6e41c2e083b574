"""Review a pod or a claim by the server's admission plugins, in the order in which it asks them.

Follows `AllOrderedPlugins`, k8s.io/kubernetes pkg/kubeapiserver/options, 1.36: all fill in first, and then all validate.
"""

from __future__ import annotations

from jobspec.admission.plugins.values import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.validation.problem import Problem

    Data = dict[str, Any]


class PodReview:
    """What the plugins say of a pod, and the pod as they leave it."""

    __slots__ = ("pod", "refusals", "waits", "warnings")

    def __init__(
        self, pod: Data, refusals: Sequence[Problem] = (), warnings: Sequence[Problem] = (), waits: Sequence[Problem] = ()
    ) -> None:
        self.pod = pod
        """With what the plugins filled in: requests and limits by LimitRange, priority, overhead, account."""
        self.refusals = refusals
        """Why the server refuses it; the server tells the first alone. Paths are those of the pod as it was given."""
        self.warnings = warnings
        """What the server warns of, where it refuses nothing."""
        self.waits = waits
        """What the accepted pod would wait for, for ever."""


def review_pod(pod: Data, namespace: str, objects: PolicyObjects) -> PodReview:
    """The answer of the plugins to a new pod, given as the server decodes it: without defaults, or with them."""
    from jobspec.admission.plugins.defaults import with_defaults
    from jobspec.admission.plugins.limit_ranges import limit_problems, with_limit_defaults
    from jobspec.admission.plugins.pod_security.evaluation import pod_security_problems
    from jobspec.admission.plugins.priority import with_priority
    from jobspec.admission.plugins.quotas import quota_problems
    from jobspec.admission.plugins.runtime_class import with_runtime_class
    from jobspec.admission.plugins.service_account import with_account
    from jobspec.admission.plugins.waiting import waiting_problems

    limited = with_limit_defaults(with_defaults(pod), namespace, objects)
    accounted, by_account = with_account(limited, namespace, objects)
    ranked, by_priority = with_priority(accounted, objects)
    filled, by_class = with_runtime_class(ranked, objects)
    refused, warned = pod_security_problems(filled, namespace, objects.labels(namespace))
    by_limits = limit_problems(filled, namespace, objects)
    by_quota = quota_problems(filled, namespace, objects)
    refusals = [*by_account, *by_priority, *by_class, *by_limits, *refused, *by_quota]
    waits = list(waiting_problems(filled, namespace, objects))
    return PodReview(filled, refusals, [] if refusals else warned, waits)


def claim_problems(claim: Data, namespace: str, objects: PolicyObjects) -> list[Problem]:
    """Why the plugins refuse a new claim."""
    from jobspec.admission.plugins.limit_ranges import claim_limit_problems
    from jobspec.admission.plugins.quotas import claim_quota_problems

    return [*claim_limit_problems(claim, namespace, objects), *claim_quota_problems(claim, namespace, objects)]


def template_warnings(data: Data, path: tuple[str, ...], namespace: str, objects: PolicyObjects) -> list[Problem]:
    """What the server warns of where a workload has its pod template at *path*: it refuses only the pods, which come later."""
    from jobspec.admission.plugins.pod_security.evaluation import template_warnings as warnings_of

    template = mapping(data, *path)
    return warnings_of(template, path, namespace, objects.labels(namespace)) if template else []
