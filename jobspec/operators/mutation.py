"""The document after a mutating webhook, which comes before the schema check.

The webhook decodes a document into Go's types and encodes it again. So a missing required field gets Go's zero: an empty text, 0, an
object of zeros; a list stays absent. A null item of a list becomes such a zero, too, and a quantity gets its canonical form.

Follows `defaulterForType.Handle`, sigs.k8s.io/controller-runtime pkg/webhook/admission, as JobSet 0.8.2 to 0.12.0 and trainer 2.2.0 to
2.3.0 use it. From controller-runtime 0.23.3 on, which trainer 2.2.0 and JobSet 0.12.0 have, an object in which the defaulter changes
nothing stays as it was sent. Which ones these are follows `TrainJobDefaulter.Default`, github.com/kubeflow/trainer pkg/webhooks, 2.2.0
and 2.3.0, `jobSetWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.12.0, and `LeaderWorkerSetWebhook.Default`, sigs.k8s.io/lws
pkg/webhooks, 0.9.0 and 0.10.0.
"""

from __future__ import annotations

from jobspec.apis.kinds import (
    CLUSTER_QUEUE,
    JOBSET,
    LEADER_WORKER_SET,
    MPIJOB,
    QUEUE_GROUP,
    QUEUED_TRAINING_JOBS,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    RESOURCE_FLAVOR,
    TRAINJOB,
)
from jobspec.apis.releases import QUEUES, Target, is_at_least, release_of
from jobspec.documents.document import Document
from jobspec.go.codec import completed, decode_as_go, reencoded
from jobspec.go.values import items, mapping, structs
from jobspec.kubernetes.structural import filled
from jobspec.operators.workloads import JOBS, QUEUE, is_of_other_operator
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.apis.kinds import GroupKind


def is_rewritten(document: Document, target: Target, *, old: Document | None) -> bool:
    """True if a mutating webhook rewrites the document.

    If *old* is not None, the document is an update of it.
    """
    if not has_defaulter(document, target, old=old):
        return False
    if old is None and _is_changed_by_kueue(document, target):
        return True
    if document.group_kind in _OF_KUEUE:
        return False
    if document.group_kind == JOBSET:
        from jobspec.operators.jobset_defaults import with_jobset_defaults

        spec = mapping(document.data, "spec")
        return not is_at_least(target["jobset"], "0.12.0") or with_jobset_defaults(spec) != spec
    if document.group_kind == LEADER_WORKER_SET:
        return not is_at_least(target["lws"], "0.9.0") or _lacks_lws_defaults(document, target, old)
    shape = shapes.load(document.api_version, document.kind, target)
    patches = _patches(document, shape)
    before = {each.get("manager"): each for each in _patches(old, shape)} if old else {}
    return any(before[each.get("manager")] != each if each.get("manager") in before else each.get("time") is None for each in patches)


def _lacks_lws_defaults(document: Document, target: Target, old: Document | None) -> bool:
    """Whether a LeaderWorkerSet lacks defaults of its webhook; an update keeps those that the *old* one got."""
    from jobspec.kubernetes.applying import applied
    from jobspec.operators.lws_defaults import with_lws_defaults

    shape = shapes.part(document.api_version, document.kind, target, ("spec",))
    spec = mapping(document.data, "spec")
    if old is not None:
        before = mapping(old.data, "spec")
        spec = applied(with_lws_defaults(filled(before, shape)), before, spec, shape, "client", is_builtin=False)
    spec = filled(spec, shape)
    return bool(with_lws_defaults(spec) != spec)


def _patches(document: Document, shape: Shape | None) -> list[dict[str, Any]]:
    """The `runtimePatches` of a TrainJob, as Go decodes them."""
    decoded = decode_as_go(document.data, shape) if shape else {}
    return structs(decoded, "spec", "runtimePatches")


def has_defaulter(document: Document, target: Target, *, old: Document | None) -> bool:
    """Whether a mutating webhook reads the document: JobSet's and Kueue's on a create, that of LWS always, the trainer's from 2.2 on."""
    kind = document.group_kind
    if kind == LEADER_WORKER_SET:
        return True
    is_read = kind == JOBSET or kind in _OF_KUEUE or (QUEUES in target and kind in _READ_BY_KUEUE and kueue_is_asked(document, target))
    return (is_read and old is None) or (kind == TRAINJOB and is_at_least(target["trainer"], "2.2.0"))


def kueue_is_asked(job: Document, target: Target) -> bool:
    """True if the server asks Kueue's webhooks about a job.

    By Kueue's own manifests it does not in the cluster's namespace and in Kueue's, from this release on.
    """
    return job.namespace not in ("kube-system", "kueue-system") or not is_at_least(release_of(QUEUES, target), "0.18.0")


