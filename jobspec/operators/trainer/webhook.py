"""The rules of the trainer's webhook for TrainJobs and runtimes, whatever the policy of a runtime.

Follows `TrainJobValidator` and the plugin `JobSet.Validate`, github.com/kubeflow/trainer pkg/webhooks and
pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, PRIORITY_CLASS, RUNTIMES, SYSTEM_PRIORITIES, TRAINING_RUNTIME, Name
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Key, Path, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.kubernetes.problems import closest, listed
from jobspec.kubernetes.verdict import AdmissionAnswer
from jobspec.operators.trainer import runtimes
from jobspec.operators.trainer.merged_pods import PATCHES, changes, pods_of
from jobspec.operators.trainer.policies import POLICY_RULES, is_reviewed_by_torch
from jobspec.operators.webhooks import Objects, bad_manager, becomes_null, diagnostics, job_name, undecodable_value
from jobspec.operators.workloads import Workload, roles_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics.diagnostic import Severity


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


# The rules of the trainer's webhook for TrainingRuntimes and ClusterTrainingRuntimes.
#
# Follows `validateReplicatedJobs` and its callers, github.com/kubeflow/trainer pkg/webhooks, 2.0.0 to 2.3.0.


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


# A TrainJob and what it refers to: its runtime, and the priority classes of the runtime's pods.
#
# Follows `TrainingRuntime.ValidateObjects` and the plugin `Volcano.Validate`, github.com/kubeflow/trainer pkg/runtime/core and
# pkg/runtime/framework/plugins/volcano, 2.0.0 to 2.3.0.


_RULE = "unresolved-reference"


def answer_to_trainjob(job: Document, target: Target, objects: Objects, *, old: Document | None) -> AdmissionAnswer:
    """Return the webhook's answer to a TrainJob.

    If there is no runtime of the job, the rules that need the runtime are skipped.
    """
    alone = diagnostics(WITHOUT_RUNTIME, Workload(job, old=old), target)
    if any(each.rule == "unsupported-runtime" for each in alone):
        return AdmissionAnswer([each for each in alone if each.rule == "unsupported-runtime"])
    ref = runtimes.RuntimeReference(job.data)
    if refused := next((each for each in objects.refused if runtimes.is_meant(ref, job, each)), None):
        return AdmissionAnswer([*alone, job.diagnostic(_refused(ref, refused, objects), _RULE)])
    runtime = runtimes.runtime_of(job, objects.in_file, target, elsewhere=objects.elsewhere)
    if runtime and ref.group_kind in objects.complete.pinned and runtime not in objects.in_file and runtime not in objects.elsewhere:
        runtime = None  # a shipped one that the pinned cluster does not have
    namespace = ("*" if job.has_open_namespace else job.namespace) if ref.group_kind == TRAINING_RUNTIME else ""
    wanted: list[Name] = [] if runtime in objects.in_file else [(ref.group_kind, namespace, ref.name)]
    if not runtime:
        return AdmissionAnswer([*alone, job.diagnostic(_no_runtime(ref, job, target, objects), _RULE)], wanted)
    workload = Workload(job, runtime=runtime, old=old)
    missing = [name for name in _priority_classes(runtime) if not _is_there(name, objects)]
    absent = [job.diagnostic(_no_priority_class(name, objects), _RULE) for name in missing]
    command = value_at(job.data, ("spec", "trainer", "command"))
    rules = TRAINJOB_RULES
    if command == runtimes.TORCHTUNE and is_reviewed_by_torch(workload, target):
        from jobspec.operators.trainer.torchtune_rules import TORCHTUNE_RULES

        rules = [*rules, *TORCHTUNE_RULES]
    found = diagnostics(rules, workload, target)
    return AdmissionAnswer([*alone, *found, *absent], [*wanted, *((PRIORITY_CLASS, "", name) for name in missing)])


def _refused(ref: runtimes.RuntimeReference, runtime: Document, objects: Objects) -> Finding:
    """Say that the job waits for its runtime. If no other runtime can be there, the server refuses the job, too."""
    outcome = "the server refuses the job, too" if objects.complete.every else "the job is not checked before that is fixed"
    message = f"the {ref.kind} `{ref.name}` is refused ({runtime.marks.nearest(('metadata', 'name')).place()}): {outcome}"
    return Finding((*RUNTIME_REF, "name"), message, field="spec.runtimeRef", severity="error" if objects.complete.every else "info")


def _no_runtime(ref: runtimes.RuntimeReference, job: Document, target: Target, objects: Objects) -> Finding:
    there = [(each.group_kind, each.name, each.namespace) for each in (*objects.in_file, *objects.elsewhere)]
    known = [name for kind, name, _ in there if kind == ref.group_kind]
    ships = ref.group_kind == CLUSTER_TRAINING_RUNTIME and ref.group_kind not in objects.complete.pinned
    known += runtimes.shipped(target) if ships else ()
    is_missing = objects.complete.lack(ref.group_kind, job.namespace)
    outcome = "the server refuses the job" if is_missing else "the job was not checked"
    where = f" or in trainer {target['trainer']}" if ships else " or in the cluster" if ref.group_kind in objects.complete.pinned else ""
    message = f"no {ref.kind} `{ref.name}` in the files{where}: {outcome}"
    if ref.group_kind == TRAINING_RUNTIME and ref.name in runtimes.shipped(target):
        hint = "remove `kind`: what the trainer ships is of the kind ClusterTrainingRuntime"
    elif ref.group_kind == CLUSTER_TRAINING_RUNTIME and (TRAINING_RUNTIME, ref.name, job.namespace) in there:
        hint = "write `kind: TrainingRuntime`, as that of this name is"
    else:
        hint = closest(ref.name, known) or "pass its file, too"
    severity: Severity = "error" if is_missing else "warning"
    return Finding((*RUNTIME_REF, "name"), message, hint, field="spec.runtimeRef", severity=severity)


def _priority_classes(runtime: Document) -> Iterator[str]:
    """The priority classes that Volcano's plugin looks up; it stops at the first of the system's own."""
    if value_at(runtime.data, ("spec", "podGroupPolicy", "volcano")) is None:
        return
    for job in roles_in(runtime):
        name = job.in_pod("priorityClassName")
        if name in SYSTEM_PRIORITIES:
            return
        if name:
            yield name


def _is_there(priority_class: str, objects: Objects) -> bool:
    return any(each.group_kind == PRIORITY_CLASS and each.name == priority_class for each in (*objects.in_file, *objects.elsewhere))


def _no_priority_class(name: str, objects: Objects) -> Finding:
    is_missing = objects.complete.lack(PRIORITY_CLASS, "")
    outcome = "the server refuses the job" if is_missing else "it was not checked"
    message = f"no PriorityClass `{name}` in the files, which the runtime names: {outcome}"
    severity: Severity = "error" if is_missing else "warning"
    return Finding(RUNTIME_REF, message, "pass its file, too", field="spec.templateSpec.priorityClassName", severity=severity)
