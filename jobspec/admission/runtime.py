"""The rules of the trainer's webhook for TrainingRuntimes and ClusterTrainingRuntimes.

Follows `validateReplicatedJobs` and its callers, github.com/kubeflow/trainer pkg/webhooks, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.admission.decoding import undecodable_value
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.diagnostics import Key
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from jobspec.runtimes.runtime import ANCESTOR, ancestor
from jobspec.targets import reached
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path
    from jobspec.targets import Target
    from jobspec.workloads import Workload

_SUPPORT: Path = ("metadata", "labels", Key("trainer.kubeflow.org/support"))
_VALIDATION: Path = ("metadata", "labels", Key("trainer.kubeflow.org/webhook-validation"))

#: The label of a replicated job -> the container in it that the trainer changes.
_CONTAINER = {"trainer": "node", "dataset-initializer": "dataset-initializer", "model-initializer": "model-initializer"}


def _is_unreviewed(workload: Workload, target: Target) -> bool:
    """Whether the webhook is not called: from 2.3 on a label turns it off, and it never reviews updates of a TrainingRuntime."""
    data = workload.document.data
    off = value_at(data, _VALIDATION) == "disabled" and reached(target["trainer"], "2.3.0")
    return off or (workload.old is not None and workload.document.group_kind == TRAINING_RUNTIME)


def one_replica(workload: Workload, target: Target) -> Iterator[Fault]:
    """A replicated job that trains or initializes has one replica: its number of pods is `numNodes`, not the number of Jobs."""
    for job in workload.roles:
        part = ancestor(job)
        launcher = job.name == "launcher" and not reached(target["trainer"], "2.1.0")
        replicas = job.data.get("replicas")
        if (part in _CONTAINER or launcher) and replicas not in (None, 1) and not _is_unreviewed(workload, target):
            message = f"the job `{job.name}` has `replicas: {replicas}`; it can only be 1"
            yield Fault((*job.path, "replicas"), message, "remove it; say the number of nodes in `mlPolicy.numNodes`")


def ancestor_container(workload: Workload, target: Target) -> Iterator[Fault]:
    """The label of a replicated job says which part of a TrainJob runs in it, and that part needs a container of a fixed name.

    The trainer's container is `node`; those of the initializers have the label's own value as name. Name the container so.
    """
    for job in workload.roles:
        needed = _CONTAINER.get(ancestor(job))
        names = [container["name"] for _, container in job.items("containers")]
        if needed and needed not in names and not _is_unreviewed(workload, target):
            message = f"the job `{job.name}` is labelled `{ANCESTOR}: {ancestor(job)}`, and has no container `{needed}`"
            hint = f"rename `{names[0]}` to `{needed}`" if names else f"add the container `{needed}`"
            yield Fault(job.at("containers"), message, hint)


def deprecated_runtime(workload: Workload, target: Target) -> Iterator[Fault]:
    """A ClusterTrainingRuntime labelled as deprecated will be removed in a later release. Move its jobs to another one."""
    cluster = workload.runtime or workload.document
    if cluster.group_kind != CLUSTER_TRAINING_RUNTIME or value_at(cluster.data, _SUPPORT) != "deprecated":
        return
    if workload.runtime:
        message = f"the runtime `{cluster.name}` is deprecated"
        yield Fault(("spec", "runtimeRef", "name"), message, "name another runtime", severity="warning")
    elif workload.old is None and not _is_unreviewed(workload, target):
        yield Fault(_SUPPORT, "the label says that this runtime is deprecated", severity="warning")


WEBHOOK_RULES = [
    WebhookRule(undecodable_value),
    WebhookRule(one_replica),
    WebhookRule(ancestor_container, since="2.1.0"),
    WebhookRule(deprecated_runtime, since="2.1.0"),
]
