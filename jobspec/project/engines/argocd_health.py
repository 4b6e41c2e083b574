"""The health of jobs for Argo CD: a Lua script for each kind, which the ConfigMap `argocd-cm` holds."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind
from jobspec.apis.shipped import package_text

#: The kinds with a script. Of these, Argo CD itself knows the Job alone: it takes a job that was resumed for healthy, ours does not.
KINDS: tuple[GroupKind, ...] = (
    kinds.PYTORCHJOB,
    kinds.TRAINJOB,
    kinds.JOBSET,
    kinds.JOB,
    kinds.TFJOB,
    kinds.XGBOOSTJOB,
    kinds.PADDLEJOB,
    kinds.JAXJOB,
    kinds.MPIJOB,
    kinds.RAY_JOB,
    kinds.RAY_CLUSTER,
    kinds.RAY_SERVICE,
    kinds.LEADER_WORKER_SET,
)


def customizations() -> dict[str, str]:
    """Return the entries for `argocd-cm`: the key of each kind, and its script.

    A key is `resource.customizations.health.batch_Job`.
    """
    return {
        f"resource.customizations.health.{group}_{kind}": package_text("project", "health", "lua", group, kind, "health.lua")
        for group, kind in KINDS
    }
