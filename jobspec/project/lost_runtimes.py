"""Runtimes that go, or no longer fit, under TrainJobs that are still there: the trainer's webhook refuses each update of such a job.

That includes the update by which the garbage collector ends a foreground deletion. Follows `TrainJobValidator.ValidateUpdate`,
github.com/kubeflow/trainer pkg/webhooks, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobspec.apis.kinds import RUNTIMES, TRAINJOB
from jobspec.diagnostics.wording import shortened
from jobspec.documents.document import Document
from jobspec.operators.trainer.runtimes import RuntimeReference, is_meant
from jobspec.project.effects import ObjectChange, refusals
from jobspec.world.world import Cluster


def with_stuck_jobs(change: ObjectChange, jobs: Sequence[Document], cluster: Cluster) -> ObjectChange:
    """Return the change of an object with a note on the *jobs* of before that can no longer be updated."""
    runtime = change.document
    if runtime.group_kind not in RUNTIMES:
        return change
    users = users_of(runtime, jobs)
    if change.meaning == "removed":
        stuck, what = users, "this runtime"
    elif change.meaning == "in-place":
        stuck, what = [each for each in users if refusals(each, each, [], [each, runtime], cluster)], "what this runtime loses"
    else:
        return change
    if not stuck:
        return change
    names = shortened([f"`{each.name}`" for each in stuck])
    note = (
        f"TrainJob {names} needs {what} until it is gone: without, the webhook refuses each update of the job, and a foreground deletion, "
        "as by Argo CD, never ends; change the runtime in a later commit"
    )
    return replace(change, notes=[*change.notes, note])


def users_of(runtime: Document, jobs: Sequence[Document]) -> list[Document]:
    """Return the TrainJobs among *jobs* that refer to a runtime."""
    return [each for each in jobs if each.group_kind == TRAINJOB and is_meant(RuntimeReference(each.data), each, runtime)]
