"""What LeaderWorkerSet does with a changed field of a LeaderWorkerSet, whose groups serve for good.

Follows `getPatch`, sigs.k8s.io/lws pkg/utils/revision, and `rollingUpdateParameters`, pkg/controllers, 0.7.0 to 0.10.0: a revision holds
the templates, the size and the policies of groups, and the network. A new one is rolled out from the last group to the first.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path, value_at
from jobspec.documents.document import Document
from jobspec.operators.life import Effect

_GROUPS, _NETWORK = ("spec", "leaderWorkerTemplate"), ("spec", "networkConfig")


def effect_on_leader_worker_set(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a LeaderWorkerSet, at a path in its spec."""
    if path[:3] == (*_GROUPS, "volumeClaimTemplates"):
        return Effect("its StatefulSets keep their claims: the update of both is refused", heeded=False)
    if path[:2] not in (_GROUPS, _NETWORK):
        return Effect()
    place = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition")
    first = value_at(new.data, place) or 0
    replicas = value_at(new.data, ("spec", "replicas"))
    if isinstance(first, int) and first >= (1 if replicas is None else replicas):
        return Effect(f"no group gets the change: `partition` is {first}", heeded=False)
    return Effect(f"all groups{f' from {first} on' if first else ''} are recreated, one after the other")
