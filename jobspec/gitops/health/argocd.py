"""The health of jobs for Argo CD: a Lua script for each kind, which the ConfigMap `argocd-cm` holds.

The scripts stand in `lua/` as they do in `resource_customizations/` of argoproj/argo-cd, so that they can be contributed there. They keep
to what Argo CD's Lua has: the basic functions and `table`. That of `batch/Job` replaces getBatchv1JobHealth, argo-cd
gitops-engine/pkg/health, 3.2.6, to which a condition `Suspended` of any status says that the job is over.
"""

from __future__ import annotations

from jobspec import data, kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kinds import GroupKind

KINDS: tuple[GroupKind, ...] = (kinds.PYTORCHJOB, kinds.TRAINJOB, kinds.JOBSET, ("batch", "Job"))


def customizations() -> dict[str, str]:
    """What `argocd-cm` has to hold: the key of each kind, as `resource.customizations.health.batch_Job`, and its script."""
    return {f"resource.customizations.health.{group}_{kind}": _script(group, kind) for group, kind in KINDS}


def _script(group: str, kind: str) -> str:
    with open(data.beside("gitops", "health", "lua", group, kind, "health.lua"), encoding="utf-8") as file:
        return file.read()
