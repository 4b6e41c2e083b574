"""How a TrainJob ends: complete without any training, or never, since it restarts again and again."""

from __future__ import annotations

from jobspec.diagnostics.places import Mark, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import text
from jobspec.operators.trainer.life import makes_again
from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER
from jobspec.operators.workloads import QUEUE
from jobspec.outcome.training_program import TrainingProgram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.operators.expansion import ExpandedJob


def complete_without_training(job: ExpandedJob) -> Iterator[Finding]:
    """Nothing trains, and the job counts as complete: it has no pods, or the image's own program ends at once."""
    for each in job.of_kind("Job"):
        completions = each.get("spec", "completions")
        if text(each, "metadata", "labels", ANCESTOR) == TRAINER and completions is not None and completions.value == 0:
            message = "completes without training: the number of nodes is 0"
            yield Finding(completions, message, "write at least 1", rule="complete-without-training")
    runtime = runtime_reference(job)
    for role in job.roles:
        container = role.training_container()
        image = container.get("image") if container and not TrainingProgram(container).words else None
        if image and str(image.mark) == str(runtime):  # where all of a runtime is that the trainer ships
            message = f"completes without training: `{role.name}` runs the default program of the runtime's image"
            hint = "write `command` in `spec.trainer`"
            yield Finding(runtime, message, hint, rule="complete-without-training", severity="warning")


def runtime_reference(job: ExpandedJob) -> Mark:
    """Return the place of the name of the job's runtime."""
    return job.job.nearest(("spec", "runtimeRef", "name")).place()


def restarts_forever(job: ExpandedJob) -> Iterator[Finding]:
    """Yield that a failed job starts again without end, since its JobSet is deleted at its end."""
    again = makes_again(job.target["trainer"])
    for jobset in job.of_kind("JobSet"):
        ttl = jobset.get("spec", "ttlSecondsAfterFinished")
        if ttl is not None and again:
            which = "a failed job" if again == "failed" else "the job, complete or failed,"
            message = f"{which} restarts forever: its JobSet is deleted after {ttl.value} s, and the trainer recreates it"
            if value_at(job.job.data, ("metadata", "labels", QUEUE)):
                message += ", beyond its queue's quota: Kueue suspends it, and the trainer resumes it, in turns"
            yield Finding(ttl, message, "remove `ttlSecondsAfterFinished`", rule="restarts-forever", severity="warning")
