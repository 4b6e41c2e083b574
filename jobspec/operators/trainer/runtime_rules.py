"""The rules of the trainer's webhook for TrainingRuntimes and ClusterTrainingRuntimes.

Follows `validateReplicatedJobs` and its callers, github.com/kubeflow/trainer pkg/webhooks, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.operators.trainer import runtimes
from jobspec.operators.webhooks import undecodable_value
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_SUPPORT: Path = ("metadata", "labels", Key("trainer.kubeflow.org/support"))
_VALIDATION: Path = ("metadata", "labels", Key("trainer.kubeflow.org/webhook-validation"))


def _is_unreviewed(workload: Workload, target: Target) -> bool:
    """Whether the webhook is not called: from 2.3 on a label turns it off, and it never reviews updates of a TrainingRuntime."""
    data = workload.document.data
    off = value_at(data, _VALIDATION) == "disabled" and is_at_least(target["trainer"], "2.3.0")
    return off or (workload.old is not None and workload.document.group_kind == TRAINING_RUNTIME)


def deprecated_runtime(workload: Workload, target: Target) -> Iterator[Finding]:
    """A ClusterTrainingRuntime labelled as deprecated will be removed in a later release. Move its jobs to another one."""
    cluster = workload.runtime or workload.document
    if cluster.group_kind != CLUSTER_TRAINING_RUNTIME or value_at(cluster.data, _SUPPORT) != "deprecated":
        return
    if workload.runtime:
        message = f"the runtime `{cluster.name}` is deprecated"
        yield Finding(("spec", "runtimeRef", "name"), message, "name another runtime", severity="warning")
    elif workload.old is None and not _is_unreviewed(workload, target):
        yield Finding(_SUPPORT, "this runtime is deprecated", severity="warning")


#: The label of a replicated job -> the container in it that the trainer changes.
_CONTAINER = {runtimes.TRAINER: "node"} | {name: name for name in runtimes.INITIALIZERS.values()}


def one_replica(workload: Workload, target: Target) -> Iterator[Finding]:
    """A replicated job that trains or initializes has one replica: its number of pods is `numNodes`, not the number of Jobs."""
    for job in workload.roles:
        part = runtimes.ancestor(job)
        launcher = job.name == "launcher" and not is_at_least(target["trainer"], "2.1.0")
        replicas = job.data.get("replicas")
        if (part in _CONTAINER or launcher) and replicas not in (None, 1) and not _is_unreviewed(workload, target):
            message = f"the job `{job.name}` has `replicas: {replicas}`; it must be 1"
            yield Finding((*job.path, "replicas"), message, "remove it; set the number of nodes in `mlPolicy.numNodes`")


def ancestor_container(workload: Workload, target: Target) -> Iterator[Finding]:
    """The label of a replicated job says which part of a TrainJob runs in it, and that part needs a container of a fixed name.

    The trainer's container is `node`; those of the initializers have the label's own value as name. Name the container so.
    """
    for job in workload.roles:
        needed = _CONTAINER.get(runtimes.ancestor(job))
        names = [container["name"] for _, container in job.items("containers")]
        if needed and needed not in names and not _is_unreviewed(workload, target):
            message = f"the job `{job.name}` is labelled `{runtimes.ANCESTOR}: {runtimes.ancestor(job)}`, and has no container `{needed}`"
            hint = f"rename `{names[0]}` to `{needed}`" if names else f"add the container `{needed}`"
            yield Finding(job.at("containers"), message, hint)


RUNTIME_RULES = [
    Rule(undecodable_value),
    Rule(one_replica),
    Rule(ancestor_container, since="2.1.0"),
    Rule(deprecated_runtime, since="2.1.0"),
]
