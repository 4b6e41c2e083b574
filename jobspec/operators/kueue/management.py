"""Which namespaces Kueue manages by its configuration, and what becomes of jobs outside of them, or without a queue name.

Follows `WorkloadShouldBeSuspended`, `ReconcileGenericJob` and `ApplyDefaultLocalQueueWithManagedJobsNamespaceSelector`,
sigs.k8s.io/kueue pkg/controller/jobframework, and `SetDefaults_Configuration`, apis/config/v1beta2, 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.kinds import NAMESPACE, TRAINJOB
from jobspec.apis.releases import QUEUES, is_at_least
from jobspec.go.values import mapping, string_map, text
from jobspec.kubernetes.label_selectors import meets, requirements
from jobspec.kubernetes.metadata import NAMESPACE_NAME
from jobspec.kubernetes.workloads.selectors import misses
from jobspec.operators.kueue.keys import ELASTIC
from jobspec.operators.kueue.versions import RELEASE, not_queued, writes_runtime_patches
from jobspec.operators.trainer.runtimes import has_runtime_patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.apis.kinds import GroupKind
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.world import World

DEFAULT_QUEUE = "default"
"""The LocalQueue of jobs that name none."""


def select_namespace(selector: Data, namespace: str, world: World) -> tuple[bool | None, Sequence[str]]:
    """Return whether a selector matches a namespace, and the requirements that the namespace misses.

    If the Namespace is not given and the selector asks for labels other than the name, return None for the match.
    """
    known = world.others.find(NAMESPACE, "", namespace)
    labels = {**string_map(mapping(known, "metadata"), "labels"), NAMESPACE_NAME: namespace}
    missed = misses(selector, labels)
    if not missed:
        return True, ()
    by_name = not all(meets(labels, each) for each in requirements(selector) if each["key"] == NAMESPACE_NAME)
    return False if known or by_name else None, missed


def _selector(world: World) -> Data:
    """The selector of the managed namespaces; without one, all but those of the cluster and of Kueue itself."""
    said = world.configuration.get("managedJobsNamespaceSelector")
    if isinstance(said, dict):
        return said
    excluded = ["kube-system", text(world.configuration, "namespace") or "kueue-system"]
    return {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "NotIn", "values": excluded}]}


def manages_namespace(namespace: str, world: World) -> tuple[bool | None, Sequence[str]]:
    """Return whether the given configuration manages a namespace, and what the namespace misses; None if that depends on its labels."""
    return select_namespace(_selector(world), namespace, world) if world.configuration else (True, ())


def default_queue(namespace: str, target: Target, world: World) -> str:
    """Return the queue of jobs that name none.

    That is `default` if the namespace has a queue of this name and Kueue labels jobs there, or else an empty string. Older releases label
    jobs in excluded namespaces, too.
    """
    if not world.local_queue(namespace, DEFAULT_QUEUE):
        return ""
    return DEFAULT_QUEUE if manages_namespace(namespace, world)[0] is not False or not _labels_managed_only(target) else ""


def _labels_managed_only(target: Target) -> bool:
    """True if Kueue gives the default queue to jobs of managed namespaces only."""
    release = _release(target)
    return is_at_least(release, "0.19.1") or (is_at_least(release, "0.18.5") and not is_at_least(release, "0.19.0"))


def leaves_suspended(kind: GroupKind, namespace: str, target: Target, world: World) -> str:
    """Return why a job with a queue name stays suspended without a Workload.

    The reason is that Kueue's configuration excludes the namespace of the job. If it does not, return an empty string.
    """
    if not is_queued_kind(kind, target, world) or not _always_asks_for_namespace(target, world):
        return ""
    managed, missed = manages_namespace(namespace, world)
    if managed is not False:
        return ""
    return f"Kueue's configuration excludes the namespace `{namespace}`: it manages those with {', '.join(missed)}"


def _always_asks_for_namespace(target: Target, world: World) -> bool:
    """True if the selector of namespaces counts for jobs with a queue name, too."""
    gate = mapping(world.configuration, "featureGates").get("ManagedJobsNamespaceSelectorAlwaysRespected")
    release = _release(target)
    return is_at_least(release, "0.15.0") if gate is None or is_at_least(release, "0.19.0") else gate is True


def is_elastic(job: Document, target: Target, world: World) -> bool:
    """True if Kueue follows a changed number of pods of a job by slices of its Workload, without a stop."""
    if string_map(mapping(job.data, "metadata"), "annotations").get(ELASTIC) != "true":
        return False
    gate = mapping(world.configuration, "featureGates").get("ElasticJobsViaWorkloadSlices")
    return gate if isinstance(gate, bool) else is_at_least(_release(target), "0.18.0")


def suspends_without_queue(kind: GroupKind, namespace: str, target: Target, world: World) -> bool | None:
    """True if Kueue suspends a job that names no queue.

    If that depends on labels of the job's namespace that are not given, return None.
    """
    if world.configuration.get("manageJobsWithoutQueueName") is not True or not is_queued_kind(kind, target, world):
        return False
    return manages_namespace(namespace, world)[0]


def never_starts(kind: GroupKind, target: Target, world: World) -> str:
    """Return why Kueue never starts jobs of a kind that it admits.

    The reason is that the releases of Kueue and the trainer, both named, do not work together. If they do, return an empty string.
    """
    kueue, trainer = target.get(QUEUES), target["trainer"]
    if kind != TRAINJOB or not kueue or not writes_runtime_patches(kueue) or has_runtime_patches(trainer):
        return ""
    if not is_queued_kind(kind, target, world):
        return ""
    return f"Kueue {kueue} never starts TrainJobs of trainer {trainer}, which lacks `runtimePatches`"


def is_queued_kind(kind: GroupKind, target: Target, world: World) -> bool:
    """True if Kueue queues jobs of a kind, by its configuration or, without one, by default."""
    return not not_queued(kind, _release(target), world.configuration)[0]


def _release(target: Target) -> str:
    return target.get(QUEUES, RELEASE)
