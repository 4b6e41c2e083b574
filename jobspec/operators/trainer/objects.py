"""Expand a TrainJob: the trainer's objects, the Jobs and the Service that JobSet makes of the JobSet, and the pods of the Jobs."""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import LateTree, MarkedTree, changed, items, of_kind, set_by, text, with_fields, with_mappings
from jobspec.kubernetes.pods.amounts import exact_amounts, pod_requests
from jobspec.operators.jobset.objects import JOBSET
from jobspec.operators.jobset.pods import counts_of, objects_of_jobset
from jobspec.operators.jobset.webhook import refusals, stored_jobset
from jobspec.operators.made import (
    Expansion,
    as_applied,
    as_go_writes,
    as_typed,
    owner_references,
    stored,
    with_items,
    with_variables,
)
from jobspec.operators.trainer import flux, mpi
from jobspec.operators.trainer.frameworks import enforced, is_active
from jobspec.operators.trainer.node_resources import with_resources
from jobspec.operators.trainer.overrides import overridden
from jobspec.operators.trainer.pod_sets import LAUNCHER, POD, TrainerPodSet, is_configured, pod_sets, synced
from jobspec.operators.trainer.runtimes import API_VERSION, INITIALIZERS, PATCH_FIELDS, RuntimeReference, group_counts_runtime_only
from jobspec.operators.trainer.torchtune_command import command_of_torchtune
from jobspec.operators.trainer.train_job import JobOfTrainer, core_object
from jobspec.operators.workloads import NODE, REPLICATED_JOBS
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target


def expand_trainjob(
    job: Document,
    runtime: Document | None,
    target: Target,
    *,
    context: Sequence[Document] = (),
    first_and_last_only: bool = False,
    skip_server_checks: bool = False,
) -> Expansion:
    """What the trainer, JobSet and Kubernetes make of a TrainJob that a server accepts, in the order in which it comes.

    *context*: documents in which a priority class of the pods may be; *first_and_last_only*, *skip_server_checks*: as for `expand`.
    """
    if runtime is None:
        return Expansion((), [_no_runtime(job, target)])
    train_job = JobOfTrainer(stored(job, target), _stored_runtime(runtime, target), target["trainer"])
    managed = managed_by_others(train_job, job)
    if managed:
        return Expansion((), [managed])
    made = made_by_trainer(train_job, job, runtime, target)
    further, refused = list[MarkedTree](), list[Diagnostic]()
    for jobset in [stored_jobset(each, target) for each in of_kind(made.objects, "JobSet")]:
        further += objects_of_jobset(jobset, target, context=context, first_and_last_only=first_and_last_only)
        refused += [] if skip_server_checks else refusals(jobset, job, target)
    return Expansion([*made.objects, *further], [*made.diagnostics, *refused], counts=counts_of(further))


def _stored_runtime(runtime: Document, target: Target) -> MarkedTree:
    """A runtime as the server stores it; one of the whole cluster has no namespace."""
    tree = stored(runtime, target)
    if runtime.group_kind != CLUSTER_TRAINING_RUNTIME:
        return tree
    return changed(tree, ("metadata",), lambda each: each.with_value({name: it for name, it in each.value.items() if name != "namespace"}))


def _no_runtime(job: Document, target: Target) -> Diagnostic:
    ref = RuntimeReference(job.data)
    message = f"no {ref.kind} `{ref.name}` in the files or in trainer {target['trainer']}: what becomes of the job is not known"
    hint = "add the runtime to the job's file, or pass its file, too"
    return job.problem("unresolved-reference", message, ("spec", "runtimeRef", "name"), hint=hint)


# What the trainer makes of a TrainJob whose runtime is known.
#
# Follows `NewObjects`, github.com/kubeflow/trainer pkg/runtime/core, and `reconcileObjects` in pkg/controller, 2.0.0 to 2.3.0.


