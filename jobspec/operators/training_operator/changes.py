"""What the training-operator does with a changed field of a job that lives on under its name.

Follows `ReconcileJobs` and `ReconcilePods`, github.com/kubeflow/training-operator pkg/controller.v1/common, `ReconcileHPA`,
pkg/controller.v1/pytorch, and `getOrCreateConfigMap`, pkg/controller.v1/mpi, 1.9: a pod is made where one is missing and deleted where it
is one too many, and one that is there is left as it is; the run policy is read each time, and so is what decides on success.
"""

from __future__ import annotations

from jobspec.apis.kinds import MPIJOB, PYTORCHJOB
from jobspec.diagnostics.places import Path, value_at
from jobspec.documents.document import Document
from jobspec.operators.life import HOSTS_CHANGE, PODS_STAY, RUN_POLICY, Effect, suspension_effect
from jobspec.operators.training_operator.frameworks import FRAMEWORKS, Framework
from jobspec.operators.workloads import is_suspended, suspend_of

_NODES_STAY = "running pods keep the old number of nodes"
#: The fields of a spec that the operator reads each time, as it reads the run policy.
_READ_EACH_TIME = ("successPolicy", "cleanPodPolicy")
#: The fields from which the operator writes the scripts of an MPIJob again.
_OF_SCRIPTS = ("slotsPerWorker", "mainContainer")
#: The fields of an elastic policy that are those of its autoscaler.
_SCALED = ("minReplicas", "maxReplicas", "metrics")


def effect_on_training_job(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a job of training-operator, at a path in its spec."""
    framework = FRAMEWORKS[new.group_kind]
    if path == suspend_of(new.group_kind):
        return suspension_effect(old, new)
    if path == (*RUN_POLICY, "managedBy"):
        if not framework.is_managed:
            return Effect(f"the training-operator makes the pods of {framework.a_job} whatever it says", heeded=False)
        return Effect("the training-operator leaves the job and its pods to another controller")
    if path[:2] == RUN_POLICY or path[1] in _READ_EACH_TIME:
        return Effect()
    if path[1] in _OF_SCRIPTS:
        return Effect("" if is_suspended(new) else HOSTS_CHANGE)
    return _effect_on_pods(path, framework, old, new)


def _effect_on_pods(path: Path, framework: Framework, old: Document, new: Document) -> Effect:
    """The effect of a changed field that decides which pods there are, and what they are."""
    was_there, is_there = (value_at(each.data, path[:3]) is not None for each in (old, new))
    is_of_role = path[:2] == framework.replicas
    if is_of_role and is_there and (path[3:] == ("replicas",) or not was_there):  # pods are made or deleted
        return Effect(HOSTS_CHANGE if framework.kind == MPIJOB else _NODES_STAY)
    if framework.kind == PYTORCHJOB and path[:2] == ("spec", "elasticPolicy") and path[2:3] and path[2] in _SCALED:
        if value_at(new.data, ("spec", "elasticPolicy", "metrics")) is not None:
            return Effect(_NODES_STAY)
        return Effect("its HorizontalPodAutoscaler stays" if path[2] == "metrics" else PODS_STAY, heeded=False)
    if is_suspended(old) or is_suspended(new):  # without pods; new ones come when the job resumes
        return Effect()
    return Effect("pods of a removed role stay" if is_of_role and not is_there else PODS_STAY, heeded=False)
