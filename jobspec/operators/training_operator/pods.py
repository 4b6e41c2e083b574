"""The pods of a PyTorchJob: its templates, with what the operator sets in each.

Follows `JobController.createNewPod`, github.com/kubeflow/training-operator pkg/controller.v1/common, `SetRestartPolicy`, pkg/core,
`GetPodFromTemplate`, pkg/controller.v1/control, and `setInitContainer`, pkg/controller.v1/pytorch, with the operator's own template, image
and number of tries, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.objects import set_by
from jobspec.operators.training_operator.environment import variables, with_variables
from jobspec.operators.training_operator.names import labels, metadata, object_name, role_label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.operators.training_operator.job import Replicas, TrainingJob

_WAIT = "err=1;for i in $(seq 100); do if nslookup {}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err"


def pods(job: TrainingJob, replicas: Replicas) -> Iterator[MarkedTree]:
    """The pods of a replica type, in order."""
    spec = replicas.template.get("spec")
    if spec is None:
        return
    policy = replicas.restart_policy
    restart = MarkedTree("Never", policy.mark, policy.key) if policy.value == "ExitCode" else policy
    gang = set_by(job.operator, _scheduler(job)).value if "schedulerName" not in spec.value else {}
    common = _with_init_container(spec.with_value({**spec.value, "restartPolicy": restart, **gang}), job, replicas)
    for index in job.numbers(replicas):
        yield _pod(job, replicas, common, index)


def _with_init_container(spec: MarkedTree, job: TrainingJob, replicas: Replicas) -> MarkedTree:
    """A pod spec with the init container that waits until the Master's name is known, where the job has a Master and this is a Worker."""
    if "Master" not in job.replicas or replicas.type != "Worker":
        return spec
    container = {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _WAIT.format(f"{job.name.value}-master-0")],
        "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
    }
    own = spec.get("initContainers")
    all_of_them = [*items(own), set_by(job.operator, container)]
    return spec.with_value({**spec.value, "initContainers": MarkedTree(all_of_them, own.mark if own else job.operator)})


def _scheduler(job: TrainingJob) -> dict[str, Any]:
    """The scheduler of pods whose template names none."""
    if not job.gang_scheduler:
        return {}
    from jobspec.operators.training_operator.pod_group import scheduler_name

    return scheduler_name(job)


def _in_group(job: TrainingJob, replicas: Replicas, field: str) -> dict[str, Any]:
    """The labels, or the annotations, that put a pod into the job's group; none without gang scheduling."""
    if not job.gang_scheduler:
        return {}
    from jobspec.operators.training_operator.pod_group import group_annotations, group_labels

    return group_labels(job) if field == "labels" else group_annotations(job, replicas)


def _pod(job: TrainingJob, replicas: Replicas, common: MarkedTree, index: int) -> MarkedTree:
    added = variables(job, replicas, index)
    containers = [with_variables(each, added, job) for each in items(common.get("containers"))]
    spec = common.replace_at(("containers",), lambda before: before.with_value(containers))
    template = replicas.template.get("metadata")
    own = template.get("labels") if template else None
    ours = set_by(job.operator, {**labels(job, replicas, index), **role_label(job, replicas, index), **_in_group(job, replicas, "labels")})
    notes = template.get("annotations") if template else None
    more = set_by(job.operator, _in_group(job, replicas, "annotations"))
    about = metadata(
        job,
        object_name(job, replicas, index),
        labels=own.with_value({**own.value, **ours.value}) if own else ours,
        annotations=notes.with_value({**notes.value, **more.value}) if notes else more if more.value else None,
        finalizers=template.get("finalizers") if template else None,
    )
    return set_by(job.operator, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})
