"""The webhook's answer to a TrainJob, by what the job refers to: its runtime, and the priority classes of the runtime's pods.

Follows `TrainingRuntime.ValidateObjects` and the plugin `Volcano.Validate`, github.com/kubeflow/trainer pkg/runtime/core and
pkg/runtime/framework/plugins/volcano, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, PRIORITY_CLASS, SYSTEM_PRIORITIES, TRAINING_RUNTIME, Name
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding
from jobspec.documents.document import Document
from jobspec.kubernetes.problems import closest
from jobspec.kubernetes.verdict import AdmissionAnswer
from jobspec.operators.trainer import runtimes
from jobspec.operators.trainer.policies import is_reviewed_by_torch
from jobspec.operators.trainer.webhook import RUNTIME_REF, TRAINJOB_RULES, WITHOUT_RUNTIME
from jobspec.operators.webhooks import Objects, diagnostics
from jobspec.operators.workloads import Workload, roles_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics.diagnostic import Severity


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
