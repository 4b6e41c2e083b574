"""Runtimes: what a TrainJob says reaches its pods."""

from __future__ import annotations

from jobspec.apis.kinds import TRAINING_RUNTIME
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Data, Path, value_at
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.codec import rewritten_quantities
from jobspec.operators.mutation import is_rewritten
from jobspec.operators.trainer.pod_sets import LAUNCHER
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER, group_counts_runtime_only, has_runtime_patches
from jobspec.operators.workloads import NODE, PATCHED_JOBS, QUEUE, REPLICATED_JOBS, TEMPLATE, roles_in
from jobspec.programs.command_lines import file_name
from jobspec.programs.shells import script_at
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.lint.linted import LintedDocument, LintedJob

_FRAMEWORK = "trainer.kubeflow.org/framework"
_DEFAULT_SCHEDULER = "default-scheduler"
_SSHD, _CONNECTS = "sshd", ": mpirun cannot connect, without its sshd"
_LEFT_TO_JOBS = "missing required field `image`"
_JOB_LABELS: Path = ("template", "metadata", "labels", ANCESTOR)
_POD_LABELS: Path = ("template", "spec", "template", "metadata", "labels", ANCESTOR)


def no_trainer_step(document: LintedDocument) -> Iterator[Finding]:
    """No replicated job of the runtime is labelled as the trainer's, or its container is not named `node`.

    Why: the trainer puts the image, command, variables, nodes and resources of a TrainJob into the container `node` of the job whose Job
    template has the label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`. Without it, with it at the pod template, or with a
    container of another name, all of them are silently dropped, and the runtime's own container runs; with MPI, the number of nodes still
    reaches the replicated job that is named `node`. A webhook refuses the other name, but for runtimes that are labelled
    `trainer.kubeflow.org/webhook-validation: disabled`, and not before 2.1.
    Instead: label the Job template, not the pod template, and name the container `node`.
    Before: "template: {spec: {template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}}"
    After: "template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}"
    Evidence: the JobSet plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0 to 2.3
    """
    roles = roles_in(document.given)
    labelled = [role for role in roles if value_at(role.data, _JOB_LABELS) == TRAINER]
    for role in labelled:
        names = [(*path, "name") for path, container in role.items("containers") if value_at(container, ("name",)) == NODE]
        first = next(((*path, "name") for path, _ in role.items("containers")), None)
        if first and not names:
            message = f"no container `{NODE}`: a TrainJob's image and command are dropped"
            yield Finding(first, message, f"name it `{NODE}`")
    if not roles or labelled:
        return
    at_pods = [(*role.path, *_POD_LABELS) for role in roles if value_at(role.data, _POD_LABELS)]
    misspelt = [(*role.path, *_JOB_LABELS) for role in roles if value_at(role.data, _JOB_LABELS)]
    place = next(iter([*at_pods, *misspelt]), REPLICATED_JOBS)
    why = "the label is on the pod template" if at_pods else "no replicated job is labelled as the trainer's"
    has_nodes = document.get("spec", "mlPolicy", "mpi") is not None and any(role.name == NODE for role in roles)
    lost = "image and command" if has_nodes else "image, command and nodes"
    yield Finding(place, f"{why}: a TrainJob's {lost} are dropped", f"label the Job template `{ANCESTOR}: {TRAINER}`")


def no_framework_label(document: LintedDocument) -> Iterator[Finding]:
    """The runtime has no framework label.

    Why: the Python SDK lists and explains runtimes by this label, and does not see those without it.
    Instead: write the label.
    Before: metadata: {name: team-torch}
    After: metadata: {name: team-torch, labels: {trainer.kubeflow.org/framework: torch}}
    Evidence: kubeflow/trainer#2851
    """
    if not document.get("metadata", "labels", _FRAMEWORK):
        message = "a runtime without the framework label is invisible to the Python SDK"
        yield Finding(("metadata", "name"), message, f"label it `{_FRAMEWORK}`")


def ignored_resources(job: LintedJob) -> Iterator[Finding]:
    """The runtime has no `mlPolicy`, and the trainer ignores the job's `resourcesPerNode`.

    Why: the trainer looks at the resources as a part of the policy. Without one, the pods get what the runtime asks for.
    Instead: give the runtime an `mlPolicy`; `{numNodes: 1}` is enough.
    Before: spec: {template: {}}
    After: spec: {mlPolicy: {numNodes: 1}, template: {}}
    Evidence: the core of github.com/kubeflow/trainer pkg/runtime/core, 2.0 to 2.3
    """
    said = job.tree.get("spec", "trainer", "resourcesPerNode")
    if said and said.value and job.runtime and job.in_runtime("spec", "mlPolicy") is None:
        yield Finding(said, f"no effect: the runtime `{job.runtime.name}` has no `mlPolicy`", "add one to the runtime")


