"""All that the operator makes of a PyTorchJob, in the order of one pass: autoscaler, PodGroup, then each replica type's pods and services.

Follows `PyTorchJobReconciler.Reconcile`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, and
`JobController.ReconcileJobs`, pkg/controller.v1/common, 1.7.0 to 1.9.4. The operator walks the replica types in no fixed order; here
the Master comes first. It stops at the first object that a server refuses, and tries again with the types in another order; so what
is here is the most that can come.
"""

from __future__ import annotations

from jobspec.operators.objects import Expansion, few
from jobspec.operators.training_operator.failures import failures_at_once, failures_in_pods, unreadable_values
from jobspec.operators.training_operator.job import TrainingJob
from jobspec.operators.training_operator.pods import pods
from jobspec.operators.training_operator.services import services
from jobspec.workloads import suspension, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.targets import Target

_MANAGER = ("spec", "runPolicy", "managedBy")
_OWN_NAME = "kubeflow.org/training-operator"


def expand_pytorchjob(document: Document, target: Target, *, beside: Sequence[Document], gang_scheduler: str, ends: bool) -> Expansion:
    """The objects of an accepted PyTorchJob. *beside*: documents in which its priority classes may be; *ends*: as for `expand`.

    Raises JobspecError for a job of more pods than anybody could read.
    """
    nothing = _reasons_for_nothing(document, target)
    if nothing:
        return Expansion((), nothing)
    job = TrainingJob(document, target, gang_scheduler=gang_scheduler, ends=ends)
    objects, wrong = _autoscalers(job, document, target)
    wrong += failures_in_pods(job, document)
    if wrong:
        return Expansion(objects, wrong)
    if not ends:
        few(sum(each.made for each in job.replicas.values()), f"pods of PyTorchJob `{job.name.value}`")
    if job.gang_scheduler:
        from jobspec.operators.training_operator.pod_group import pod_groups

        objects += pod_groups(job, beside, target)
    for replicas in job.replicas.values():
        objects += pods(job, replicas)
        objects += services(job, replicas)
    return Expansion(objects, counts={name.lower(): each.made for name, each in job.replicas.items()})


def _reasons_for_nothing(document: Document, target: Target) -> list[Diagnostic]:
    """Why the operator makes nothing at all of the job; none where it looks at the replica types."""
    unreadable = unreadable_values(document, target)
    if unreadable:
        return unreadable
    manager = value_at(document.data, _MANAGER)
    if manager and manager != _OWN_NAME:
        message = f"`{manager}` manages the job, so the operator makes nothing of it here"
        return [document.problem("nothing-made", message, _MANAGER, severity="info")]
    return list(failures_at_once(document, target)) or suspension(document)


def _autoscalers(job: TrainingJob, document: Document, target: Target) -> tuple[list[MarkedTree], list[Diagnostic]]:
    """The autoscaler, where the job has metrics for one, and what is wrong with it."""
    if job.elastic is None or job.elastic.get("metrics") is None:
        return [], []
    from jobspec.operators.training_operator.autoscaler import autoscalers, refused_limits

    why = refused_limits(job)
    message = f"{why}: the server refuses it, and the operator then makes nothing else"
    return list(autoscalers(job, target)), [document.problem("autoscaler-refused", message, ("spec", "elasticPolicy"))] if why else []
