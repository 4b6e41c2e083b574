"""The health of jobs for Flux: expressions for `spec.healthCheckExprs` of a Kustomization."""

from __future__ import annotations

_HAS_STATUS = "(!has(metadata.managedFields) || metadata.managedFields.exists(m, has(m.subresource) && m.subresource == 'status'))"


def _is(*conditions: str) -> str:
    """Whether the object has a status, and one of the conditions in it is true."""
    named = ", ".join(f"'{each}'" for each in conditions)
    return f"{_HAS_STATUS} && has(status.conditions) && status.conditions.exists(c, c.type in [{named}] && c.status == 'True')"


def _health_expressions(api_version: str, kind: str, *, complete: str) -> dict[str, str]:
    in_progress = f"!({_is('Failed', complete)})"
    return {"apiVersion": api_version, "kind": kind, "inProgress": in_progress, "failed": _is("Failed"), "current": _is(complete)}


#: For each kind the three expressions: with fewer, what is neither failed nor current may pass for healthy.
HEALTH_CHECK_EXPRS = (
    _health_expressions("kubeflow.org/v1", "PyTorchJob", complete="Succeeded"),
    _health_expressions("trainer.kubeflow.org/v1alpha1", "TrainJob", complete="Complete"),
    _health_expressions("jobset.x-k8s.io/v1alpha2", "JobSet", complete="Completed"),
)
#: By which a job is healthy until it has failed, so that nothing waits for its end. A claim that no pod uses yet is pending for as long.
FAILURE_EXPRS = (
    *(
        {"apiVersion": each["apiVersion"], "kind": each["kind"], "failed": each["failed"], "current": f"!({each['failed']})"}
        for each in HEALTH_CHECK_EXPRS
    ),
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "failed": "status.phase == 'Lost'", "current": "status.phase != 'Lost'"},
)
