"""The order in which Argo CD makes objects: sync waves for what has to be there before a job is."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.kinds import WEBHOOK_LOOKUPS, GroupKind

WAVE = "argocd.argoproj.io/sync-wave"
#: The wave of each kind; all others are in wave 0, which is Argo CD's own default and needs no annotation.
WAVES: dict[GroupKind, str] = {kinds.NAMESPACE: "-2", **dict.fromkeys(WEBHOOK_LOOKUPS, "-1")}
