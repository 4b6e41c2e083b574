"""How a TrainJob ends: complete without any training, or never, since it starts again and again."""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.outcome.program import Program
from jobspec.outcome.rule import Outcome, place_of
from jobspec.runtimes.runtime import ANCESTOR, TRAINER
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.expansion import ExpandedJob

_MAKES_AGAIN = "2.1.0"
"""The release from which on the trainer makes the JobSet of a failed job again, which a time to live has deleted."""
_KEEPS_COMPLETE = "2.2.0"
"""The release from which on it leaves that of a complete job alone."""


def complete_without_training(job: ExpandedJob) -> Iterator[Outcome]:
    """Nothing trains, and the job counts as complete: it has no pods, or the image's own program ends at once."""
    for each in job.of_kind("Job"):
        completions = each.get("spec", "completions")
        if text(each, "metadata", "labels", ANCESTOR) == TRAINER and completions is not None and completions.value == 0:
            message = "the job is complete at once, without any training: its number of nodes is 0"
            yield Outcome("complete-without-training", message, place_of(completions), "write at least 1")
    for role in job.roles():
        container = role.training_container()
        if container and not Program(container).words and _is_shipped(job, container.get("image")):
            message = f"{role.name} runs the own program of the runtime's image, which is none that trains: the job is complete at once"
            yield Outcome("complete-without-training", message, _reference(job), "write `command` in `spec.trainer`", severity="warning")


def _is_shipped(job: ExpandedJob, image: MarkedTree | None) -> bool:
    """Whether a value stands in a runtime that the trainer ships: all of that is at the reference."""
    return image is not None and str(image.mark) == str(_reference(job))


def _reference(job: ExpandedJob) -> Mark:
    return job.job.marks.nearest(("spec", "runtimeRef", "name")).place()


def restarts_for_ever(job: ExpandedJob) -> Iterator[Outcome]:
    """A job that fails starts again without end: the trainer makes its JobSet again, which is deleted when it has ended."""
    release = job.target["trainer"]
    for jobset in job.of_kind("JobSet"):
        ttl = jobset.get("spec", "ttlSecondsAfterFinished")
        if ttl is not None and reached(release, _MAKES_AGAIN):
            which = "a failed job" if reached(release, _KEEPS_COMPLETE) else "the job, complete or failed,"
            message = f"{which} starts again without end: its JobSet is deleted after {ttl.value} s, and the trainer makes it again"
            yield Outcome("restarts-for-ever", message, place_of(ttl), "leave `ttlSecondsAfterFinished` out", severity="warning")
