"""The objects of Flux: a `GitRepository` or an `OCIRepository`, and `Kustomization`s, as of source-controller and kustomize-controller 1.x.

Flux asks the server about all objects of a Kustomization before it makes the first of them (`ApplyAll`, github.com/fluxcd/pkg ssa, 0.77).
A webhook refuses a TrainJob whose runtime is not there, so that both in one Kustomization would wait for each other for ever. Such runtimes
get a Kustomization of their own, on which that of the jobs depends; both take the same tree, each without the kinds of the other.
"""

from __future__ import annotations

from jobspec.documents.writer import write
from jobspec.gitops.engines.ignored import flux_ignores
from jobspec.gitops.engines.waves import wave_of
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TRAINJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from jobspec.gitops.engines.declared import Flux
    from jobspec.gitops.engines.synced import Synced
    from jobspec.kinds import GroupKind

_INTERVAL = "10m"
_TIMEOUT = "5m"
_RUNTIMES = {TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME}


def source(flux: Flux) -> dict[str, Any]:
    """The repository that the tree is fetched from."""
    secret = flux.text("secret")
    spec = {
        "interval": flux.text("interval", _INTERVAL),
        "url": flux.url,
        "ref": dict(sorted(flux.reference.items())),
        **({"secretRef": {"name": secret}} if secret else {}),
    }
    return _object("source.toolkit.fluxcd.io/v1", _source_kind(flux), flux.name, flux, spec)


def kustomizations(flux: Flux, synced: Synced, path: str, health: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is applied of the tree at *path*, in order; *health* are the expressions by which Flux knows that jobs have completed."""
    kinds = {*synced.kinds, *synced.cluster_kinds}
    if TRAINJOB not in kinds or not kinds & _RUNTIMES:
        return [_kustomization(flux, flux.name, path, _waiting(flux, synced, health))]
    early = {each for each in kinds if wave_of(each)}
    first = f"{flux.name}-runtimes"
    rest = {"dependsOn": [{"name": first}], **_waiting(flux, synced, health), "patches": _without(early)}
    return [_kustomization(flux, first, path, {"patches": _without(kinds - early)}), _kustomization(flux, flux.name, path, rest)]


def _kustomization(flux: Flux, name: str, path: str, more: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "interval": flux.text("interval", _INTERVAL),
        "timeout": flux.text("timeout", _TIMEOUT),
        "sourceRef": {"kind": _source_kind(flux), "name": flux.name},
        "path": f"./{path}",
        "prune": True,
        **more,
    }
    return _object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, flux, spec)


def _waiting(flux: Flux, synced: Synced, health: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What concerns jobs: whether they are waited for, how their health is known, and what others write into them."""
    ignore = {"ignore": ignores} if (ignores := flux_ignores(synced)) else {}
    if flux.flag("wait") is False:
        return {"wait": False, **ignore}
    return {"wait": True, "healthCheckExprs": [dict(each) for each in health], **ignore}


def _without(kinds: Iterable[GroupKind]) -> list[dict[str, Any]]:
    """Patches that take the objects of some kinds out of the tree."""
    nothing = write([{"$patch": "delete", "apiVersion": "v1", "kind": "Any", "metadata": {"name": "any"}}])
    return [{"target": {**({"group": group} if group else {}), "kind": kind}, "patch": nothing} for group, kind in sorted(kinds)]


def _source_kind(flux: Flux) -> str:
    return "GitRepository" if flux.is_git else "OCIRepository"


def _object(api_version: str, kind: str, name: str, flux: Flux, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": flux.namespace}, "spec": spec}