def rewritten_quantity(job: LintedJob) -> Iterator[Finding]:
    """A quantity of a TrainJob that the trainer's webhook rewrites, so that the job can be applied only once.

    Why: from 2.2 on, the webhook writes the time into each of the `runtimePatches`, of which Kueue gives one to every TrainJob of its
    cluster, and every quantity in its canonical form: `1` becomes `"1"`, `1000m` too, `1024Mi` becomes `1Gi`. `spec.trainer` and the
    volumes of patches are immutable, and the server compares them as they are written: each further server-side apply of the same
    manifest, such as the next sync of Flux, is refused.
    Instead: the canonical form. `jobspec render` writes it.
    Fix: writes the canonical form; the pods are the same.
    Before: "resourcesPerNode: {limits: {cpu: 1}}"
    After: "resourcesPerNode: {limits: {cpu: '1'}}"
    Evidence: trainer 2.3.0, `kubectl apply --server-side` and kustomize-controller 1.7.3
    """
    given, target = job.given, job.target
    is_queued = job.get("metadata", "labels", QUEUE) and has_runtime_patches(target["trainer"])
    if not job.can_be_synced:
        return
    if not is_rewritten(given, target, old=None) and not is_queued:
        return
    found = list(rewritten_quantities(given.data, shapes.load(given.api_version, given.kind, target)))
    if found:
        path, canonical = found[0]
        others = f", and {len(found) - 1} more quantit{'y' if len(found) == 2 else 'ies'}" if len(found) > 1 else ""
        message = (
            f"the trainer's webhook writes `{value_at(given.data, path)}` as `'{canonical}'`{others}: the server refuses the next apply"
        )
        yield Finding(
            path,
            message,
            f"write '{canonical}', in quotes{' as the others' if others else ''}",
            edits=[(each, set_to((), text)) for each, text in found],
        )


def kept_arguments(job: LintedJob) -> Iterator[Finding]:
    """The job replaces the runtime's command, but keeps the runtime's `args`.

    Why: `command` and `args` are replaced each on its own. The new program gets the old one's arguments, and ends with a usage message or
    does what nobody asked for.
    Instead: write `args`, too; `[]` for no arguments.
    Before: trainer: {command: [torchrun, train.py]}
    After: trainer: {command: [torchrun, train.py], args: []}
    Evidence: the JobSet plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0 to 2.3
    """
    command = job.tree.get("spec", "trainer", "command")
    if not command or not command.value or job.get("spec", "trainer", "args") is not None or not job.runtime:
        return
    for role in roles_in(job.runtime):
        if value_at(role.data, _JOB_LABELS) != TRAINER:
            continue
        for _, container in role.items("containers"):
            if value_at(container, ("name",)) == NODE and value_at(container, ("args",)):
                message = f"the command is replaced, the runtime's `args` stay: `{' '.join(map(str, container['args']))}`"
                yield Finding(command, message, "set `args`, too")


def command_of_several_jobs(job: LintedJob) -> Iterator[Finding]:
    """The command or the arguments of a TrainJob replace those of several replicated jobs.

    Why: they go to each replicated job that is labelled as the trainer's. Where the label stands on the nodes of an MPI runtime, so that
    they get the TrainJob's image, `command` replaces their `/usr/sbin/sshd`, too, and the launcher's mpirun never connects.
    Instead: label the launcher alone, and set the image of the nodes by `runtimePatches`; or leave the command to the runtime.
    Before: trainer: {command: [mpirun, /app/solver]}
    After: trainer: {image: solver:1.0}
    Evidence: kubeflow/trainer#4030, kubeflow/trainer#2825
    """
    fields = [(name, each) for name in ("command", "args") if (each := job.tree.get("spec", "trainer", name)) and each.value]
    labelled = [each for each in roles_in(job.runtime) if value_at(each.data, _JOB_LABELS) == TRAINER] if job.runtime else []
    if not fields or len(labelled) < 2:
        return
    field, given = fields[0]
    containers = {role.name: each for role in labelled for _, each in role.items("containers") if value_at(each, ("name",)) == NODE}
    words = {name: _words(each, "command", "args") for name, each in containers.items()}
    own = LAUNCHER if LAUNCHER in words else next(iter(words), "")
    made = {each.role.name: each.program.texts for each in job.containers if each.name == NODE}
    for name, before in words.items():
        is_same = name == own or before in (words[own], made.get(name))
        is_script = field == "args" and script_at(_words(containers[name], "command")) is not None  # which takes arguments, and goes on
        if is_same or is_script or _SSHD in map(file_name, " ".join(made.get(name, ())).split()):
            continue
        replaced = " ".join(before if field == "command" else _words(containers[name], field))[:30]
        if field == "command":
            what = f"command also replaces {f'`{replaced}`' if replaced else 'the program of the image'} of"
        else:
            what = f"`args` also {f'replace `{replaced}` of' if replaced else 'go to the program of'}"
        message = f"the job's {what} `{name}`{_CONNECTS if LAUNCHER in words else ''}"
        yield Finding(given, message, f"label `{own}` alone as the trainer's, or leave `{field}` to the runtime")
        return


