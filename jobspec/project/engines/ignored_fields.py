"""Fields that others write into jobs, which an engine must neither report as a difference nor revert.

Kueue suspends and resumes jobs of its queues, and writes where their pods may run; an autoscaler sets the number of elastic workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.apis.kinds import PYTORCHJOB, GroupKind
from jobspec.operators.workloads import QUEUE, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.project.engines.synced import Synced


#: Kueue's name in `metadata.managedFields`, since 0.6.
_KUEUE = "kueue"
_ELASTIC = "select(.spec.elasticPolicy.metrics) | .spec.pytorchReplicaSpecs.Worker.replicas"


def argocd_ignores(synced: Synced) -> list[dict[str, Any]]:
    """Return `spec.ignoreDifferences` of an Application.

    A job that is in no queue is suspended by its manifest, as before.
    """
    return [
        {"group": kind[0], "kind": kind[1], "jqPathExpressions": list(_expressions(kind)), "managedFieldsManagers": [_KUEUE]}
        for kind in synced.job_kinds
    ]


def _expressions(job: GroupKind) -> Iterator[str]:
    yield f'select(.metadata.labels["{QUEUE}"]) | .{".".join(suspend_of(job))}'
    if job == PYTORCHJOB:
        yield _ELASTIC


def flux_ignores(synced: Synced) -> list[dict[str, Any]]:
    """Return `spec.ignore` of a Flux Kustomization for jobs that need it.

    Flux has the field since kustomize-controller 1.9.
    """
    kinds = sorted({each.group_kind for each in synced.objects if each.is_queued and each.says_suspend})
    return [
        {"paths": ["/" + "/".join(suspend_of(kind))], "target": {"group": kind[0], "kind": kind[1], "labelSelector": QUEUE}}
        for kind in kinds
    ]
