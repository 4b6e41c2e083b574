"""The objects that tell Argo CD and Flux to sync a project's rendered tree, and what they need of the objects in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jobspec.diagnostics import Mark
from jobspec.documents.document import Document
from jobspec.go.values import mapping
from jobspec.kinds import PYTORCHJOB, TRAINJOB, WEBHOOK_LOOKUPS, is_cluster_scoped
from jobspec.project.matrix import spec_hash
from jobspec.workloads import is_workload, suspend_of, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kinds import GroupKind
    from jobspec.project.project import Engines


# The annotations that engines need on rendered objects.


def notes_of(document: Document, engines: Engines, *, fixed: Mark | None) -> dict[str, tuple[str, Mark]]:
    """The annotations of an object by name, each with the place in the project that asks for it.

    *fixed*: where the project gives a job its fixed name, None where the name has a hash.
    """
    notes = {}
    if engines.argocd and (wave := wave_of(document.group_kind)):
        notes[WAVE] = wave, engines.argocd.mark
    if fixed and is_workload(document) and (engines.argocd or engines.flux):
        notes[SPEC_HASH] = spec_hash(document), fixed
        for engine, (name, value) in ((engines.argocd, ARGOCD), (engines.flux, FLUX)):
            if engine:
                notes[name] = value, engine.mark
    return notes


# What an engine has to know of the objects that it syncs: their kinds, their namespaces, and what others write into jobs.


#: The label by which Kueue knows its jobs.
QUEUE = "kueue.x-k8s.io/queue-name"


class SyncedObject:
    """One rendered object as an engine sees it."""

    __slots__ = ("group_kind", "is_fixed", "is_job", "is_namespaced", "is_queued", "name", "namespace", "place", "says_suspend")

    def __init__(self, document: Document, place: Mark | None = None) -> None:
        """*place*: where its name is written; without it the document's marks are made to find that, which takes long."""
        self.group_kind = document.group_kind
        self.name = document.name
        self.is_namespaced = not is_cluster_scoped(document.api_version, document.kind)
        self.namespace = document.namespace if self.is_namespaced else ""
        self.is_job = is_workload(document)
        self.is_fixed = self.is_job and SPEC_HASH in mapping(document.data, "metadata", "annotations")
        """Whether it is a job under a fixed name, which is replaced where its spec has changed."""
        self.is_queued = self.is_job and QUEUE in mapping(document.data, "metadata", "labels")
        """Whether it is a job that Kueue suspends and resumes."""
        self.says_suspend = self.is_job and value_at(document.data, suspend_of(self.group_kind)) is not None
        """Whether it is a job whose manifest says if it is suspended."""
        self.place: Mark = place or document.marks.nearest(("metadata", "name")).place()


class Synced:
    """All rendered objects as an engine sees them, in one order whatever that of the variants."""

    __slots__ = ("cluster_kinds", "has_fixed", "job_kinds", "kinds", "namespaces", "objects")

    def __init__(self, objects: Iterable[SyncedObject]) -> None:
        self.objects = sorted(objects, key=lambda each: (each.group_kind, each.namespace, each.name))
        self.kinds = sorted({each.group_kind for each in self.objects if each.is_namespaced})
        """The kinds of objects in namespaces."""
        self.cluster_kinds = sorted({each.group_kind for each in self.objects if not each.is_namespaced})
        """The kinds of objects in none."""
        self.namespaces = sorted({each.namespace for each in self.objects if each.namespace})
        self.has_fixed = any(each.is_fixed for each in self.objects)
        """Whether a job is under a fixed name."""
        self.job_kinds = sorted({each.group_kind for each in self.objects if each.is_job})


# What others write into jobs, and an engine must neither call a difference nor undo.
#
# Kueue suspends and resumes jobs of its queues, and writes where their pods may run; an autoscaler sets the number of elastic workers. What
# operators and Kueue add to a field that no manifest sets, such as `runtimePatches[].time` and Kueue's own runtime patch, is theirs by
# server-side apply and shows in no server-side diff, so nothing is said of it: to ignore a part of a list would make Argo CD before 3.5
# write
# the live list back as a whole, and own it from then on (`normalizeTargetResources`, github.com/argoproj/argo-cd controller, 3.4).


#: Kueue's name in `metadata.managedFields`, since 0.6.
_KUEUE = "kueue"
_ELASTIC = "select(.spec.elasticPolicy.metrics) | .spec.pytorchReplicaSpecs.Worker.replicas"


