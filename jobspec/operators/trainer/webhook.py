"""The rules of the trainer's webhook for TrainJobs, whatever the policy of a runtime.

Follows `TrainJobValidator` and the plugin `JobSet.Validate`, github.com/kubeflow/trainer pkg/webhooks and
pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import RUNTIMES
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Path, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.kubernetes.problems import listed
from jobspec.operators.trainer import runtimes
from jobspec.operators.trainer.merged_pods import PATCHES, changes, pods_of
from jobspec.operators.trainer.policies import POLICY_RULES
from jobspec.operators.trainer.runtime_rules import deprecated_runtime
from jobspec.operators.webhooks import bad_manager, becomes_null, job_name, undecodable_value
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


RUNTIME_REF: Path = ("spec", "runtimeRef")
_OWN_ENVIRONMENT = {"node": "spec.trainer.env"} | {name: f"spec.initializer.{part}.env" for part, name in runtimes.INITIALIZERS.items()}


def unsupported_runtime(workload: Workload, target: Target) -> Iterator[Finding]:
    """A TrainJob runs on a TrainingRuntime or a ClusterTrainingRuntime of `trainer.kubeflow.org`; the schema takes any kind."""
    ref = runtimes.RuntimeReference(workload.document.data)
    if value_at(workload.document.data, RUNTIME_REF) is None:
        yield Finding(RUNTIME_REF, "the job names no runtime", "write `runtimeRef: {name: torch-distributed}` in `spec`")
    elif ref.group != runtimes.GROUP:
        message = f"unknown runtime group `{ref.group}`"
        yield Finding((*RUNTIME_REF, "apiGroup"), message, f"write `{runtimes.GROUP}`, or remove it", field="spec.runtimeRef")
    elif ref.group_kind not in RUNTIMES:
        message = f"`{ref.kind}` is not a runtime kind"
        yield Finding((*RUNTIME_REF, "kind"), message, "write `TrainingRuntime` or `ClusterTrainingRuntime`", field="spec.runtimeRef")


def initializer_job(workload: Workload, target: Target) -> Iterator[Finding]:
    """Each initializer in `spec.initializer` needs a replicated job of the runtime with a container for it.

    Both are named `dataset-initializer` or `model-initializer`. Name a runtime that has them, such as those of torchtune.
    """
    for path, part, name in _initializers(workload):
        pods = pods_of(workload, target)
        if name in pods and name in pods[name].init | pods[name].containers.keys():
            continue
        what = f"container `{name}` in its job `{name}`" if name in pods else f"job `{name}`"
        message = f"`initializer.{part}` needs a runtime with a {what}, which `{_runtime_name(workload)}` does not have"
        yield Finding(path, message, "name another runtime, or load the data in the training program", field="spec.runtimeRef")


def initializer_mount(workload: Workload, target: Target) -> Iterator[Finding]:
    """The initializer's container has to mount a volume named `initializer`, from which the training pods read the data."""
    for path, _, name in _initializers(workload):
        pods = pods_of(workload, target).get(name)
        if pods and name in pods.init | pods.containers.keys() and "initializer" not in pods.containers.get(name, ()):
            message = f"the container `{name}` of the runtime `{_runtime_name(workload)}` mounts no volume `initializer`"
            yield Finding(path, message, "mount it in the runtime", field="spec.runtimeRef")


def _initializers(workload: Workload) -> Iterator[tuple[Path, str, str]]:
    """The initializers of a job: the path, the field and the name of the replicated job."""
    for part, name in runtimes.INITIALIZERS.items():
        path: Path = ("spec", "initializer", part)
        if value_at(workload.document.data, path) is not None:
            yield path, part, name


def _runtime_name(workload: Workload) -> str:
    return runtimes.RuntimeReference(workload.document.data).name


