"""The containers and mounts of a TrainJob's pods: those of its runtime, with the job's changes merged into them.

The webhook reviews the pods after that merge. So a job may add a container that the runtime does not have; from 2.3 on, also a replicated
job.

Follows `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Path, items_at, value_at
from jobspec.diagnostics.record import Record
from jobspec.operators.workloads import PATCHED_JOBS, TEMPLATE, Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


PATCHES: Path = ("spec", "runtimePatches")
_POD: Path = (*TEMPLATE, "spec")
#: The fields for changes to pods until 2.1 -> the path of the pod spec in an entry, which names its replicated jobs in `targetJobs`.
_OVERRIDES: dict[str, Path] = {"podTemplateOverrides": ("spec",), "podSpecOverrides": ()}


class ReplicatedPods:
    """The pods of one replicated job: the containers with the volumes that they mount, and the init containers."""

    def __init__(self) -> None:
        self.containers: dict[str, set[str]] = {}
        self.init: set[str] = set()

    def add(self, spec: Any) -> None:
        """Merge a pod spec into the pods."""
        self.init.update(container["name"] for _, container in items_at(spec, ("initContainers",)))
        for path, container in items_at(spec, ("containers",)):
            mounts = self.containers.setdefault(container["name"], set())
            mounts.update(mount["name"] for _, mount in items_at(spec, (*path, "volumeMounts")))


class PodChange(Record):
    """A change that a TrainJob makes to the pods of one replicated job."""

    job: str
    job_path: Path
    """The path of the replicated job's name."""
    spec: Any
    """The partial pod spec; None where there is none."""
    spec_path: Path


def changes(workload: Workload) -> Iterator[PodChange]:
    """All changes to pods in a TrainJob, in order."""
    data = workload.document.data
    for patch, _ in items_at(data, PATCHES):
        for path, job in items_at(data, (*patch, *PATCHED_JOBS)):
            yield PodChange(job["name"], (*path, "name"), value_at(job, _POD), (*path, *_POD))
    for field, inside in _OVERRIDES.items():
        for override, content in items_at(data, ("spec", field)):
            for path, job in items_at(data, (*override, "targetJobs")):
                yield PodChange(job["name"], (*path, "name"), value_at(content, inside), (*override, *inside))


def pods_of(workload: Workload, target: Target) -> dict[str, ReplicatedPods]:
    """Name of a replicated job -> its pods, after the TrainJob's changes."""
    found: dict[str, ReplicatedPods] = {}
    for job in workload.roles:
        found.setdefault(job.name, ReplicatedPods()).add(job.in_pod())
    for change in changes(workload):
        if change.job not in found and is_at_least(target["trainer"], "2.3.0"):
            found[change.job] = ReplicatedPods()
        if change.job in found:
            found[change.job].add(change.spec)
    return found
