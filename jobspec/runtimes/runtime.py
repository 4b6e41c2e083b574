"""The runtime of a TrainJob, where it can be seen: beside the job, or among those that the trainer's release ships."""

from __future__ import annotations

import json
import os

from jobspec.documents.document import Document, Marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.diagnostics import Mark, Path
    from jobspec.targets import Target

API_VERSION = "trainer.kubeflow.org/v1alpha1"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"  # a label of a Job template: which part of the TrainJob lands there
TRAINER = "trainer"
TEMPLATE: Path = ("template", "spec", "template")  # of a replicated job: its pod template


class Reference:
    """The runtime that a TrainJob names, the API's defaults filled in."""

    __slots__ = ("group", "kind", "name")

    def __init__(self, job: Any) -> None:
        spec = job.get("spec")
        ref = (spec.get("runtimeRef") if isinstance(spec, dict) else None) or {}
        self.name = str(ref.get("name") or "")
        self.kind = str(ref.get("kind") or "ClusterTrainingRuntime")
        self.group = str(ref.get("apiGroup") or "trainer.kubeflow.org")


def runtime_of(job: Document, documents: Iterable[Document], target: Target) -> Document | None:
    """The runtime that a job refers to: among *documents*, else among those shipped, whose places are then that of the reference."""
    ref = Reference(job.data)
    for document in documents:
        if (document.api_version, document.kind, document.name) == (API_VERSION, ref.kind, ref.name) and _reaches(job, document):
            return document
    found = shipped(target).get(ref.name) if ref.kind == "ClusterTrainingRuntime" else None
    if found is None:
        return None
    mark = job.marks.nearest(("spec", "runtimeRef", "name")).place()
    return Document(found, lambda: _all_at(found, mark), file=job.file)


def _reaches(job: Document, runtime: Document) -> bool:
    return runtime.kind == "ClusterTrainingRuntime" or runtime.namespace == job.namespace


def shipped(target: Target) -> dict[str, Any]:
    """The ClusterTrainingRuntimes that the target's trainer installs, by name."""
    path = os.path.join(os.path.dirname(__file__), f"trainer-{target['trainer']}.json")
    with open(path, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _all_at(data: Any, mark: Mark) -> Marks:
    """Marks that have one place for everything."""
    if isinstance(data, dict):
        return Marks(mark, mark, {key: _all_at(value, mark) for key, value in data.items()})
    if isinstance(data, list):
        return Marks(mark, mark, [_all_at(value, mark) for value in data])
    return Marks(mark, mark)


def training_jobs(runtime: Document | None) -> list[str]:
    """The names of the replicated jobs whose pods train: the trainer's own, and MPI's further `node`s."""
    found = [job["name"] for job in replicated_jobs(runtime) if ancestor(job) == TRAINER or job["name"] == "node"]
    return found or ["node"]


def replicated_jobs(runtime: Document | None) -> list[dict[str, Any]]:
    """The replicated jobs of a runtime."""
    data = runtime.data if runtime else {}
    for step in ("spec", "template", "spec", "replicatedJobs"):
        data = (data or {}).get(step)
    return list(data or [])


def ancestor(job: dict[str, Any]) -> str:
    """Which part of a TrainJob lands on a replicated job: `trainer`, `dataset-initializer`, `model-initializer` or none."""
    labels = ((job.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(ANCESTOR) or "")


def nodes_of(job: dict[str, Any], runtime: Document | None) -> int:
    """In how many pods a TrainJob trains, as far as it and its runtime say so."""
    policy = ((runtime.data.get("spec") or {}).get("mlPolicy") or {}) if runtime else {}
    trainer = job["spec"].get("trainer") or {}
    return int(trainer.get("numNodes") or policy.get("numNodes") or 1)