def _words(container: Any, *fields: str) -> list[str]:
    """The words of some fields of a container, one field after the other."""
    return [str(word) for field in fields for word in value_at(container, (field,)) or ()]


def lost_tolerations(job: LintedJob) -> Iterator[Finding]:
    """A patch of the job replaces the tolerations of the runtime, or those of an earlier patch.

    Why: the list is replaced as a whole. Without the runtime's toleration of GPU nodes, the pods wait for a node forever. Of several
    patches, each with its manager, the last decides.
    Instead: repeat the tolerations of the runtime and of earlier patches.
    Before: tolerations: [{key: spot, operator: Exists}]
    After: tolerations: [{key: nvidia.com/gpu, operator: Exists}, {key: spot, operator: Exists}]
    Evidence: the JobSet plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0 to 2.3
    """
    for role in roles_in(job.runtime) if job.runtime else ():
        known = [each for _, each in role.items("tolerations")]
        pods = next((each.pods for each in job.roles if each.name == role.name), None)
        kept = pods[0].tree.get("spec", "tolerations") if pods else None
        if known and kept:
            lost = [each for each in known if not any(tolerates_as_much(other.data(), each) for other in items(kept))]
            first = next((each for each in items(kept) if each.mark.line), None)
            if lost and first:
                key = lost[0].get("key")
                said = key or ", ".join(f"{name}: {value}" for name, value in lost[0].items())
                yield Finding(first, f"the runtime's toleration of `{said}` is replaced", "repeat it")
    yield from _lost_between_patches(job)


def _lost_between_patches(job: LintedJob) -> Iterator[Finding]:
    """Yield the tolerations of patches that a later patch of the same replicated job replaces."""
    for several in _tolerations_of_patches(job).values():
        manager, kept = several[-1]
        for _, before in several[:-1]:
            lost = [each for each in before if not any(tolerates_as_much(other.data(), each.data()) for other in kept)]
            if lost:
                data = lost[0].data()
                said = data.get("key") or ", ".join(f"{name}: {value}" for name, value in data.items())
                yield Finding(lost[0], f"the toleration of `{said}` is lost: the patch of `{manager}` replaces the list", "repeat it there")


def _tolerations_of_patches(job: LintedJob) -> dict[str, list[tuple[str, list[MarkedTree]]]]:
    """The manager and tolerations of each patch that has some, in their order, by the name of the replicated job.

    The trainer leaves an empty list out.
    """
    entries = items(job.tree.get("spec", "runtimePatches"))
    jobs = ((text(entry, "manager"), each) for entry in entries for each in items(entry.get(*PATCHED_JOBS)))
    lists = ((text(each, "name"), (manager, each.get(*TEMPLATE, "spec", "tolerations"))) for manager, each in jobs)
    return gathered((name, (manager, items(found))) for name, (manager, found) in lists if items(found))


def tolerates_as_much(toleration: Data, other: Data) -> bool:
    """Whether a toleration tolerates all taints that another one does, effects and times aside."""
    exists = toleration.get("operator") == "Exists"
    same_key = (toleration.get("key") or "") == (other.get("key") or "")
    same_value = other.get("operator") != "Exists" and (toleration.get("value") or "") == (other.get("value") or "")
    return (exists and not toleration.get("key")) or (same_key and (exists or same_value))


