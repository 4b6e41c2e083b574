"""The trainer's plugin for Flux (2.2 on): a workload manager that is put beside the job's program and starts it.

Follows the plugin flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins/flux, 2.2.0 to 2.3.0. The scripts that the trainer puts
into a ConfigMap are its own; here a remark stands for them.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_appended
from jobspec.operators.made import RANDOM, with_items
from jobspec.operators.trainer.pod_sets import TrainerPodSet, training_container
from jobspec.operators.trainer.train_job import JobOfTrainer, core_object
from jobspec.operators.workloads import NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_SETTINGS = "/etc/flux-config"
_VIEW = "FLUX_VIEW_IMAGE"
_IMAGE = "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy"
_REMARK = "# the script that comes with the trainer\n"


def with_flux(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what Flux needs: the nodes get an init container that installs it, and volumes."""
    image = _image(sets, job)
    return [_installed(each, job, image) if each.name == NODE else each for each in sets]


def wrapped_command(sets: list[TrainerPodSet], job: JobOfTrainer) -> MarkedTree:
    """The command that starts Flux, which starts the job's; in 2.2 the runtime's own command is forgotten."""
    container = training_container(sets)
    inherited = container.get("command") if container and job.is_at_least("2.3.0") else None
    own = job.trainer("command") or inherited
    words = [str(each.value) for each in (*items(own), *items(job.trainer("args")))]
    whole = set_by(job.mark, " ".join(words).strip())
    start = [set_by(job.mark, each) for each in ("/bin/bash", f"{_SETTINGS}/entrypoint.sh")]
    return MarkedTree([*start, own.with_value(whole.value) if own else whole], job.mark)


def _image(sets: list[TrainerPodSet], job: JobOfTrainer) -> MarkedTree:
    """The image with Flux in it: that of a variable of the job, or of the runtime's container."""
    container = training_container(sets)
    of_runtime = [value for each in items(container.get("env") if container else None) if (value := _value_of_view(each))]
    of_job = [_value_of_view(each) or each.with_value("") for each in items(job.trainer("env")) if text(each, "name") == _VIEW]
    return [set_by(job.mark, _IMAGE), *of_runtime, *of_job][-1]


def _value_of_view(variable: MarkedTree) -> MarkedTree | None:
    return variable.get("value") if text(variable, "name") == _VIEW else None


def _installed(pod_set: TrainerPodSet, job: JobOfTrainer, image: MarkedTree) -> TrainerPodSet:
    """A pod set with the init container that installs Flux, and with the mounts that the job then needs."""
    settings = f"{text(job.name)}-flux-entrypoint"
    installer = {
        "name": "flux-installer",
        "image": image,
        "command": ["/bin/bash", f"{_SETTINGS}/init.sh"],
        "volumeMounts": [{"name": "flux-install", "mountPath": "/mnt/flux"}, {"name": settings, "mountPath": _SETTINGS, "readOnly": True}],
    }

    def pod(spec: MarkedTree) -> MarkedTree:
        spec = with_items(spec, "volumes", items(set_by(job.mark, _volumes(job, settings))))
        return with_appended(spec, "initContainers", [set_by(job.mark, installer)])

    mounts = items(set_by(job.mark, _mounts(job, settings)))
    return pod_set.with_pod(pod).with_container(NODE, lambda each: with_items(each, "volumeMounts", mounts))


def _volumes(job: JobOfTrainer, settings: str) -> list[dict[str, Any]]:
    return [
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": settings, "configMap": {"name": settings, "defaultMode": 0o755}},
        *([{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}] if job.is_at_least("2.3.0") else []),
        {"name": "flux-curve", "secret": {"secretName": f"{text(job.name)}-flux-curve", "defaultMode": 0o400}},
    ]


def _mounts(job: JobOfTrainer, settings: str) -> list[dict[str, Any]]:
    memory: list[dict[str, Any]] = [{"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True}]  # noqa: S108 (in a pod)
    return [
        {"name": "flux-install", "mountPath": "/mnt/flux"},
        {"name": "spack-install", "mountPath": "/opt/software"},
        {"name": settings, "mountPath": _SETTINGS, "readOnly": True},
        {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
        *(memory if job.is_at_least("2.3.0") else []),
    ]


def settings_and_keys(job: JobOfTrainer) -> list[dict[str, Any]]:
    """The ConfigMap with the scripts, and the Secret with the keys."""
    scripts = core_object("ConfigMap", f"{text(job.name)}-flux-entrypoint", data={"entrypoint.sh": _REMARK, "init.sh": _REMARK})
    return [scripts, core_object("Secret", f"{text(job.name)}-flux-curve", data={"curve.cert": RANDOM})]
