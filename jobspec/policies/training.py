"""Training jobs of training-operator, JobSets and Ray: fields that make a job hang, never end, or be moved to another kind."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.lint.communication import BACKENDS
from jobspec.operators.workloads import REPLICA_SPECS
from jobspec.policies.cel import at, has, literal
from jobspec.policies.rule import PolicyRule
from jobspec.policies.templates import OBJECT

_BACKEND = f"{at(OBJECT, 'spec', 'elasticPolicy', 'rdzvBackend')}.orValue('')"
_ROLES = f"{at(OBJECT, *map(str, REPLICA_SPECS))}.orValue({{}})"
_RAY_JOB = f"(object.kind == 'RayCronJob' ? {at(OBJECT, 'spec', 'jobTemplate')} : {at(OBJECT, 'spec')})"

POLICIES = (
    PolicyRule("legacy-operator", "[object.kind]", [kinds.PYTORCHJOB], written_only=True),
    PolicyRule(
        "elastic-with-master",
        f"{has(OBJECT, 'spec', 'elasticPolicy')} && 'Master' in {_ROLES} ? ['Master'] : []",
        [kinds.PYTORCHJOB],
        written_only=True,
    ),
    PolicyRule(
        "unknown-rendezvous-backend",
        f"{_BACKEND} == '' || {_BACKEND} in {literal(BACKENDS)} ? [] : [{_BACKEND}]",
        [kinds.PYTORCHJOB],
        written_only=True,
    ),
    PolicyRule(
        "cluster-outlives-job",
        f"{_RAY_JOB}.?rayClusterSpec.hasValue() && !{_RAY_JOB}.?deletionStrategy.hasValue() &&\n"
        f"  !{_RAY_JOB}.?shutdownAfterJobFinishes.orValue(false) ? [{at(OBJECT, 'metadata', 'name')}.orValue('')] : []",
        [kinds.RAY_JOB, kinds.RAY_CRON_JOB],
        written_only=True,
    ),
)
