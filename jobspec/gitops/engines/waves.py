"""The order in which Argo CD makes objects: sync waves for what has to be there before a job is.

Argo CD waits until all objects of a wave are healthy before it begins the next one. Therefore

- nothing stands behind the jobs: their wave would end only with the training;
- a claim stands in the wave of the jobs: one of a class that waits for its first consumer is bound, and healthy, only once a job's pod is
  there. Inside of a wave Argo CD goes by kind, and custom kinds come last, so that claims, Secrets and the like are made before the jobs;
- runtimes have a wave of their own: custom kinds are sorted by name alone, and a webhook refuses a TrainJob without its runtime. Argo CD
  knows no health of them, so that it does not wait.

Follows `syncTasks.Less`, `runTasks` and `Sync`, github.com/argoproj/argo-cd gitops-engine/pkg/sync, 3.5.
"""

from __future__ import annotations

from jobspec.kinds import LOOKED_UP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kinds import GroupKind

WAVE = "argocd.argoproj.io/sync-wave"
NAMESPACE: GroupKind = ("", "Namespace")
#: All other kinds are in wave 0, which is Argo CD's own default and needs no annotation.
_WAVES: dict[GroupKind, str] = {NAMESPACE: "-2", **dict.fromkeys(LOOKED_UP, "-1")}


def wave_of(kind: GroupKind) -> str | None:
    """The wave of objects of a kind, None for the default one."""
    return _WAVES.get(kind)
