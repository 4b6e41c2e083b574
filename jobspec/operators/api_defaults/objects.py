"""Objects of every kind that operators create, as the API server stores them."""

from __future__ import annotations

from jobspec.operators.stored import api_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.targets import Target


def completed(objects: Sequence[MarkedTree], beside: Sequence[Document], target: Target) -> list[MarkedTree]:
    """The objects with all that the server fills in. *beside*: documents that they may refer to, such as priority classes."""
    from jobspec.operators.api_defaults.autoscaler import autoscaler_defaults
    from jobspec.operators.api_defaults.job import whole_job
    from jobspec.operators.api_defaults.pod import pod_defaults
    from jobspec.operators.api_defaults.service import service_defaults
    from jobspec.operators.jobset.webhooks import stored_jobset

    server = api_server(target)
    fillers: dict[str, Callable[[MarkedTree, Mark], MarkedTree]] = {
        "HorizontalPodAutoscaler": autoscaler_defaults,
        "Job": whole_job,
        "JobSet": lambda jobset, _: stored_jobset(jobset, target),
        "Pod": lambda pod, server: pod_defaults(pod, server, beside),
        "Service": service_defaults,
    }
    kinds = [each.value["kind"].value for each in objects]
    return [fillers[kind](each, server) if kind in fillers else each for kind, each in zip(kinds, objects, strict=True)]
