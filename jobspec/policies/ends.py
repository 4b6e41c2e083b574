"""How jobs end: deadlines, and what training-operator does with pods that fail and with those of a job that has ended."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.lint.restarts import CLEANING, LONGEST_RUN
from jobspec.operators.training_operator.frameworks import FRAMEWORKS
from jobspec.operators.workloads import CONTAINERS, JOBS
from jobspec.policies.cel import DEVICES, at, has, items, literal
from jobspec.policies.rule import PolicyRule
from jobspec.policies.templates import NAME, OBJECT, TRAINING_OPERATOR, templates_of

_DEADLINE = "activeDeadlineSeconds"
_RUN_POLICY = at(OBJECT, "spec", "runPolicy")
_CLEAN_UP = f"{_RUN_POLICY}.?cleanPodPolicy.orValue('')"
#: The kinds that people write, which have a deadline of their own or in their Jobs.
_WITH_DEADLINE = tuple(
    each
    for each in JOBS
    if each not in (kinds.LEADER_WORKER_SET, kinds.RAY_CLUSTER, kinds.RAY_SERVICE)  # which run until they are deleted
)
_HOLDS = f"pod.containers.exists(container, {DEVICES} > 0)"
_LIMITED_BY_KUEUE = " || ".join(
    f"{at(OBJECT, *path)}[?{literal(LONGEST_RUN)}].hasValue()"
    for path in (
        ("metadata", "labels"),
        ("spec", "jobTemplate", "metadata", "labels"),
    )
)


def _by_kind(texts: dict[str, list[str]], otherwise: str) -> str:
    """Choose an expression by the kind of the object."""
    rows = [f"object.kind in {literal(sorted(set(names)))} ? {text} :" for text, names in texts.items()]
    return "\n".join([*rows, otherwise])


def _own_deadline() -> str:
    """True if a deadline of the job itself ends all of its pods."""
    texts: dict[str, list[str]] = {}
    for kind in _WITH_DEADLINE:
        texts.setdefault(has(OBJECT, *JOBS[kind].policy, _DEADLINE), []).append(kind[1])
    return f"({_by_kind(texts, 'false')})"


def _templates() -> str:
    """The pod templates; of a JobSet those whose Jobs have no deadline."""
    jobs = items(OBJECT, "spec", "replicatedJobs")
    of_jobset = (
        f"{jobs}.filter(job, !{has('job', 'template', 'spec', _DEADLINE)})\n"
        f"  .map(job, {at('job', 'template', 'spec', 'template')}.orValue({{}}))"
    )
    return f"object.kind == 'JobSet' ?\n{of_jobset} :\n{templates_of([each for each in _WITH_DEADLINE if each != kinds.JOBSET])}"


def _policies_of_roles() -> str:
    """The restart policies that the replica types of a job write, or get by their kind."""
    fields = sorted({each.replicas[-1] for each in FRAMEWORKS.values()})
    rows = [f"{at(OBJECT, 'spec', field)}.orValue({{}})" for field in fields]
    return " +\n  ".join(f"{row}.map(role, {row}[role].?restartPolicy.orValue(''))" for row in rows)


_NEVER = [kind[1] for kind, each in FRAMEWORKS.items() if each.restart_policy == "Never"]
#: The kinds that only a deadline of their own ends, not one of their pods.
_AS_WHOLE = sorted({kind[1] for kind in CONTAINERS})

POLICIES = (
    PolicyRule(
        "no-deadline",
        f"variables.ends ? [] : variables.pods.exists(pod, (variables.endsAsWhole || !pod.hasDeadline) &&\n    {_HOLDS}) ? [{NAME}] : []",
        _WITH_DEADLINE,
        variables={
            "templates": _templates(),
            "endsAsWhole": f"object.kind in {literal(_AS_WHOLE)}",
            "ends": f"{_own_deadline()} ||\n!(object.kind in {literal(_AS_WHOLE)}) && ({_LIMITED_BY_KUEUE})",
        },
        written_only=True,
        differs=["of a TrainJob it sees the accelerators of `spec.trainer.resourcesPerNode`, and not those that only its runtime asks for"],
    ),
    PolicyRule(
        "zero-deadline",
        f"{_RUN_POLICY}.?{_DEADLINE}.orValue(1) <= 0 ? [{NAME}] : []",
        TRAINING_OPERATOR,
        written_only=True,
    ),
    PolicyRule(
        "unknown-clean-pod-policy",
        f"{_CLEAN_UP} in {literal(CLEANING)} ? [] : [{_CLEAN_UP}]",
        TRAINING_OPERATOR,
        written_only=True,
    ),
    PolicyRule(
        "lost-logs",
        f"{_CLEAN_UP} == 'All' ? [{NAME}] : []",
        TRAINING_OPERATOR,
        written_only=True,
        differs=["it says nothing of training-operator before 1.9.4, which deletes the pods of failed jobs whatever the policy says"],
    ),
    PolicyRule(
        "never-deleted",
        f"{has(OBJECT, 'spec', 'runPolicy', 'ttlSecondsAfterFinished')} && 'ExitCode' in variables.restartPolicies ? [{NAME}] : []",
        tuple(each for each in TRAINING_OPERATOR if each != kinds.TFJOB),
        variables={"restartPolicies": _policies_of_roles()},
        written_only=True,
    ),
    PolicyRule(
        "uncounted-backoff-limit",
        f"{has(OBJECT, 'spec', 'runPolicy', 'backoffLimit')} && variables.restartPolicies != [] &&\n"
        "  !variables.restartPolicies.exists(each, each in ['OnFailure', 'Always'] ||\n"
        f"    (each == '' && !(object.kind in {literal(_NEVER)})))\n"
        f"  ? [{NAME}] : []",
        TRAINING_OPERATOR,
        variables={"restartPolicies": _policies_of_roles()},
        written_only=True,
    ),
)