def overwritten_port(job: LintedJob) -> Iterator[Finding]:
    """The trainer writes its own port over a port of the runtime that has no name.

    Why: the trainer takes two ports for the same one if their numbers or their names are equal, and two absent names are equal. Its own
    port, which has no name, replaces the first of the runtime's without a name.
    Instead: name the port.
    Before: ports: [{containerPort: 8080}]
    After: ports: [{containerPort: 8080, name: http}]
    Evidence: trainer 2.3.0; `UpsertPort` of github.com/kubeflow/trainer pkg/apply, 2.0 to 2.3
    """
    for role in roles_in(job.runtime) if job.runtime else ():
        made = next((each.pod_tree for each in job.roles if each.name == role.name), None)
        containers = {text(each, "name"): each for each in items(made.get("spec", "containers") if made else None)}
        for path, container in role.items("containers") if made else ():
            own = containers.get(container["name"])
            sent = [text(each, "containerPort") for each in items(own.get("ports") if own else None)]
            for index, port in enumerate(container.get("ports") or ()):
                if not port.get("name") and str(port["containerPort"]) not in sent and job.runtime:
                    message = (
                        f"port {port['containerPort']} of `{container['name']}` is lost: it has no name, and the trainer overwrites it"
                    )
                    place = job.runtime.nearest((*path, "ports", index, "containerPort")).place()
                    yield Finding(place if place.line else None, message, "name the port")


def launcher_only_image(job: LintedJob) -> Iterator[Finding]:
    """The image of the TrainJob is used by the MPI launcher only, not by the nodes.

    Why: the trainer puts the image into the job that is labelled as the trainer's, which is the launcher. The nodes, which do the work,
    keep the image of the runtime: another program, or none.
    Instead: a runtime of your own with the image, or a patch of the nodes.
    Before: trainer: {image: "ghcr.io/acme/train:1.4"}
    After: runtimeRef: {name: acme-deepspeed}
    Evidence: the MPI plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0 to 2.3
    """
    said = job.tree.get("spec", "trainer", "image")
    if not said or not said.value or job.in_runtime("spec", "mlPolicy", "mpi") is None:
        return
    other = next((each for each in job.training_containers if each.image and each.image.value not in ("", said.value)), None)
    if other:
        message = f"the pods of `{other.role.name}` keep the runtime's image, `{text(other.image)}`"
        yield Finding(said, message, "use a runtime with this image")


def unusable_runtime(job: LintedJob) -> Iterator[Finding]:
    """No TrainJob can run with this runtime, or none can end.

    Why: the server takes the runtime, and only what is made of it for a job is refused: then no pods are created, and at most an event
    says why. Where the files have a job that uses it, that job is reported instead.
    Instead: fix the runtime before anybody uses it.
    Before: template: {spec: {restartPolicy: Always}}
    After: template: {spec: {restartPolicy: Never}}
    Evidence: kubeflow/trainer#3779; the webhooks of JobSet, and the API server's validation of Jobs
    """
    if job.is_used_runtime:
        return
    name = job.given.nearest(("metadata", "name")).place()
    for each in _refusals(job):
        if str(each.mark) != str(name) and _LEFT_TO_JOBS not in each.message:
            yield Finding(each.mark, f"unusable runtime: {each.message}", each.hint)


def _refusals(runtime: LintedJob) -> Sequence[Diagnostic]:
    """The errors of a job that sets only its runtime."""
    from jobspec.outcome.arguments import wrong_torchrun_variables
    from jobspec.outcome.endings import restarts_forever
    from jobspec.outcome.judgement import refused_objects
    from jobspec.outcome.rendezvous import no_rendezvous, unknown_address
    from jobspec.outcome.training_program import started

    if runtime.refused:
        return runtime.refused
    made, programs = runtime.expanded, started(runtime.expanded)
    meets = [*unknown_address(made, programs), *no_rendezvous(made, programs), *wrong_torchrun_variables(programs)]
    found = [*refused_objects(made), *meets, *restarts_forever(made)]
    return [made.job.diagnostic(each) for each in found]


