"""Kueue: the label that names the queue of a job."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.lint.linted import HOOKS
from jobspec.operators.kueue.versions import KINDS
from jobspec.operators.workloads import QUEUE, queue_path
from jobspec.policies.cel import at, literal
from jobspec.policies.rule import Parameter, PolicyRule
from jobspec.policies.templates import NAME, OBJECT

_QUEUES = Parameter("queues", [], "The LocalQueues that jobs may name; any by default.")
#: The kinds that people write and Kueue queues, and CronJobs, whose Jobs it queues.
_QUEUED = (*KINDS, kinds.CRON_JOB)
_IS_HOOK = " || ".join(f"{at(OBJECT, 'metadata', 'annotations')}[?{literal(each)}].hasValue()" for each in HOOKS)


def _label(kind: str) -> str:
    path = queue_path(next(each for each in _QUEUED if each[1] == kind))
    return f"{at(OBJECT, *map(str, path[:-1]))}[?{literal(QUEUE)}]"


#: The queue name of the object, as a list of one or none.
_NAMES = " :\n".join(
    (
        f"object.kind == 'CronJob' && {_label('CronJob')}.hasValue() ? [{_label('CronJob')}.value()]",
        f"object.kind != 'CronJob' && {_label('Job')}.hasValue() ? [{_label('Job')}.value()]",
        "[]",
    )
)
_QUEUE = {"queueNames": _NAMES}
_ANNOTATION = (
    f"(object.kind == 'CronJob' ? {at(OBJECT, 'spec', 'jobTemplate', 'metadata', 'annotations')} : {at(OBJECT, 'metadata', 'annotations')})"
    f"[?{literal(QUEUE)}]"
)
_IN_PODS = f"variables.pods.exists(pod, {literal(QUEUE)} in pod.labels)"
#: True if the server copies the labels of the pods to the Jobs of a CronJob; to Jobs it has copied them before it asks a policy.
_GETS_LABELS_OF_PODS = (
    f"(object.kind == 'CronJob' && {at(OBJECT, 'spec', 'jobTemplate', 'metadata', 'labels')}.orValue({{}}).size() == 0 && {_IN_PODS})"
)
_OF_CRON_JOB = " || ".join(f"{at(OBJECT, 'metadata', field)}[?{literal(QUEUE)}].hasValue()" for field in ("labels", "annotations"))
#: Where the queue name is, in place of the label that Kueue reads; empty if it is nowhere.
_MISPLACED = (
    f"variables.queueNames != [] || {_GETS_LABELS_OF_PODS} ? [] :\n  {_ANNOTATION}.hasValue() ? ['in an annotation'] :\n"
    f"  object.kind == 'CronJob' && ({_OF_CRON_JOB}) ? ['at the CronJob'] :\n"
    f"  {_IN_PODS} ? ['at the pods'] : []"
)

POLICIES = (
    PolicyRule(
        "no-queue-name",
        f"variables.queueNames != [] || {_IS_HOOK} ||\n  ({_MISPLACED}) != [] ? [] : [{NAME}]",
        tuple(each for each in KINDS if each not in (kinds.JOB, kinds.RAY_SERVICE)),
        variables=_QUEUE,
        written_only=True,
        differs=[
            "it cannot see whether the namespace has LocalQueues: bind it to the namespaces that have, by a label",
            "it is not for Jobs, and for each JobSet, RayCluster and LeaderWorkerSet; lint knows which of them train",
        ],
    ),
    PolicyRule(
        "empty-queue-name",
        f"'' in variables.queueNames ? [{NAME}] : []",
        _QUEUED,
        variables=_QUEUE,
        written_only=True,
    ),
    PolicyRule(
        "misplaced-queue-name",
        _MISPLACED,
        _QUEUED,
        variables=_QUEUE,
        written_only=True,
        differs=["of a TrainJob it does not see the labels that its runtime gives to pods"],
    ),
    PolicyRule(
        "unknown-queue",
        "variables.queueNames.filter(each, each != '' && variables.queues != [] && !(each in variables.queues))",
        _QUEUED,
        variables=_QUEUE,
        parameters=[_QUEUES],
        written_only=True,
        differs=[
            "it goes by the names in `queues`: a policy cannot look for LocalQueues. With a ConfigMap each namespace can have its own"
        ],
    ),
)
