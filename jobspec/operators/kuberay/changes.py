"""What KubeRay does with a changed field of a Ray object that lives on under its name.

Follows `reconcilePods` and `shouldRecreatePodsForUpgrade` of rayClusterController, `Reconcile` of rayJobController, `shouldUpdateCluster`,
`shouldPrepareNewCluster` and `handleSuspend` of rayServiceController, and `GenerateHashWithoutReplicasAndWorkersToDelete`,
github.com/ray-project/kuberay ray-operator/controllers/ray, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import RAY_CLUSTER, RAY_CRON_JOB, RAY_JOB, RAY_SERVICE
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import value_at
from jobspec.go.values import structs
from jobspec.operators.kuberay import CLUSTER_SPECS
from jobspec.operators.kuberay.refusals import IN_STEPS, upgrades_in_steps
from jobspec.operators.life import Effect, suspension_effect
from jobspec.operators.workloads import is_suspended, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document

#: Fields of a RayJob that KubeRay reads each time, as long as the job lives.
_READ_EACH_TIME = (
    "activeDeadlineSeconds",
    "backoffLimit",
    "deletionStrategy",
    "preRunningDeadlineSeconds",
    "shutdownAfterJobFinishes",
    "ttlSecondsAfterFinished",
)
_COUNTS = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy", "suspend")
_RECREATE = ("spec", "upgradeStrategy", "type")
_SUSPENDED = ("spec", "suspend")
"""The field by which a RayService is suspended since 1.7.0."""
_GROUPS = "workerGroupSpecs"
#: Options of a cluster's Ingress, which the CRD has since 1.7.0: KubeRay updates the Ingress.
_INGRESS = ("headGroupSpec", "ingressOptions")


def effect_on_ray(path: Path, old: Document, new: Document, release: str) -> Effect:
    """The effect of a change at a path in the spec of a Ray object, in a *release* of KubeRay."""
    if new.group_kind == RAY_CRON_JOB:
        return Effect("" if path[1:2] == ("suspend",) else "jobs that were created keep what they have; the next one gets the change")
    if new.group_kind in (RAY_CLUSTER, RAY_JOB) and path == suspend_of(new.group_kind):
        return suspension_effect(old, new)
    if new.group_kind == RAY_CLUSTER:
        return _on_cluster(path, old, new)
    return _on_job(path, old) if new.group_kind == RAY_JOB else _on_service(path, old, new, release)


def _on_cluster(path: Path, old: Document, new: Document) -> Effect:
    if path[1:2] in (("suspend",), ("upgradeStrategy",)) or is_suspended(old):
        return Effect()
    if path[1:2] == (_GROUPS,):
        before, after = _groups(old), _groups(new)
        if before.keys() - after.keys():
            return Effect("pods of a removed group stay", heeded=False)
        if path[3:4] in [(each,) for each in _COUNTS]:  # of the group that the third step names
            return Effect()
        if all(_without_counts(each) == _without_counts(after[name]) for name, each in before.items()):
            return Effect()
    if value_at(new.data, _RECREATE) == "Recreate":
        return Effect("KubeRay deletes all pods of the cluster and creates them anew: what runs there is lost")
    if path[1:3] == _INGRESS:
        return Effect()
    return Effect("running pods stay as they are; only new pods get the new spec", heeded=False)


def _on_job(path: Path, old: Document) -> Effect:
    if path[1:2] in [(each,) for each in _READ_EACH_TIME] or is_suspended(old):
        return Effect()
    return Effect("a RayJob that has started keeps its cluster and what it submitted: suspend and resume it", heeded=False)


def _on_service(path: Path, old: Document, new: Document, release: str) -> Effect:
    cluster = CLUSTER_SPECS[new.kind]
    if path == _SUSPENDED:
        return _suspension_of_service(old, new)
    if path == suspend_of(RAY_SERVICE) and is_at_least(release, "1.6.2"):
        if not is_at_least(release, "1.7.0") or is_suspended(old) == is_suspended(new):
            return suspension_effect(old, new)
        return Effect("KubeRay leaves the running cluster as it is: `suspend` counts for a new one alone", heeded=False)
    if path[: len(cluster)] != cluster:
        return Effect("the applications are updated in the running cluster" if path[1:2] == ("serveConfigV2",) else "")
    below = path[len(cluster) :]
    if below[:1] == (_GROUPS,):
        before, after = (list(_groups(each).values()) for each in (old, new))
        if [*map(_without_counts, before)] == [*map(_without_counts, after[: len(before)])]:
            if len(after) > len(before):
                return Effect("the new groups are added to the running cluster")
            return Effect("KubeRay leaves the running cluster as it is: a changed count alone makes no new one", heeded=False)
    strategy = value_at(new.data, _RECREATE)
    if strategy == "None" or (strategy == IN_STEPS and not upgrades_in_steps(strategy, release)):
        return Effect(f"KubeRay leaves the running cluster as it is: `upgradeStrategy` is {strategy}", heeded=False)
    if strategy == IN_STEPS:
        return Effect("KubeRay creates a second cluster, moves the requests to it in steps, and deletes the first")
    return Effect("KubeRay creates a second cluster, serves from it once it is ready, and deletes the first")


def _suspension_of_service(old: Document, new: Document) -> Effect:
    before, after = (value_at(each.data, _SUSPENDED) is True for each in (old, new))
    if before == after:
        return Effect()
    return Effect("the RayService is suspended: its cluster is deleted" if after else "the RayService is resumed: it gets a new cluster")


def _groups(job: Document) -> dict[str, dict[str, Any]]:
    """The groups of workers by their names."""
    return {str(each.get("groupName")): each for each in structs(job.data, *CLUSTER_SPECS[job.kind], _GROUPS)}


def _without_counts(group: dict[str, Any]) -> dict[str, Any]:
    """What changes a group, if it is another one, in more than how many pods it has."""
    return {name: each for name, each in group.items() if name not in _COUNTS}
