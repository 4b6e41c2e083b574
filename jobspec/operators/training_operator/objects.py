"""All that the operator makes of a job, in the order of one pass: autoscaler, PodGroup, then each replica type's pods and services.

Follows `PyTorchJobReconciler.Reconcile`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, and
`JobController.ReconcileJobs`, pkg/controller.v1/common, 1.7.0 to 1.9.4. The operator walks the replica types in no fixed order; here
they have that of their ranks. It stops at the first object that a server refuses, and tries again with the types in another order; so what
is here is the most that can come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import MPIJOB, PYTORCHJOB
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, set_by, text
from jobspec.operators.made import Expansion, as_go_writes, at_most, with_generated_names
from jobspec.operators.training_operator.failures import failures_in_pods, reasons_for_nothing
from jobspec.operators.training_operator.job import Replicas, TrainingJob, labels, metadata, object_name
from jobspec.operators.training_operator.pods import pod_groups, pods
from jobspec.schemas import shapes


def expand_training_job(
    document: Document,
    target: Target,
    *,
    context: Sequence[Document],
    gang_scheduler: str,
    first_and_last_only: bool,
    skip_server_checks: bool,
) -> Expansion:
    """The objects of an accepted job. *context*: documents in which its priority classes and accounts may be; all others as for `expand`.

    Raises JobspecError for a job of more pods than anybody could read.
    """
    nothing = reasons_for_nothing(document, target)
    if nothing:
        return Expansion((), nothing)
    job = TrainingJob(document, target, gang_scheduler=gang_scheduler, first_and_last_only=first_and_last_only)
    objects = list(autoscalers(job, target))
    wrong = reasons_for_no_pods(job, document, target, skip_server_checks=skip_server_checks)
    if wrong:
        return Expansion(objects, wrong)
    if not first_and_last_only or job.framework.lists_pods:
        at_most(sum(each.made for each in job.replicas.values()), f"pods of {document.kind} `{job.name.value}`")
    if job.gang_scheduler:
        objects += pod_groups(job, context, target)
    if job.framework.kind == MPIJOB:
        from jobspec.operators.training_operator.mpi_job import mpi_objects

        objects += mpi_objects(job, context)
    else:
        for replicas in job.replicas.values():
            objects += pods(job, replicas)
            objects += services(job, replicas)
    return Expansion(objects, counts={name.lower(): each.made for name, each in job.replicas.items()})


def reasons_for_no_pods(job: TrainingJob, document: Document, target: Target, *, skip_server_checks: bool = False) -> list[Diagnostic]:
    """Return why the operator makes no pods of a *job*.

    The operator makes something of the job's *document*. The reason is a refused autoscaler, or a failure of the operator's own.
    """
    made = [] if skip_server_checks else autoscalers(job, target)
    return [*(each for one in made for each in _refusals(one, document, target)), *failures_in_pods(job, document)]


def _refusals(autoscaler: MarkedTree, document: Document, target: Target) -> Iterator[Diagnostic]:
    """Why the server refuses an autoscaler, upon which the operator makes nothing else."""
    from jobspec.kubernetes.builtin import builtin_problems

    data = with_generated_names(autoscaler)
    for problem in builtin_problems(data, data["apiVersion"], data["kind"], target, encoded=True):
        message = f"autoscaler `{text(autoscaler, 'metadata', 'name')}` refused, and the operator then creates no pods: {problem.message}"
        path = ("spec", "elasticPolicy", *problem.path[1:]) if problem.path[0] == "spec" else problem.path
        yield document.problem("autoscaler-refused", message, path, at_key=problem.at_key, hint=problem.hint)


# The headless services of a job, one for each pod, so that pods find each other by name.
#
# Follows `JobController.CreateNewService`, github.com/kubeflow/training-operator pkg/controller.v1/common, and `GetPortsFromJob`,
# pkg/core, 1.7.0 to 1.9.4. The operator walks the ports in no fixed order; here they have the container's.


def services(job: TrainingJob, replicas: Replicas) -> Iterator[MarkedTree]:
    """The services of a replica type, in order."""
    found = replicas.ports()
    if found is None:
        return
    by_name = {port.value["name"].value if "name" in port.value else "": port for port in found}
    ports = [_port(port) for port in by_name.values()]
    for index in job.indices(replicas):
        selector = labels(job, replicas, index)
        spec = {"clusterIP": "None", "selector": selector, **({"ports": ports} if ports else {})}
        about = metadata(job, object_name(job, replicas, index), labels=selector)
        yield set_by(job.operator, {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": spec})


def _port(port: MarkedTree) -> MarkedTree:
    named = {"name": port.value["name"]} if "name" in port.value else {}
    return port.with_value({**named, "port": port.value["containerPort"]})


# The HorizontalPodAutoscaler of a PyTorchJob whose elastic policy has metrics.
#
# Follows `desiredHPA`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.


def autoscalers(job: TrainingJob, target: Target) -> Iterator[MarkedTree]:
    """The autoscaler; none where the policy has no `metrics`. An empty list of them is one: the server fills in a metric."""
    policy = job.elastic if job.framework.kind == PYTORCHJOB else None
    metrics = policy.get("metrics") if policy else None
    if policy is None or metrics is None:
        return
    metrics = as_go_writes(metrics, shapes.part("kubeflow.org/v1", "PyTorchJob", target, ("spec", "elasticPolicy", "metrics")))
    limits = {name: policy.value[name] for name in ("minReplicas", "maxReplicas") if name in policy.value}
    scaled = {"scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job.name}}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    spec = {**scaled, **limits, **({"metrics": metrics} if metrics.value else {})}
    yield set_by(job.operator, {**kind, "metadata": metadata(job, job.name), "spec": spec})
