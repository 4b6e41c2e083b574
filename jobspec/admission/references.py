"""A TrainJob and what it refers to: its runtime, and the priority classes of the runtime's pods.

Follows `TrainingRuntime.ValidateObjects` and the plugin `Volcano.Validate`, github.com/kubeflow/trainer pkg/runtime/core and
pkg/runtime/framework/plugins/volcano, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.admission import trainjob
from jobspec.admission.rule import Fault
from jobspec.admission.webhooks import diagnostic, diagnostics
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, PRIORITY_CLASS, SYSTEM_PRIORITIES, TRAINING_RUNTIME
from jobspec.kubernetes.admission.objects import Answer
from jobspec.runtimes.runtime import RuntimeRef, is_meant, runtime_of, shipped
from jobspec.workloads import Workload, roles_in, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.admission.webhooks import Objects
    from jobspec.diagnostics import Severity
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.objects import Name
    from jobspec.targets import Target

_RULE = "unresolved-reference"


def answer_to_trainjob(job: Document, target: Target, objects: Objects, *, old: Document | None) -> Answer:
    """The webhook's answer to a TrainJob; where the runtime is not found, the rules that need it do not run."""
    alone = diagnostics(trainjob.WITHOUT_RUNTIME, Workload(job, old=old), target)
    if any(each.rule == "unsupported-runtime" for each in alone):
        return Answer([each for each in alone if each.rule == "unsupported-runtime"])
    ref = RuntimeRef(job.data)
    refused = any(is_meant(ref, job, each) for each in objects.refused)
    if refused:
        return Answer([*alone, diagnostic(job, _RULE, _refused(ref))] if objects.closed else alone)  # the runtime's own error says why
    runtime = runtime_of(job, objects.beside, target, elsewhere=objects.elsewhere)
    wanted = [] if runtime in objects.beside else [_runtime_name(ref, job)]
    if not runtime:
        return Answer([*alone, diagnostic(job, _RULE, _no_runtime(ref, job, target, objects))], wanted)
    workload = Workload(job, runtime=runtime, old=old)
    missing = [name for name in _priority_classes(runtime) if not _is_there(name, objects)]
    absent = [diagnostic(job, _RULE, _no_priority_class(name, objects)) for name in missing]
    found = diagnostics(trainjob.rules_for(job), workload, target)
    return Answer([*alone, *found, *absent], [*wanted, *((PRIORITY_CLASS, "", name) for name in missing)])


def _runtime_name(ref: RuntimeRef, job: Document) -> Name:
    return ref.group_kind, job.namespace if ref.group_kind == TRAINING_RUNTIME else "", ref.name


def _refused(ref: RuntimeRef) -> Fault:
    message = f"the {ref.kind} `{ref.name}` in this file is refused, and so is the job that needs it"
    return Fault((*trainjob.RUNTIME_REF, "name"), message, field=_field(ref))


def _no_runtime(ref: RuntimeRef, job: Document, target: Target, objects: Objects) -> Fault:
    from jobspec.kubernetes.problems import closest

    known = [document.name for document in (*objects.beside, *objects.elsewhere) if document.group_kind == ref.group_kind]
    known += shipped(target) if ref.group_kind == CLUSTER_TRAINING_RUNTIME else ()
    outcome = "the server refuses the job" if objects.closed else "nobody can check the job against it"
    message = f"there is no {ref.kind} `{ref.name}` in this file, in another given one or in trainer {target['trainer']}, so {outcome}"
    if ref.group_kind == TRAINING_RUNTIME and ref.name in shipped(target):
        hint = "leave `kind` out: what the trainer ships is of the kind ClusterTrainingRuntime"
    elif ref.group_kind == CLUSTER_TRAINING_RUNTIME and _is_of_namespace(ref.name, job, objects):
        hint = "write `kind: TrainingRuntime`, as that of this name is"
    else:
        hint = closest(ref.name, known) or "give its file, too"
    severity: Severity = "error" if objects.closed else "warning"
    return Fault((*trainjob.RUNTIME_REF, "name"), message, hint, field=_field(ref), severity=severity)


def _is_of_namespace(name: str, job: Document, objects: Objects) -> bool:
    """Whether a TrainingRuntime of the job's namespace has the name."""
    runtimes = [each for each in (*objects.beside, *objects.elsewhere) if each.group_kind == TRAINING_RUNTIME]
    return any((each.name, each.namespace) == (name, job.namespace) for each in runtimes)


def _field(ref: RuntimeRef) -> str:
    """The field of the reference as the webhook spells it."""
    return "spec.RuntimeRef" if ref.group_kind == CLUSTER_TRAINING_RUNTIME else "spec.runtimeRef"


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
    return any(each.group_kind == PRIORITY_CLASS and each.name == priority_class for each in (*objects.beside, *objects.elsewhere))


def _no_priority_class(name: str, objects: Objects) -> Fault:
    outcome = "the server refuses the job" if objects.closed else "nobody knows whether the server has it"
    message = f"there is no PriorityClass `{name}`, which the runtime asks for, in this file or another given one, so {outcome}"
    severity: Severity = "error" if objects.closed else "warning"
    return Fault(trainjob.RUNTIME_REF, message, "give its file, too", field="spec.templateSpec.priorityClassName", severity=severity)
