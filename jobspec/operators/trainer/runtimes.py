"""Training runtimes: those that TrainJobs refer to, and those that the trainer ships.

`runtimes-RELEASE.json` holds the ClusterTrainingRuntimes that a release of the trainer installs by default, by name, as its
kustomization renders them; demonstration scripts in them are replaced by a remark.
"""

from __future__ import annotations

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, GroupKind
from jobspec.apis.releases import Target, is_at_least
from jobspec.apis.shipped import load, package_path
from jobspec.diagnostics.places import items_at, value_at
from jobspec.documents.document import Document, OnePlace
from jobspec.operators.workloads import REPLICATED_JOBS, Role, roles_in
from jobspec.programs.command_lines import OPEN_MPI, TORCH, XGBOOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.diagnostics.places import Path


# Find the runtime of a TrainJob: in the job's file, in other files, or among those that the trainer's release ships.
#
# Follows `TrainingRuntime.RuntimeInfo`, github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to 2.3.0.
GROUP = "trainer.kubeflow.org"
API_VERSION = f"{GROUP}/v1alpha1"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"  # a label of a Job template: the part of the TrainJob that runs in it
TRAINER = "trainer"
#: The field of `spec.initializer` -> the part of a TrainJob that fetches it; replicated job and container are named like the part.
INITIALIZERS = {"dataset": "dataset-initializer", "model": "model-initializer"}
#: The fields by which a TrainJob changes the pods of its runtime, the oldest first; each release has one of them.
PATCH_FIELDS = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")
TORCHTUNE = ["tune", "run"]  # the command of a job that fine-tunes with torchtune
#: The variables that the trainer sets itself where the runtime has a policy, and refuses in a TrainJob.
RESERVED = {"torch": TORCH, "mpi": OPEN_MPI, "xgboost": XGBOOST}


def patch_text(release: str, job: str, pod: str) -> str:
    """Write the field of a TrainJob for a change of pods, as YAML in short lines.

    Joined to one line, it means the same.

    *pod*: what changes in the pod spec, such as `volumes: [...]`.
    """
    if is_at_least(release, "2.2.0"):
        head = "runtimePatches: [{manager: example.com/team,\n  trainingRuntimeSpec: {template: {spec: {\n"
        jobs = f"  replicatedJobs: [{{name: {job}, template: {{spec:\n  {{template: {{spec: {{\n{_indented(pod, 4)}"
        return f"{head}{jobs}" + "}}}}}]}}}}]"
    start, end = ("spec: {", "}") if is_at_least(release, "2.1.0") else ("", "")
    field = PATCH_FIELDS[1] if start else PATCH_FIELDS[0]
    return f"{field}: [{{targetJobs: [{{name: {job}}}],\n  {start}\n{_indented(pod, 2)}{end}}}]".replace("  \n", "")


def _indented(text: str, spaces: int) -> str:
    return "\n".join(f"{' ' * spaces}{line}" for line in text.split("\n"))


class RuntimeReference:
    """The `runtimeRef` of a TrainJob, with the API's defaults.

    If the job has no `runtimeRef`, all fields are empty.
    """

    __slots__ = ("group", "kind", "name")

    def __init__(self, job: Any) -> None:
        ref = value_at(job, ("spec", "runtimeRef"))
        self.name: str = _ref_field(ref, "name", "")
        self.kind: str = _ref_field(ref, "kind", "ClusterTrainingRuntime")
        self.group: str = _ref_field(ref, "apiGroup", GROUP)

    @property
    def group_kind(self) -> GroupKind:
        """The group and kind of the runtime."""
        return self.group, self.kind


def _ref_field(ref: Any, key: str, default: str) -> Any:
    if not isinstance(ref, dict):
        return ""
    return default if ref.get(key) is None else ref[key]


def runtime_of(job: Document, context: Iterable[Document], target: Target, *, elsewhere: Iterable[Document] = ()) -> Document | None:
    """Return the runtime that a job refers to.

    The runtime is the first in *context*, such as the job's file. If there is none, it is the only one of its name *elsewhere*, or else the
    shipped one. All marks of a shipped runtime are at the reference.
    """
    ref = RuntimeReference(job.data)
    found = [each for each in context if is_meant(ref, job, each)][:1] or [each for each in elsewhere if is_meant(ref, job, each)]
    if len(found) == 1:
        return found[0]
    data = shipped(target).get(ref.name) if ref.group_kind == CLUSTER_TRAINING_RUNTIME else None
    if data is None:
        return None
    return Document(data, OnePlace(data, lambda: job.marks.nearest(("spec", "runtimeRef", "name")).place()), file=job.file)


