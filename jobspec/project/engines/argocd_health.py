"""The health of jobs for Argo CD: a Lua script for each kind, which the ConfigMap `argocd-cm` holds."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind
from jobspec.apis.shipped import package_text

KINDS: tuple[GroupKind, ...] = (kinds.PYTORCHJOB, kinds.TRAINJOB, kinds.JOBSET, ("batch", "Job"))


def customizations() -> dict[str, str]:
    """What `argocd-cm` has to hold: the key of each kind, as `resource.customizations.health.batch_Job`, and its script."""
    return {
        f"resource.customizations.health.{group}_{kind}": package_text("project", "health", "lua", group, kind, "health.lua")
        for group, kind in KINDS
    }
