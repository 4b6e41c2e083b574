"""The pods that a TrainJob makes of its runtime's, as far as the webhook looks: which containers they have, and what these mount.

The webhook applies a job's changes to the runtime's replicated jobs before it looks at them. So a container that the runtime does
not have is added, not refused; from 2.3 on a whole replicated job is.

Follows `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to
2.3.0.
"""

from __future__ import annotations

from jobspec.targets import reached
from jobspec.workloads import items_at, roles, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.targets import Target
    from jobspec.workloads import Workload

PATCHES: Path = ("spec", "runtimePatches")
_PATCHED: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_POD: Path = ("template", "spec", "template", "spec")

#: Until 2.1 changes to pods name the replicated jobs that they are for; where such a change has its pod spec.
_OVERRIDES: dict[str, Path] = {"podTemplateOverrides": ("spec",), "podSpecOverrides": ()}


class Pods:
    """The pods of one replicated job: the names of its containers, and of the volumes that each regular one mounts."""

    __slots__ = ("containers", "init")

    def __init__(self) -> None:
        self.containers: dict[str, set[str]] = {}
        self.init: set[str] = set()

    def add(self, spec: Any) -> None:
        """Merge a pod spec over what is there."""
        self.init.update(container["name"] for _, container in items_at(spec, ("initContainers",)))
        for path, container in items_at(spec, ("containers",)):
            mounts = self.containers.setdefault(container["name"], set())
            mounts.update(mount["name"] for _, mount in items_at(spec, (*path, "volumeMounts")))


class Change:
    """What a TrainJob changes in the pods of one replicated job."""

    __slots__ = ("job", "job_path", "spec", "spec_path")

    def __init__(self, job: str, job_path: Path, spec: Any, spec_path: Path) -> None:
        self.job = job
        self.job_path = job_path
        """Where the replicated job is named."""
        self.spec = spec
        """The changes to its pods' spec, None where there are none."""
        self.spec_path = spec_path


def changes(workload: Workload) -> Iterator[Change]:
    """All changes to pods that a TrainJob asks for, in order."""
    data = workload.document.data
    for patch, _ in items_at(data, PATCHES):
        for path, job in items_at(data, (*patch, *_PATCHED)):
            yield Change(job["name"], (*path, "name"), value_at(job, _POD), (*path, *_POD))
    for field, inside in _OVERRIDES.items():
        for override, content in items_at(data, ("spec", field)):
            for path, job in items_at(data, (*override, "targetJobs")):
                yield Change(job["name"], (*path, "name"), value_at(content, inside), (*override, *inside))


def pods_of(workload: Workload, target: Target) -> dict[str, Pods]:
    """By replicated job: the pods of a job's runtime with the job's changes applied to them."""
    found: dict[str, Pods] = {}
    for job in roles(workload):
        found.setdefault(job.name, Pods()).add(job.in_pod())
    for change in changes(workload):
        if change.job not in found and reached(target["trainer"], "2.3.0"):
            found[change.job] = Pods()
        if change.job in found:
            found[change.job].add(change.spec)
    return found
