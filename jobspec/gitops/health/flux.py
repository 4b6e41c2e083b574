"""The health of jobs for Flux: expressions for `spec.healthCheckExprs` of a Kustomization.

They follow StatusEvaluator.Evaluate, fluxcd/pkg runtime/cel, 0.99.0: the object's top-level fields are the variables, `inProgress` is asked
first, `failed` then, `current` last, and an expression that fails makes the health unknown. A `batch/Job` has none: Flux asks its own
reader of jobs before any expression.
"""

from __future__ import annotations

# A new object has no `status`, and CEL cannot ask whether a variable is there: `has(status)` is no CEL and `has(status.conditions)` fails.
# Who wrote a status is in `metadata.managedFields`, which the API server keeps from the first write on.
_HAS_STATUS = "(!has(metadata.managedFields) || metadata.managedFields.exists(m, has(m.subresource) && m.subresource == 'status'))"


def _is(*conditions: str) -> str:
    """Whether the object has a status, and one of the conditions in it is true."""
    named = ", ".join(f"'{each}'" for each in conditions)
    return f"{_HAS_STATUS} && has(status.conditions) && status.conditions.exists(c, c.type in [{named}] && c.status == 'True')"


def _expressions(api_version: str, kind: str, *, failed: str, complete: str) -> dict[str, str]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "inProgress": f"!({_is(failed, complete)})",
        "failed": _is(failed),
        "current": _is(complete),
    }


#: For each kind the three expressions: with fewer, what is neither failed nor current may pass for healthy.
HEALTH_CHECK_EXPRS = (
    _expressions("kubeflow.org/v1", "PyTorchJob", failed="Failed", complete="Succeeded"),
    _expressions("trainer.kubeflow.org/v1alpha1", "TrainJob", failed="Failed", complete="Complete"),
    _expressions("jobset.x-k8s.io/v1alpha2", "JobSet", failed="Failed", complete="Completed"),
)
