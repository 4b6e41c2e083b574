"""The objects by which Argo CD and Flux sync a project's rendered tree, and what they need of the objects in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec import data, kinds
from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents.document import Document
from jobspec.documents.writer import write
from jobspec.go.values import mapping
from jobspec.kinds import JOBSET, PYTORCHJOB, RUNTIMES, TRAINJOB, WEBHOOK_LOOKUPS, GroupKind, is_cluster_scoped
from jobspec.project.matrix import spec_hash
from jobspec.project.project import ArgoCDSettings, EngineSettings, FluxSettings
from jobspec.workloads import QUEUE, is_workload, suspend_of, value_at


# The annotations that engines need on rendered objects.
def notes_of(document: Document, engines: EngineSettings, *, fixed: Mark | None) -> dict[str, tuple[str, Mark]]:
    """The annotations of an object by name, each with the place in the project that asks for it.

    *fixed*: where the project gives a job its fixed name, None where the name has a hash.
    """
    notes = {}
    if engines.argocd and (wave := WAVES.get(document.group_kind)):
        notes[WAVE] = wave, engines.argocd.mark
    if fixed and is_workload(document) and (engines.argocd or engines.flux):
        notes[SPEC_HASH] = spec_hash(document), fixed
        for engine, (name, value) in ((engines.argocd, ARGOCD), (engines.flux, FLUX)):
            if engine:
                notes[name] = value, engine.mark
    return notes


# What the engines' objects depend on: the kinds and namespaces of rendered objects, and the fields that others write into jobs.


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


# Fields that others write into jobs, which an engine must neither report as a difference nor revert.
#
# Kueue suspends and resumes jobs of its queues, and writes where their pods may run; an autoscaler sets the number of elastic workers.
# What operators and Kueue add to a field that no manifest sets, such as `runtimePatches[].time` and Kueue's own runtime patch, is theirs
# by server-side apply and shows in no server-side diff, so nothing is said of it: to ignore a part of a list would make Argo CD before 3.5
# write the live list back as a whole, and own it from then on (`normalizeTargetResources`, github.com/argoproj/argo-cd controller, 3.4).
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
# Both engines delete and create an object whose update the server refuses as invalid, if an annotation asks for it. But a server takes
# most changes of jobs, and their pods stay as they were. So the job carries the hash of its spec, and a policy of the cluster refuses
# another hash on the same object. `Force=true,Replace=true` needs no policy, and starts jobs that have not changed (argoproj/argo-cd issue
# 24005).
SPEC_HASH = "jobspec.dev/spec-hash"
#: Argo CD 3.2 refuses to force a server-side apply.
ARGOCD = ("argocd.argoproj.io/sync-options", "Force=true,ServerSideApply=false")
FLUX = ("kustomize.toolkit.fluxcd.io/force", "enabled")
_NAME = "jobspec-spec-hash"
_ANNOTATION = f"metadata.annotations['{SPEC_HASH}']"
_API_VERSION = "admissionregistration.k8s.io/v1"


def policy() -> list[dict[str, Any]]:
    """The policy, which Kubernetes has since 1.30, and its binding: the hash of a job does not change."""
    groups, resources = [PYTORCHJOB[0], TRAINJOB[0]], ["pytorchjobs", "trainjobs"]
    rule = {"apiGroups": groups, "apiVersions": ["*"], "operations": ["UPDATE"], "resources": resources}
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
        _manifest(_API_VERSION, "ValidatingAdmissionPolicy", _NAME, spec),
        _manifest(_API_VERSION, "ValidatingAdmissionPolicyBinding", _NAME, {"policyName": _NAME, "validationActions": ["Deny"]}),
    ]


def _has(variable: str) -> str:
    return f"has({variable}.metadata.annotations) && '{SPEC_HASH}' in {variable}.metadata.annotations"


def _manifest(
    api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "", annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    more = {**({"namespace": namespace} if namespace else {}), **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **more}, "spec": spec}


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
#: The wave of each kind; all others are in wave 0, which is Argo CD's own default and needs no annotation.
WAVES: dict[GroupKind, str] = {kinds.NAMESPACE: "-2", **dict.fromkeys(WEBHOOK_LOOKUPS, "-1")}


# Argo CD: its objects (`AppProject`, `Application`, `ApplicationSet` of argoproj.io/v1alpha1, 3.2 to 3.5), and the health of jobs.
#
# `PruneLast=true` is left out on purpose: a sync would wait until the new run is over, and keep the GPUs of the old one, for which the new
# one may be waiting.


_ARGO_CD_VERSION = "argoproj.io/v1alpha1"
#: Argo CD's own project, which allows everything, to everybody.
_DEFAULT = "default"
#: Whether the server itself says what an apply would change, where its defaults and what others manage are no difference.
_COMPARE = "argocd.argoproj.io/compare-options"
_OPTIONS = ("ServerSideApply=true", "RespectIgnoreDifferences=true", "ApplyOutOfSyncOnly=true")
#: What operators make of a job, down to its pods. Argo CD shows, with its logs, only what its project allows; and who may
#: make the job may make its pods.
_MADE: Mapping[GroupKind, Sequence[GroupKind]] = {PYTORCHJOB: (kinds.POD,), TRAINJOB: (kinds.POD, kinds.JOB, JOBSET)}


def app_project(argocd: ArgoCDSettings, synced: Synced) -> dict[str, Any] | None:
    """The project, which allows what is rendered and nothing else; None where Argo CD's own is used."""
    if argocd.project == _DEFAULT:
        return None
    made = {kind for job in synced.job_kinds for kind in _MADE.get(job, ())}
    cluster_kinds = {*synced.cluster_kinds, *([kinds.NAMESPACE] if _makes_namespace(argocd, synced) else [])}
    spec = {
        "description": "Limited to what jobspec renders",
        "sourceRepos": [argocd.url],
        "destinations": [{"server": argocd.server, "namespace": each} for each in synced.namespaces],
        "clusterResourceWhitelist": _listed(cluster_kinds),
        "namespaceResourceWhitelist": _listed({*synced.kinds, *made}),
    }
    return _manifest(_ARGO_CD_VERSION, "AppProject", argocd.project, spec, argocd.namespace)