def is_meant(ref: RuntimeReference, job: Document, runtime: Document) -> bool:
    """Whether a document is the runtime that a job's reference names."""
    if (runtime.group_kind, runtime.name) != (ref.group_kind, ref.name):
        return False
    is_visible = runtime.group_kind == CLUSTER_TRAINING_RUNTIME or runtime.namespace == job.namespace
    return is_visible or runtime.has_open_namespace or job.has_open_namespace


_shipped: dict[str, dict[str, Any]] = {}


def shipped(target: Target) -> dict[str, Any]:
    """The ClusterTrainingRuntimes that the target's trainer installs, by name."""
    release = target["trainer"]
    if release not in _shipped:
        _shipped[release] = load(package_path("operators", "trainer", f"runtimes-{release}.json"))
    return _shipped[release]


def training_jobs(runtime: Document | None) -> list[str]:
    """Return the names of the replicated jobs whose pods train.

    The replicated jobs are the trainer's own, and MPI's further `node`s.
    """
    jobs = roles_in(runtime) if runtime else []
    return [job.name for job in jobs if ancestor(job) == TRAINER or job.name == "node"] or ["node"]


def ancestor(job: Role) -> str:
    """Return the part of a TrainJob that runs in a replicated job.

    The part is `trainer`, `dataset-initializer`, `model-initializer`, or empty.
    """
    return str(value_at(job.data, ("template", "metadata", "labels", ANCESTOR)) or "")


def nodes_of(job: dict[str, Any], runtime: Document | None) -> int:
    """Return the number of pods in which a TrainJob trains.

    If neither the job nor its runtime says a number, return 1.
    """
    nodes = value_at(job, ("spec", "trainer", "numNodes"))
    return int(nodes or (value_at(runtime.data, ("spec", "mlPolicy", "numNodes")) if runtime else None) or 1)


# Differences between the trainer's releases that other rooms ask about; those in how a TrainJob ends are in `life`.


NAMES_LIMITED_SINCE = "2.4"
LONGEST_NAME = 20
"""The most characters of the name of a replicated job in a runtime, in that release and later ones; by its release notes."""


def long_names(runtime: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """The names of replicated jobs that are longer than later releases accept, with their paths."""
    for path, job in items_at(runtime, REPLICATED_JOBS):
        name = value_at(job, ("name",))
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            yield (*path, "name"), name


def merges_resources(release: str) -> bool:
    """True if the trainer merges `resourcesPerNode` with the runtime's resources.

    Older releases replace the runtime's resources.
    """
    return is_at_least(release, "2.3.0")


def group_counts_runtime_only(release: str) -> bool:
    """Whether a PodGroup's `minResources` is computed before `resourcesPerNode` is applied."""
    return not is_at_least(release, "2.2.0")


def shares_with_launcher(release: str) -> bool:
    """True if an MPI launcher that is a node shares fields with the other nodes.

    The fields are `env` and `resourcesPerNode`.
    """
    return is_at_least(release, "2.1.0")


def takes_words_for_processes(release: str) -> bool:
    """Whether `numProcPerNode` takes `auto`, `cpu` and `gpu`; later releases take numbers alone."""
    return not is_at_least(release, "2.2.0")


def knows_volcano(release: str) -> bool:
    """Whether a runtime can have its pods scheduled as a gang by Volcano."""
    return is_at_least(release, "2.1.0")


def has_runtime_patches(release: str) -> bool:
    """Whether TrainJobs have `runtimePatches`, into which Kueue writes."""
    return is_at_least(release, "2.2.0")


def hides_keys(release: str) -> bool:
    """Whether the trainer mounts MPI's private key so that only root and its group may read it."""
    return is_at_least(release, "2.3.0")


def sources_of(initializer: str, release: str) -> tuple[str, ...]:
    """Return the schemes of URIs that an initializer's image of a release downloads from.

    For another image, return an empty tuple. Follows `main` of github.com/kubeflow/trainer pkg/initializers/dataset and
    pkg/initializers/model, 2.0.0 to 2.3.0.
    """
    kind = initializer.removeprefix("ghcr.io/kubeflow/trainer/").removesuffix("-initializer")
    if kind not in ("dataset", "model") or initializer != f"ghcr.io/kubeflow/trainer/{kind}-initializer":
        return ()
    if not is_at_least(release, "2.1.0"):
        return ("hf",)
    return ("hf", "s3", "cache") if kind == "dataset" else ("hf", "s3")
