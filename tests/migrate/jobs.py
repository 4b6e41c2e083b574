"""Jobs for tests of migration, read and checked as the command does it."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.writer import write
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.migrate.facts import JobFacts, job_facts
from jobspec.operators.workloads import is_workload
from jobspec.world.world import Cluster

RELEASES = ("2.0", "2.1", "2.2", "2.3")


def cluster(trainer: str = "2.3") -> Cluster:
    return Cluster({"trainer": trainer})


def documents_of(text: str | bytes, trainer: str = "2.3", name: str = "job.yaml") -> tuple[list[Document], FileResult]:
    checked = checking.checked(Source(name, text, skip_unknown=True), (), cluster(trainer))
    return list(checked.documents), checked.result


def accepted(text: str | bytes, trainer: str = "2.3") -> list[Document]:
    documents, result = documents_of(text, trainer)
    assert result.valid, result.diagnostics
    return documents


def jobs_among(documents: Sequence[Document], kind: tuple[str, str] = PYTORCHJOB) -> list[Document]:
    return [each for each in documents if each.group_kind == kind]


def view_of(text: str, trainer: str = "2.3", **more: Any) -> JobFacts:
    """The view of the only job in a text."""
    documents = accepted(text, trainer)
    (job,) = filter(is_workload, documents)
    return job_facts(job, documents, cluster(trainer).target, **more)


def pytorchjob(pod: dict[str, Any] | None = None, *, workers: int = 1, master: bool = True, **spec: Any) -> dict[str, Any]:
    """A PyTorchJob; *pod* are fields of the container that trains, *spec* those of its spec."""
    container = {"name": "pytorch", "image": "example.com/train:1", "command": ["python", "train.py"], **(pod or {})}
    replica: dict[str, Any] = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    replicas = {"Master": {"replicas": 1, **copy.deepcopy(replica)}, "Worker": {"replicas": workers, **copy.deepcopy(replica)}}
    replicas = {name: each for name, each in replicas.items() if (master if name == "Master" else workers)}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train", "namespace": "ml"}}
    return {**job, "spec": {**spec, "pytorchReplicaSpecs": replicas}}


def text_of(*manifests: dict[str, Any]) -> str:
    return write(manifests)


def corpus(folder: Path) -> list[Path]:
    """The public manifests."""
    return sorted(each for each in folder.rglob("*") if each.suffix in (".yaml", ".yml"))