def patch_manager(workload: Workload, target: Target) -> Iterator[Finding]:
    """The manager of a runtime patch is a domain and a name, `example.com/team`. The schema takes any text."""
    for path, patch in items_at(workload.document.data, PATCHES):
        why = bad_manager(patch["manager"])
        if why:
            hint = f"write, for example, `example.com/{patch['manager'].rpartition('/')[2] or 'team'}`"
            message = f"`{patch['manager']}` is not a manager of a patch: {why}"
            yield Finding((*path, "manager"), message, hint, field="spec.runtimePatches.manager")


def patched_job(workload: Workload, target: Target) -> Iterator[Finding]:
    """A change to pods names a replicated job of the runtime. From 2.3 on the webhook lets an unknown name pass, and adds such a job."""
    asked = list(changes(workload))
    pods = pods_of(workload, target) if asked else {}
    for change in asked:
        if change.job not in pods:
            message = f"the runtime `{_runtime_name(workload)}` has no replicated job `{change.job}`"
            hint = f"it has {listed(pods)}" if pods else ""
            yield Finding(change.job_path, message, hint, field=f"spec.{change.job_path[1]}")


def repeated_job(workload: Workload, target: Target) -> Iterator[Finding]:
    """In 2.0 only one override can change the pods of a replicated job. Merge them, or use a later release."""
    seen: set[str] = set()
    for path, _ in items_at(workload.document.data, ("spec", "podSpecOverrides")):
        for inner, job in items_at(workload.document.data, (*path, "targetJobs")):
            if job["name"] in seen:
                message = f"the pods of `{job['name']}` are overridden twice"
                yield Finding((*inner, "name"), message, "merge the overrides", field="spec.podSpecOverrides")
            seen.add(job["name"])


def patched_environment(workload: Workload, target: Target) -> Iterator[Finding]:
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
                yield Finding(path, message, f"set it in `{_OWN_ENVIRONMENT[name]}`", field=f"spec.{path[1]}")


def patches_while_running(workload: Workload, target: Target) -> Iterator[Finding]:
    """Changes to pods can only be changed while the job is suspended; from 2.2.1 on also in the update that resumes it."""
    if not workload.old:
        return
    from jobspec.kubernetes.workloads.selectors import same

    now, before = workload.document.data["spec"], workload.old.data.get("spec") or {}
    suspended = now.get("suspend") is True or (before.get("suspend") is True and is_at_least(target["trainer"], "2.2.1"))
    for field in reversed(runtimes.PATCH_FIELDS):
        new, old = _without_times(now.get(field)), _without_times(before.get(field))
        if not suspended and not (same(new, old) and _pointers_in(new) == _pointers_in(old)):
            message = f"`{field}` can be changed only while the job is suspended"
            yield Finding(("spec", field), message, "set `suspend: true` in the same update")


def _without_times(patches: Any) -> list[dict[str, Any]]:
    """Patches without their time, which the webhook sets itself."""
    return [{key: value for key, value in patch.items() if key != "time"} for patch in patches or ()]


def _pointers_in(patches: Any) -> Any:
    """Return which of the fields that are pointers in Go patches set.

    There, an empty object is another value than none.
    """
    if isinstance(patches, list):
        return [_pointers_in(each) for each in patches]
    if not isinstance(patches, dict):
        return None
    return {
        name: _pointers_in(each)
        for name, each in patches.items()
        if (name in _POINTERS and each is not None) or (name == "replicatedJobs" and each)
    }


_POINTERS = ("trainingRuntimeSpec", "template", "metadata", "spec", "serviceAccountName")
#: The rules that do not need the runtime.
WITHOUT_RUNTIME = [
    Rule(undecodable_value),
    Rule(becomes_null, since="2.2.0"),
    Rule(unsupported_runtime),
    Rule(job_name, until="2.1.0"),
]
TRAINJOB_RULES = [
    Rule(deprecated_runtime, since="2.1.0"),
    Rule(initializer_job),
    Rule(initializer_mount, since="2.3.0"),
    Rule(patches_while_running),
    Rule(patch_manager, since="2.2.0"),
    Rule(patched_job, until="2.3.0"),
    Rule(repeated_job, until="2.1.0"),
    Rule(patched_environment),
    *POLICY_RULES,
]