def several_launchers(job: LintedJob) -> Iterator[Finding]:
    """An MPI runtime has more than one launcher.

    Why: `mlPolicy.numNodes` counts the pods of the job that is labelled as the trainer's, which is the launcher; each of them would start
    the whole program on all nodes.
    Instead: leave it at 1; the TrainJob's `numNodes` counts the nodes.
    Before: mlPolicy: {numNodes: 4, mpi: {}}
    After: mlPolicy: {numNodes: 1, mpi: {}}
    Evidence: the MPI plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0 to 2.3
    """
    if job.in_runtime("spec", "mlPolicy", "mpi") is None:
        return
    launcher = next((each for each in job.roles if each.name == "launcher"), None)
    number = job.tree.get("spec", "mlPolicy", "numNodes")
    if launcher and number and launcher.count > 1:
        yield Finding(number, f"{launcher.count} launchers each start the program on all nodes", "write 1")


def no_processes(document: LintedDocument) -> Iterator[Finding]:
    """The runtime starts no process per node.

    Why: trainers before 2.4 accept any number in `mpi.numProcPerNode`; mpirun refuses the list of hosts that is made of it.
    Instead: 1, which means the number of GPUs, or another number.
    Before: mpi: {numProcPerNode: -5}
    After: mpi: {numProcPerNode: 1}
    Evidence: kubeflow/trainer#3809
    """
    path = ("spec", "mlPolicy", "mpi", "numProcPerNode")
    number = document.get(*path)
    if isinstance(number, int) and number < 1:
        yield Finding(path, f"invalid number of processes per node: {number}", "use 1 or more")


def implicit_runtime_kind(job: LintedJob) -> Iterator[Finding]:
    """The job does not set the kind of its runtime, and runtimes of both kinds have that name.

    Why: without a kind, the job uses the ClusterTrainingRuntime. The one of the namespace, which somebody made for this job, has no
    effect.
    Instead: write the kind.
    Before: runtimeRef: {name: torch-distributed}
    After: runtimeRef: {kind: TrainingRuntime, name: torch-distributed}
    Evidence: the CRD of TrainJob, whose default is ClusterTrainingRuntime
    """
    ref = job.tree.get("spec", "runtimeRef")
    name = text(ref, "name")
    if ref and job.runtime and not text(ref, "kind") and job.documents.named(job.given, TRAINING_RUNTIME, name):
        message = f"the job uses the ClusterTrainingRuntime `{name}`, not the TrainingRuntime of that name"
        yield Finding(ref.get("name") or ref, message, "write `kind`")


def gang_without_scheduler(job: LintedJob) -> Iterator[Finding]:
    """A pod group exists, but the pods use a scheduler that ignores it.

    Why: the trainer makes the PodGroup and leaves the choice of the scheduler to the runtime. The default scheduler places the pods one by
    one: a job gets half of its pods, and holds their GPUs while it waits for the others. The coscheduling plugin can be a part of the
    default scheduler, so that it is an info there; Volcano is always another scheduler.
    Instead: name the scheduler in the runtime's pod templates.
    Before: podGroupPolicy: {volcano: {}}
    After: template: {spec: {schedulerName: volcano}}
    Evidence: kubeflow/trainer#1825, volcano-sh/volcano#1959
    """
    policy = job.tree.get("spec", "podGroupPolicy")
    if not policy or not isinstance(policy.value, dict):
        return
    for role in job.roles:
        scheduler = role.pod_tree.get("spec", "schedulerName")
        if text(scheduler) in ("", _DEFAULT_SCHEDULER):
            is_written = scheduler is not None and scheduler.mark.line and text(scheduler)
            place, has = (
                (scheduler, f"`schedulerName: {_DEFAULT_SCHEDULER}`") if scheduler and is_written else (policy, "no `schedulerName`")
            )
            if policy.get("volcano"):
                message = f"the pods of `{role.name}` have {has}: gang scheduling has no effect"
                yield Finding(place, message, "write `schedulerName: volcano`")
            else:
                message = f"the pods of `{role.name}` have {has}: the default scheduler needs the coscheduling plugin"
                yield Finding(place, message, "name the scheduler that has the plugin, if the default one does not", severity="info")
            return


def both_gang_policies(document: LintedDocument) -> Iterator[Finding]:
    """A runtime sets both gang schedulers: `coscheduling` and `volcano`.

    Why: nothing refuses it, and both plugins of the trainer act: each makes a PodGroup, and the pods are in both. A pod has one scheduler,
    which waits for its own group; the other group is never scheduled, and pods can stay Pending.
    Instead: the policy of the scheduler that the pods name.
    Before: podGroupPolicy: {coscheduling: {}, volcano: {}}
    After: podGroupPolicy: {volcano: {}}
    Evidence: kubeflow/trainer#4060; the plugins of github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.1 to 2.3
    """
    path = ("spec", "podGroupPolicy")
    policy = document.get(*path)
    if isinstance(policy, dict) and policy.get("coscheduling") is not None and policy.get("volcano") is not None:
        yield Finding(path, "both `coscheduling` and `volcano`: two PodGroups, and pods have one scheduler", "keep one of them")


