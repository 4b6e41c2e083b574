"""The health of jobs for Argo CD: Lua scripts, of which the ConfigMap `argocd-cm` holds one for each kind."""

from __future__ import annotations

from collections.abc import Mapping

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind
from jobspec.apis.shipped import package_text

_CONDITIONS, _RAY_CONDITIONS, _RAY_JOB = "conditions.lua", "ray_conditions.lua", "ray_job.lua"
#: Kind -> its script. Of these, Argo CD itself knows the Job alone: it takes a job that was resumed for healthy, ours does not.
SCRIPTS: Mapping[GroupKind, str] = {
    **dict.fromkeys(
        (
            *(kinds.PYTORCHJOB, kinds.TRAINJOB, kinds.JOBSET, kinds.JOB, kinds.TFJOB, kinds.XGBOOSTJOB, kinds.PADDLEJOB, kinds.JAXJOB),
            *(kinds.MPIJOB, kinds.LEADER_WORKER_SET),
        ),
        _CONDITIONS,
    ),
    **dict.fromkeys((kinds.RAY_CLUSTER, kinds.RAY_SERVICE), _RAY_CONDITIONS),
    kinds.RAY_JOB: _RAY_JOB,
}


def customizations() -> dict[str, str]:
    """Return the entries for `argocd-cm`: the key of each kind, and its script.

    A key is `resource.customizations.health.batch_Job`.
    """
    texts = {name: package_text("project", "health", "lua", name) for name in dict.fromkeys(SCRIPTS.values())}
    return {f"resource.customizations.health.{group}_{kind}": texts[name] for (group, kind), name in SCRIPTS.items()}
