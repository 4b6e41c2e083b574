"""What the controllers of Jobs, CronJobs and JobSets do with a changed field that the server accepts.

Follows `Controller.manageJob`, k8s.io/kubernetes pkg/controller/job, and `ControllerV2.syncCronJob`, pkg/controller/cronjob, 1.36, and
`suspendJobs` and `resumeJobsIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.12: all of a spec is read each time, and the server
accepts another pod template only while there are no pods.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path
from jobspec.documents.document import Document
from jobspec.operators.life import Effect, suspension_effect
from jobspec.operators.workloads import suspend_of


def effect_on_job(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a Job or JobSet, at a path in its spec."""
    return suspension_effect(old, new) if path == suspend_of(new.group_kind) else Effect()


def effect_on_cron_job(path: Path) -> Effect:
    """The effect of a changed field of a CronJob, at a path in its spec."""
    return Effect("Jobs that are there stay as they are; the next one gets the change" if path[1:2] == ("jobTemplate",) else "")