def uncounted_group_resources(job: LintedJob) -> Iterator[Finding]:
    """The job's pod group reserves other resources than its pods request.

    Why: trainer 2.0 and 2.1 compute `minResources` from the runtime, before the job's `resourcesPerNode`. The scheduler lets a group start
    where there is room for a part of its pods, which hold their GPUs and wait for the others.
    Instead: the resources in the runtime, or trainer 2.2.
    Before: trainer: {resourcesPerNode: {requests: {cpu: 16}}}
    After: containers: [{name: node, resources: {requests: {cpu: 16}}}]
    Evidence: kubeflow/trainer#2980, kubeflow/trainer#2982
    """
    said = job.tree.get("spec", "trainer", "resourcesPerNode")
    groups = job.expanded.of_kind("PodGroup")
    if not said or not groups or not group_counts_runtime_only(job.target["trainer"]):
        return
    from jobspec.go.quantities import quantity_of
    from jobspec.kubernetes.pods.amounts import exact_amounts, pod_requests, sum_of
    from jobspec.kubernetes.pods.defaults import with_requests

    of_roles = [(pod_requests(with_requests(each.pod_tree.data()["spec"]), exact_amounts), each.count) for each in job.roles]
    every = [{name: amount.times(count) for name, amount in amounts.items()} for amounts, count in of_roles]
    for name, asked in sorted(sum_of(every).items()):
        reserved = text(groups[0], "spec", "minResources", name) or "0"
        if quantity_of(reserved).nanos != asked.nanos:
            message = f"the PodGroup reserves {reserved} {name}, and its pods request {asked}: `minResources` counts the runtime alone"
            yield Finding(said, message, "write the resources into the runtime, or use trainer 2.2")
            return


def gang_with_initializers(job: LintedJob) -> Iterator[Finding]:
    """The pod group waits for pods that never run at the same time.

    Why: the group's size is the number of all pods, those of initializers included. What depends on a finished initializer starts when
    that one is gone, so that the group is never complete.
    Instead: a runtime without initializers, or without a pod group.
    Before: podGroupPolicy: {coscheduling: {}}
    After: spec: {}
    Evidence: the coscheduling plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/coscheduling, 2.0 to 2.3
    """
    policy = job.tree.get("spec", "podGroupPolicy")
    if not policy or not policy.value:
        return
    for role in items(job.tree.get(*REPLICATED_JOBS)):
        waits = [each for each in items(role.get("dependsOn")) if text(each, "status") == "Complete"]
        if waits:
            yield Finding(policy, f"`{text(role, 'name')}` starts when `{text(waits[0], 'name')}` is done: the group is never complete")
            return


RULES = (
    Rule(no_trainer_step, "warning", sees="runtime"),
    Rule(no_framework_label, "info", sees="runtime"),
    Rule(ignored_resources, "warning", sees="TrainJob", reads=["resourcesPerNode"]),
    Rule(rewritten_quantity, "warning", sees="TrainJob"),
    Rule(kept_arguments, "warning", sees="TrainJob", reads=["args"]),
    Rule(command_of_several_jobs, "warning", sees="TrainJob"),
    Rule(lost_tolerations, "warning", sees="TrainJob", reads=["tolerations"]),
    Rule(overwritten_port, "info", sees="TrainJob", reads=["ports"]),
    Rule(launcher_only_image, "warning", sees="TrainJob", reads=["mpi"]),
    Rule(unusable_runtime, "warning", sees="runtime's pods"),
    Rule(several_launchers, "warning", sees="runtime's pods", reads=["mpi"]),
    Rule(no_processes, "warning", sees="runtime"),
    Rule(implicit_runtime_kind, "warning", sees="TrainJob", kinds=[TRAINING_RUNTIME]),
    Rule(gang_without_scheduler, "warning", sees="runtime's pods", reads=["podGroupPolicy"]),
    Rule(both_gang_policies, "warning", sees="runtime"),
    Rule(uncounted_group_resources, "warning", sees="TrainJob", reads=["podGroupPolicy"]),
    Rule(gang_with_initializers, "warning", sees="runtime's pods", reads=["podGroupPolicy"]),
)
