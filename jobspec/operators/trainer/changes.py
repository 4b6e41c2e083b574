"""What the trainer does with a changed field of a TrainJob that lives on under its name.

Follows `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0: a JobSet is not touched while
neither it nor its TrainJob is suspended.
"""

from __future__ import annotations

from jobspec.apis.kinds import TRAINJOB
from jobspec.diagnostics.places import Path
from jobspec.documents.document import Document
from jobspec.operators.life import Effect, suspension_effect
from jobspec.operators.trainer.runtimes import PATCH_FIELDS
from jobspec.operators.workloads import suspend_of


def effect_on_trainjob(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a TrainJob, at a path in its spec."""
    if path == suspend_of(TRAINJOB):
        return suspension_effect(old, new)
    if path[1] in PATCH_FIELDS:  # the webhook takes them from suspended jobs only
        return Effect()
    return Effect("the trainer does not change an existing JobSet", heeded=False)