def made_by_trainer(job: JobOfTrainer, document: Document, runtime: Document, target: Target) -> Expansion:
    """The objects that the trainer sends, the JobSet last; all belong to the job. *document*, *runtime*: for problems in them."""
    template = job.runtime.get("spec", "template", "spec")
    spec = _overridden(template or MarkedTree({}, job.mark), job, target)
    before = pod_sets(spec, job)
    kept = [_snapshot(job, target)] if snapshot_name(text(job.name), target) else []
    found = list(failures(job, before, document, runtime))
    if found:
        return Expansion([_sent(each, job) for each in kept], found)
    sets = enforced(with_resources(before, job) if job.is_at_least("2.3.0") else before, job)
    has_flux = is_active(job, "flux")
    late = sets if job.is_at_least("2.3.0") else with_resources(sets, job)  # before 2.3 the plugins have counted the runtime's own
    final = jobset(job, late, spec, command=flux.wrapped_command(before, job) if has_flux else None)
    plugins = [mpi.secret(job), mpi.host_file(job, sets, spec)] if job.policy("mpi") is not None else []
    plugins += flux.settings_and_keys(job) if has_flux else []
    counted = sets if group_counts_runtime_only(job.release) else with_resources(sets, job)
    groups = pod_groups(job, counted, final["metadata"].get("annotations"))
    return Expansion([_sent(each, job) for each in (*kept, *plugins, *groups, final)])


def snapshot_name(job: str, target: Target) -> str:
    """Return the name of the ConfigMap in which the trainer keeps the runtime of a job.

    If the release of the trainer keeps none, return an empty string.
    """
    return f"{job}-runtime-snapshot" if is_at_least(target["trainer"], "2.3.0") else ""


def _snapshot(job: JobOfTrainer, target: Target) -> dict[str, Any]:
    """The ConfigMap with the runtime, whose text is made for the first who looks at it."""
    place = job.runtime.value["metadata"].value["name"]
    runtime = LateTree(lambda: written(job.runtime, target), place.mark, place.key)
    return core_object("ConfigMap", snapshot_name(text(job.name), target), data={"runtime": runtime})


def _overridden(spec: MarkedTree, job: JobOfTrainer, target: Target) -> MarkedTree:
    """The spec of the runtime's JobSet in Go's form, with the changes that the job says."""
    shape = shapes.part(*JOBSET, target, ("spec",))
    typed = as_typed(spec, shape)
    if not any(job.tree.get("spec", name) for name in PATCH_FIELDS):
        return typed
    return as_typed(overridden(typed, job, shape, target), shape)


def _sent(made: dict[str, Any], job: JobOfTrainer) -> MarkedTree:
    """An object in the job's namespace that goes when the job goes."""
    tree = set_by(job.mark, made)
    owners = owner_references(job.mark, API_VERSION, "TrainJob", job.name)
    own = {"namespace": job.tree.get("metadata", "namespace"), "ownerReferences": owners}
    return with_fields(tree, {"metadata": with_fields(tree.value["metadata"], own)})


# The JobSet that the trainer makes of a TrainJob.
#
# Follows `Build` and `Builder` of the plugin jobset, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0.


def jobset(job: JobOfTrainer, sets: list[TrainerPodSet], spec: MarkedTree, *, command: MarkedTree | None = None) -> dict[str, Any]:
    """The JobSet as the trainer sends it; *spec* is the runtime's with the job's overrides.

    *command*: what a plugin runs in place of the job's command and arguments.
    """
    program = {"command": command or _command(job, sets), **({} if command else {"args": job.trainer("args")})}
    sent = [each.changed(job=synced(each, job)) for each in sets]
    jobs = [in_group(_with_job(_initializing(each, job), job, program).job, job) for each in sent]
    listed = spec.get("replicatedJobs")
    whole = with_fields(spec, {"replicatedJobs": listed and listed.with_value(jobs), "suspend": job.tree.get("spec", "suspend")})
    metadata = {"name": job.name, **{name: labels for name in ("labels", "annotations") if (labels := _propagated(job, name))}}
    return {"apiVersion": JOBSET[0], "kind": JOBSET[1], "metadata": metadata, "spec": as_applied(whole)}


