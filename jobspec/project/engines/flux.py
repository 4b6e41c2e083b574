"""Flux's objects for a project: GitRepository, OCIRepository, Kustomization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.kinds import RUNTIMES, TRAINJOB, GroupKind
from jobspec.documents.writer import write
from jobspec.project.engines.argocd import DEFAULT
from jobspec.project.engines.flux_health import health_checks
from jobspec.project.engines.ignored_fields import flux_ignores
from jobspec.project.engines.replacement import manifest
from jobspec.project.engines.waves import WAVES
from jobspec.project.project import FluxSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.project.engines.synced import Synced


_INTERVAL = "10m"
_TIMEOUT = "5m"
_PRUNE = "kustomize.toolkit.fluxcd.io/prune"


def source(flux: FluxSettings) -> dict[str, Any]:
    """Return the repository that the tree is fetched from."""
    secret = flux.text("secret")
    spec = {
        "interval": flux.text("interval", _INTERVAL),
        "url": flux.url,
        "ref": dict(sorted(flux.reference.items())),
        **({"secretRef": {"name": secret}} if secret else {}),
    }
    return manifest("source.toolkit.fluxcd.io/v1", _source_kind(flux), flux.name, spec, flux.namespace)


def namespaces(flux: FluxSettings, synced: Synced) -> list[dict[str, Any]]:
    """Return the namespaces of the objects, since Flux does not create them.

    If namespaces are rendered, none are returned. `default` exists anyway. If Flux applies the namespaces as well, and no longer finds
    them, it leaves them alone: otherwise everything in them would be deleted.
    """
    if flux.flag("createNamespace") is False or kinds.NAMESPACE in synced.cluster_kinds:
        return []
    kept = {"annotations": {_PRUNE: "disabled"}}
    names = [each for each in synced.namespaces if each != DEFAULT]
    return [{"apiVersion": "v1", "kind": kinds.NAMESPACE[1], "metadata": {"name": each, **kept}} for each in names]


def kustomizations(flux: FluxSettings, synced: Synced, path: str) -> list[dict[str, Any]]:
    """Return the Kustomizations that apply the tree at *path*, in order."""
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
    return manifest("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec, flux.namespace)


def _waiting(flux: FluxSettings, synced: Synced) -> dict[str, Any]:
    """Return the fields about jobs: waiting, health expressions, and ignored fields."""
    ignore = {"ignore": ignores} if (ignores := flux_ignores(synced)) else {}
    if flux.flag("wait") is False:
        return {"wait": False, **ignore}
    expressions = health_checks({*synced.kinds, *synced.cluster_kinds}, until_the_end=flux.flag("wait") is True)
    return {"wait": True, "healthCheckExprs": [dict(each) for each in expressions], **ignore}


def _deleting_patches(kinds: Iterable[GroupKind]) -> list[dict[str, Any]]:
    """Patches that take the objects of some kinds out of the tree."""
    nothing = write([{"$patch": "delete", "apiVersion": "v1", "kind": "Any", "metadata": {"name": "any"}}])
    return [{"target": {**({"group": group} if group else {}), "kind": kind}, "patch": nothing} for group, kind in sorted(kinds)]


def _source_kind(flux: FluxSettings) -> str:
    return "GitRepository" if flux.is_git else "OCIRepository"