#: The kinds of jobs that a webhook of Kueue reads, in a queue or not, and whether Kueue is set up for them or not.
_READ_BY_KUEUE = (MPIJOB, *QUEUED_TRAINING_JOBS, TRAINJOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE)
#: The kinds of Kueue's own that its webhook reads; it adds a finalizer to the first two.
_OF_KUEUE = (CLUSTER_QUEUE, RESOURCE_FLAVOR, (QUEUE_GROUP, "Workload"))


def _is_changed_by_kueue(document: Document, target: Target) -> bool:
    """Whether Kueue's webhook changes a new object: it adds a finalizer, a runtime patch to a TrainJob, `suspend` to other jobs."""
    kind, metadata = document.group_kind, mapping(document.data, "metadata")
    if kind in _OF_KUEUE:
        return kind in _OF_KUEUE[:2] and f"{QUEUE_GROUP}/resource-in-use" not in items(metadata, "finalizers")
    if QUEUES not in target or not queued_by_default(kind, target[QUEUES]) or is_of_other_operator(document):
        return False
    if not kueue_is_asked(document, target):
        return False
    policy = mapping(document.data, *JOBS[kind].policy) if kind in JOBS else {}
    if kind == TRAINJOB or (mapping(metadata, "labels").get(QUEUE) and policy.get("suspend") is not True):
        return True
    is_elastic = kind in (RAY_CLUSTER, RAY_SERVICE) and mapping(metadata, "annotations").get(f"{QUEUE_GROUP}/elastic-job") == "true"
    return is_elastic or (kind == MPIJOB and _gets_offset(mapping(document.data, "spec")))


def _gets_offset(spec: dict[str, Any]) -> bool:
    """True if Kueue annotates the workers of an MPIJob with the index of the first, since the launcher works, too."""
    roles = mapping(spec, "mpiReplicaSpecs")
    launcher, worker = (
        mapping(mapping(roles, role), "template", "metadata", "annotations") if roles.get(role) is not None else None
        for role in ("Launcher", "Worker")
    )
    if spec.get("runLauncherAsWorker") is not True or launcher is None or worker is None:
        return False
    return f"{QUEUE_GROUP}/podset-group-name" not in launcher and worker.get(f"{QUEUE_GROUP}/pod-index-offset") != "1"


def queued_by_default(kind: GroupKind, release: str) -> bool:
    """Whether the default configuration of a release of Kueue queues a kind of jobs: since 0.19 none of training-operator's."""
    return kind not in QUEUED_TRAINING_JOBS or not is_at_least(release, "0.19.0")


def _without_empty_texts(value: Any, shape: Shape | None) -> Any:
    """A value without the empty texts that Go leaves out."""
    if isinstance(value, list):
        return [_without_empty_texts(each, shape and shape.items) for each in value]
    if not isinstance(value, dict) or shape is None or shape.fields is None:
        return value
    fields = shape.fields
    return {name: _without_empty_texts(each, fields.get(name)) for name, each in value.items() if not _is_left_out(name, each, shape)}


def _is_left_out(name: str, value: Any, shape: Shape) -> bool:
    child = (shape.fields or {}).get(name)
    return value == "" and child is not None and child.type == "string" and not child.pointer and name not in shape.required


def with_kept_defaults(document: Document, old: Document | None) -> Document:
    """Return an update with the defaults that a webhook wrote into the *old* object.

    If there are none, return the same document.
    """
    spec = document.data.get("spec")
    if old is None or document.group_kind != LEADER_WORKER_SET or not isinstance(spec, dict):
        return document
    from jobspec.operators.lws_defaults import with_lws_defaults

    return document.changed({**document.data, "spec": with_lws_defaults(spec)})


def rewritten(document: Document, target: Target) -> Document:
    """The document as the webhook writes it; the same object where nothing changes."""
    shape = shapes.load(document.api_version, document.kind, target)
    spec = document.data.get("spec")
    child = shape.at(("spec",)) if shape else None
    is_group = document.group_kind == LEADER_WORKER_SET
    changed = reencoded({} if spec is None and is_group else spec, child) if child else spec
    if is_group and isinstance(changed, dict):
        from jobspec.operators.lws_defaults import as_lws_webhook_writes

        changed = as_lws_webhook_writes(changed)
    if document.group_kind == CLUSTER_QUEUE and document.api_version.endswith("/v1beta1"):
        changed = _without_empty_texts(changed, child)  # converted to the newest version and back, without what is empty
    if changed is spec:
        return document
    return document.changed({**document.data, "spec": changed})


def as_decoded(document: Document, target: Target) -> Document:
    """Return an object that does not keep its schema as Go holds it.

    A required field that is missing gets Go's zero value. A value of a wrong type is left out. The server lets such objects be where an
    older schema took them, or another one than the operator's own.
    """
    shape = shapes.load(document.api_version, document.kind, target)
    spec = shape.at(("spec",)) if shape else None
    if spec is None:
        return document
    document = rewritten(document, target)
    return document.changed({**document.data, "spec": completed(document.data.get("spec"), spec)})
