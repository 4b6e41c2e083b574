"""Whether pods that are to be placed all together ever are."""

from __future__ import annotations

from jobspec.operators.pods import text
from jobspec.outcome.rule import Outcome, place_of
from jobspec.overlays.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.operators.expanded_job import ExpandedJob

_DEFAULT = ("", "default-scheduler")


def gang_without_scheduler(job: ExpandedJob) -> Iterator[Outcome]:
    """A pod group is made, and the pods are left to the default scheduler, which knows no groups and places them one by one."""
    if not job.of_kind("PodGroup"):
        return
    for role in job.roles():
        name = role.pods[0].tree.get("spec", "schedulerName")
        if text(role.pods[0].tree, "spec", "schedulerName") in _DEFAULT:
            message = f"the pods of {role.name} are placed one by one: there is a pod group, and the default scheduler knows none"
            hint = "write `schedulerName` into the pods: `volcano`, or the name of the scheduler with the plugin coscheduling"
            yield Outcome("gang-without-scheduler", message, place_of(name), hint, severity="warning")


def incomplete_gang(job: ExpandedJob) -> Iterator[Outcome]:
    """The group counts pods of a step that comes before the others, so that it never has as many at one time as it waits for."""
    waiting = [
        each for jobset in job.of_kind("JobSet") for each in items(jobset.get("spec", "replicatedJobs")) if items(each.get("dependsOn"))
    ]
    if job.of_kind("PodGroup") and waiting:
        names = ", ".join(f"`{text(each, 'name')}`" for each in waiting)
        message = f"the pod group waits for all pods of the job at once, and those of {names} come after others have ended"
        hint = "leave `dependsOn` or the `podGroupPolicy` out"
        yield Outcome("incomplete-gang", message, place_of(waiting[0].get("dependsOn")), hint, severity="warning")
