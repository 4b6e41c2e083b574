"""Flux: its objects (`GitRepository`, `OCIRepository`, `Kustomization` of source- and kustomize-controller 1.x), and the health of jobs.

Flux asks the server about all objects of a Kustomization before it makes the first of them (`ApplyAll`, github.com/fluxcd/pkg ssa, 0.77).
A webhook refuses a TrainJob whose runtime is not there, so that both in one Kustomization would wait for each other for ever. Such runtimes
get a Kustomization of their own, on which that of the jobs depends; both take the same tree, each without the kinds of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobspec.documents.writer import write
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TRAINJOB
from jobspec.project.engines import Synced, flux_ignores, wave_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kinds import GroupKind
    from jobspec.project.project import Flux


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


# The health of jobs for Flux: expressions for `spec.healthCheckExprs` of a Kustomization.
#
# They follow StatusEvaluator.Evaluate, fluxcd/pkg runtime/cel, 0.99.0: the object's top-level fields are the variables, `inProgress` is
# asked
# first, `failed` then, `current` last, and an expression that fails makes the health unknown. A `batch/Job` has none: Flux asks its own
# reader of jobs before any expression.


# A new object has no `status`, and CEL cannot ask whether a variable is there: `has(status)` is no CEL and `has(status.conditions)` fails.
# Who wrote a status is in `metadata.managedFields`, which the API server keeps from the first write on.
_HAS_STATUS = "(!has(metadata.managedFields) || metadata.managedFields.exists(m, has(m.subresource) && m.subresource == 'status'))"


def _is(*conditions: str) -> str:
    """Whether the object has a status, and one of the conditions in it is true."""
    named = ", ".join(f"'{each}'" for each in conditions)
    return f"{_HAS_STATUS} && has(status.conditions) && status.conditions.exists(c, c.type in [{named}] && c.status == 'True')"


def _expressions(api_version: str, kind: str, *, failed: str, complete: str) -> dict[str, str]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "inProgress": f"!({_is(failed, complete)})",
        "failed": _is(failed),
        "current": _is(complete),
    }


#: For each kind the three expressions: with fewer, what is neither failed nor current may pass for healthy.
HEALTH_CHECK_EXPRS = (
    _expressions("kubeflow.org/v1", "PyTorchJob", failed="Failed", complete="Succeeded"),
    _expressions("trainer.kubeflow.org/v1alpha1", "TrainJob", failed="Failed", complete="Complete"),
    _expressions("jobset.x-k8s.io/v1alpha2", "JobSet", failed="Failed", complete="Completed"),
)


# The health of jobs for GitOps engines, which know none of their kinds, or know them wrongly.