def application(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """The application of the whole tree at *path*."""
    return _manifest(_ARGO_CD_VERSION, "Application", argocd.name, _synced_from(argocd, synced, path), argocd.namespace, _compared(synced))


def application_set(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """An application for each folder below *path*."""
    folders = {"repoURL": argocd.url, "revision": argocd.revision, "directories": [{"path": f"{path}/*"}]}
    name = f"{argocd.name}-{{{{.path.basenameNormalized}}}}"
    metadata = {"name": name, "annotations": _compared(synced)}
    template = {"metadata": metadata, "spec": _synced_from(argocd, synced, "{{.path.path}}")}
    spec = {"goTemplate": True, "goTemplateOptions": ["missingkey=error"], "generators": [{"git": folders}], "template": template}
    return _manifest(_ARGO_CD_VERSION, "ApplicationSet", argocd.name, spec, argocd.namespace)


def mistakes(argocd: ArgoCDSettings, synced: Synced, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """The errors of an Argo CD configuration for the rendered objects."""
    if argocd.flag("createNamespace") and len(synced.namespaces) > 1:
        message = f"Argo CD creates one namespace for an application, and the objects are in {' and '.join(synced.namespaces)}"
        hint = "render the namespaces as companions, or remove this"
        yield argocd.mistake(message, "createNamespace", hint=hint)
    if argocd.flag("applicationSet"):
        yield from _same_names(argocd, folders)


def health_patch(argocd: ArgoCDSettings, customizations: Mapping[str, str]) -> dict[str, Any]:
    """A patch of Argo CD's own ConfigMap that brings *customizations*: the health of kinds that it does not know."""
    return _config_map(argocd, "argocd-cm", dict(sorted(customizations.items())))


def _config_map(argocd: ArgoCDSettings, name: str, data: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": argocd.namespace, "labels": {"app.kubernetes.io/part-of": "argocd"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


# The config management plugin that renders a project: Argo CD's repository server asks its sidecar for the manifests of a folder.
#
# Follows `PluginConfigSpec`, github.com/argoproj/argo-cd cmpserver/plugin, 3.5.
PLUGIN = "jobspec"
_SIDECAR = f"{PLUGIN}-plugin"
_SOCKETS = "/home/argocd/cmp-server"
_TMP = "/tmp"  # noqa: S108 (an emptyDir of the sidecar)
_USER = 999  # Argo CD's own, whom the volumes of the repository server belong to


def plugin_config(argocd: ArgoCDSettings) -> dict[str, Any]:
    """The ConfigMap with the plugin: the command that renders the project in the folder of an application."""
    spec = {"generate": {"command": [PLUGIN, "render", "--to", "-"]}}
    plugin = {"apiVersion": _ARGO_CD_VERSION, "kind": "ConfigManagementPlugin", "metadata": {"name": PLUGIN}, "spec": spec}
    return _config_map(argocd, _SIDECAR, {"plugin.yaml": write([plugin])})


def plugin_patch(argocd: ArgoCDSettings) -> dict[str, Any]:
    """A patch of Argo CD's repository server that adds the plugin's sidecar, in which Argo CD's own program listens."""
    container = {
        "name": _SIDECAR,
        "image": argocd.text("pluginImage"),
        "command": ["/var/run/argocd/argocd-cmp-server"],
        "env": [{"name": "HOME", "value": _TMP}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "var-files", "mountPath": "/var/run/argocd"},
            {"name": "plugins", "mountPath": f"{_SOCKETS}/plugins"},
            {"name": _SIDECAR, "mountPath": f"{_SOCKETS}/config/plugin.yaml", "subPath": "plugin.yaml"},
            {"name": f"{_SIDECAR}-tmp", "mountPath": _TMP},
        ],
    }
    volumes = [{"name": _SIDECAR, "configMap": {"name": _SIDECAR}}, {"name": f"{_SIDECAR}-tmp", "emptyDir": {}}]
    template = {"spec": {"containers": [container], "volumes": volumes}}
    metadata = {"name": "argocd-repo-server", "namespace": argocd.namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def _same_names(argocd: ArgoCDSettings, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """An error for folders whose applications would have one name, by the rule of `SanitizeName`, argo-cd applicationset/utils."""
    seen: dict[str, str] = {}
    for folder in sorted(folders):
        name = "".join(each if each.isalnum() or each in "-." else "-" for each in folder.lower()).strip("-.")
        first = seen.setdefault(name, folder)
        if first != folder:
            message = f"the folders `{first}` and `{folder}` would both be the Application `{argocd.name}-{name}`"
            yield argocd.mistake(message, "applicationSet", hint="give one of the variants another name")


def _makes_namespace(argocd: ArgoCDSettings, synced: Synced) -> bool:
    """Whether Argo CD makes the namespace of the objects: it makes only one, and one that is rendered is made anyway."""
    is_wanted = argocd.flag("createNamespace") is not False
    return is_wanted and len(synced.namespaces) == 1 and kinds.NAMESPACE not in synced.cluster_kinds


def _compared(synced: Synced) -> dict[str, str]:
    """How differences are found. Where the server refuses a change, Argo CD learns of no difference and does not sync it."""
    return {_COMPARE: f"ServerSideDiff={'false' if synced.has_fixed else 'true'}"}


def _synced_from(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """The spec of an application. Its namespace is only where Argo CD may put what says none: every object says its own."""
    options = [*_OPTIONS, *(["CreateNamespace=true"] if _makes_namespace(argocd, synced) else [])]
    plugin = {"plugin": {"name": PLUGIN}} if argocd.flag("plugin") else {}
    automated = {"automated": {"prune": True, "selfHeal": bool(argocd.flag("selfHeal"))}} if argocd.flag("autosync") else {}
    return {
        "project": argocd.project,
        "source": {"repoURL": argocd.url, "targetRevision": argocd.revision, "path": path, **plugin},
        "destination": {"server": argocd.server, "namespace": synced.namespaces[0]},
        "syncPolicy": {**automated, "syncOptions": options},
        "ignoreDifferences": argocd_ignores(synced),
    }


def _listed(kinds: Collection[GroupKind]) -> list[dict[str, str]]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


# The health of jobs for Argo CD: a Lua script for each kind, which the ConfigMap `argocd-cm` holds.
#
# The scripts stand in `lua/` as they do in `resource_customizations/` of argoproj/argo-cd, so that they can be contributed there. They keep
# to what Argo CD's Lua has: the basic functions and `table`. That of `batch/Job` replaces getBatchv1JobHealth, argo-cd
# gitops-engine/pkg/health, 3.2.6, to which a condition `Suspended` of any status says that the job is over.
KINDS: tuple[GroupKind, ...] = (kinds.PYTORCHJOB, kinds.TRAINJOB, kinds.JOBSET, ("batch", "Job"))


def customizations() -> dict[str, str]:
    """What `argocd-cm` has to hold: the key of each kind, as `resource.customizations.health.batch_Job`, and its script."""
    return {
        f"resource.customizations.health.{group}_{kind}": data.package_text("project", "health", "lua", group, kind, "health.lua")
        for group, kind in KINDS
    }


# Flux: its objects (`GitRepository`, `OCIRepository`, `Kustomization` of source- and kustomize-controller 1.x), and the health of jobs.
#
# Flux asks the server about all objects of a Kustomization before it makes the first of them (`ApplyAll`, github.com/fluxcd/pkg ssa, 0.77).
# A webhook refuses a TrainJob whose runtime is not there, so that both in one Kustomization would wait for each other forever. Such
# runtimes get a Kustomization of their own, on which that of the jobs depends; each takes the same tree without the kinds of the other.


_INTERVAL = "10m"
_TIMEOUT = "5m"
_PRUNE = "kustomize.toolkit.fluxcd.io/prune"


def source(flux: FluxSettings) -> dict[str, Any]:
    """The repository that the tree is fetched from."""
    secret = flux.text("secret")
    spec = {
        "interval": flux.text("interval", _INTERVAL),
        "url": flux.url,
        "ref": dict(sorted(flux.reference.items())),
        **({"secretRef": {"name": secret}} if secret else {}),
    }
    return _manifest("source.toolkit.fluxcd.io/v1", _source_kind(flux), flux.name, spec, flux.namespace)


def namespaces(flux: FluxSettings, synced: Synced) -> list[dict[str, Any]]:
    """The namespaces of the objects, which Flux does not make; those that are rendered, and `default`, are there anyway.

    Where Flux applies them as well, and no longer finds them, it leaves them alone: everything in them would go.
    """
    if flux.flag("createNamespace") is False or kinds.NAMESPACE in synced.cluster_kinds:
        return []
    kept = {"annotations": {_PRUNE: "disabled"}}
    names = [each for each in synced.namespaces if each != _DEFAULT]
    return [{"apiVersion": "v1", "kind": kinds.NAMESPACE[1], "metadata": {"name": each, **kept}} for each in names]


def kustomizations(flux: FluxSettings, synced: Synced, path: str) -> list[dict[str, Any]]:
    """What is applied of the tree at *path*, in order."""
    kinds = {*synced.kinds, *synced.cluster_kinds}
    if TRAINJOB not in kinds or kinds.isdisjoint(RUNTIMES):
        return [_kustomization(flux, flux.name, path, _waiting(flux, synced))]
    early = kinds & WAVES.keys()
    first = f"{flux.name}-runtimes"
    rest = {"dependsOn": [{"name": first}], **_waiting(flux, synced), "patches": _deleting_patches(early)}
    return [_kustomization(flux, first, path, {"patches": _deleting_patches(kinds - early)}), _kustomization(flux, flux.name, path, rest)]


def _kustomization(flux: FluxSettings, name: str, path: str, more: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "interval": flux.text("interval", _INTERVAL),
        "timeout": flux.text("timeout", _TIMEOUT),
        "sourceRef": {"kind": _source_kind(flux), "name": flux.name},
        "path": f"./{path}",
        "prune": True,
        **more,
    }
    return _manifest("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec, flux.namespace)


def _waiting(flux: FluxSettings, synced: Synced) -> dict[str, Any]:
    """The fields about jobs: whether Flux waits for them, their health expressions, and ignored fields."""
    ignore = {"ignore": ignores} if (ignores := flux_ignores(synced)) else {}
    if flux.flag("wait") is False:
        return {"wait": False, **ignore}
    expressions = HEALTH_CHECK_EXPRS if flux.flag("wait") else FAILURE_EXPRS
    return {"wait": True, "healthCheckExprs": [dict(each) for each in expressions], **ignore}


def _deleting_patches(kinds: Iterable[GroupKind]) -> list[dict[str, Any]]:
    """Patches that take the objects of some kinds out of the tree."""
    nothing = write([{"$patch": "delete", "apiVersion": "v1", "kind": "Any", "metadata": {"name": "any"}}])
    return [{"target": {**({"group": group} if group else {}), "kind": kind}, "patch": nothing} for group, kind in sorted(kinds)]


def _source_kind(flux: FluxSettings) -> str:
    return "GitRepository" if flux.is_git else "OCIRepository"


# The health of jobs for Flux: expressions for `spec.healthCheckExprs` of a Kustomization.
#
# They follow StatusEvaluator.Evaluate, fluxcd/pkg runtime/cel, 0.99.0: the object's top-level fields are the variables, `inProgress` is
# asked first, `failed` then, `current` last, and an expression that fails makes the health unknown. A `batch/Job` has none: Flux asks its
# own reader of jobs before any expression. A new object has no `status`, and CEL cannot ask whether a variable is there: `has(status)` is
# no CEL and `has(status.conditions)` fails. Who wrote a status is in `metadata.managedFields`, which the API server keeps from the first
# write on.
_HAS_STATUS = "(!has(metadata.managedFields) || metadata.managedFields.exists(m, has(m.subresource) && m.subresource == 'status'))"


def _is(*conditions: str) -> str:
    """Whether the object has a status, and one of the conditions in it is true."""
    named = ", ".join(f"'{each}'" for each in conditions)
    return f"{_HAS_STATUS} && has(status.conditions) && status.conditions.exists(c, c.type in [{named}] && c.status == 'True')"


def _health_expressions(api_version: str, kind: str, *, complete: str) -> dict[str, str]:
    in_progress = f"!({_is('Failed', complete)})"
    return {"apiVersion": api_version, "kind": kind, "inProgress": in_progress, "failed": _is("Failed"), "current": _is(complete)}


#: For each kind the three expressions: with fewer, what is neither failed nor current may pass for healthy.
HEALTH_CHECK_EXPRS = (
    _health_expressions("kubeflow.org/v1", "PyTorchJob", complete="Succeeded"),
    _health_expressions("trainer.kubeflow.org/v1alpha1", "TrainJob", complete="Complete"),
    _health_expressions("jobset.x-k8s.io/v1alpha2", "JobSet", complete="Completed"),
)
#: By which a job is healthy until it has failed, so that nothing waits for its end. A claim that no pod uses yet is pending for as long.
FAILURE_EXPRS = (
    *(
        {"apiVersion": each["apiVersion"], "kind": each["kind"], "failed": each["failed"], "current": f"!({each['failed']})"}
        for each in HEALTH_CHECK_EXPRS
    ),
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "failed": "status.phase == 'Lost'", "current": "status.phase != 'Lost'"},
)
