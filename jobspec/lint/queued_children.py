"""Queue names at objects that another controller makes and resumes: it and Kueue fight over them."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import JOBSET, RUNTIMES
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.lint.linted import LintedJob
from jobspec.operators.kueue.children import queued_templates
from jobspec.operators.workloads import QUEUE

_LABELS = ("metadata", "labels", QUEUE)


def queue_name_in_template(job: LintedJob) -> Iterator[Finding]:
    """The queue name is at the template of a JobSet or Job, and its owner, which resumes it, names no queue.

    Why: Kueue makes a Workload for the JobSet or Job, and suspends it while that is not admitted. The trainer, or JobSet, resumes it at
    once: pods are created and killed several times a second, and what ends meanwhile bypasses the quota.
    Instead: the label at the TrainJob, or at the JobSet for its Jobs. Kueue then leaves the objects that it makes alone.
    Before: "spec: {template: {metadata: {labels: {kueue.x-k8s.io/queue-name: team-a}}}}"
    After: "metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}"
    Evidence: Kueue 0.19.2 with trainer 2.3.0 and JobSet 0.12.0: 7 pods in 8 seconds
    """
    given = job.given
    if given.group_kind in RUNTIMES:
        if job.is_used_runtime:
            return  # it is said of the jobs that name no queue
        owner, hint = "TrainJobs that name none", "remove it, and add it to `metadata.labels` of each TrainJob"
    else:
        owner, hint = f"the {given.kind} names none", f"move it to `metadata.labels` of the {given.kind}"
    if job.get(*_LABELS):
        return
    from jobspec.operators.kueue.workload import is_managed

    if is_managed(given, job.target, job.documents.queues):
        return
    for child, said in queued_templates(job.jobset, of_trainer=given.group_kind != JOBSET):
        controller = "the trainer" if child == "JobSet" else "JobSet"
        yield Finding(said, f"queue name at the {child}, and {owner}: {controller} resumes what Kueue suspends, forever", hint)


RULES = (Rule(queue_name_in_template, "warning", sees="JobSet", reads=[QUEUE]),)
