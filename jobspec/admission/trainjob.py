"""The rules of the trainer's webhook for TrainJobs, whatever the policy of their runtime.

Follows `TrainJobValidator` and the plugin `JobSet.Validate`, github.com/kubeflow/trainer pkg/webhooks and
pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.admission import policies
from jobspec.admission.decoding import becomes_null, undecodable_value
from jobspec.admission.names import bad_manager, job_name
from jobspec.admission.pods import PATCHES, changes, pods_of
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.admission.runtime import deprecated_runtime
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from jobspec.runtimes.runtime import GROUP, TORCHTUNE, RuntimeRef
from jobspec.targets import reached
from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.workloads import Workload

RUNTIME_REF: Path = ("spec", "runtimeRef")
_RUNTIMES = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
_INITIALIZERS = {"dataset": "dataset-initializer", "model": "model-initializer"}
_OWN_ENVIRONMENT = {"node": "spec.trainer.env", "dataset-initializer": "spec.initializer.dataset.env"} | {
    "model-initializer": "spec.initializer.model.env"
}


def unsupported_runtime(workload: Workload, target: Target) -> Iterator[Fault]:
    """A TrainJob runs on a TrainingRuntime or a ClusterTrainingRuntime of `trainer.kubeflow.org`; the schema takes any kind."""
    ref = RuntimeRef(workload.document.data)
    if value_at(workload.document.data, RUNTIME_REF) is None:
        yield Fault(RUNTIME_REF, "the job names no runtime", "write `runtimeRef: {name: torch-distributed}` in `spec`")
    elif ref.group != GROUP:
        message = f"no runtime is of the group `{ref.group}`"
        yield Fault((*RUNTIME_REF, "apiGroup"), message, f"write `{GROUP}`, or leave it out", field="spec.runtimeRef")
    elif ref.group_kind not in _RUNTIMES:
        message = f"`{ref.kind}` is no kind of runtime"
        yield Fault((*RUNTIME_REF, "kind"), message, "write `TrainingRuntime` or `ClusterTrainingRuntime`", field="spec.runtimeRef")


def initializer_job(workload: Workload, target: Target) -> Iterator[Fault]:
    """Each initializer in `spec.initializer` needs a replicated job of the runtime with a container for it.

    Both are named `dataset-initializer` or `model-initializer`. Name a runtime that has them, such as those of torchtune.
    """
    for path, part, name in _initializers(workload):
        pods = pods_of(workload, target)
        if name in pods and name in pods[name].init | pods[name].containers.keys():
            continue
        what = f"container `{name}` in its job `{name}`" if name in pods else f"job `{name}`"
        message = f"`initializer.{part}` needs a runtime with a {what}, which `{_runtime_name(workload)}` does not have"
        yield Fault(path, message, "name another runtime, or load the data in the training program", field="spec.runtimeRef")


def initializer_mount(workload: Workload, target: Target) -> Iterator[Fault]:
    """The initializer's container has to mount a volume named `initializer`, from which the training pods read the data."""
    for path, _, name in _initializers(workload):
        pods = pods_of(workload, target).get(name)
        if pods and name in pods.init | pods.containers.keys() and "initializer" not in pods.containers.get(name, ()):
            message = f"the container `{name}` of the runtime `{_runtime_name(workload)}` mounts no volume `initializer`"
            yield Fault(path, message, "mount it in the runtime", field="spec.runtimeRef")


def _initializers(workload: Workload) -> Iterator[tuple[Path, str, str]]:
    """The initializers of a job: the path, the field and the name of the replicated job."""
    for part, name in _INITIALIZERS.items():
        path: Path = ("spec", "initializer", part)
        if value_at(workload.document.data, path) is not None:
            yield path, part, name


def _runtime_name(workload: Workload) -> str:
    return RuntimeRef(workload.document.data).name


def patch_manager(workload: Workload, target: Target) -> Iterator[Fault]:
    """The manager of a runtime patch is a domain and a name, `example.com/team`. The schema takes any text."""
    for path, patch in items_at(workload.document.data, PATCHES):
        why = bad_manager(patch["manager"])
        if why:
            hint = f"write, for example, `example.com/{patch['manager'].rpartition('/')[2] or 'team'}`"
            message = f"`{patch['manager']}` is no manager of a patch: {why}"
            yield Fault((*path, "manager"), message, hint, field="spec.runtimePatches.manager")


