"""Where kinds that jobspec does not know have their pods, as settings say it."""

from __future__ import annotations

from jobspec.apis.kinds import named
from jobspec.operators.templates import pods_setting
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.ignores import ReportFilter


def with_pods(cluster: Cluster, settings: ReportFilter | None) -> Cluster:
    """Add the pod templates that settings declare for kinds to a cluster.

    Such a kind is `AIJob.example.com`.
    """
    if not settings or not settings.pods:
        return cluster
    return cluster.with_pods({named(kind): list(map(pods_setting, said)) for kind, said in settings.pods.items()})
