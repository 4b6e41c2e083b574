"""What the trainer does with a changed field of a TrainJob that lives on under its name.

Follows `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0: a JobSet is not touched while
neither it nor its TrainJob is suspended.
"""

from __future__ import annotations

from jobspec.diagnostics import Path
from jobspec.documents.document import Document
from jobspec.kinds import TRAINJOB
from jobspec.operators.life import Effect, suspension_effect
from jobspec.workloads import suspend_of

_PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")


def effect_on_trainjob(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a TrainJob, at a path in its spec."""
    if path == suspend_of(TRAINJOB):
        return suspension_effect(old, new)
    if path[1] in _PATCHES:  # the webhook takes them from suspended jobs only
        return Effect()
    return Effect("the trainer does not change a JobSet that it has made", heeded=False)
