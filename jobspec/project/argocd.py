"""Argo CD: its objects (`AppProject`, `Application`, `ApplicationSet` of argoproj.io/v1alpha1, 3.2 to 3.5), and the health of jobs.

`PruneLast=true` is left out on purpose: a sync would wait until the new run is over, and keep the GPUs of the old one, for which the new
one may be waiting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec import data, kinds
from jobspec.diagnostics import Diagnostic
from jobspec.kinds import JOBSET, PYTORCHJOB, TRAINJOB
from jobspec.project.engines import NAMESPACE, Synced, argocd_ignores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kinds import GroupKind
    from jobspec.project.project import ArgoCD


_API_VERSION = "argoproj.io/v1alpha1"
#: Argo CD's own project, which allows everything, to everybody.
_DEFAULT = "default"
#: Whether the server itself says what an apply would change, where its defaults and what others manage are no difference.
_COMPARE = "argocd.argoproj.io/compare-options"
_OPTIONS = ("ServerSideApply=true", "RespectIgnoreDifferences=true", "ApplyOutOfSyncOnly=true")
_POD: GroupKind = ("", "Pod")
_JOB: GroupKind = ("batch", "Job")
#: What operators make of a job, down to its pods. Argo CD shows, with its logs, only what its project allows; and who may
#: make the job may make its pods.
_MADE: Mapping[GroupKind, Sequence[GroupKind]] = {PYTORCHJOB: (_POD,), TRAINJOB: (_POD, _JOB, JOBSET)}


def app_project(argocd: ArgoCD, synced: Synced) -> dict[str, Any] | None:
    """The project, which allows what is rendered and nothing else; None where Argo CD's own is used."""
    if argocd.project == _DEFAULT:
        return None
    made = {kind for job in synced.job_kinds for kind in _MADE.get(job, ())}
    cluster_kinds = {*synced.cluster_kinds, *([NAMESPACE] if _makes_namespace(argocd, synced) else [])}
    spec = {
        "description": "Limited to what jobspec renders",
        "sourceRepos": [argocd.url],
        "destinations": [{"server": argocd.server, "namespace": each} for each in synced.namespaces],
        "clusterResourceWhitelist": _listed(cluster_kinds),
        "namespaceResourceWhitelist": _listed({*synced.kinds, *made}),
    }
    return _object("AppProject", argocd.project, argocd, spec)


def application(argocd: ArgoCD, synced: Synced, path: str) -> dict[str, Any]:
    """The application of the whole tree at *path*."""
    return _object("Application", argocd.name, argocd, _synced_from(argocd, synced, path), _compared(synced))


def application_set(argocd: ArgoCD, synced: Synced, path: str) -> dict[str, Any]:
    """An application for each folder below *path*."""
    folders = {"repoURL": argocd.url, "revision": argocd.revision, "directories": [{"path": f"{path}/*"}]}
    name = f"{argocd.name}-{{{{.path.basenameNormalized}}}}"
    template = {
        "metadata": {"name": name, "annotations": _compared(synced)},
        "spec": _synced_from(argocd, synced, "{{.path.path}}"),
    }
    spec = {"goTemplate": True, "goTemplateOptions": ["missingkey=error"], "generators": [{"git": folders}], "template": template}
    return _object("ApplicationSet", argocd.name, argocd, spec)


def mistakes(argocd: ArgoCD, synced: Synced, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """What Argo CD cannot do with what is rendered."""
    if argocd.flag("createNamespace") and len(synced.namespaces) > 1:
        message = f"Argo CD makes one namespace of an application, and the objects are in {' and '.join(synced.namespaces)}"
        hint = "render the namespaces as companions, or leave this out"
        yield Diagnostic("invalid-project", message, argocd.place("createNamespace"), hint=hint)
    if argocd.flag("applicationSet"):
        yield from _same_names(argocd, folders)


def health_patch(argocd: ArgoCD, customizations: Mapping[str, str]) -> dict[str, Any]:
    """A patch of Argo CD's own ConfigMap that brings *customizations*: the health of kinds that it does not know."""
    metadata = {"name": "argocd-cm", "namespace": argocd.namespace, "labels": {"app.kubernetes.io/part-of": "argocd"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(sorted(customizations.items()))}


def _same_names(argocd: ArgoCD, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """An error for folders whose applications would have one name, by the rule of `SanitizeName`, argo-cd applicationset/utils."""
    seen: dict[str, str] = {}
    for folder in sorted(folders):
        name = "".join(each if each.isalnum() or each in "-." else "-" for each in folder.lower()).strip("-.")
        first = seen.setdefault(name, folder)
        if first != folder:
            message = f"the folders `{first}` and `{folder}` would both be the Application `{argocd.name}-{name}`"
            yield Diagnostic("invalid-project", message, argocd.place("applicationSet"), hint="give one of the variants another name")


def _makes_namespace(argocd: ArgoCD, synced: Synced) -> bool:
    """Whether Argo CD makes the namespace of the objects: it makes only one, and one that is rendered is made anyway."""
    is_wanted = argocd.flag("createNamespace") is not False
    return is_wanted and len(synced.namespaces) == 1 and NAMESPACE not in synced.cluster_kinds


def _compared(synced: Synced) -> dict[str, str]:
    """How differences are found. A server that refuses a change tells no difference, and Argo CD, not knowing, does not sync it."""
    return {_COMPARE: f"ServerSideDiff={'false' if synced.has_fixed else 'true'}"}


def _synced_from(argocd: ArgoCD, synced: Synced, path: str) -> dict[str, Any]:
    """The spec of an application. Its namespace is only where Argo CD may put what says none: every object says its own."""
    options = [*_OPTIONS, *(["CreateNamespace=true"] if _makes_namespace(argocd, synced) else [])]
    automated = {"automated": {"prune": True, "selfHeal": bool(argocd.flag("selfHeal"))}} if argocd.flag("autosync") else {}
    return {
        "project": argocd.project,
        "source": {"repoURL": argocd.url, "targetRevision": argocd.revision, "path": path},
        "destination": {"server": argocd.server, "namespace": synced.namespaces[0]},
        "syncPolicy": {**automated, "syncOptions": options},
        "ignoreDifferences": argocd_ignores(synced),
    }


def _object(kind: str, name: str, argocd: ArgoCD, spec: dict[str, Any], annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "namespace": argocd.namespace, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


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
    return {f"resource.customizations.health.{group}_{kind}": _script(group, kind) for group, kind in KINDS}


def _script(group: str, kind: str) -> str:
    with open(data.package_path("project", "health", "lua", group, kind, "health.lua"), encoding="utf-8") as file:
        return file.read()