def _command(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The command that a job sets, with what the trainer adds to it; None where the runtime's stays."""
    return command_of_torchtune(job, sets) if job.is_torchtune else job.trainer("command")


def _propagated(job: JobOfTrainer, name: str) -> MarkedTree | None:
    """The JobSet's labels or annotations: the runtime's, and the job's own from `spec` (until 2.1) or its patches (2.2 on)."""
    own = [job.tree.get("spec", name)]
    if job.is_at_least("2.2.0"):
        patches = items(job.tree.get("spec", "runtimePatches"))
        own = [each.get("trainingRuntimeSpec", "template", "metadata", name) for each in patches]
    found = [each for each in (job.runtime.get("spec", "template", "metadata", name), *own) if each is not None]
    every = {key: child for each in found for key, child in each.value.items()}
    return found[0].with_value(every) if every else None


def _initializing(pod_set: TrainerPodSet, job: JobOfTrainer) -> TrainerPodSet:
    """A replicated job that fetches the data or the model, with what the job says of it."""
    field = next((field for field, part in INITIALIZERS.items() if part == pod_set.ancestor), "")
    if not field:
        return pod_set
    once, initializer = _once(pod_set, job), job.tree.get("spec", "initializer", field)
    return once.with_container(pod_set.ancestor, lambda each: _fetching(each, initializer, job)) if initializer else once


def _fetching(container: MarkedTree, initializer: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """The container of an initializer, with the place that it fetches from, its variables and its secret."""
    uri = initializer.get("storageUri")
    if uri:
        container = with_items(container, "env", [set_by(job.mark, {"name": "STORAGE_URI", "value": uri})])
    container = with_variables(container, initializer.get("env"))
    secret = initializer.get("secretRef", "name")
    if secret is None:
        return container
    sources = [*items(container.get("envFrom")), set_by(job.mark, {"secretRef": {"name": secret}})]
    return with_fields(container, {"envFrom": secret.with_value(sources)})


def _once(pod_set: TrainerPodSet, job: JobOfTrainer) -> TrainerPodSet:
    return pod_set.changed(job=with_fields(pod_set.job, {"replicas": MarkedTree(1, job.mark)}))


def _with_job(pod_set: TrainerPodSet, job: JobOfTrainer, program: dict[str, MarkedTree | None]) -> TrainerPodSet:
    """A replicated job that trains, with what the job says in `spec.trainer`; MPI's further nodes get the variables alone."""
    if pod_set.trains:
        own = {"image": job.trainer("image"), **program}
        pod_set = _once(pod_set, job).with_container(NODE, lambda each: _without_empty_lists(with_fields(each, own)))
    if is_configured(pod_set, job):
        return pod_set.with_container(NODE, lambda each: with_variables(each, job.trainer("env")))
    return pod_set


def _without_empty_lists(container: MarkedTree) -> MarkedTree:
    """An empty command or list of arguments is not sent, so the image's own counts."""
    return container.with_value({name: each for name, each in container.value.items() if name not in ("command", "args") or each.value})


# The text of the runtime as it was when the job began, which the trainer keeps in a ConfigMap from 2.3 on.
#
# Follows `createRuntimeSnapshot`, github.com/kubeflow/trainer pkg/runtime/core, 2.3.0. What the cluster adds to the runtime's metadata (its
# uid, its times, who manages its fields) is left out.


def written(runtime: MarkedTree, target: Target) -> str:
    """The text of a stored runtime."""
    from jobspec.documents.writer import write

    return write([_sorted(_typed(runtime, target).data())])


def _typed(runtime: MarkedTree, target: Target) -> MarkedTree:
    kind, path = (text(runtime, "apiVersion"), text(runtime, "kind")), ("spec", "template", "spec")
    runtime = with_mappings(as_go_writes(runtime, shapes.part(*kind, target)), ("spec", "template", "metadata"))
    return changed(runtime, path, lambda tree: as_typed(tree, shapes.part(*kind, target, path)))


def _sorted(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _sorted(data[name]) for name in sorted(data)}
    return [_sorted(each) for each in data] if isinstance(data, list) else data


# The trainer's plugins for gang scheduling: a pod group for all pods of a job, and what puts each pod into it.
#
# Follows the plugins coscheduling and volcano (2.1 on), github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
# `PodRequests`, k8s.io/component-helpers resource.


_LABEL = "scheduling.x-k8s.io/pod-group"
_ANNOTATION = "scheduling.k8s.io/group-name"
_QUEUE = "scheduling.volcano.sh/queue-name"


def has_volcano(job: JobOfTrainer) -> bool:
    """Whether Volcano schedules the job's pods."""
    return job.is_at_least("2.1.0") and job.group_policy("volcano") is not None


def in_group(replicated: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """A replicated job whose pods say that they are in the job's group."""
    template = POD[:-1]
    if job.group_policy("coscheduling"):
        replicated = changed(replicated, (*template, "metadata", "labels"), lambda tree: with_fields(tree, {_LABEL: job.name}))
    if has_volcano(job):
        replicated = changed(replicated, (*template, "metadata", "annotations"), lambda tree: with_fields(tree, {_ANNOTATION: job.name}))
    return replicated


def pod_groups(job: JobOfTrainer, sets: list[TrainerPodSet], annotations: MarkedTree | None) -> list[dict[str, Any]]:
    """The pod groups; *annotations* are the JobSet's."""
    if not job.group_policy("coscheduling") and not has_volcano(job):
        return []
    spec = {"minMember": sum(each.count.value for each in sets), "minResources": _requests(sets)}
    own: dict[str, dict[str, MarkedTree]] = {}
    if job.group_policy("coscheduling"):
        timeout = job.group_policy("coscheduling", "scheduleTimeoutSeconds")
        own["scheduling.x-k8s.io/v1alpha1"] = {"scheduleTimeoutSeconds": timeout} if timeout else {}
    if has_volcano(job):
        own["scheduling.volcano.sh/v1beta1"] = _volcano(job, sets, annotations)
    group = {"kind": "PodGroup", "metadata": {"name": text(job.name)}}
    return [{"apiVersion": version, **group, "spec": {**spec, **each}} for version, each in own.items()]


def _volcano(job: JobOfTrainer, sets: list[TrainerPodSet], annotations: MarkedTree | None) -> dict[str, MarkedTree]:
    """What Volcano wants to know besides: the queue, the priority of the last pods that have one, the network's topology."""
    classes = [name for each in sets if (name := each.job.get(*POD, "priorityClassName"))]
    found = {
        "queue": annotations.get(_QUEUE) if annotations else None,
        "priorityClassName": classes[-1] if classes else None,
        "networkTopology": job.group_policy("volcano", "networkTopology"),
    }
    return {name: each for name, each in found.items() if each is not None}


def _requests(sets: list[TrainerPodSet]) -> dict[str, str]:
    """The resources that all pods ask for."""
    from jobspec.kubernetes.pods.amounts import sum_of

    every = [(pod_requests(spec.data(), exact_amounts), each.count.value) for each in sets if (spec := each.job.get(*POD))]
    total = sum_of([{name: each.times(count) for name, each in amounts.items()} for amounts, count in every])
    return {name: str(amount) for name, amount in sorted(total.items())}


# Errors in an accepted TrainJob for which the trainer creates nothing.
#
# Follows `EnforceMLPolicy` of the plugins mpi, jax and flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
# `Reconcile`, pkg/controller.


_OPEN_MPI = "OpenMPI"
_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
_MANAGER: Path = ("spec", "managedBy")


def managed_by_others(job: JobOfTrainer, document: Document) -> Diagnostic | None:
    """From 2.3 on the trainer leaves a job alone that others manage; before, it makes its objects all the same."""
    manager = text(job.tree, *map(str, _MANAGER))
    if not job.is_at_least("2.3.0") or manager in ("", _CONTROLLER):
        return None
    message = f"`{manager}` manages the job: the trainer creates nothing for it here"
    return document.problem("no-pods-created", message, _MANAGER, severity="info")


def failures(job: JobOfTrainer, sets: list[TrainerPodSet], document: Document, runtime: Document) -> Iterator[Diagnostic]:
    """The reasons, in the job or in its *runtime*, for which the trainer makes no JobSet."""
    if is_active(job, "flux") and job.trainer("numNodes") is None:
        message = "the trainer crashes on a job for Flux without `numNodes`"
        yield document.problem("operator-crash", message, ("spec", "trainer", "numNodes"), hint="write `numNodes: 1`")
    implementation = job.policy("mpi", "mpiImplementation")
    launches = any(text(each, "name") == NODE for pods in sets if pods.name == LAUNCHER for each in pods.containers())
    if implementation and implementation.value != _OPEN_MPI and launches:
        message = f"the trainer can launch {_OPEN_MPI} only, not `{implementation.value}`"
        path: Path = ("spec", "mlPolicy", "mpi", "mpiImplementation")
        yield runtime.problem("refused-by-operator", message, path, hint=f"write `{_OPEN_MPI}`")
    if is_active(job, "jax") and not job.is_at_least("2.3.0") and not any(each.trains for each in sets):
        message = "the trainer crashes on a runtime for JAX without a job labelled as the trainer's"
        hint = "label a replicated job's template with `trainer.kubeflow.org/trainjob-ancestor-step: trainer`"
        yield runtime.problem("operator-crash", message, REPLICATED_JOBS, hint=hint)