def patched_job(workload: Workload, target: Target) -> Iterator[Fault]:
    """A change to pods names a replicated job of the runtime. From 2.3 on the webhook lets an unknown name pass, and adds such a job."""
    asked = list(changes(workload))
    pods = pods_of(workload, target) if asked else {}
    for change in asked:
        if change.job not in pods:
            message = f"the runtime `{_runtime_name(workload)}` has no replicated job `{change.job}`"
            hint = f"it has {', '.join(f'`{name}`' for name in pods)}" if pods else ""
            yield Fault(change.job_path, message, hint, field=f"spec.{change.job_path[1]}")


def repeated_job(workload: Workload, target: Target) -> Iterator[Fault]:
    """In 2.0 only one override can change the pods of a replicated job. Merge them, or use a later release."""
    seen: set[str] = set()
    for path, _ in items_at(workload.document.data, ("spec", "podSpecOverrides")):
        for inner, job in items_at(workload.document.data, (*path, "targetJobs")):
            if job["name"] in seen:
                message = f"the pods of `{job['name']}` are changed in two places"
                yield Fault((*inner, "name"), message, "say it all in one override", field="spec.podSpecOverrides")
            seen.add(job["name"])


def patched_environment(workload: Workload, target: Target) -> Iterator[Fault]:
    """The environment of the training container and of the initializers is set by fields of their own, not by changes to pods."""
    asked = list(changes(workload))
    pods = pods_of(workload, target) if asked else {}
    seen: set[Path] = set()  # until 2.1 one change can be for several jobs
    for change in asked:
        for inner, container in items_at(change.spec, ("containers",)):
            path = (*change.spec_path, *inner, "env")
            name = container["name"]
            if change.job in pods and name in _OWN_ENVIRONMENT and container.get("env") and path not in seen:
                seen.add(path)
                message = f"the environment of the container `{name}` cannot be set here"
                yield Fault(path, message, f"set it in `{_OWN_ENVIRONMENT[name]}`", field=f"spec.{path[1]}")


def patches_while_running(workload: Workload, target: Target) -> Iterator[Fault]:
    """Changes to pods can only be changed while the job is suspended; from 2.2.1 on also in the update that resumes it."""
    if not workload.old:
        return
    now, before = workload.document.data["spec"], workload.old.data.get("spec") or {}
    suspended = now.get("suspend") is True or (before.get("suspend") is True and reached(target["trainer"], "2.2.1"))
    for field in ("runtimePatches", "podTemplateOverrides", "podSpecOverrides"):
        if not suspended and _without_times(now.get(field)) != _without_times(before.get(field)):
            message = f"`{field}` can be changed only while the job is suspended"
            yield Fault(("spec", field), message, "set `suspend: true` in the same update")


def _without_times(patches: Any) -> list[dict[str, Any]]:
    """Patches without their time, which the webhook sets itself."""
    return [{key: value for key, value in patch.items() if key != "time"} for patch in patches or ()]


#: The rules that do not need the runtime.
WITHOUT_RUNTIME = [
    WebhookRule(undecodable_value),
    WebhookRule(becomes_null, since="2.2.0"),
    WebhookRule(unsupported_runtime),
    WebhookRule(job_name, until="2.1.0"),
]

WEBHOOK_RULES = [
    WebhookRule(deprecated_runtime, since="2.1.0"),
    WebhookRule(initializer_job),
    WebhookRule(initializer_mount, since="2.3.0"),
    WebhookRule(patches_while_running),
    WebhookRule(patch_manager, since="2.2.0"),
    WebhookRule(patched_job, until="2.3.0"),
    WebhookRule(repeated_job, until="2.1.0"),
    WebhookRule(patched_environment),
    *policies.WEBHOOK_RULES,
]


def rules_for(job: Document) -> list[WebhookRule]:
    """The rules that need a job's runtime; those of torchtune only for a job with the command `tune run`."""
    if value_at(job.data, ("spec", "trainer", "command")) != TORCHTUNE:
        return WEBHOOK_RULES
    from jobspec.admission import torchtune

    return WEBHOOK_RULES + torchtune.WEBHOOK_RULES
