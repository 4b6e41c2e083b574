"""Argo CD's objects for a project: AppProject, Application, ApplicationSet of argoproj.io/v1alpha1, 3.2 to 3.5."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.kinds import JOBSET, PYTORCHJOB, TRAINJOB, GroupKind
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.project.engines.ignored_fields import argocd_ignores
from jobspec.project.engines.replacement import manifest
from jobspec.project.project import ArgoCDSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.project.engines.synced import Synced


PLUGIN = "jobspec"
ARGO_CD_VERSION = "argoproj.io/v1alpha1"
#: Argo CD's own project, which allows everything, to everybody.
DEFAULT = "default"
#: Whether the server itself says what an apply would change, where its defaults and what others manage are no difference.
_COMPARE = "argocd.argoproj.io/compare-options"
_OPTIONS = ("ServerSideApply=true", "RespectIgnoreDifferences=true", "ApplyOutOfSyncOnly=true")
#: What operators make of a job, down to its pods. Argo CD shows, with its logs, only what its project allows; and who may
#: make the job may make its pods.
_MADE: Mapping[GroupKind, Sequence[GroupKind]] = {PYTORCHJOB: (kinds.POD,), TRAINJOB: (kinds.POD, kinds.JOB, JOBSET)}


def app_project(argocd: ArgoCDSettings, synced: Synced) -> dict[str, Any] | None:
    """Return the Argo CD project, limited to what is rendered.

    If Argo CD's own default project is used, return None.
    """
    if argocd.project == DEFAULT:
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
    return manifest(ARGO_CD_VERSION, "AppProject", argocd.project, spec, argocd.namespace)


def application(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """Return the application of the whole tree at *path*."""
    return manifest(ARGO_CD_VERSION, "Application", argocd.name, _synced_from(argocd, synced, path), argocd.namespace, _compared(synced))


def application_set(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """Return an application for each folder below *path*."""
    folders = {"repoURL": argocd.url, "revision": argocd.revision, "directories": [{"path": f"{path}/*"}]}
    name = f"{argocd.name}-{{{{.path.basenameNormalized}}}}"
    metadata = {"name": name, "annotations": _compared(synced)}
    template = {"metadata": metadata, "spec": _synced_from(argocd, synced, "{{.path.path}}")}
    spec = {"goTemplate": True, "goTemplateOptions": ["missingkey=error"], "generators": [{"git": folders}], "template": template}
    return manifest(ARGO_CD_VERSION, "ApplicationSet", argocd.name, spec, argocd.namespace)


def mistakes(argocd: ArgoCDSettings, synced: Synced, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield the errors of an Argo CD configuration for the rendered objects."""
    if argocd.flag("createNamespace") and len(synced.namespaces) > 1:
        message = f"Argo CD creates one namespace for an application, and the objects are in {' and '.join(synced.namespaces)}"
        hint = "render the namespaces as companions, or remove this"
        yield argocd.mistake(message, "createNamespace", hint=hint)
    if argocd.flag("applicationSet"):
        yield from _same_names(argocd, folders)


def health_patch(argocd: ArgoCDSettings, customizations: Mapping[str, str]) -> dict[str, Any]:
    """Return a patch of Argo CD's own ConfigMap that brings *customizations*.

    They are the health of kinds that Argo CD does not know.
    """
    return config_map(argocd, "argocd-cm", dict(sorted(customizations.items())))


def config_map(argocd: ArgoCDSettings, name: str, data: Mapping[str, str]) -> dict[str, Any]:
    """Return a ConfigMap of Argo CD's own."""
    metadata = {"name": name, "namespace": argocd.namespace, "labels": {"app.kubernetes.io/part-of": "argocd"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _same_names(argocd: ArgoCDSettings, folders: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield an error for folders whose applications would have one name.

    Follows `SanitizeName`, argo-cd applicationset/utils.
    """
    seen: dict[str, str] = {}
    for folder in sorted(folders):
        name = "".join(each if each.isalnum() or each in "-." else "-" for each in folder.lower()).strip("-.")
        first = seen.setdefault(name, folder)
        if first != folder:
            message = f"the folders `{first}` and `{folder}` would both be the Application `{argocd.name}-{name}`"
            yield argocd.mistake(message, "applicationSet", hint="give one of the variants another name")


def _makes_namespace(argocd: ArgoCDSettings, synced: Synced) -> bool:
    """True if Argo CD makes the namespace of the objects.

    It makes only one, and a rendered namespace is made anyway.
    """
    is_wanted = argocd.flag("createNamespace") is not False
    return is_wanted and len(synced.namespaces) == 1 and kinds.NAMESPACE not in synced.cluster_kinds


def _compared(synced: Synced) -> dict[str, str]:
    """Return how differences are found.

    If the server refuses a change, Argo CD finds no difference and does not sync it.
    """
    return {_COMPARE: f"ServerSideDiff={'false' if synced.has_fixed else 'true'}"}


def _synced_from(argocd: ArgoCDSettings, synced: Synced, path: str) -> dict[str, Any]:
    """Return the spec of an application.

    Its namespace only matters for objects without a namespace: every rendered object has its own.
    """
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
    """Return kinds as an AppProject lists them."""
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
