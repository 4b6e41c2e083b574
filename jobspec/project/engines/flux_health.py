"""The health of jobs for Flux: expressions for `spec.healthCheckExprs` of a Kustomization."""

from __future__ import annotations

from collections.abc import Collection

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind, group_kind

#: The three expressions of a kind, and the kind itself, as an entry of `healthCheckExprs`.
HealthCheck = dict[str, str]

_HAS_STATUS = "(!has(metadata.managedFields) || metadata.managedFields.exists(m, has(m.subresource) && m.subresource == 'status'))"
#: Whether the status is of the object's present generation.
_IS_FRESH = "(!has(status.observedGeneration) || !has(metadata.generation) || status.observedGeneration >= metadata.generation)"


def _is(*conditions: str) -> str:
    """Whether the object has a status, and one of the conditions in it is true."""
    named = ", ".join(f"'{each}'" for each in conditions)
    return f"{_HAS_STATUS} && has(status.conditions) && status.conditions.exists(c, c.type in [{named}] && c.status == 'True')"


def _health_expressions(api_version: str, kind: str, *, failed: str, current: str, in_progress: str = "") -> HealthCheck:
    in_progress = in_progress or f"!({failed}) && !({current})"
    return {"apiVersion": api_version, "kind": kind, "inProgress": in_progress, "failed": failed, "current": current}


def _of_conditions(api_version: str, kind: str, *, complete: str) -> HealthCheck:
    in_progress = f"!({_is('Failed', complete)})"
    return _health_expressions(api_version, kind, failed=_is("Failed"), current=_is(complete), in_progress=in_progress)


def _of_ray_job() -> HealthCheck:
    known = f"{_HAS_STATUS} && has(status.jobDeploymentStatus)"
    stopped = "(status.jobDeploymentStatus == 'Complete' && has(status.jobStatus) && status.jobStatus == 'STOPPED')"
    failed = f"{known} && (status.jobDeploymentStatus in ['Failed', 'ValidationFailed'] || {stopped})"
    return _health_expressions(
        "ray.io/v1", "RayJob", failed=failed, current=f"{known} && status.jobDeploymentStatus == 'Complete' && !{stopped}"
    )


def _of_ray_cluster() -> HealthCheck:
    both = "status.conditions.filter(c, c.type in ['RayClusterProvisioned', 'HeadPodReady'] && c.status == 'True').size() == 2"
    failed = f"{_is('ReplicaFailure')} && {_IS_FRESH}"
    other = _is("ReplicaFailure", "RayClusterSuspended")
    current = f"{_HAS_STATUS} && has(status.conditions) && {both} && {_IS_FRESH} && !({other})"
    return _health_expressions("ray.io/v1", "RayCluster", failed=failed, current=current)


def _of_ray_service() -> HealthCheck:
    reasons = "['ValidationFailed', 'InitializingTimeout', 'ZeroServeEndpoints']"
    down = f"status.conditions.exists(c, c.type == 'Ready' && c.status != 'True' && c.reason in {reasons})"
    failed = f"{_HAS_STATUS} && has(status.conditions) && {down} && {_IS_FRESH} && !({_is('Suspended')})"
    other = _is("Suspended", "UpgradeInProgress", "RollbackInProgress")
    return _health_expressions("ray.io/v1", "RayService", failed=failed, current=f"{_is('Ready')} && {_IS_FRESH} && !({other})")


def _of_leader_worker_set() -> HealthCheck:
    """Return the expressions of a LeaderWorkerSet, which never fails."""
    current = f"{_is('Available')} && !({_is('UpdateInProgress')})"
    return _health_expressions("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", failed="false", current=current)


#: For each kind the three expressions: with fewer, what is neither failed nor current may pass for healthy. Flux looks at the group and
#: the kind alone, so that the expressions for MPIJobs are for those of both operators.
HEALTH_CHECK_EXPRS: tuple[HealthCheck, ...] = (
    _of_conditions("kubeflow.org/v1", "PyTorchJob", complete="Succeeded"),
    _of_conditions("trainer.kubeflow.org/v1alpha1", "TrainJob", complete="Complete"),
    _of_conditions("jobset.x-k8s.io/v1alpha2", "JobSet", complete="Completed"),
    *(_of_conditions("kubeflow.org/v1", kind, complete="Succeeded") for kind in ("TFJob", "XGBoostJob", "PaddleJob", "JAXJob")),
    _of_conditions("kubeflow.org/v2beta1", "MPIJob", complete="Succeeded"),
    _of_ray_job(),
    _of_ray_cluster(),
    _of_ray_service(),
    _of_leader_worker_set(),
)
#: The kinds of jobs that a project has.
_OF_PROJECTS = (kinds.PYTORCHJOB, kinds.TRAINJOB, kinds.JOBSET)
#: A claim that no pod uses yet is pending for as long.
_CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "failed": "status.phase == 'Lost'", "current": "status.phase != 'Lost'"}


def health_checks(synced: Collection[GroupKind], *, until_the_end: bool) -> list[HealthCheck]:
    """Return the expressions for a tree with objects of some kinds.

    *until_the_end*: a job is healthy once it has completed. Otherwise it is healthy until it has failed, so that nothing waits for its end.
    """
    chosen = [each for each in HEALTH_CHECK_EXPRS if (of := group_kind(each["apiVersion"], each["kind"])) in _OF_PROJECTS or of in synced]
    return chosen if until_the_end else [*map(until_failure, chosen), _CLAIM]


def until_failure(check: HealthCheck) -> HealthCheck:
    """Return the expressions by which an object is healthy until it has failed."""
    return {"apiVersion": check["apiVersion"], "kind": check["kind"], "failed": check["failed"], "current": f"!({check['failed']})"}