def argocd_ignores(synced: Synced) -> list[dict[str, Any]]:
    """`spec.ignoreDifferences` of an Application. A job that is in no queue is suspended by its manifest, as ever."""
    return [
        {"group": kind[0], "kind": kind[1], "jqPathExpressions": list(_expressions(kind)), "managedFieldsManagers": [_KUEUE]}
        for kind in synced.job_kinds
    ]


def _expressions(job: GroupKind) -> Iterator[str]:
    yield f'select(.metadata.labels["{QUEUE}"]) | .{".".join(suspend_of(job))}'
    if job == PYTORCHJOB:
        yield _ELASTIC


def flux_ignores(synced: Synced) -> list[dict[str, Any]]:
    """`spec.ignore` of a Flux Kustomization, which Flux has since kustomize-controller 1.9: only where a job needs it."""
    kinds = sorted({each.group_kind for each in synced.objects if each.is_queued and each.says_suspend})
    return [
        {"paths": ["/" + "/".join(suspend_of(kind))], "target": {"group": kind[0], "kind": kind[1], "labelSelector": QUEUE}}
        for kind in kinds
    ]


# How a job under a fixed name is replaced where its spec has changed, and only then.
#
# Both engines delete and create an object whose update the server refuses as invalid, if an annotation asks for it. But a server takes most
# changes of jobs, and their pods stay as they were. So the job carries the hash of its spec, and a policy of the cluster refuses another
# hash
# on the same object. `Force=true,Replace=true` needs no policy, and starts jobs that have not changed (argoproj/argo-cd issue 24005).


SPEC_HASH = "jobspec.dev/spec-hash"
#: Argo CD 3.2 refuses to force a server-side apply.
ARGOCD = ("argocd.argoproj.io/sync-options", "Force=true,ServerSideApply=false")
FLUX = ("kustomize.toolkit.fluxcd.io/force", "enabled")
_NAME = "jobspec-spec-hash"
_ANNOTATION = f"metadata.annotations['{SPEC_HASH}']"
_API_VERSION = "admissionregistration.k8s.io/v1"


def policy() -> list[dict[str, Any]]:
    """The policy, which Kubernetes has since 1.30, and its binding: the hash of a job does not change."""
    rule = {
        "apiGroups": [PYTORCHJOB[0], TRAINJOB[0]],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["pytorchjobs", "trainjobs"],
    }
    validation = {
        "expression": f"{_has('object')} && object.{_ANNOTATION} == oldObject.{_ANNOTATION}",
        "message": "field is immutable: a job with another spec is another object",
        "reason": "Invalid",
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "has-spec-hash", "expression": _has("oldObject")}],
        "validations": [validation],
    }
    return [
        _object("ValidatingAdmissionPolicy", spec),
        _object("ValidatingAdmissionPolicyBinding", {"policyName": _NAME, "validationActions": ["Deny"]}),
    ]


def _has(variable: str) -> str:
    return f"has({variable}.metadata.annotations) && '{SPEC_HASH}' in {variable}.metadata.annotations"


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": _NAME}, "spec": spec}


# The order in which Argo CD makes objects: sync waves for what has to be there before a job is.
#
# Argo CD waits until all objects of a wave are healthy before it begins the next one. Therefore
#
# - nothing stands behind the jobs: their wave would end only with the training;
# - a claim stands in the wave of the jobs: one of a class that waits for its first consumer is bound, and healthy, only once a job's pod is
#   there. Inside of a wave Argo CD goes by kind, and custom kinds come last, so that claims, Secrets and the like are made before the jobs;
# - runtimes have a wave of their own: custom kinds are sorted by name alone, and a webhook refuses a TrainJob without its runtime. Argo CD
#   knows no health of them, so that it does not wait.
#
# Follows `syncTasks.Less`, `runTasks` and `Sync`, github.com/argoproj/argo-cd gitops-engine/pkg/sync, 3.5.


WAVE = "argocd.argoproj.io/sync-wave"
NAMESPACE: GroupKind = ("", "Namespace")
#: All other kinds are in wave 0, which is Argo CD's own default and needs no annotation.
_WAVES: dict[GroupKind, str] = {NAMESPACE: "-2", **dict.fromkeys(WEBHOOK_LOOKUPS, "-1")}


def wave_of(kind: GroupKind) -> str | None:
    """The wave of objects of a kind, None for the default one."""
    return _WAVES.get(kind)
