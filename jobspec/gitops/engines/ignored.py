"""What others write into jobs, and an engine must neither call a difference nor undo.

Kueue suspends and resumes jobs of its queues, and writes where their pods may run; an autoscaler sets the number of elastic workers. What
operators and Kueue add to a field that no manifest sets, such as `runtimePatches[].time` and Kueue's own runtime patch, is theirs by
server-side apply and shows in no server-side diff, so nothing is said of it: to ignore a part of a list would make Argo CD before 3.5 write
the live list back as a whole, and own it from then on (`normalizeTargetResources`, github.com/argoproj/argo-cd controller, 3.4).
"""

from __future__ import annotations

from jobspec.gitops.engines.synced import QUEUE
from jobspec.kinds import PYTORCHJOB
from jobspec.workloads import suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.gitops.engines.synced import Synced
    from jobspec.kinds import GroupKind

#: Kueue's name in `metadata.managedFields`, since 0.6.
_KUEUE = "kueue"
_ELASTIC = "select(.spec.elasticPolicy.metrics) | .spec.pytorchReplicaSpecs.Worker.replicas"


def argocd_ignores(synced: Synced) -> list[dict[str, Any]]:
    """`spec.ignoreDifferences` of an Application. A job that is in no queue is suspended by its manifest, as ever."""
    return [
        {"group": kind[0], "kind": kind[1], "jqPathExpressions": list(_expressions(kind)), "managedFieldsManagers": [_KUEUE]}
        for kind in synced.job_kinds
    ]


def _expressions(job: GroupKind) -> Iterator[str]:
    yield f'select(.metadata.labels["{QUEUE}"]) | .{".".join(suspend_of(job))}'
    if job == PYTORCHJOB:
        yield _ELASTIC


def flux_ignores(synced: Synced) -> list[dict[str, Any]]:
    """`spec.ignore` of a Flux Kustomization, which Flux has since kustomize-controller 1.9: only where a job needs it."""
    kinds = sorted({each.group_kind for each in synced.objects if each.is_queued and each.says_suspend})
    return [
        {"paths": ["/" + "/".join(suspend_of(kind))], "target": {"group": kind[0], "kind": kind[1], "labelSelector": QUEUE}}
        for kind in kinds
    ]
