"""Finished jobs that something makes again once a time to live has deleted them.

An engine makes again what is in Git and not in the cluster. Of a TrainJob, the time to live deletes the JobSet alone, which the trainer may
make again: follows `TrainJobReconciler.Reconcile`, github.com/kubeflow/trainer pkg/controller, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec import kinds
from jobspec.targets import reached
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobspec.diagnostics import Diagnostic, Path
    from jobspec.documents.document import Document
    from jobspec.kinds import GroupKind
    from jobspec.targets import Target

_FIELD = "ttlSecondsAfterFinished"
_JOBS: dict[GroupKind, Path] = {
    kinds.PYTORCHJOB: ("spec", "runPolicy", _FIELD),
    kinds.JOBSET: ("spec", _FIELD),
    ("batch", "Job"): ("spec", _FIELD),
}
_RUNTIMES = (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME)
_OF_RUNTIME: Path = ("spec", "template", "spec", _FIELD)
_HOOK: Path = ("metadata", "annotations", "argocd.argoproj.io/hook")  # which a sync makes anew in any case
_LOOKS_AGAIN = "2.1.0"  # the trainer release from which on a finished TrainJob is looked at again
_KEEPS_COMPLETE = "2.2.0"  # the one from which on that does nothing to one that is complete


def expiring(documents: Iterable[Document], target: Target) -> Iterator[Diagnostic]:
    """A warning for each time to live that makes a finished job run again."""
    for document in documents:
        path = _OF_RUNTIME if document.group_kind in _RUNTIMES else _JOBS.get(document.group_kind, ())
        seconds = value_at(document.data, path) if path else None
        if seconds is None or value_at(document.data, _HOOK) is not None:
            continue
        why = _of_runtime(target["trainer"]) if path is _OF_RUNTIME else "the job, and the engine makes it again from Git"
        if why:
            message = f"{seconds} seconds after the end this deletes {why}: it runs once more"
            yield document.problem("runs-again", message, path, hint="leave the time to live out", severity="warning")


def _of_runtime(release: str) -> str:
    """What a time to live deletes of a TrainJob, and how that runs it again; empty for a release that leaves finished jobs alone."""
    if not reached(release, _LOOKS_AGAIN):
        return ""
    return (
        f"the JobSet, and trainer {release} makes that of a {'failed' if reached(release, _KEEPS_COMPLETE) else 'finished'} TrainJob again"
    )
